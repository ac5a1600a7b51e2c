"""What was said, in a session that was forked or rewound: that up to there, and nothing after it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agent.worlds import agent_with
from tests.sessions.worlds import begun, ended

from cellwright.agent import Agent
from cellwright.messages import AssistantMessage, Message, ToolMessage, UserMessage
from cellwright.sessions import Sessions
from cellwright.store import MemoryStore, Row
from cellwright.testing import ScriptedModel, code

pytestmark = pytest.mark.usefixtures("warm")
SCRIPT = (code("x = 1"), "one", "only words", code("x = 2"), "two")


async def told(store: MemoryStore) -> None:
    """Three turns: one with a cell, one of words alone, one with a cell."""
    agent, _ = agent_with(*SCRIPT, store=store)
    async with agent.session("s1") as session:
        for task in ("first", "second", "third"):
            await session.run(task)


async def heard(store: MemoryStore, session: str) -> list[str]:
    """What a model is told there when a new task is set, in short."""
    model = ScriptedModel("fine")
    async with Agent(model, store=store).resume(session) as resumed:
        await resumed.run("now")
    return [text for message in model.requests[0].messages for text in _words(message)]


def _words(message: Message) -> list[str]:
    match message:
        case UserMessage(text=text):
            return [f"asked {text.split()[0]}"]
        case AssistantMessage(text=text, calls=calls):
            return [f"said {text}" if text else f"called {calls[0].name}"]
        case ToolMessage():
            return ["answered"]


FIRST = ["asked first", "called execute", "answered", "said one"]
SECOND = ["asked second", "said only words"]
THIRD = ["asked third", "called execute", "answered", "said two"]


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ({}, [*FIRST, *SECOND, *THIRD]),
        ({"at": 1}, FIRST),
        ({"at": 2}, [*FIRST, *SECOND, *THIRD]),
    ],
    ids=["now", "after cell 1", "after the last cell"],
)
async def test_a_fork_knows_what_was_said_up_to_there(where: dict[str, Any], wanted: list[str]) -> None:
    store = MemoryStore()
    await told(store)
    assert await heard(store, Sessions(store).fork("s1", **where)) == [*wanted, "asked now"]


async def test_a_fork_at_any_entry_knows_nothing_that_was_said_later() -> None:
    store = MemoryStore()
    await told(store)
    whole = [*FIRST, *SECOND, *THIRD]
    seen: list[int] = []
    for entry in range(1, len(store.entries("s1")) + 1):
        found = await heard(store, Sessions(store).fork("s1", entry=entry))
        assert found.pop() == "asked now", entry
        found = [one for one in found if one != "said (the turn ended here)"]
        known = [one for one in found if not one.startswith("asked")]
        assert known == [one for one in whole if not one.startswith("asked")][: len(known)], (entry, found)
        seen.append(len(found))
    assert seen == sorted(seen)
    assert seen[-1] == len(whole)
    assert await heard(store, Sessions(store).fork("s1", entry=begun(store, "s1", 3) - 1)) == [
        *FIRST,
        *SECOND,
        "asked now",
    ]


async def test_a_fork_in_the_middle_of_a_turn_has_the_task_and_not_what_its_parent_was_about_to_run() -> None:
    store = MemoryStore()
    await told(store)
    reply = next(
        e.number for e in store.entries("s1") if isinstance(e.change, Row) and e.change.door == "model"
    )  # the first
    branch = Sessions(store).fork("s1", entry=reply)
    model = ScriptedModel(code("done('x' in globals())"))
    async with Agent(model, store=store).resume(branch) as session:
        assert not session.is_unfinished
        assert (await session.run("now", returns=bool)).value is False


async def test_what_was_rewound_is_not_said_again() -> None:
    store = MemoryStore()
    await told(store)
    Sessions(store).rewind("s1", to=1)
    assert await heard(store, "s1") == [*FIRST, "asked now"]
    Sessions(store).rewind("s1", entry=ended(store, "s1", 2))
    assert await heard(store, "s1") == [*FIRST, *SECOND, *THIRD, "asked now"]
