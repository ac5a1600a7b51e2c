"""Which HTTP requests guest code may make: the entries of a network's list, and URLs in the one form that is compared.

An entry or a URL that programs could read in two ways is refused, never guessed. No connection is known here.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from cellwright.errors import UsageError

HostAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
PORTS = {"http": 80, "https": 443}
LONGEST_URL = 16_000
_URL = re.compile(r"(https?)://([^/?#@\\]+)(/[^?#]*)?(?:\?(?=#|$)|(\?[^#]*))?(?:#.*)?", re.IGNORECASE | re.DOTALL)
_ENTRY = re.compile(r"(?:(https?)://)?(\*\.)?([^/?#@\\*]+)(/[^?#*]*\*?)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]{1,5}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # a host that ends in one is an address, in any of four notations
_SPLIT = frozenset("ßς\u200c\u200d")  # two versions of IDNA make different names of these
_TWO_READINGS = re.compile(r"//|[\\;]|%(?:2f|5c|3b|25|[01][0-9a-f]|7f)|%(?![0-9a-f]{2})", re.IGNORECASE)
_UNRESERVED = re.compile(r"%(?:2[de]|3[0-9]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9ae])", re.IGNORECASE)
_STEPS = re.compile(r"%(?![0-9a-f]{2})|\\|(?:/|%2f|%5c)\.\.?(?:[/;]|%2f|%5c|%3b|$)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpTarget:
    """Where a request goes. `host` is an address or a name in IDNA form; `path` is sent as it is, with its query.

    In `path` nothing is encoded that need not be: rules for the URL of a call are to meet one spelling.
    """

    scheme: str
    host: str | HostAddress
    port: int
    path: str = "/"

    @property
    def authority(self) -> str:
        """Host and port, as the header `Host` has them."""
        host = f"[{self.host}]" if isinstance(self.host, ipaddress.IPv6Address) else str(self.host)
        return host if PORTS[self.scheme] == self.port else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        return f"{self.origin}{self.path}"


def http_target(url: str) -> HttpTarget:
    """Raises `ValueError` with the reason for what is no URL of HTTP, or could be read in two ways."""
    parts = _URL.fullmatch(url)
    if parts is None or len(url) > LONGEST_URL:
        raise ValueError("give http://host/path or https://host/path, without a user, in at most 16,000 characters")
    plain = _UNRESERVED.sub(lambda found: chr(int(found[0][1:], 16)), parts[3] or "/")
    scheme, path = parts[1].lower(), plain + (parts[4] or "")
    if not path.isascii() or not path.isprintable() or " " in path:
        raise ValueError("path and query must be percent-encoded")
    host, port = host_and_port(parts[2], PORTS[scheme])
    return HttpTarget(scheme=scheme, host=host, port=port, path=path)


def host_and_port(authority: str, default: int) -> tuple[str | HostAddress, int]:
    """Both of "host:port", the host in the form that is compared; raises `ValueError`."""
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None or (parts[2] and not 0 < int(parts[2]) < 65_536):
        raise ValueError(f"{authority!r} is no host with a port")
    return host_of(parts[1]), int(parts[2] or default)


def host_of(text: str) -> str | HostAddress:
    """A host in the form that is compared: an address, or a name in lower case, in IDNA form, without a last dot."""
    if text.startswith("["):
        if "%" in text:
            raise ValueError(f"{text!r} has a zone")
        return ipaddress.IPv6Address(text[1:-1])
    if _SPLIT & set(text):
        raise ValueError(f"{text!r} can be read as two names; write its form that begins with xn--")
    name = (text if text.isascii() else text.encode("idna").decode()).lower().removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return ipaddress.IPv4Address(name)  # of decimal, octal, hexadecimal and short forms only 1.2.3.4 passes
    if len(name) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise ValueError(f"{text!r} is no host name")
    return name


def plain_path(path: str) -> str:
    """A path without its query, in the form that is compared; raises `ValueError` for one with two readings."""
    path = path.partition("?")[0]
    plain = unquote_to_bytes(path).decode(errors="replace")
    dots = any(segment in (".", "..") for segment in plain.split("/"))
    if dots or "\ufffd" in plain or _TWO_READINGS.search(path):
        raise ValueError("the path can be read in two ways (dot segments, //, \\, ;, encoded / or %, no UTF-8)")
    return plain


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkEntry:
    """One entry. `scheme` "": both; `port` 0: the usual one; `path` "": every path; a last "*" of it is any end."""

    text: str
    scheme: str
    host: str | HostAddress
    below: bool
    port: int
    path: str

    @classmethod
    def of(cls, text: object) -> NetworkEntry:
        parts = _ENTRY.fullmatch(text) if isinstance(text, str) else None
        if parts is None or not isinstance(text, str) or ("://" in text and not parts[1]):
            form = '"api.example.com", "*.example.com:443/simple/*" or "https://host:8443/path"'
            raise UsageError(f"network: {text!r} is no entry; write {form}")
        try:
            scheme, below, path = (parts[1] or "").lower(), bool(parts[2]), parts[4] or ""
            host, port = host_and_port(parts[3], 0)
            if below and not isinstance(host, str):
                raise ValueError("an address has no names below it")
            path = plain_path(path)
        except ValueError as error:
            raise UsageError(f"network: {text!r}: {error}") from None
        scheme = scheme or {80: "http", 443: "https"}.get(port, "")
        return cls(text=text, scheme=scheme, host=host, below=below, port=port, path=path)

    def reaches(self, scheme: str, host: str | HostAddress, port: int) -> bool:
        """Whether some path of that server is within the entry."""
        if scheme != (self.scheme or scheme) or port != (self.port or PORTS[scheme]):
            return False
        if self.below:
            return isinstance(host, str) and host.endswith(f".{self.host}")
        return host == self.host

    def has_path(self, plain: str) -> bool:
        return plain.startswith(self.path[:-1]) if self.path.endswith("*") else plain == self.path


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkList:
    """The entries of one network."""

    entries: tuple[NetworkEntry, ...]
    text: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", ", ".join(entry.text for entry in self.entries) or "nothing")

    @classmethod
    def of(cls, texts: Iterable[object]) -> NetworkList:
        if isinstance(texts, str) or not hasattr(texts, "__iter__"):
            raise UsageError(f"network={texts!r}: give a list, as in network=[{texts!r}]")
        return cls(entries=tuple(map(NetworkEntry.of, texts)))

    def reaches(self, scheme: str, host: str | HostAddress, port: int) -> bool:
        return any(entry.reaches(scheme, host, port) for entry in self.entries)

    def refusal(self, target: HttpTarget) -> str:
        """Why a request is refused; "" where an entry allows it."""
        entries = [entry for entry in self.entries if entry.reaches(target.scheme, target.host, target.port)]
        reaching = f"this session may reach {self.text}"
        if not entries:
            return f"{target.origin} is not in network=[…]; {reaching}"
        if _STEPS.search(target.path.partition("?")[0]):
            return f"{target.url[:200]}: the path can be read in two ways (dot segments, \\, % alone); {reaching}"
        if not all(entry.path for entry in entries):
            return ""
        try:
            plain = plain_path(target.path)
        except ValueError as error:
            return f"{target.origin}{target.path[:200]}: {error}; {reaching}"
        if any(entry.has_path(plain) for entry in entries):
            return ""
        return f"{target.origin}{target.path[:200]} is not in network=[…]; {reaching}"
