"""`check_sandbox`: tries every promise of the `Sandbox` contract on a rung. It knows no implementation.

A promise is a function; its docstring is the sentence in the error for a rung that breaks it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from pathlib import Path
from typing import Any

from cellwright.errors import (
    CallLimit,
    CodeError,
    MemoryLimit,
    OutputLimit,
    PlatformError,
    TimeLimit,
    UsageError,
)
from cellwright.events import Event, Printed
from cellwright.sandboxes import GUEST_UID, Files, Interpreter, Limits, Opening, Outcome, Sandbox, Workspace
from cellwright.scope import Scope, ScopeHost
from cellwright.testing.samples import BREAKS, PATIENCE_S

SECRET = "cellwright-conformance-secret"

Promise = Callable[[Sandbox], Awaitable[None]]


async def check_sandbox(sandbox: Sandbox, *, secrets: Collection[str] = ()) -> None:
    """Try every promise of the `Sandbox` contract. Raises AssertionError that names the first one that is broken.

    `secrets` are texts of the host's environment that guest code must not find in its own.
    """
    assert sandbox.rung, "a sandbox has the name of its rung"
    for promise in (*PROMISES, _environment_is_apart(secrets)):
        words = f"the {sandbox.rung} rung breaks a promise: {promise.__doc__}"
        try:
            async with asyncio.timeout(PATIENCE_S):
                await promise(sandbox)
        except TimeoutError:
            raise AssertionError(f"{words} (it did not end within {PATIENCE_S:g} s)") from None
        except BREAKS as broken:
            raise AssertionError(f"{words} ({type(broken).__name__}: {broken})") from broken


class TrialSession:
    """One interpreter and the cells it has run."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._cells = 0

    async def run(self, code: str, on_event: Callable[[Event], None] | None = None) -> Outcome:
        self._cells += 1
        return await self.interpreter.run(self._cells, code, on_event)

    async def value(self, code: str) -> Any:
        return (await self.run(code)).unwrap()


@contextlib.asynccontextmanager
async def opened(sandbox: Sandbox, limits: Limits | None = None, **names: Any) -> AsyncGenerator[TrialSession]:
    """A session of its own, with these names in scope."""
    workspace = await asyncio.to_thread(Workspace.create, None, GUEST_UID)
    host = ScopeHost(Scope(names))
    try:
        opening = Opening(host=host, limits=limits or Limits(wall_s=PATIENCE_S), workspace=workspace)
        interpreter = await sandbox.open(opening)
        try:
            yield TrialSession(interpreter)
        finally:
            await interpreter.close()
    finally:
        host.close()
        await asyncio.to_thread(workspace.remove)


def expect(found: object, wanted: object) -> None:
    """One comparison, told with both sides."""
    if found != wanted:
        raise AssertionError(f"{found!r} instead of {wanted!r}")


def expect_error(outcome: Outcome, wanted: type[Exception]) -> None:
    if not isinstance(outcome.error, wanted):
        raise AssertionError(f"{outcome.error!r} instead of {wanted.__name__}")


