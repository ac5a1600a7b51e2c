"""The bytes of a description: from a file or a URL, bounded in size and time; and whether they changed since.

It knows nothing about their content.
"""

from __future__ import annotations

import base64
import ipaddress
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from cellwright.errors import SpecError
from cellwright.guard import is_inside
from cellwright.settings import install_command
from cellwright.short_texts import error_line

MOST_BYTES = 128 * 1024 * 1024
_REDIRECTS = 5
_TIMEOUT_S = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class SpecContent:
    """The bytes that were read, and the marks by which a later reader sees that they are unchanged."""

    content: bytes
    where: str  # the path, or the URL after redirects
    mark: dict[str, Any]  # mtime_ns and size, or etag and modified; empty where the server gives none


def is_url(text: str) -> bool:
    return text[:8].lower().startswith(("http://", "https://"))


def read_spec_file(path: Path) -> SpecContent:
    """A file's bytes."""
    try:
        stat = path.stat()
        if stat.st_size > MOST_BYTES:
            raise SpecError(f"{path} has {stat.st_size:,} bytes; at most {MOST_BYTES:,} are read")
        return SpecContent(content=path.read_bytes(), where=str(path), mark=file_mark(path))
    except FileNotFoundError:
        raise SpecError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise SpecError(f"{path} is a directory; name the description in it") from None
    except OSError as wrong:
        raise SpecError(f"{path} cannot be read: {wrong.strerror or wrong}") from None


def file_mark(path: Path) -> dict[str, Any]:
    """Values that change when a file is written; empty where the file does not exist."""
    try:
        stat = path.stat()
    except OSError:
        return {}
    return {"mtime_ns": stat.st_mtime_ns, "size": stat.st_size, "inode": stat.st_ino}


def read_spec_url(url: str, *, known: dict[str, Any] | None = None) -> SpecContent | None:
    """The content of a URL. None where the server says that it is unchanged since `known`."""
    headers = {"accept": "application/json, application/yaml, text/yaml, */*;q=0.5", "user-agent": "cellwright"}
    if known and known.get("etag"):
        headers["if-none-match"] = known["etag"]
    if known and known.get("modified"):
        headers["if-modified-since"] = known["modified"]
    httpx = _http_library()
    try:
        urlsplit(url)
    except ValueError:
        raise SpecError(f"{url.partition('?')[0]} is no URL") from None
    try:
        with httpx.HTTPTransport(trust_env=False) as transport:  # not a client, which writes whole URLs to the log
            return _followed(httpx, transport, url, headers, bool(known))
    except (httpx.HTTPError, httpx.InvalidURL) as wrong:
        raise SpecError(f"{without_secrets(url)} cannot be read: {error_line(wrong)}") from None


def _followed(httpx: Any, transport: Any, url: str, headers: dict[str, str], marked: bool) -> SpecContent | None:
    """The reply after redirects, none of which leads from the internet into a private network."""
    timeout = httpx.Timeout(_TIMEOUT_S / 2).as_dict()
    here = url
    for _ in range(_REDIRECTS + 1):
        request = httpx.Request("GET", here, headers=headers | _login(here), extensions={"timeout": timeout})
        reply = transport.handle_request(request)
        reply.request = request
        try:
            if reply.has_redirect_location:
                here = _moved(here, reply.headers["location"])
                continue
            if reply.status_code == 304 and marked:
                return None
            if reply.status_code != 200:
                raise SpecError(f"{without_secrets(url)} answers {reply.status_code} {reply.reason_phrase}".rstrip())
            mark = {"etag": reply.headers.get("etag"), "modified": reply.headers.get("last-modified")}
            return SpecContent(content=_bounded(reply, url), where=here, mark={k: v for k, v in mark.items() if v})
        finally:
            reply.close()
    raise SpecError(f"{without_secrets(url)} redirects more than {_REDIRECTS} times")


def _login(url: str) -> dict[str, str]:
    """The header for an user and a password that stand in an URL."""
    parts = urlsplit(url)
    if not parts.username and not parts.password:
        return {}
    both = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return {"authorization": f"Basic {base64.b64encode(both.encode()).decode()}"}


def _moved(url: str, location: str) -> str:
    try:
        there = urljoin(url, location)
        inside = is_private(there) and origin(there) != origin(url)
    except ValueError:
        there, inside = "", False
    if not is_url(there):
        raise SpecError(f"{without_secrets(url)} redirects to no URL")
    if inside or (url.startswith("https:") and not there.startswith("https:")):
        raise SpecError(f"{without_secrets(url)} redirects to {without_secrets(there)}, which is not followed")
    return there


def _bounded(reply: Any, url: str) -> bytes:
    parts: list[bytes] = []
    size, end = 0, time.monotonic() + _TIMEOUT_S
    for part in reply.iter_bytes():
        size += len(part)
        parts.append(part)
        if size > MOST_BYTES:
            raise SpecError(f"{without_secrets(url)} gives more than {MOST_BYTES:,} bytes")
        if time.monotonic() > end:
            raise SpecError(f"{without_secrets(url)} was not read in {_TIMEOUT_S:.0f} s")
    return b"".join(parts)


def without_secrets(location: str) -> str:
    """A path, or a URL without the parts that may hold a password: user, query, fragment."""
    if not is_url(location):
        return location
    parts = urlsplit(location)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def origin(url: str) -> str:
    """Scheme, host and port of a URL, as one text to compare; "" where it has none."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme.lower(), 0)
    except ValueError:
        return ""
    return f"{parts.scheme.lower()}://{parts.hostname}:{port}" if parts.hostname else ""


def is_private(url: str) -> bool:
    """Whether an URL names this machine or an address that only its own network knows."""
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    try:
        address = ipaddress.ip_address(_dotted(host))
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".local", ".internal")) or "." not in host
    return is_inside(address)


def _dotted(host: str) -> str:
    """An address in its usual form: "127.1" and "0x7f000001" are 127.0.0.1 too."""
    try:
        return socket.inet_ntoa(socket.inet_aton(host)) if ":" not in host else host
    except OSError:
        return host


def _http_library() -> Any:
    try:
        import httpx2  # heavy, and only for descriptions behind an URL
    except ImportError:
        raise SpecError(f"reading an URL needs the extra: {install_command('connect')}") from None
    return httpx2
