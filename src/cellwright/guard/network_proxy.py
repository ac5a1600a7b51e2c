"""One connection of a guest's client with the proxy: each HTTP request that comes in becomes one call of the guest.

The proxy parses, ends TLS, and refuses what is no request. Whether a request may be made, the call decides.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from cellwright.doors import Answer
from cellwright.errors import CallLimit, GuestGone
from cellwright.guard.host_network import NAME
from cellwright.guard.network import Network
from cellwright.guard.network_list import PORTS, HttpTarget, host_and_port, http_target
from cellwright.guard.session_authority import SessionAuthority
from cellwright.guard.upstream_connection import (
    HEAD_BYTES,
    MOST_HEADERS,
    MOST_PIECES,
    PIECE,
    SAFE,
    TURN,
    HttpAnswer,
    HttpHeaders,
    end_to_end,
)
from cellwright.short_texts import one_line, printable
from cellwright_guest.packer import Packer, plain
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import Bounds, Packed, WireError

IDLE_S = 60.0
HANDSHAKE_S = 10.0
LINGER_S = 2.0
_FIRST_LINE = re.compile(rb"[A-Z][A-Z-]{0,31} [!-~]+ HTTP/([0-9]\.[0-9])\r\n")
_REASON = 400  # characters


class _Unfit(Exception):
    """What came is no request for this proxy, or the call was refused: `status` and one line for the guest's client."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


@dataclass(frozen=True, kw_only=True, slots=True)
class GuestRequest:
    """A request as a guest's client made it."""

    method: str
    url: str
    headers: HttpHeaders
    body: bytes

    @property
    def operation(self) -> str:
        return "fetch" if self.method in (*SAFE, "CONNECT") and not self.body else "send"

    @property
    def arguments(self) -> Packed:
        headers = end_to_end(self.headers)
        given = (self.url, headers, self.method), (self.method, self.url, headers, self.body)
        return Packer(plain).packed(given[self.operation == "send"])

    @property
    def key(self) -> str:
        # with the headers: requests of two threads for parts of one file come in any order
        given = repr((self.url, end_to_end(self.headers))).encode() + b"\n"
        digest = hashlib.sha256(given + self.body).hexdigest()
        return f"{self.method}:{digest[:16]}"


Ask = Callable[[GuestRequest], Awaitable[Answer]]
"""Makes the call for a request."""


