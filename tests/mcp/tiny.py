"""A server in plain Python that starts at once and behaves badly on request: how is in its first argument.

good      answers
stays     ignores the end of its input, and SIGTERM
noisy     prints what is no message, before and between
dies      ends at once, with last words
mute      never answers
cut       answers half a message, then ends
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

HOW = sys.argv[1] if len(sys.argv) > 1 else "good"
TOOLS = [
    {"name": "pid", "inputSchema": {"type": "object"}, "description": "Its process."},
    {"name": "end", "inputSchema": {"type": "object"}, "description": "Ends it."},
    {
        "name": "end-safely",
        "inputSchema": {"type": "object", "properties": {"marks": {"type": "string"}}, "required": ["marks"]},
        "annotations": {"idempotentHint": True},
    },
    {"name": "strange", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "required": ["a"]}},
    {"name": "pid", "inputSchema": {"type": "object"}, "description": "The same once more."},
    {"name": "broken", "inputSchema": "none"},
    {
        "name": "odd",
        "inputSchema": {"type": "object", "properties": {"self": {}, "class": {"type": "array"}, "a b": 3}},
    },
]


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    method: str = asked.get("method", "")
    params: dict[str, Any] = asked.get("params") or {}
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}, "logging": {}},
            "serverInfo": {"name": "tiny", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return called(params["name"], params.get("arguments") or {})
    return {}


def called(name: str, given: dict[str, Any]) -> dict[str, Any]:
    if name == "end":
        os._exit(4)
    if name == "end-safely":
        with open(given["marks"], "a") as marks:
            marks.write("x")
        if os.path.getsize(given["marks"]) < 2:
            os._exit(5)
    if name == "strange":
        return {"content": [], "structuredContent": {"b": 1}}
    text = json.dumps(given) if name == "odd" else str(os.getpid())
    return {"content": [{"type": "text", "text": text}]}


def main() -> None:
    if HOW == "dies":
        sys.exit("cannot find my configuration")
    if HOW == "stays":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if HOW == "noisy":
        print("Welcome to this server!", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if HOW == "mute" or "id" not in asked:
            continue
        if HOW == "noisy":
            print("thinking about", asked.get("method"), flush=True)
        if asked.get("method") == "server/discover":
            error = {"code": -32601, "message": "Method not found"}
            say({"jsonrpc": "2.0", "id": asked["id"], "error": error})
        elif HOW == "cut" and asked.get("method") == "tools/call":
            sys.stdout.write('{"jsonrpc": "2.0", "id"')
            sys.stdout.flush()
            os._exit(0)
        else:
            say({"jsonrpc": "2.0", "id": asked["id"], "result": answer(asked)})
    while HOW == "stays":
        time.sleep(60)


main()
