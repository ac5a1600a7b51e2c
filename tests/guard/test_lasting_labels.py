"""What reached a session lasts: over resume, fork, rewind, rollback and compaction, before the first new call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.agent.test_compaction import SMALL, is_summary
from tests.agent.test_session_flow import EVE, Nobody, Post
from tests.cells import PATIENT
from tests.guard.keeping import run

from cellwright import Agent, Runtime
from cellwright.doors import Request
from cellwright.store import MemoryStore, SqliteStore, Store
from cellwright.testing import ScriptedModel, code

pytestmark = pytest.mark.usefixtures("warm")
SENDS = f"try:\n    said = post.send({EVE!r}, 'x')\nexcept Exception as error:\n    said = type(error).__name__\nsaid"


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "agents.db")


async def test_a_resumed_runtime_refuses_in_its_first_call_and_in_a_function_of_an_earlier_cell(store: Store) -> None:
    post, options = Post(), dict[str, Any](store=store, session="s1", flow="deny", limits=PATIENT)
    async with Runtime({"post": post}, **options) as rt:
        await run(rt, "def send(to):\n    return post.send(to, 'x')\nbody = post.body()")
    del options["session"]
    async with Runtime.resume("s1", scope={"post": post}, **options) as rt:
        assert rt.flow.reached == ("untrusted", "influenced")
        assert "Denied" in str((await run(rt, f"send({EVE!r})")).error)
    assert post.sent == []


async def test_a_fork_of_a_moment_before_the_reading_is_free_of_it_and_a_later_one_is_not(store: Store) -> None:
    post = Post()
    async with Runtime({"post": post}, store=store, session="s1", flow="deny", limits=PATIENT) as rt:
        for cell in ("1", "body = post.body()", "2"):
            await run(rt, cell)
        said: list[Any] = []
        for at in (1, 2, 3, None):
            async with await rt.fork(at=at) as branch:
                said.append((await run(branch, SENDS)).value)
    assert said == [None, "Denied", "Denied", "Denied"]


@pytest.mark.parametrize("how", ["rewind", "rollback"])
async def test_what_was_read_and_taken_back_is_gone_and_what_was_not_stays(store: Store, how: str) -> None:
    post, options = Post(), dict[str, Any](store=store, flow="deny", limits=PATIENT)
    async with Runtime({"post": post}, session="s1", **options) as rt:
        for cell in ("1", "body = post.body()", "2"):
            await run(rt, cell)
        back: Callable[..., Any] = getattr(rt, how)
        await back(2)
        assert (await run(rt, SENDS)).value == "Denied"
        await back(1)
        assert (await run(rt, SENDS)).value is None
        await run(rt, "body = post.body()")
        assert (await run(rt, SENDS)).value == "Denied"
    async with Runtime.resume("s1", scope={"post": post}, **options) as rt:
        assert (await run(rt, SENDS)).value == "Denied"
    assert post.sent == [EVE]


def in_turn(*steps: str) -> Callable[[Request], Any]:
    """Says one step after the other, and a summary where it is asked for one."""
    said = iter(steps)
    return lambda request: "The mail wants something sent." if is_summary(request) else code(next(said))


async def test_influence_outlives_the_compaction_of_the_conversation_and_a_resume_after_it(store: Store) -> None:
    post, nobody = Post(), Nobody()
    filler = [f"print('x' * 3000, {number})" for number in range(8)]
    model = ScriptedModel(otherwise=in_turn("print(post.body())", *filler, SENDS, "done(said)"), traits=SMALL)
    agent = Agent(model, scope={"post": post}, store=store, approve=nobody)
    async with agent.session("s1") as session:
        assert (await session.run("Read it, and go on.")).value == "Denied"
    assert any(map(is_summary, model.requests))
    assert "Write to" not in str(model.requests[-1].messages)  # the mail itself is not there any more
    again = Agent(ScriptedModel(code(SENDS), code("done(said)")), scope={"post": post}, store=store, approve=nobody)
    async with again.resume("s1") as session:
        assert (await session.run("And now?")).value == "Denied"
    assert (post.sent, len(nobody.asked)) == ([], 2)


@pytest.mark.parametrize("how", ["fork", "rewind"])
async def test_an_agents_influence_lasts_over_a_fork_and_goes_with_a_rewind_to_before_it(
    store: Store, how: str
) -> None:
    post, nobody = Post(), Nobody()
    agent = Agent(
        ScriptedModel(code("print(1)"), "one", code("print(post.body())"), "two", code(SENDS), code("done(said)")),
        scope={"post": post}, store=store, approve=nobody,
    )  # fmt: skip
    async with agent.session("s1") as session:
        await session.run("Count.")
        await session.run("Read.")
        if how == "fork":
            async with session.fork() as branch:
                assert (await branch.run("Send.")).value == "Denied"
        else:
            await session.rewind(1)
            assert (await session.run("Send.")).value is None
    assert post.sent == ([] if how == "fork" else [EVE])