class Ledger:
    """The host object that the promises are tried with."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._secret = SECRET

    def add(self, line: str, *, times: int = 1) -> int:
        """Write a line."""
        self.lines += [line] * times
        return len(self.lines)

    def page(self) -> Ledger:
        return Ledger()

    def is_same(self, other: object) -> bool:
        return other is self

    def total(self, key: Callable[[str], int]) -> int:
        return sum(key(line) for line in self.lines)

    def missing(self) -> None:
        raise KeyError("no such line")


async def names_stay(sandbox: Sandbox) -> None:
    """names of one cell are there in the next."""
    async with opened(sandbox) as session:
        await session.run("x = 20")
        await session.run("def double(n):\n    return 2 * n")
        expect(await session.value("double(x) + 2"), 42)


async def values_arrive(sandbox: Sandbox) -> None:
    """the value of a cell is its last expression, and plain data arrives as it was."""
    plain: dict[str, Any] = {"a": [1, 2.5, None, True], "b": "grüße", "c": {"d": [[]]}, "e": "x" * 5000, "f": 2**80}
    async with opened(sandbox, plain=plain) as session:
        expect(await session.value("plain"), plain)
        expect(await session.value("x = [1, 'two']\nx"), [1, "two"])
        expect(await session.value("None"), None)


async def calls_reach_the_object(sandbox: Sandbox) -> None:
    """a call of guest code runs on the host object, with its arguments, and gives its result."""
    ledger = Ledger()
    async with opened(sandbox, ledger=ledger) as session:
        expect(await session.value("ledger.add('a')\nledger.add('b', times=2)"), 3)
        expect(ledger.lines, ["a", "b", "b"])
        outcome = await session.run("ledger.add('c')")
        expect([call.name for call in outcome.calls], ["ledger.add"])


async def objects_keep_their_identity(sandbox: Sandbox) -> None:
    """an object handed back to the host is the original, and what a call returns can be used in turn."""
    async with opened(sandbox, ledger=Ledger()) as session:
        expect(await session.value("ledger.is_same(ledger)"), True)
        expect(await session.value("page = ledger.page()\npage.add('x')"), 1)
        expect(await session.value("page.is_same(page)"), True)


async def private_names_stay(sandbox: Sandbox) -> None:
    """nothing with a leading underscore crosses."""
    async with opened(sandbox, ledger=Ledger()) as session:
        outcome = await session.run("ledger._secret")
        if outcome.error is None or SECRET in repr(outcome):
            raise AssertionError(f"the guest read it: {outcome!r}")


async def gathered_calls_overlap(sandbox: Sandbox) -> None:
    """async calls that are gathered overlap on the host."""
    inside = 0
    full = asyncio.Event()

    async def meet() -> int:
        nonlocal inside
        inside += 1
        if inside == 3:
            full.set()
        await full.wait()
        return inside

    async with opened(sandbox, meet=meet) as session:
        expect(await session.value("import asyncio\nawait asyncio.gather(meet(), meet(), meet())"), [3, 3, 3])


async def guest_functions_are_called_back(sandbox: Sandbox) -> None:
    """a guest function handed to the host can be called there."""
    async with opened(sandbox, ledger=Ledger()) as session:
        await session.run("ledger.add('abc')\nledger.add('de')")
        expect(await session.value("ledger.total(lambda line: len(line))"), 5)


async def host_errors_are_caught(sandbox: Sandbox) -> None:
    """an exception of the host is caught by its class and by its base."""
    async with opened(sandbox, ledger=Ledger()) as session:
        for kind in ("KeyError", "LookupError"):
            code = f"try:\n    ledger.missing()\nexcept {kind} as error:\n    told = 'caught'\ntold"
            expect(await session.value(code), "caught")


async def errors_are_outcomes(sandbox: Sandbox) -> None:
    """what a cell raises is its outcome, with type, line and text, and names stay."""
    async with opened(sandbox) as session:
        await session.run("x = 1")
        outcome = await session.run("y = 2\n1 / 0")
        expect_error(outcome, CodeError)
        if isinstance(outcome.error, CodeError):
            expect((outcome.error.type, outcome.error.line), ("ZeroDivisionError", 2))
            expect("1 / 0" in str(outcome.error), True)
        expect_error(await session.run("def ("), CodeError)
        expect(await session.value("x"), 1)


async def prints_stream(sandbox: Sandbox) -> None:
    """prints arrive while the cell runs, and all of them in its outcome."""
    printed = asyncio.Event()

    def on_event(event: Event) -> None:
        if isinstance(event, Printed) and "early" in event.text:
            printed.set()

    async def until_printed() -> bool:
        return await printed.wait()

    async with opened(sandbox, until_printed=until_printed) as session:
        outcome = await session.run("print('early')\nseen = await until_printed()\nprint('late')\nseen", on_event)
        expect((outcome.unwrap(), outcome.stdout), (True, "early\nlate\n"))


async def time_is_limited(sandbox: Sandbox) -> None:
    """a cell beyond `wall_s` ends as TimeLimit, its interpreter with it, and no other."""
    async with opened(sandbox) as other, opened(sandbox, Limits(wall_s=0.5)) as session:
        await other.run("kept = 1")
        expect_error(await session.run("while True:\n    pass"), TimeLimit)
        expect(session.interpreter.alive, False)
        try:
            await session.run("1")
        except UsageError:
            expect(await other.value("kept"), 1)
        else:
            raise AssertionError("an ended interpreter ran a cell")


async def memory_is_limited(sandbox: Sandbox) -> None:
    """a cell beyond `memory_mb` ends as MemoryLimit."""
    async with opened(sandbox, Limits(memory_mb=64, wall_s=PATIENCE_S)) as session:
        outcome = await session.run("kept = []\nwhile True:\n    kept.append('x' * 1_000_000 + str(len(kept)))")
        expect_error(outcome, MemoryLimit)


async def output_and_calls_are_limited(sandbox: Sandbox) -> None:
    """a cell beyond `output_kb` ends as OutputLimit, one beyond `host_calls` as CallLimit."""
    async with opened(sandbox, Limits(output_kb=64, wall_s=PATIENCE_S)) as session:
        expect_error(await session.run("while True:\n    print('x' * 1000)"), OutputLimit)
    async with opened(sandbox, Limits(host_calls=3), ledger=Ledger()) as session:
        expect_error(await session.run("for i in range(9):\n    ledger.add('x')"), CallLimit)


async def cancelling_ends_it(sandbox: Sandbox) -> None:
    """cancelling a run ends the guest at once and cancels its host calls."""
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def forever() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with opened(sandbox, forever=forever) as session:
        run = asyncio.create_task(session.run("await forever()"))
        await started.wait()
        run.cancel()
        await asyncio.wait([run])
        expect(run.cancelled(), True)
        await cancelled.wait()
        expect(session.interpreter.alive, False)


async def sessions_are_apart(sandbox: Sandbox) -> None:
    """two sessions share no names."""
    async with opened(sandbox) as one, opened(sandbox) as two:
        await one.run("mine = 1")
        expect_error(await two.run("mine"), CodeError)


async def the_host_is_out_of_reach(sandbox: Sandbox) -> None:
    """guest code reaches no file and no network of the host."""
    with tempfile.TemporaryDirectory() as directory, socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        path = Path(directory) / "secret"
        path.write_text(SECRET)
        os.chmod(directory, 0o755)  # readable to anyone on this machine: only isolation keeps a guest from it
        async with opened(sandbox) as session:
            read = await session.run(f"open({str(path)!r}).read()")
            await session.run(f"import socket\nsocket.create_connection({server.getsockname()!r}, 5)")
        if SECRET in repr(read):
            raise AssertionError("it reached a file of the host")
        with contextlib.suppress(BlockingIOError):
            server.accept()
            raise AssertionError("it reached the network of the host")


def _environment_is_apart(secrets: Collection[str]) -> Promise:
    async def promise(sandbox: Sandbox) -> None:
        """the environment of guest code is not the host's."""
        async with opened(sandbox) as session:
            environ = await session.run("import os\nlist(os.environ.values())")
        if environ.error is None and set(environ.value) & set(secrets):
            raise AssertionError("it has a secret of the host in it")

    return promise


