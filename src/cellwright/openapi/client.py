"""One attempt at a request: sent, redirects followed, the answer read within its bounds. Never a second attempt.

Keys go along to the servers of the API and to no other. It knows neither operations nor when to try again. It works on
a transport of httpx2 and not on its client, which writes whole URLs to the log and keeps cookies.
"""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urljoin, urlsplit

from cellwright.connectors import Redactor
from cellwright.openapi.fetching import is_private
from cellwright.openapi.requests import with_query

if TYPE_CHECKING:
    import httpx2

LARGEST = 64 * 1024 * 1024
REDIRECTS = 10
BODY_TIMES = 10  # a whole body may take that many times `timeout_s`, and each piece of it `timeout_s`
_MOVED = frozenset((301, 302, 303, 307, 308))
_OWN = frozenset(("accept", "content-type", "user-agent"))  # headers that hold nothing of the API's user

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Keys:
    """What says who asks. Never printed."""

    headers: Pairs = field(default=(), repr=False)
    query: Pairs = field(default=(), repr=False)
    cookies: Pairs = field(default=(), repr=False)

    def __bool__(self) -> bool:
        return bool(self.headers or self.query or self.cookies)


@dataclass(frozen=True, kw_only=True, slots=True)
class Wired:
    """A request with its whole URL. `keys` are for `origins`, the servers of the API."""

    method: str
    url: str
    headers: Pairs = ()
    cookies: tuple[str, ...] = ()
    body: bytes = field(default=b"", repr=False)
    keys: Keys = Keys()
    origins: frozenset[str] = frozenset()
    follow: bool = True
    asks_for_keys: bool = False  # the answer is read for the keys in it, and goes nowhere


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrived:
    """An answer. Header names are in lower case; the body is whole, unpacked, and without keys."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    url: str = field(repr=False)
    inside: bool = False  # it came from an address that only our own network knows
    acted: bool = False  # it is where a request led that had done its work: that one is not sent again


class Broken(Exception):
    """No answer came. `sent`: the request may have reached the server. `late`: time ran out."""

    def __init__(self, text: str, *, sent: bool, late: bool = False) -> None:
        super().__init__(text)
        self.sent = sent
        self.late = late


class NotTaken(Exception):
    """An answer that is not taken: too large, or a redirect that is not followed."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


def origin(url: str) -> str:
    """Scheme, host and port of a URL, as one text to compare; "" where it has none."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme.lower(), 0)
    except ValueError:
        return ""
    return f"{parts.scheme.lower()}://{parts.hostname}:{port}" if parts.hostname else ""


def joined(base: str, link: str) -> str:
    """A link of an answer as a whole URL; "" where it is none."""
    try:
        return urljoin(base, link).partition("#")[0]
    except ValueError:
        return ""


def is_loopback(url: str) -> bool:
    """Whether a URL stays on this machine."""
    host = urlsplit(url).hostname or ""
    address = _address(host)
    return address.is_loopback if address is not None else host == "localhost" or host.endswith(".localhost")


class Client:
    """Connections to one API. Made when the first request is sent; `close` ends them."""

    def __init__(
        self,
        redactor: Redactor,
        *,
        timeout_s: float,
        largest: int = LARGEST,
        certificate: ssl.SSLContext | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._redactor = redactor
        self._timeout_s = timeout_s
        self._largest = largest
        self._given = transport
        self._pools: dict[str, httpx2.AsyncBaseTransport] = {}
        self._agent = f"cellwright/{version('cellwright')}"
        self._closed = False
        self.certificate = certificate  # shown to the API's own servers alone

    async def close(self) -> None:
        self._closed = True
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            await pool.aclose()

    async def send(self, wired: Wired) -> Arrived:
        """The answer, after redirects. `Broken` where none came, `NotTaken` where it may not be followed."""
        acts, inside = wired.method, True
        for _ in range(REDIRECTS + 1):
            acted = wired.method != acts
            try:
                arrived = await self._once(wired)
            except Broken as broken:
                broken.sent = broken.sent or acted
                raise
            if arrived.inside and not inside:
                raise NotTaken("it redirected to an address inside a private network; not followed", arrived.status)
            inside = arrived.inside
            location = arrived.headers.get("location", "")
            if arrived.status not in _MOVED or not location or not wired.follow:
                return replace(arrived, acted=acted)
            wired = _redirected(wired, arrived.status, location)
        raise NotTaken(f"it redirected more than {REDIRECTS} times", 0)

    async def _once(self, wired: Wired) -> Arrived:
        import httpx2

        failure: Broken
        try:
            async with asyncio.timeout(self._timeout_s * BODY_TIMES):
                return await self._answer(wired)
        except httpx2.TransportError as error:
            failure = _broken(error, self._timeout_s)
        except (httpx2.InvalidURL, httpx2.StreamError, UnicodeError) as error:
            failure = Broken(f"a request that cannot be sent ({error})", sent=False)
        except ssl.SSLError as error:  # also in the middle of an answer
            failure = Broken(f"the connection broke off ({error.reason or type(error).__name__})", sent=True)
        except httpx2.DecodingError:
            failure = Broken("an answer that cannot be unpacked", sent=True)
        except TimeoutError:
            failure = Broken(f"no whole answer within {self._timeout_s * BODY_TIMES:g} s", sent=True, late=True)
        host = urlsplit(wired.url).netloc.rpartition("@")[2]
        failure.args = (self._redactor.text(f"{host}: {failure}"),)
        raise failure  # outside of the handler: the client's own error holds the keys, and is left behind

    async def _answer(self, wired: Wired) -> Arrived:
        import httpx2

        trusted = origin(wired.url) in wired.origins
        request = httpx2.Request(
            wired.method,
            _with_keys(wired.url, wired.keys.query),
            headers=self._headers(wired),
            content=wired.body or None,
            extensions={"timeout": httpx2.Timeout(self._timeout_s).as_dict()},
        )
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await self._pool(wired.url, trusted).handle_async_request(request)
        except TimeoutError:
            raise httpx2.ReadTimeout("", request=request) from None
        response.request = request
        try:
            body = await self._body(response)
        finally:
            await response.aclose()
        return Arrived(
            status=response.status_code,
            reason=response.reason_phrase,
            headers=dict(response.headers),
            body=body if wired.asks_for_keys else self._redactor.body(body),
            url=wired.url,
            inside=_came_from_inside(response),
        )

    async def _body(self, response: httpx2.Response) -> bytes:
        found = bytearray()
        async for part in response.aiter_bytes():
            found += part
            if len(found) > self._largest:
                told = f"its answer is larger than {self._largest / 1024 / 1024:g} MB"
                raise NotTaken(f"{told}; ask for less of it", response.status_code)
        return bytes(found)

    def _headers(self, wired: Wired) -> list[tuple[bytes, bytes]]:
        cookies = "; ".join([*wired.cookies, *(f"{name}={value}" for name, value in wired.keys.cookies)])
        named = {name.lower(): value for name, value in (*wired.headers, *wired.keys.headers)}
        named.setdefault("user-agent", self._agent)
        if cookies:
            named["cookie"] = cookies
        if not wired.body and wired.method in ("POST", "PUT", "PATCH"):
            named["content-length"] = "0"
        return [(name.encode("ascii"), value.encode("utf-8")) for name, value in named.items()]

    def _pool(self, url: str, trusted: bool) -> httpx2.AsyncBaseTransport:
        import httpx2

        if self._closed:
            raise httpx2.ConnectError("the connector is closed")
        kind = "given" if self._given is not None else "plain"
        if kind == "plain" and url.startswith("https:"):
            kind = "certificate" if trusted and self.certificate is not None else "tls"
        if kind not in self._pools:
            self._pools[kind] = self._given or httpx2.AsyncHTTPTransport(verify=self._verify(kind), trust_env=False)
        return self._pools[kind]

    def _verify(self, kind: str) -> ssl.SSLContext | bool:
        if kind == "plain":  # nothing is encrypted there: without the machine's authorities, which take long to read
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return self.certificate or True if kind == "certificate" else True


def _with_keys(url: str, keys: Pairs) -> str:
    """The URL with keys in its query. Where an API's link brings one along, ours stands in its place."""
    if not keys:
        return url
    names = {name for name, _ in keys}
    before, _, query = url.partition("?")
    kept = [pair for pair in query.split("&") if pair and pair.partition("=")[0] not in names]
    return with_query(f"{before}?{'&'.join(kept)}" if kept else before, keys)


