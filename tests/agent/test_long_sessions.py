"""A long session that is resumed: its conversation is read from its end, and is what it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.agent.worlds import agent_with

from cellwright.doors import Request
from cellwright.journal import turns
from cellwright.journal.conversations import digest_of, folded, request_in, requests_in
from cellwright.messages import Message, Traits
from cellwright.store import MemoryStore, Row
from cellwright.testing import code

pytestmark = pytest.mark.usefixtures("warm")

TURNS = 40
ROOMY, NARROW = Traits(), Traits(window=2600)  # in the second, a summary takes the place of most turns


class CountedStore(MemoryStore):
    """Counts the rows that were read, of the model and of others."""

    count = 0

    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]:
        rows = super().rows(session, first_cell, upto)
        self.count += len(rows)
        return rows

    def rows_by_path(self, session: str, path: str, first_cell: int = 0, before: int | None = None) -> Sequence[Row]:
        rows = super().rows_by_path(session, path, first_cell, before)
        self.count += len(rows)
        return rows


def reply(request: Request) -> Any:
    return "Much was done." if request.aside else code("n = 6 * 7\ndone('an answer of some words')")


async def long_session(store: MemoryStore, traits: Traits) -> Request:
    """The last request of a session of many turns."""
    agent, model = agent_with(otherwise=reply, traits=traits, store=store, check="off")
    async with agent.session("s1") as session:
        for number in range(TURNS):
            await session.run(f"Task {number}: say something of some length, and say it well.")
    return [request for request in model.requests if not request.aside][-1]


async def resumed(store: MemoryStore, traits: Traits, task: str = "One more.") -> tuple[Message, ...]:
    """The first request of the next turn of that session."""
    agent, model = agent_with(otherwise=reply, traits=traits, store=store, check="off")
    async with agent.resume("s1") as session:
        if isinstance(store, CountedStore):
            store.count = 0
        await session.run(task)
    return next(request for request in model.requests if not request.aside).messages


@pytest.mark.parametrize("traits", [ROOMY, NARROW], ids=["all of it", "after a summary"])
@pytest.mark.parametrize("at_once", [1, 3, 1000])
async def test_a_resumed_conversation_goes_on_with_what_was_said(
    traits: Traits, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "CELLS_AT_ONCE", at_once)
    store = MemoryStore()
    last = await long_session(store, traits)
    first = await resumed(store, traits)
    again = await resumed(store, traits, "And another.")
    if traits is ROOMY:
        assert first[: len(last.messages)] == last.messages
        assert again[: len(first)] == first
        assert len(first) > 2 * TURNS
    assert [text for text in map(str, again) if "One more." in text]


async def test_of_a_conversation_with_a_summary_only_what_came_after_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "CELLS_AT_ONCE", 8)
    store = CountedStore()
    last = await long_session(store, NARROW)
    assert len(last.messages) < TURNS
    assert await resumed(store, NARROW)
    assert 0 < store.count < len(MemoryStore.rows(store, "s1")) / 2


@pytest.mark.parametrize("at_once", [1, 8, 1000])
async def test_of_a_whole_conversation_each_row_of_the_model_is_read_once_and_no_other(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "CELLS_AT_ONCE", at_once)
    store = CountedStore()
    await long_session(store, ROOMY)
    rows = MemoryStore.rows(store, "s1")
    asked = [row for row in rows if row.door == "model"]
    await resumed(store, ROOMY)
    assert store.count <= len(asked) + 5 < len(rows)


async def test_the_digests_of_requests_after_a_resume_are_those_of_all_that_was_said() -> None:
    store = MemoryStore()
    await long_session(store, ROOMY)
    await resumed(store, ROOMY)
    rows = requests_in(store.rows("s1"))
    for number, row in rows.items():
        request, _ = request_in(rows, number)
        assert digest_of(request, folded(request.messages, None)) == row.key
