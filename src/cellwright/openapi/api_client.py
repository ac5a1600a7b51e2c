"""One attempt at a request: it is sent, redirects are followed, the reply is read. Never a second attempt.

Keys are sent to the servers of the API and to no other. It knows neither operations nor when to try again. It works on
a transport of httpx2 and not on its client, which writes whole URLs to the log and keeps cookies.
"""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urljoin, urlsplit

from cellwright.connectors import Redactor
from cellwright.guard import is_inside
from cellwright.openapi.api_request import with_query
from cellwright.openapi.spec_content import is_private, origin
from cellwright.short_texts import one_line

if TYPE_CHECKING:
    import httpx2

LARGEST = 64 * 1024 * 1024
REDIRECTS = 10
BODY_TIMES = 10  # a whole body may take that many times `timeout_s`, and each piece of it `timeout_s`
_MOVED = frozenset((301, 302, 303, 307, 308))
_OWN = frozenset(("accept", "content-type", "user-agent"))  # headers that hold nothing of the API's user

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestCredentials:
    """The keys of a request: they say who calls. Never printed."""

    headers: Pairs = field(default=(), repr=False)
    query: Pairs = field(default=(), repr=False)
    cookies: Pairs = field(default=(), repr=False)

    def __bool__(self) -> bool:
        return bool(self.headers or self.query or self.cookies)


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpRequest:
    """A request with its whole URL. `keys` are for `origins`, the servers of the API."""

    method: str
    url: str
    headers: Pairs = ()
    cookies: tuple[str, ...] = ()
    body: bytes = field(default=b"", repr=False)
    keys: RequestCredentials = RequestCredentials()
    origins: frozenset[str] = frozenset()
    follow: bool = True
    asks_for_keys: bool = False  # the reply is a token endpoint's: its keys are read, and nobody else sees it


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpReply:
    """A reply. Header names are in lower case; the body is whole, decompressed, and without keys."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    url: str = field(repr=False)
    inside: bool = False  # it came from an address of a private network
    acted: bool = False  # a redirect led here after the first request was carried out: that request is not sent again


class NoReply(Exception):
    """No reply came. `sent`: the request may have reached the server. `late`: time ran out."""

    def __init__(self, text: str, *, sent: bool, late: bool = False) -> None:
        super().__init__(text)
        self.sent = sent
        self.late = late


class ReplyRefused(Exception):
    """A reply that is refused: too large, or a redirect that is not followed."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


def joined_url(base: str, link: str) -> str:
    """A link in a reply as a whole URL; "" where it is no URL."""
    try:
        return urljoin(base, link).partition("#")[0]
    except ValueError:
        return ""


def is_loopback(url: str) -> bool:
    """Whether a URL stays on this machine."""
    host = urlsplit(url).hostname or ""
    address = _address(host)
    return address.is_loopback if address is not None else host == "localhost" or host.endswith(".localhost")


class ApiClient:
    """Connections to one API. Made when the first request is sent; `close` ends them."""

    def __init__(
        self,
        redactor: Redactor,
        *,
        timeout_s: float,
        largest: int = LARGEST,
        certificate: ssl.SSLContext | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        redirects: Collection[str] = (),
    ) -> None:
        self._redactor = redactor
        self._redirects = frozenset(redirects)  # origins inside a private network to which a redirect may lead
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

    async def send(self, request: HttpRequest) -> HttpReply:
        """The reply after redirects. Raises `NoReply`, and `ReplyRefused` for a redirect that may not be followed."""
        acts, began, at_first = request.method, origin(request.url), True
        open_to = self._redirects | request.origins | {began}
        for hops in range(REDIRECTS + 1):
            acted = request.method != acts
            try:
                reply = await self._once(request)
            except NoReply as broken:
                broken.sent = broken.sent or acted
                raise
            here = origin(request.url)
            at_first = at_first if hops else reply.inside
            if reply.inside and not (at_first if here == began else here in open_to):  # by a name that looks public
                raise _led_inside("it redirected to an address", here, reply.status)
            location = reply.headers.get("location", "")
            if reply.status not in _MOVED or not location or not request.follow:
                return replace(reply, acted=acted)
            request = _redirected(request, reply.status, location, open_to)
        raise ReplyRefused(f"it redirected more than {REDIRECTS} times", 0)

    async def _once(self, request: HttpRequest) -> HttpReply:
        import httpx2

        failure: NoReply
        try:
            async with asyncio.timeout(self._timeout_s * BODY_TIMES):
                return await self._answer(request)
        except httpx2.TransportError as error:
            failure = _broken(error, self._timeout_s)
        except (httpx2.InvalidURL, httpx2.StreamError, UnicodeError) as error:
            failure = NoReply(f"a request that cannot be sent ({error})", sent=False)
        except ssl.SSLError as error:  # also in the middle of an answer
            failure = NoReply(f"the connection broke off ({error.reason or type(error).__name__})", sent=True)
        except httpx2.DecodingError:
            failure = NoReply("an answer that cannot be unpacked", sent=True)
        except TimeoutError:
            failure = NoReply(f"no whole answer within {self._timeout_s * BODY_TIMES:g} s", sent=True, late=True)
        host = urlsplit(request.url).netloc.rpartition("@")[2]
        failure.args = (self._redactor.words(f"{host}: {failure}"),)
        raise failure  # outside of the handler: the client's own error holds the keys, and must not be chained

    async def _answer(self, request: HttpRequest) -> HttpReply:
        import httpx2

        trusted = origin(request.url) in request.origins
        http_request = httpx2.Request(
            request.method,
            _with_keys(request.url, request.keys.query),
            headers=self._headers(request),
            content=request.body or None,
            extensions={"timeout": httpx2.Timeout(self._timeout_s).as_dict()},
        )
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await self._pool(request.url, trusted).handle_async_request(http_request)
        except TimeoutError:
            raise httpx2.ReadTimeout("", request=http_request) from None
        response.request = http_request
        inside = _came_from_inside(response)  # now: a connection that ends with the body has no address any more
        try:
            body = await self._body(response)
        finally:
            await response.aclose()
        return HttpReply(
            status=response.status_code,
            reason=response.reason_phrase,
            headers=dict(response.headers),
            body=body if request.asks_for_keys else self._redactor.body(body),
            url=request.url,
            inside=inside,
        )

    async def _body(self, response: httpx2.Response) -> bytes:
        found = bytearray()
        async for part in response.aiter_bytes():
            found += part
            if len(found) > self._largest:
                told = f"its answer is larger than {self._largest / 1024 / 1024:g} MB"
                raise ReplyRefused(f"{told}; ask for less of it", response.status_code)
        return bytes(found)

    def _headers(self, request: HttpRequest) -> list[tuple[bytes, bytes]]:
        cookies = "; ".join([*request.cookies, *(f"{name}={value}" for name, value in request.keys.cookies)])
        named = {name.lower(): value for name, value in (*request.headers, *request.keys.headers)}
        named.setdefault("user-agent", self._agent)
        if cookies:
            named["cookie"] = cookies
        if not request.body and request.method in ("POST", "PUT", "PATCH"):
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
        if kind == "plain":  # nothing is encrypted: the machine's certificates take long to read and are not needed
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return self.certificate or True if kind == "certificate" else True


