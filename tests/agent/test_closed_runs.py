"""A run that has ended leaves nothing: no thread, no descriptor, no session, none of the objects that it was given."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
import weakref
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cellwright import Agent, Runtime, Scope
from cellwright.agent import Session
from cellwright.errors import CellwrightError
from cellwright.events import CodeReady
from cellwright.store import MemoryStore
from cellwright.testing import ScriptedModel, call, code

pytestmark = pytest.mark.usefixtures("warm")
Given = list[weakref.ref[Any]]
Way = Callable[[Any, Given], Awaitable[None]]


class Crm:
    def __init__(self) -> None:
        self._load = bytearray(100_000)

    def find(self, name: str) -> str:
        return name.upper()


def _scope(given: Given) -> Scope:
    """An object, functions and classes that are made for one run and lead to each other."""
    crm = Crm()

    def find(name: str) -> str:
        return crm.find(name)

    async def write(name: str, copy: Note | None = None) -> Note:
        return Note(crm.find(name))

    @dataclass
    class Note:
        text: str

    class Book:
        def __init__(self, name: str) -> None:
            self.name = name

        @property
        def found(self) -> str:
            return find(self.name)

        def copy(self) -> Book:
            return Book(self.name)

    write.__annotations__ = {"name": str, "copy": Note | None, "return": Note}
    scope = Scope({"crm": crm, "find": find, "write": write, "Note": Note, "Book": Book, "book": Book("a")})
    scope.declare("crm.find", ask=True)
    given += [weakref.ref(each) for each in (crm, find, write, Note, Book)]
    return scope


CELL = "book.copy().found, Book('b').found, find('c'), await write('d', Note('e')), crm.find('f')"


def _agent(model: ScriptedModel, store: Any, given: Given, **options: Any) -> Agent:
    return Agent(model, scope=_scope(given), store=store, check="off", approve=lambda _: True, **options)


async def _ran(store: Any, given: Given) -> None:
    await _agent(ScriptedModel(code(CELL), code("done(1)")), store, given).run("go")


async def _typed(store: Any, given: Given) -> None:
    @dataclass
    class Share:
        city: str

    given.append(weakref.ref(Share))
    await _agent(ScriptedModel(code("done(Share('Oslo'))")), store, given).run("go", returns=Share)


async def _direct(store: Any, given: Given) -> None:
    model = ScriptedModel((call("write", name="a", copy={"text": "b"}),), "done")
    await _agent(model, store, given, mode="direct").run("go")


async def _function(store: Any, given: Given) -> None:
    agent = _agent(ScriptedModel(code("done(crm.find(other.find('a')))")), store, given)

    @agent.function
    async def ask(other: Crm) -> str:
        """The name."""
        raise NotImplementedError

    await ask(Crm())


async def _spawned(store: Any, given: Given) -> None:
    model = ScriptedModel(code("done(await spawn('look'))"), code("done(find('a'))"))
    await _agent(model, store, given, spawn=True).run("go")


async def _failed(store: Any, given: Given) -> None:
    with suppress(CellwrightError, RuntimeError):
        await _agent(ScriptedModel(code("crm.find(1)"), RuntimeError("no")), store, given).run("go")


async def _left(store: Any, given: Given) -> None:
    agent = _agent(ScriptedModel(code(f"{CELL}\nimport asyncio\nawait asyncio.sleep(1000)")), store, given)
    async with aclosing(agent.stream("go")) as events:
        async for event in events:
            if isinstance(event, CodeReady):
                break


async def _several_turns(store: Any, given: Given) -> None:
    async with _agent(ScriptedModel(code(CELL), "one", "two"), store, given).session() as session:
        await session.run("go")
        await session.run("go on")


async def _never_ran(store: Any, given: Given) -> None:
    _agent(ScriptedModel(), store, given).session()
    async with _agent(ScriptedModel(), store, given).session():
        pass


async def _runtime(store: Any, given: Given) -> None:
    async with Runtime(_scope(given), store=store, approve=lambda _: True) as rt:
        (await rt.execute(CELL)).unwrap()


WAYS: tuple[Way, ...] = (
    *(_ran, _typed, _direct, _function, _spawned),
    *(_failed, _left, _several_turns, _never_ran, _runtime),
)


@dataclass(frozen=True)
class Left:
    """What there is. asyncio and a store keep some threads, up to a number: those are not counted."""

    threads: int
    descriptors: int
    sessions: int

    @classmethod
    def now(cls) -> Left:
        pools = ("asyncio_", "cellwright-open", "cellwright-store")
        return cls(
            threads=sum(not thread.name.startswith(pools) for thread in threading.enumerate()),
            descriptors=len(os.listdir("/proc/self/fd")),
            sessions=sum(isinstance(each, Session | Runtime) for each in gc.get_objects()),
        )


def _alive(given: Given) -> list[str]:
    return [str(each) for each in (ref() for ref in given) if each is not None]


async def _left_at_last(given: Given, least: Left) -> tuple[Left, list[str]]:
    """What is left, when threads that are ending have ended; an object that Rust holds takes several collections."""
    end = time.monotonic() + 10
    while True:
        gc.collect()
        left, alive = Left.now(), _alive(given)
        fine = left.threads <= least.threads and left.descriptors <= least.descriptors
        if (fine and left.sessions <= least.sessions and not alive) or time.monotonic() > end:
            return left, alive
        await asyncio.sleep(0.02)


@pytest.fixture(params=["none", "file", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("memory", "object"))])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    kinds = {"none": None, "file": f"sqlite:///{tmp_path / 'agents.db'}", "memory": "memory:", "object": MemoryStore()}
    return kinds[request.param]


async def test_runs_leave_no_thread_no_descriptor_and_none_of_their_objects(store: Any) -> None:
    given: Given = []
    for way in WAYS:
        await way(store, given)
    before, alive = await _left_at_last(given, Left(threads=1_000, descriptors=1_000, sessions=1))
    assert not alive
    for way in WAYS:
        await way(store, given)
    after, alive = await _left_at_last(given, before)
    assert not alive
    assert after.sessions <= before.sessions
    assert after.threads <= before.threads, [thread.name for thread in threading.enumerate()]
    assert after.descriptors <= before.descriptors


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.slow
async def test_the_memory_of_many_runs_is_that_of_few(store: Any) -> None:
    sizes: list[float] = []
    for _ in range(3):
        for _ in range(30):
            await _ran(store, [])
        gc.collect()
        sizes.append(_resident_mb())
    assert sizes[-1] - sizes[0] < 5, sizes
