"""Search over sessions, for people and for an agent's code, which sees no more than its policy allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.agent.worlds import agent_with
from tests.sessions.made import cell, session, turn
from tests.sessions.worlds import ended

from cellwright import Agent, Runtime
from cellwright.errors import NotPublic, UsageError, WrongArguments
from cellwright.runtime import replay
from cellwright.sessions import Searcher, SearchPolicy, Sessions
from cellwright.store import MemoryStore, SqliteStore, Store
from cellwright.testing import ScriptedModel, code

WHO = ("root", "fork", "sibling", "child", "namesake", "stranger")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Each session says "walrus" and its own name; the root says it once more after the forks left."""
    store: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "s.db")
    session(store, "root", turn(1, "walrus root"), cell(1, "a"), turn(2, "walrus later"), agent="bot")
    session(store, "fork", turn(2, "walrus fork"), parent="root", parent_cell=1, parent_entry=2, agent="bot")
    session(store, "sibling", turn(2, "walrus sibling"), parent="root", parent_cell=1, parent_entry=2)
    session(store, "child", turn(1, "walrus child"), child_of="fork")
    session(store, "namesake", turn(1, "walrus namesake"), agent="bot")
    session(store, "stranger", turn(1, "walrus stranger"))
    return store


def said(found: Any) -> set[str]:
    texts = [hit.snippet if hasattr(hit, "snippet") else hit.text for hit in found]
    return {text.replace("\x02", "").replace("\x03", "").split()[-1] for text in texts}


def test_a_person_searches_all_one_session_or_one_branch(store: Store) -> None:
    sessions = Sessions(store)
    assert said(sessions.search("walrus")) == {*WHO, "later"}
    assert said(sessions.search("walrus", session="root")) == {"root", "later"}
    assert said(sessions.search("walrus", branch="fork")) == {"root", "fork"}
    assert said(sessions.search("walrus", branch="fork", kinds=["code"])) == set()


@pytest.mark.parametrize(
    ("policy", "seen"),
    [
        ("branch", {"root", "fork"}),
        ("tree", {"root", "later", "fork", "sibling", "child"}),
        ("agent", {"root", "later", "fork", "namesake"}),
        ("all", {*WHO, "later"}),
    ],
)
async def test_code_sees_what_its_policy_allows(store: Store, policy: SearchPolicy, seen: set[str]) -> None:
    searcher = Sessions(store).searcher("fork", policy=policy, agent="bot")
    assert said(await searcher.search("walrus", 50)) == seen
    for one in WHO:
        if one in seen:
            assert one in await searcher.show(one, 1)
        else:
            with pytest.raises(NotPublic, match="may be read here"):
                await searcher.show(one, 1)
    with pytest.raises(NotPublic):
        await searcher.show("nobody", 1)


async def test_a_branch_does_not_see_what_its_parent_said_later(store: Store) -> None:
    searcher = Sessions(store).searcher("fork")
    assert said(await searcher.search("later")) == set()
    with pytest.raises(NotPublic):
        await searcher.show("root", 3)
    assert "later" in await Sessions(store).searcher("root").show("root", 3)


async def test_a_branch_that_left_after_a_cell_does_not_see_what_its_parent_did_after_it(store: Store) -> None:
    said_later = (turn(2, "ostrich task", cell=1), cell(2, "ostrich = 2"), cell(3, "ostrich = 3"))
    session(store, "long", turn(1, "heron"), cell(1, "heron = 1"), *said_later)
    sessions = Sessions(store)
    sessions.fork("long", at=3, id="all")
    for parent in ("long", "all"):  # of it, and of a fork of it that began later
        branch = sessions.fork(parent, at=1)
        searcher = sessions.searcher(branch)
        assert {hit.entry for hit in await searcher.search("heron")} == {1, 2}
        assert await searcher.search("ostrich") == []
        for entry in (3, 4, 5):
            with pytest.raises(NotPublic):
                await searcher.show("long", entry)


async def test_wrong_arguments_are_told(store: Store) -> None:
    searcher: Any = Sessions(store).searcher("fork")
    for query, limit in (("", 5), ("x" * 1001, 5), (3, 5), ("x", 0), ("x", 51), ("x", True)):
        with pytest.raises(WrongArguments):
            await searcher.search(query, limit)
    for wrong in ((1, 1), ("root", 0), ("root", "1")):
        with pytest.raises(WrongArguments):
            await searcher.show(*wrong)


def test_a_policy_that_is_none_is_told() -> None:
    wrong: Any = "everything"
    with pytest.raises(UsageError, match='give "branch"'):
        Agent(ScriptedModel(), store=MemoryStore(), sessions=wrong)
    with pytest.raises(UsageError, match="an agent with a name"):
        Agent(ScriptedModel(), store=MemoryStore(), sessions="agent")
    with pytest.raises(UsageError, match="needs a store"):
        Agent(ScriptedModel(), sessions="tree")
    with pytest.raises(UsageError, match="'sessions' is a name of the agent's own"):
        Agent(ScriptedModel(), store=MemoryStore(), sessions="tree", scope={"sessions": 1})
    Agent(ScriptedModel(), scope={"sessions": 1})


@pytest.mark.usefixtures("warm")
async def test_an_agents_code_searches_earlier_turns_and_a_replay_gives_the_same_hits() -> None:
    store = MemoryStore()
    agent, model = agent_with(
        "A walrus is a mammal.",
        code("hits = sessions.search('walrus')\ndone(sorted({hit.kind for hit in hits}))"),
        store=store,
        sessions="branch",
    )
    async with agent.session("s1") as held:
        await held.run("What is a walrus?")
        kinds = (await held.run("What did I ask?", returns=list[str])).value
    assert {"prompt", "reply"} <= set(kinds)
    assert "sessions.search" in model.requests[0].instructions
    session(store, "s2", turn(1, "another walrus"))  # which would be a hit, were it asked again
    assert (await replay("s1", store=store)).same
    assert ended(store, "s1", 1)


@pytest.mark.usefixtures("warm")
async def test_guest_code_reaches_nothing_of_the_store_through_it() -> None:
    store = MemoryStore()
    session(store, "other", turn(1, "secret"))
    scope = {"sessions": Searcher(lambda: store, "s1", "branch")}
    async with Runtime(scope, store=store, session="s1") as rt:
        seen = (await rt.execute("[name for name in dir(sessions) if name[0] != '_']")).unwrap()
        assert sorted(seen) == ["search", "show"]
        found = (await rt.execute("{hit.session for hit in sessions.search('secret')}")).unwrap()
        assert found <= {"s1"}  # its own code says it
        for reach in ("sessions._store()", "sessions._within", "sessions.search.__globals__['Store']"):
            assert (await rt.execute(reach)).error is not None
