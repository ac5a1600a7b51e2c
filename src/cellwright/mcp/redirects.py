"""Where a browser comes back to after a person said yes: one request to a port of this machine, then it is closed."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import AuthorizationCodeResult

from cellwright.errors import UpstreamRefused

WAIT_S = 300.0
_PAGE = b"<!doctype html><title>Cellwright</title><p>You can close this page and go back to Cellwright.</p>"
_LONGEST = 16_384


class Redirects:
    """One authorization after another. The port is listened on only while one is under way."""

    def __init__(self, port: int, open_browser: Callable[[str], Awaitable[None] | None] | None) -> None:
        self.url = f"http://127.0.0.1:{port}/callback"
        self._port = port
        self._open_browser = open_browser
        self._server: asyncio.Server | None = None
        self._came: asyncio.Future[AuthorizationCodeResult] | None = None

    async def go(self, url: str) -> None:
        """Listen, then send the person to the authorization server."""
        if self._open_browser is None:
            raise UpstreamRefused(
                "this server wants a person's yes in a browser, and nobody opens one; give OAuth(open_browser=…)"
            )
        self._came = asyncio.get_running_loop().create_future()
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        except OSError as error:
            text = f"port {self._port} for the browser's way back is taken: {error.strerror}; give OAuth(port=…)"
            raise UpstreamRefused(text) from None
        done = self._open_browser(url)
        if inspect.isawaitable(done):
            await done

    async def back(self) -> AuthorizationCodeResult:
        """What the browser brought."""
        assert self._came is not None
        assert self._server is not None
        try:
            async with asyncio.timeout(WAIT_S):
                return await self._came
        except TimeoutError:
            raise UpstreamRefused(f"nobody came back from the browser within {WAIT_S:g} s") from None
        finally:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = (await reader.readline())[:_LONGEST].decode("latin-1").split(" ")
            target = urlsplit(line[1]) if len(line) > 1 else urlsplit("")
            found = {key: values[0] for key, values in parse_qs(target.query).items()}
            fits = target.path == "/callback" and ("code" in found or "error" in found)
            body = _PAGE if fits else b""
            status = "200 OK" if fits else "404 Not Found"
            fields = f"content-type: text/html\r\ncontent-length: {len(body)}\r\nconnection: close"
            writer.write(f"HTTP/1.1 {status}\r\n{fields}\r\n\r\n".encode() + body)
            await writer.drain()
            if fits and self._came is not None and not self._came.done():
                self._settle(self._came, found)
        except (OSError, ValueError):
            pass
        finally:
            writer.close()

    def _settle(self, came: asyncio.Future[AuthorizationCodeResult], found: dict[str, str]) -> None:
        if "code" in found:
            came.set_result(AuthorizationCodeResult(code=found["code"], state=found.get("state"), iss=found.get("iss")))
        else:
            said = found.get("error_description") or found["error"]
            came.set_exception(UpstreamRefused(f"the authorization server refused: {said[:300]}"))
