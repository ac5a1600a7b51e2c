"""An agent whose scope is full of keys, whose code looks for them, and all that is left of its run, as files.

python -m tests.guard.canary_program PLACE SEED URL [whole]
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from tests.guard import canary_world
from tests.guard.canaries import FORMS, PART, Canaries, Find
from tests.guard.canary_cells import ALL, SOME, UNCAUGHT

from cellwright import MCP, Agent, Limits, OpenAPI, Policy, PolicyRule, Runtime, Secret
from cellwright.agent import Session
from cellwright.cli import main as command
from cellwright.events import CellFinished, Event
from cellwright.models import open_model
from cellwright.sessions import Sessions
from cellwright.store import SqliteStore
from cellwright.testing import ScriptedModel, code

PROGRAM = "tests.guard.canary_program"
FAILING = (
    "vault.refuse()",
    "vault.fail()",
    "chained()",
    "shop.bearer.bearer_401()",
    "httpx2.get('/x').raise_for_status()",
    "requests.get('http://127.0.0.1:1/x')",
)
# Libraries of bound clients that write keys to their own logs (docs/security.md). Connectors use httpx2, which is read.
OTHERS = re.compile(r"botocore|urllib3|httpx$")
IN_MEMORY = ("as it is", *(form for form in FORMS if "base64" in form))
LIMITS = Limits(wall_s=60, cpu_s=60, output_kb=4096)


class Trove:
    """What came of the run, by place: one file each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.mkdir()

    def add(self, place: str, *texts: object) -> None:
        with (self._path / place).open("a", encoding="utf-8", errors="backslashreplace") as file:
            for text in texts:
                file.write(f"{text}\n")

    def error(self, place: str, error: BaseException) -> None:
        self.add(place, repr(error), str(error), vars(error), "".join(traceback.format_exception(error)))


class LogTrove(logging.Handler):
    """Every record of every logger, as it would be printed, and all that it holds."""

    def __init__(self, trove: Trove) -> None:
        super().__init__(logging.DEBUG)
        self._trove = trove
        self.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        if not OTHERS.match(record.name):
            self._trove.add("logs", self.format(record), vars(record))