async def a_scratch_covers_the_workspace(sandbox: Sandbox) -> None:
    """with a scratch guest code sees and writes that alone, and after `reveal` it goes on in the live workspace."""
    live, scratch = [await asyncio.to_thread(Workspace.create, None, GUEST_UID) for _ in range(2)]
    files, host = Files(live), ScopeHost(Scope({}))
    opening = Opening(host=host, limits=Limits(wall_s=PATIENCE_S), workspace=live, scratch=scratch)
    try:
        await files.write("kept", "live")
        try:
            session = TrialSession(await sandbox.open(opening))
        except PlatformError:
            return  # a rung may have none, and says so
        try:
            expect(await session.value("import os\nx = open('made', 'w').write('scratch')\nos.listdir('.')"), ["made"])
            expect([entry.path for entry in await files.list()], ["kept"])
            await session.interpreter.reveal()
            expect(await session.value("open('made', 'w').write('new')\nx, open('kept').read()"), (7, "live"))
            expect(await files.read_text("made"), "new")
            await session.interpreter.reveal()
        finally:
            await session.interpreter.close()
    finally:
        host.close()
        await asyncio.to_thread(live.remove)
        await asyncio.to_thread(scratch.remove)


async def closing_ends_it(sandbox: Sandbox) -> None:
    """a closed interpreter is not alive, and closing it twice is fine."""
    async with opened(sandbox) as session:
        expect(session.interpreter.alive, True)
        await session.interpreter.close()
        expect(session.interpreter.alive, False)
        await session.interpreter.close()


PROMISES: tuple[Promise, ...] = (
    names_stay,
    values_arrive,
    calls_reach_the_object,
    objects_keep_their_identity,
    private_names_stay,
    gathered_calls_overlap,
    guest_functions_are_called_back,
    host_errors_are_caught,
    errors_are_outcomes,
    prints_stream,
    time_is_limited,
    memory_is_limited,
    output_and_calls_are_limited,
    cancelling_ends_it,
    sessions_are_apart,
    the_host_is_out_of_reach,
    a_scratch_covers_the_workspace,
    closing_ends_it,
)
