"""The image as it is deployed: the gateway over HTTP until it is healthy, one `execute` by a client, and its end."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

START_S = 60.0


def served(prefix: tuple[str, ...], image: str, flags: tuple[str, ...], stage: Path) -> tuple[float, float]:
    """Seconds until it is healthy, and until it has ended after `stop`. Raises `AssertionError` with what it said."""
    from tests.container.engines import run

    name = f"cellwright-served-{time.time_ns()}"
    volumes = ["-v", f"{stage}:/src:ro", "-v", f"{stage}/served:/etc/cellwright:ro"]
    volumes += ["-v", f"{stage}/served/tokens:/run/secrets/tokens:ro"]
    began = time.monotonic()
    run([*prefix, "run", "-d", "--name", name, "--network", "none", "--health-interval", "1s", *flags, *volumes, image])
    try:
        while (state := run([*prefix, "inspect", "--format", "{{.State.Health.Status}}", name]).strip()) != "healthy":
            assert time.monotonic() < began + START_S, f"{state}: {run([*prefix, 'logs', name])[-1000:]}"
            time.sleep(0.1)
        healthy = time.monotonic() - began
        said = run([*prefix, "exec", name, "python3", "/src/tests/container/serving.py"])
        assert json.loads(said)["value"] == 11, said
        began = time.monotonic()
        run([*prefix, "stop", name])
        return healthy, time.monotonic() - began
    finally:
        subprocess.run([*prefix, "rm", "-f", name], capture_output=True, timeout=60)


async def call() -> object:
    """In the container, beside the gateway."""
    import httpx2
    from mcp.client import Client
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {'t' * 16}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client("http://127.0.0.1:8765/mcp", http_client=http)
        async with Client(transport) as client:
            return (await client.call_tool("execute", {"code": "stock.take('tea')"})).structured_content


if __name__ == "__main__":
    sys.exit(print(json.dumps(asyncio.run(call()))))
