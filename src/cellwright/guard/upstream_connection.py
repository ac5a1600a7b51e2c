"""Connections to servers at addresses that were checked: requests go out one by one, answers are read whole.

Nothing is followed, decompressed or remembered here. What was sent is not sent again, but for a request that only reads
and was sent on a connection that had ended meanwhile.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

from cellwright.errors import RequestRefused, UpstreamError
from cellwright.guard.network import Network
from cellwright.guard.network_list import HttpTarget
from cellwright.short_texts import one_line

HttpHeaders = list[tuple[str, str]]
HttpAnswer = tuple[int, str, HttpHeaders, bytes]
"""Status, reason, headers and body."""

SAFE = ("GET", "HEAD", "OPTIONS")
AT_ONCE = 16  # requests of one session: each holds two bodies
KEPT, KEPT_S = 16, 15.0  # connections that wait for another request, and how long each does
HEAD_BYTES = 1 << 16
PIECE = 1 << 16
MOST_HEADERS = 256
# Each piece of a body takes microseconds of the loop, which other sessions share, even if it has one byte.
MOST_PIECES, TURN = 200_000, 64  # pieces of one body; those that are read before others have a turn
_HOP = frozenset(
    "connection keep-alive te trailer transfer-encoding upgrade content-length host expect alt-svc".split()
)


def end_to_end(headers: HttpHeaders) -> HttpHeaders:
    """The headers that are meant for the other end: no matter of this connection, nothing for or of a proxy."""
    named = {
        part.strip().lower() for name, value in headers if name.lower() == "connection" for part in value.split(",")
    }
    away = _HOP | named
    return [(n, v) for n, v in headers if n.lower() not in away and not n.lower().startswith("proxy-")]


class UpstreamConnection:
    """HTTP/1.1 with one server. `keeps`: another request may follow."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        import h11

        self._reader = reader
        self._writer = writer
        self._http: Any = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
        self.began = False  # an answer to the request under way has begun to arrive

    @classmethod
    async def to(cls, target: HttpTarget, addresses: list[str], tls: ssl.SSLContext | None) -> UpstreamConnection:
        """A connection to the first address that takes one. The certificate is verified for the target's name."""
        more: dict[str, Any] = {} if tls is None else {"ssl": tls, "server_hostname": str(target.host)}
        for address in addresses[:-1]:
            try:
                return cls(*await asyncio.open_connection(address, target.port, **more))
            except ssl.SSLError:
                raise
            except OSError:
                continue
        return cls(*await asyncio.open_connection(addresses[-1], target.port, **more))

    @property
    def keeps(self) -> bool:
        return not self._reader.at_eof() and not self._writer.is_closing()

    async def is_quiet(self) -> bool:
        """Whether nothing came since the last answer, nor the end: it would be taken for the next answer."""
        try:
            async with asyncio.timeout(0):
                await self._reader.read(1)
        except TimeoutError:
            return not self._http.trailing_data[0]
        except OSError:
            pass
        return False

    def close(self) -> None:
        self._writer.transport.abort()

    async def exchange(
        self, method: str, target: HttpTarget, headers: HttpHeaders, body: bytes, most: int
    ) -> HttpAnswer:
        """The answer to one request. `most`: bytes that its body may have."""
        import h11

        self.began = False
        length = [("Content-Length", str(len(body)))] if body or method in ("POST", "PUT", "PATCH") else []
        try:
            pairs = [("Host", target.authority), *headers, *length]
            sent = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
            request = h11.Request(method=method, target=target.path, headers=sent)
            pieces = [self._http.send(request), self._http.send(h11.Data(data=body)) if body else b""]
            self._writer.writelines([*pieces, self._http.send(h11.EndOfMessage())])
        except h11.LocalProtocolError as error:
            raise RequestRefused(f"the request is no HTTP: {error}", status=400) from None
        try:
            await self._writer.drain()
            answer = await self._answer(target, most)
        except h11.RemoteProtocolError as error:
            raise UpstreamError(
                f"{target.origin} gave no valid HTTP answer ({one_line(str(error))})", status=502
            ) from None
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        else:
            self.close()
        return answer

    async def _answer(self, target: HttpTarget, most: int) -> HttpAnswer:
        import h11

        response, body = None, bytearray()
        for pieces in range(1, MOST_PIECES):
            if pieces % TURN == 0:
                await asyncio.sleep(0)
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                piece = await self._reader.read(PIECE)
                self.began = self.began or bool(piece)
                self._http.receive_data(piece)
            elif type(event) is h11.Response:
                response = event
                if len(event.headers) > MOST_HEADERS:
                    break
            elif type(event) is h11.Data:
                body += event.data
                if len(body) > most:
                    raise UpstreamError(f"{target.origin} answers with more than {most:,} bytes", status=502)
            elif type(event) is h11.EndOfMessage and response is not None:
                headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers]
                return response.status_code, response.reason.decode("latin-1"), headers, bytes(body)
            elif type(event) is not h11.InformationalResponse:
                raise h11.RemoteProtocolError("the connection ended before the answer did")
        raise UpstreamError(f"{target.origin} answers in too many headers or pieces", status=502)


class UpstreamPool:
    """The connections of one session. Each request is bounded in time and size; what fails raises `UpstreamError`."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._kept: dict[str, tuple[UpstreamConnection, asyncio.TimerHandle]] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def request(self, method: str, target: HttpTarget, headers: HttpHeaders, body: bytes) -> HttpAnswer:
        timeout_s = self._network.timeout_s
        try:
            async with self._slots, asyncio.timeout(timeout_s):
                return await self._exchanged(method, target, headers, body)
        except RequestRefused:
            raise
        except TimeoutError:
            raise UpstreamError(f"{target.origin} gave no whole answer within {timeout_s:g} s", status=504) from None
        except ssl.SSLError as error:
            words = one_line(getattr(error, "verify_message", "") or error.reason or "no handshake")
            raise UpstreamError(f"TLS with {target.origin} failed ({words})", status=502) from None
        except OSError as error:
            words = one_line(error.strerror or type(error).__name__)
            raise UpstreamError(f"{target.origin} cannot be reached ({words})", status=502) from None

    def close(self) -> None:
        for origin in list(self._kept):
            self._drop(origin)

    async def _exchanged(self, method: str, target: HttpTarget, headers: HttpHeaders, body: bytes) -> HttpAnswer:
        kept = self._kept.pop(target.origin, None) if method in SAFE and not body else None
        if kept is not None:
            kept[1].cancel()
            try:
                if await kept[0].is_quiet():
                    return await self._on(kept[0], method, target, headers, body)
            except (OSError, UpstreamError):
                if kept[0].began:
                    raise
            kept[0].close()
        addresses = await self._network.addresses(target.host)
        tls = await asyncio.to_thread(self._network.tls) if target.scheme == "https" else None
        connection = await UpstreamConnection.to(target, addresses, tls)
        return await self._on(connection, method, target, headers, body)

    async def _on(
        self, connection: UpstreamConnection, method: str, target: HttpTarget, headers: HttpHeaders, body: bytes
    ) -> HttpAnswer:
        try:
            answer = await connection.exchange(method, target, headers, body, self._network.body_bytes)
        except BaseException:
            connection.close()
            raise
        if connection.keeps and target.origin not in self._kept and len(self._kept) < KEPT:
            timer = asyncio.get_running_loop().call_later(KEPT_S, self._drop, target.origin)
            self._kept[target.origin] = connection, timer
        else:
            connection.close()
        return answer

    def _drop(self, origin: str) -> None:
        connection, timer = self._kept.pop(origin)
        timer.cancel()
        connection.close()