def _broken(error: httpx2.TransportError, timeout_s: float) -> Broken:
    import httpx2

    words = " ".join(str(error).split())[:200]
    match error:
        case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return Broken(f"no connection within {timeout_s:g} s", sent=False, late=True)
        case httpx2.ConnectError() | httpx2.UnsupportedProtocol() | httpx2.LocalProtocolError():
            return Broken(f"it cannot be reached ({words or 'no connection'})", sent=False)
        case httpx2.TimeoutException():
            return Broken(f"no answer within {timeout_s:g} s", sent=True, late=True)
        case _:
            return Broken(f"the connection broke off ({words or type(error).__name__})", sent=True)


def _redirected(wired: Wired, status: int, location: str) -> Wired:
    """The request that a redirect asks for; `NotTaken` for one that is not followed."""
    url = joined(wired.url, location)
    there, here = origin(url), origin(wired.url)
    scheme = there.partition(":")[0]
    if scheme not in ("http", "https"):
        raise NotTaken("it redirected to no web address, which is not followed", status)
    told = f"it redirected to {there.removesuffix(':443').removesuffix(':80')}"
    if scheme == "http" and here.startswith("https:") and not is_loopback(url):
        raise NotTaken(f"{told}, which is not encrypted; not followed", status)
    if status == 303 or (status in (301, 302) and wired.method == "POST"):
        kept = tuple((name, value) for name, value in wired.headers if name.lower() != "content-type")
        wired = replace(wired, method="HEAD" if wired.method == "HEAD" else "GET", body=b"", headers=kept)
    if there == here:
        return replace(wired, url=url)
    if wired.method not in ("GET", "HEAD"):
        raise NotTaken(f"{told}, another server; a {wired.method} is not sent on", status)
    if is_private(url) and not is_private(wired.url):
        raise NotTaken(f"{told}, an address inside a private network; not followed", status)
    own = tuple((name, value) for name, value in wired.headers if name.lower() in _OWN)
    return replace(wired, url=url, headers=own, cookies=(), keys=Keys())


def _came_from_inside(response: httpx2.Response) -> bool:
    """Whether the address at the other end is none of the internet's: a name may lead anywhere."""
    stream = response.extensions.get("network_stream")
    peer: Any = stream.get_extra_info("server_addr") if stream is not None else None
    address = _address(str(cast(tuple[Any, ...], peer)[0])) if isinstance(peer, tuple) else None
    return address is not None and not address.is_global


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