def descendants(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield int(child)
            yield from descendants(int(child))


def look_at_processes(trove: Trove, keys: Canaries) -> None:
    """Command lines and environments of all processes that this one started, and the memory of those with a guest."""
    for pid in descendants(os.getpid()):
        place = Path(f"/proc/{pid}")
        words = place.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode()
        environ = place.joinpath("environ").read_bytes()
        if canary_world.SERVER in words:
            words = words.replace(keys[canary_world.ARGUMENT], "")
            environ = b"\0".join(
                one for one in environ.split(b"\0") if one.split(b"=")[0].decode() not in canary_world.GIVEN
            )
        trove.add("processes", f"{pid} {words}", environ)
        if "cellwright_guest" not in words:
            continue
        try:
            for find in memory(place, keys):
                trove.add("guest memory", f"{keys[find.canary]} {find.form}: {find.place}")
            trove.add("guest memory", f"{pid} was read")
        except PermissionError:
            trove.add("unreadable", pid)


def memory(place: Path, keys: Canaries) -> Iterator[Find]:
    with place.joinpath("mem").open("rb", buffering=0) as content:
        for line in place.joinpath("maps").read_text().splitlines():
            span, rights, *_, name = line.split(maxsplit=5) if line.count(" ") > 5 else (*line.split(), "")
            if "rw" not in rights or name.strip() in ("[vvar]", "[vsyscall]"):
                continue
            start, end = (int(one, 16) for one in span.split("-"))
            content.seek(start)
            for find in keys.within(content.read(end - start), f"{place.name} {line}", IN_MEMORY):
                if find.canary != PART:  # freed, and written over since
                    yield find


async def errors(trove: Trove, keys: Canaries, url: str, *, whole: bool) -> None:
    """What operators are told where something cannot be opened."""
    server = [sys.executable, canary_world.SERVER, "--fail", "--api-key", keys["failing argument"]]
    closed = f"ann:{keys['store password']}@127.0.0.1:1/x"
    ways: list[Callable[[], Any]] = [
        lambda: MCP.open(f"http://ann:{keys['login URL']}@127.0.0.1:1/mcp", cache=False),
        lambda: OpenAPI.open(f"http://ann:{keys['spec URL']}@127.0.0.1:1/x?sig={keys['spec query']}", cache=False),
        lambda: OpenAPI.open(canary_world.described(), credentials=keys["no source"], cache=False),
        lambda: Runtime(store=f"postgresql://{closed}?sslpassword={keys['store option']}").__aenter__(),
        lambda: Runtime(store=f"mysql://{closed}").__aenter__(),
    ]
    if whole:
        refused = Secret(keys["refused bearer"])
        ways += [
            lambda: MCP.open(server, env={"NOTES_KEY": keys["failing variable"]}, cache=False),
            lambda: MCP.open(f"{url}/mcp?token={keys['refused URL']}", auth=refused, cache=False),
            lambda: Agent(open_model("openai-chat:gpt-4o")).run("Say a word."),
            lambda: Agent(open_model("anthropic:claude-sonnet-4-5")).run("Say a word."),
        ]
    for open_it in ways:
        try:
            await open_it()
        except Exception as error:
            trove.error("errors", error)
        else:
            trove.add("unexpected", "it could be opened")


async def turn(trove: Trove, keys: Canaries, agent: Agent, model: ScriptedModel) -> None:
    looking = model.left - len(UNCAUGHT) - 1  # cells that end well, as the last does, which answers
    failing = range(looking + 1, looking + len(UNCAUGHT) + 1)

    def on_event(event: Event) -> None:
        trove.add("events", repr(event))
        if isinstance(event, CellFinished) and event.ok == (event.cell in failing):
            trove.add("unexpected", event.observation[:2000])

    async with agent.session("s1") as session:
        try:
            result = await session.run("Look for keys.", on_event=on_event)
            trove.add("results", result, vars(result) if hasattr(result, "__dict__") else "")
        except Exception as error:
            trove.error("errors", error)
            trove.add("unexpected", error)
        look_at_processes(trove, keys)
        await outcomes(trove, session)
    for request in model.requests:
        trove.add("requests", repr(request))


async def outcomes(trove: Trove, session: Session) -> None:
    runtime = session.runtime
    for cell in FAILING:
        outcome = await runtime.execute(cell)
        trove.add("results", repr(outcome), str(outcome))
        if outcome.error is None:
            trove.add("unexpected", f"{cell} did not fail")
        else:
            trove.error("errors", outcome.error)
    for name, _ in runtime.scope.names():
        trove.add("stubs", await runtime.show(name, budget=20_000))
    for hit in await runtime.search("key token password", limit=50):
        trove.add("stubs", hit)
    await runtime.write_stubs()
    for file in await runtime.files.list():
        if not file.is_dir:
            trove.add("workspace", file.path, await runtime.files.read(file.path))


async def main(place: Path, seed: str, url: str, *, whole: bool) -> None:
    keys, trove = Canaries(seed), Trove(place / "trove")
    logging.basicConfig(level=logging.DEBUG, handlers=[LogTrove(trove)])
    store = SqliteStore(place / "agents.db")
    model = ScriptedModel(*map(code, ALL if whole else SOME), code("done('looked')"))
    async with AsyncExitStack() as stack:
        bound = await canary_world.scope(keys, url, stack, whole=whole)
        agent = Agent(
            model,
            scope=bound,
            store=store,
            audit=place / "audit",
            limits=LIMITS,
            check="off",
            flow="warn",
            policy=Policy(rules=(PolicyRule(operation="called", action="ask"),)),
            approve=lambda wanted: trove.add("questions", repr(wanted)) is None,
            say=lambda line: trove.add("logs", line),
        )
        child = control(trove, keys)
        stack.callback(child.wait)
        stack.callback(child.kill)
        await turn(trove, keys, agent, model)
        await errors(trove, keys, url, whole=whole)
    trove.add("rows", *Sessions(store).chat("s1"), repr(store.entries("s1")))
    sys.argv = [
        "cellwright",
        "sessions",
        "export",
        "s1",
        str(place / "export"),
        "--store",
        f"sqlite:///{place}/agents.db",
    ]
    command()
    (place / "names").write_text("\n".join(keys.names))


def control(trove: Trove, keys: Canaries) -> subprocess.Popen[bytes]:
    """Tell one key at the places to which no guest code leads; in the process list, until the child is ended."""
    key = keys[canary_world.CONTROL]
    logging.getLogger("control").debug("a key: %s", key)
    trove.error("errors", ValueError(key))
    print(key)
    print(key, file=sys.stderr)
    Path(tempfile.gettempdir(), "control").write_text(key)
    return subprocess.Popen([sys.executable, "-c", "input()", key], stdin=subprocess.PIPE, env={})


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], whole="whole" in sys.argv))
