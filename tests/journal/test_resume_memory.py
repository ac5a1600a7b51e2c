"""The memory that opening a session takes does not grow with the answers that its journal holds."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import Awaitable, Callable

import pytest

from cellwright import Runtime
from cellwright.errors import JournalFailed
from cellwright.runtime import replay
from cellwright.store import DroppedCheckpoint, MemoryStore, Store

pytestmark = pytest.mark.usefixtures("warm")

ANSWERS, SIZE = 24, 1 << 20


class Archive:
    """Long answers, each another one; and a function that takes long arguments."""

    def page(self, number: int) -> str:
        return f"{number:08}" * (SIZE // 8)

    def lines(self, number: int) -> list[dict[str, int]]:
        return [{"number": number, "line": n} for n in range(200)]

    def keep(self, page: str) -> int:
        return len(page)

    def each(self, number: int, look: Callable[[str], int]) -> int:
        return look(self.page(number))


async def _recorded(store: Store, *cells: str) -> None:
    async with Runtime({"archive": Archive()}, store=store, session="s1") as rt:
        for code in cells:
            (await rt.execute(code)).unwrap()


def _forget_checkpoints(store: Store) -> None:
    store.write(store.claim("s1"), *(DroppedCheckpoint(cell=one.cell) for one in store.checkpoints("s1")))


async def _peak(work: Callable[[], Awaitable[object]]) -> int:
    """The most bytes that were alive at once, beyond those before."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        await work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


async def test_a_replay_holds_one_recorded_answer_at_a_time() -> None:
    store = MemoryStore()
    calls = (f"archive.page({n}); archive.keep(archive.page({n})); archive.each({n}, len)" for n in range(ANSWERS // 3))
    await _recorded(store, *calls)
    _forget_checkpoints(store)

    async def resume() -> None:
        async with Runtime.resume("s1", scope={"archive": Archive()}, store=store) as rt:
            assert rt.restored is not None
            assert len(rt.restored.cells) == ANSWERS // 3

    async def offline() -> None:
        assert (await replay("s1", store=store)).same

    for work in (resume, offline):
        assert await _peak(work) < 8 * SIZE  # each answer is copied on its way


@pytest.mark.slow
async def test_many_answers_of_some_kilobytes_are_not_held_either() -> None:
    store = MemoryStore()
    cells, calls = 4, 100
    await _recorded(store, *[f"for n in range({calls}): archive.lines(n)"] * cells)
    _forget_checkpoints(store)

    async def resume() -> None:
        async with Runtime.resume("s1", scope={"archive": Archive()}, store=store) as rt:
            assert rt.restored is not None
            assert len(rt.restored.cells) == cells

    one = await _peak(lambda: asyncio.to_thread(json.loads, json.dumps(Archive().lines(1))))
    assert await _peak(resume) < cells * calls * one // 2


async def test_a_checkpoint_is_not_held_by_the_session_that_took_it_up() -> None:
    store = MemoryStore()
    await _recorded(store, f"kept = [archive.page(n) for n in range({ANSWERS})]")

    async def resume() -> None:
        async with Runtime.resume("s1", scope={"archive": Archive()}, store=store) as rt:
            assert rt.restored is not None
            assert rt.restored.checkpoint == 1
            assert tracemalloc.get_traced_memory()[0] < 4 * SIZE

    await _peak(resume)


async def test_a_large_answer_that_cannot_be_read_is_a_failure_of_the_journal() -> None:
    store = MemoryStore()
    await _recorded(store, "archive.page(1)[:3]")
    _forget_checkpoints(store)
    store._connection.execute("delete from blobs")  # pyright: ignore[reportPrivateUsage] - damage
    with pytest.raises(JournalFailed, match="is missing, and a row needs it"):
        async with Runtime.resume("s1", scope={"archive": Archive()}, store=store):
            pass
    with pytest.raises(JournalFailed, match="is missing, and a row needs it"):
        await replay("s1", store=store)
