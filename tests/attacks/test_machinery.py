"""Nothing of Cellwright's machinery, nor of the event loop and the threads that it runs on, crosses to guest code."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading
from typing import Any

import pytest

from cellwright import Agent, Limits, Runtime, Scope, current_call
from cellwright.scope import ScopeHost, Surface
from cellwright.store import MemoryStore
from cellwright.testing import ScriptedModel

LAYER = "binding"


@pytest.fixture(autouse=True)
def opens_sessions(warm: None) -> None:
    """One zygote serves them all."""


async def told(code: str, **names: Any) -> str:
    """The value of a cell as text, or the text of its error."""
    async with Runtime(names, limits=Limits()) as rt:
        outcome = await rt.execute(code)
    return str(outcome.value) if outcome.error is None else str(outcome.error).splitlines()[-1]


VARIABLE = contextvars.ContextVar[int]("machinery")
MACHINERY: dict[str, Any] = {
    "context": contextvars.copy_context,
    "variable": lambda: VARIABLE,
    "loop": lambda: asyncio.new_event_loop(),
    "thread": lambda: threading.current_thread(),
    "pool": lambda: concurrent.futures.ThreadPoolExecutor(1),
    "runtime": lambda: Runtime({}),
    "scope": lambda: Scope({}),
    "rules": lambda: Scope({}).rules,
    "host": lambda: ScopeHost(Scope({})),
    "store": MemoryStore,
    "agent": lambda: Agent(ScriptedModel([])),
}


@pytest.mark.parametrize("name", MACHINERY)
async def test_an_object_of_the_hosts_machinery_does_not_cross(name: str) -> None:
    made = MACHINERY[name]()

    def give() -> Any:
        return made

    def inside() -> Any:
        return [{"it": made}]

    try:
        assert "never crosses" in await told("give()", give=give)
        assert "never crosses" in await told("inside()", inside=inside)
    finally:
        if name in ("loop", "host"):
            made.close()


class OwnRuntime(Runtime):
    def title(self) -> str:
        return "mine"


async def test_a_class_that_derives_from_ours_and_a_method_of_ours_do_not_cross() -> None:
    scope, runtime, context = Scope({}), OwnRuntime({}), contextvars.copy_context()

    class Desk:
        def __init__(self) -> None:
            self.declare = scope.declare
            self.run = context.run

        def get(self) -> Any:
            return runtime

        def method(self) -> Any:
            return scope.declare

    for code in ("desk.get()", "desk.method()", "desk.declare", "desk.declare('*', hide=False)", "desk.run"):
        assert "never crosses" in await told(code, desk=Desk()), code
    assert await told("declare('x.*', hide=True)", declare=scope.declare) == "None"  # it was bound by name


async def test_a_task_leads_to_no_context_frame_or_loop_and_can_be_awaited() -> None:
    tasks: set[asyncio.Task[str]] = set()

    async def work() -> str:
        return current_call().name

    async def start() -> asyncio.Task[str]:
        task = asyncio.get_running_loop().create_task(work())
        tasks.add(task)
        return task

    code = """
task = await start()
told = []
names = "get_context get_loop get_coro get_stack print_stack add_done_callback set_result cancel"
for name in names.split():
    try:
        told.append(getattr(task, name)())
    except AttributeError:
        pass
told, await task
"""
    scope: dict[str, Any] = {"start": start}
    async with Runtime(scope, limits=Limits()) as rt:
        outcome = await rt.execute(code)
    assert outcome.error is None or "does not grant this operator" not in str(outcome.error), outcome.error
    assert outcome.value is not None
    assert outcome.value[0] == []
    assert outcome.value[1].startswith("start")


async def test_classes_of_the_developers_that_fulfil_a_contract_of_ours_cross() -> None:
    class Listing:
        """Looks like `Surface`, and is a developer's own."""

        key = "k"

        def listed(self) -> list[str]:
            return ["a"]

    class Later(threading.Thread):
        def state(self) -> str:
            return "waits"

    assert hasattr(Surface, "listed")
    assert await told("s.listed(), t.state()", s=Listing(), t=Later()) == "(['a'], 'waits')"
