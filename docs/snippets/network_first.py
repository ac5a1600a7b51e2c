import asyncio

import cellwright


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server of this example."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ntea\n")
    await writer.drain()
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    # shown:
    async with cellwright.Runtime(network=[f"http://127.0.0.1:{port}/menu/*"]) as rt:
        for path in ("menu/today", "admin"):
            code = f"import urllib.request\nurllib.request.urlopen('http://127.0.0.1:{port}/{path}').read()"
            outcome = await rt.execute(code)
            last = outcome.value if outcome.ok else str(outcome.error).splitlines()[-1]
            print(str(last).replace(str(port), "8080"), [call.name for call in outcome.calls])
    # end
    server.close()


cellwright.run(main())