class ProxyConnection:
    """One connection of a guest's client."""

    def __init__(
        self,
        network: Network,
        authority: SessionAuthority,
        ask: Ask,
        slots: asyncio.Semaphore,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        import h11

        self._h11: Any = h11
        self._network = network
        self._authority = authority
        self._ask = ask
        self._slots = slots  # of the guest's requests: each holds two bodies
        self._reader = reader
        self._writer = writer
        self._http: Any = None
        self._tunnel: HttpTarget | None = None  # what the client asked to be connected with

    async def run(self, refused: str = "") -> None:
        """Answer request after request, until either side ends it. `refused`: why none is answered."""
        try:
            if refused:
                raise _Unfit(503, refused)
            while (head := await self._head()) and await self._serve(head):
                pass
        except _Unfit as error:
            await self._refuse(error)
        except (self._h11.RemoteProtocolError, asyncio.LimitOverrunError) as error:
            await self._refuse(_Unfit(400, f"this is no valid HTTP request ({one_line(str(error))})"))

    async def _head(self) -> bytes:
        """The next request's head, read strictly; b"" where no more comes."""
        try:
            async with asyncio.timeout(IDLE_S):
                head = await self._reader.read(1)
                if not head:
                    return head
                if not b"A" <= head <= b"Z":
                    raise _Unfit(400, "this is no HTTP; only HTTP and HTTPS leave this session")
                head += await self._reader.readuntil(b"\n")
                first = _FIRST_LINE.fullmatch(head)
                if first is None:
                    raise _Unfit(400, "this is no HTTP; only HTTP and HTTPS leave this session")
                if first[1] not in (b"1.1", b"1.0"):
                    raise _Unfit(505, f"HTTP/{first[1].decode()} is not spoken here; use HTTP/1.1")
                for _ in range(MOST_HEADERS + 1):
                    line = await self._reader.readuntil(b"\n")
                    head += line
                    if line == b"\r\n":
                        return head
                    if line[:1] in b" \t" or line[-2:] != b"\r\n" or len(head) > HEAD_BYTES:
                        raise _Unfit(400, "a header is folded, has no end of line, or is too long")
                raise _Unfit(400, f"the request has more than {MOST_HEADERS} headers")
        except TimeoutError:
            return b""

    async def _serve(self, head: bytes) -> bool:
        """Answer the request of this head. Whether another may follow."""
        self._http = self._h11.Connection(self._h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        self._http.receive_data(head)
        event = self._http.next_event()
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers]
        method, target = event.method.decode(), event.target.decode()
        if method == "CONNECT" and self._tunnel is None:
            await self._connect(target, headers)
            return True
        names = {name for name, _ in headers}
        if "upgrade" in names:
            raise _Unfit(501, "WebSocket and other upgrades do not leave this session")
        if {"content-length", "transfer-encoding"} <= names:
            raise _Unfit(400, "the request has two lengths: Content-Length and Transfer-Encoding")
        url = self._url(target, headers)
        async with self._slots:
            request = GuestRequest(method=method, url=url, headers=headers, body=await self._body())
            await self._reply(method, await self._asked(request))
        done = self._h11.DONE
        return self._http.our_state is done and self._http.their_state is done and not self._http.trailing_data[0]

    async def _connect(self, authority: str, headers: HttpHeaders) -> None:
        """Let the client speak TLS with this proxy in the place of a server, if the list has the server."""
        try:
            host, port = host_and_port(authority, 0)
        except ValueError as error:
            raise _Unfit(400, f"CONNECT {authority[:200]}: {error}") from None
        target = HttpTarget(scheme="https", host=host, port=port)
        self._check_host(target, headers)
        if not self._network.allowed.reaches("https", host, port):
            request = GuestRequest(method="CONNECT", url=f"{target.origin}/", headers=[], body=b"")
            await self._asked(request)  # the call refuses it, so that the audit and the journal have it
            raise _Unfit(403, f"{target.origin} is not in network=[…]")
        self._send(self._h11.Response(status_code=200, headers=[], reason=b"Connection established"))
        await self._writer.start_tls(self._authority.context(host), ssl_handshake_timeout=HANDSHAKE_S)
        self._tunnel = target

    def _url(self, target: str, headers: HttpHeaders) -> str:
        if self._tunnel is not None and not target.startswith("/"):
            raise _Unfit(400, f"{target[:200]!r} is no path")
        try:
            asked = http_target(target if self._tunnel is None else f"{self._tunnel.origin}{target}")
        except ValueError as error:
            raise _Unfit(400, f"{target[:200]!r} is no URL for a proxy: {error}") from None
        self._check_host(asked, headers)
        return asked.url

    def _check_host(self, target: HttpTarget, headers: HttpHeaders) -> None:
        """The header `Host`, where there is one, names the same server: other software may go by it."""
        for name, value in headers:
            try:
                if name == "host" and host_and_port(value, PORTS[target.scheme]) != (target.host, target.port):
                    raise ValueError("another server is asked")
            except ValueError as error:
                raise _Unfit(400, f"the header Host is {value[:200]!r}, and {target.authority}: {error}") from None

    async def _body(self) -> bytes:
        body, most = bytearray(), self._network.body_bytes
        try:
            async with asyncio.timeout(self._network.timeout_s):
                for pieces in range(1, MOST_PIECES):
                    if pieces % TURN == 0:
                        await asyncio.sleep(0)
                    event = self._http.next_event()
                    if event is self._h11.NEED_DATA:
                        if self._http.they_are_waiting_for_100_continue:
                            self._send(self._h11.InformationalResponse(status_code=100, headers=[]))
                        self._http.receive_data(await self._reader.read(PIECE))
                    elif type(event) is self._h11.Data:
                        body += event.data
                        if len(body) > most:
                            raise _Unfit(413, f"the request's body has more than body_mb={most / (1 << 20):g}")
                    else:
                        return bytes(body)
        except TimeoutError:
            raise _Unfit(408, "the request's body did not come in time") from None
        raise _Unfit(413, f"the request's body comes in more than {MOST_PIECES:,} pieces; send larger ones")

    async def _asked(self, request: GuestRequest) -> HttpAnswer:
        """What the call gave; raises `_Unfit` where it failed."""
        try:
            answer = await self._ask(request)
        except (CallLimit, GuestGone) as error:
            raise _Unfit(503, str(error)) from None
        if answer.failed:
            raise _failure(answer)
        value = _value(answer.value)
        match value:
            case (int() as status, str() as reason, [*headers], bytes() as body):
                return status, reason, headers, body
            case _:
                raise _Unfit(502, f"{NAME}.{request.operation} gave no HTTP answer")

    async def _reply(self, method: str, answer: HttpAnswer) -> None:
        status, reason, given, body = answer
        headers = end_to_end(given)
        if method == "HEAD":
            headers += [pair for pair in given if pair[0].lower() == "content-length"]
        elif status not in (204, 304):
            headers.append(("Content-Length", str(len(body))))
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        try:
            self._send(self._h11.Response(status_code=status, headers=encoded, reason=reason.encode("latin-1")))
        except self._h11.LocalProtocolError as error:
            raise _Unfit(502, f"the answer cannot be given to the client ({error})") from None
        if body and method != "HEAD" and status not in (204, 304):
            self._send(self._h11.Data(data=body))
        self._send(self._h11.EndOfMessage())
        async with asyncio.timeout(self._network.timeout_s):
            await self._writer.drain()

    async def _refuse(self, error: _Unfit) -> None:
        """One line, in the reason too: of a refused CONNECT clients show nothing else."""
        line = printable(one_line(f"cellwright: {error}").replace("…", "...")).encode("latin-1", "replace")
        head = b"HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Length: %d\r\n"
        self._writer.write(head % (error.status, line[:_REASON], len(line)) + b"Connection: close\r\n\r\n" + line)
        async with asyncio.timeout(LINGER_S):  # a client that still sends would lose the answer if this side closed
            while await self._reader.read(PIECE):
                pass

    def _send(self, event: Any) -> None:
        self._writer.write(self._http.send(event) or b"")


def _value(packed: Packed) -> Any:
    def other(tag: str, body: Any, unpacker: Unpacker) -> Any:
        raise WireError(f"a value of the kind {tag!r:.20} in an HTTP answer")

    try:
        return Unpacker(packed.blobs, other, Bounds()).unpack(packed.tree)
    except WireError:
        return None


def _failure(answer: Answer) -> _Unfit:
    """A failed call as an HTTP error: its own `status`, where the exception has one."""
    kind, _, attributes, text = answer.value.tree["E"]
    named: dict[str, Any] = _value(Packed(attributes, answer.value.blobs)) or {}
    status = named.get("status")
    if type(status) is not int or not 400 <= status <= 599:
        status = 504 if kind == "TimeoutError" else 403
    return _Unfit(status, text)