def _with_keys(url: str, keys: Pairs) -> str:
    """The URL with keys in its query. A key that is already in the URL (of a link) is replaced."""
    if not keys:
        return url
    names = {name for name, _ in keys}
    before, _, query = url.partition("?")
    kept = [pair for pair in query.split("&") if pair and pair.partition("=")[0] not in names]
    return with_query(f"{before}?{'&'.join(kept)}" if kept else before, keys)


def _broken(error: httpx2.TransportError, timeout_s: float) -> NoReply:
    import httpx2

    words = one_line(str(error))[:200]
    match error:
        case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return NoReply(f"no connection within {timeout_s:g} s", sent=False, late=True)
        case httpx2.ConnectError() | httpx2.UnsupportedProtocol() | httpx2.LocalProtocolError():
            return NoReply(f"it cannot be reached ({words or 'no connection'})", sent=False)
        case httpx2.TimeoutException():
            return NoReply(f"no answer within {timeout_s:g} s", sent=True, late=True)
        case _:
            return NoReply(f"the connection broke off ({words or type(error).__name__})", sent=True)


def _redirected(request: HttpRequest, status: int, location: str, open_to: frozenset[str]) -> HttpRequest:
    """The request that a redirect asks for; raises `ReplyRefused` where the redirect is not followed.

    Of addresses inside a private network only the origins in `open_to` are asked: another port is another service.
    """
    url = joined_url(request.url, location)
    there, here = origin(url), origin(request.url)
    scheme = there.partition(":")[0]
    if scheme not in ("http", "https"):
        raise ReplyRefused("it redirected to no web address, which is not followed", status)
    told = f"it redirected to {there.removesuffix(':443').removesuffix(':80')}"
    if scheme == "http" and here.startswith("https:") and not is_loopback(url):
        raise ReplyRefused(f"{told}, which is not encrypted; not followed", status)
    if status == 303 or (status in (301, 302) and request.method == "POST"):
        kept = tuple((name, value) for name, value in request.headers if name.lower() != "content-type")
        request = replace(request, method="HEAD" if request.method == "HEAD" else "GET", body=b"", headers=kept)
    if there == here:
        return replace(request, url=url)
    if request.method not in ("GET", "HEAD"):
        raise ReplyRefused(f"{told}, another server; a {request.method} is not sent on", status)
    if is_private(url) and there not in open_to:
        raise _led_inside(f"{told}, an address", there, status)
    own = tuple((name, value) for name, value in request.headers if name.lower() in _OWN)
    return replace(request, url=url, headers=own, cookies=(), keys=RequestCredentials())


def _led_inside(told: str, there: str, status: int) -> ReplyRefused:
    return ReplyRefused(
        f'{told} inside a private network; not followed; redirects=["{there}"] allows that server', status
    )


def _came_from_inside(response: httpx2.Response) -> bool:
    """Whether the reply came from a private address, or from an unknown one: a public name may lead to one."""
    stream = response.extensions.get("network_stream")
    if stream is None:  # no network at all
        return False
    peer: Any = stream.get_extra_info("server_addr")
    address = _address(str(cast(tuple[Any, ...], peer)[0])) if isinstance(peer, tuple) else None
    return address is None or is_inside(address)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
