"""Limits on calls: which calls count, for whom, and that no more pass at once than the limit says."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.cells import PATIENT
from tests.guard.keeping import Office, run
from tests.guard.people import Person

from cellwright import Runtime, operation
from cellwright.guard import FlowPolicy, Policy, PolicyRule, ProvenValues, RateLimit, audit_records
from cellwright.store import MemoryStore

pytestmark = pytest.mark.usefixtures("warm")
TRIES = """
import asyncio
async def tried(i):
    try:
        return await post.send(i)
    except Exception as error:
        return type(error).__name__
said = await asyncio.gather(*(tried(i) for i in range(50)))
said.count('sent'), said.count('Denied')
"""


class Post:
    """What was sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def send(self, what: Any) -> str:
        """Send it."""
        await asyncio.sleep(0)
        self.sent.append(what)
        return "sent"

    @operation(reads=True)
    def count(self) -> int:
        """How many."""
        return len(self.sent)


def at_most(most: int, per: Any = "session", operation: str = "post.send", **options: Any) -> Policy:
    return Policy(limits=(RateLimit(operation=operation, most=most, within="1h", per=per),), **options)


async def passed(rt: Runtime, times: int = 5) -> int:
    """How many of so many calls were made."""
    return sum([(await run(rt, f"await post.send({i})")).ok for i in range(times)])


async def test_of_calls_at_once_in_one_cell_exactly_as_many_pass_as_the_limit_says() -> None:
    post = Post()
    async with Runtime({"post": post}, policy=at_most(20), limits=PATIENT) as rt:
        assert (await run(rt, TRIES)).value == (20, 30)
    assert len(post.sent) == 20


@pytest.mark.parametrize(("per", "wanted"), [("session", [3, 3, 3]), ("user", [3, 0, 3]), ("all", [3, 0, 0])])
async def test_sessions_that_share_a_policy_share_its_counts_by_session_user_or_all(
    per: Any, wanted: list[int]
) -> None:
    policy, found = at_most(3, per), list[int]()
    for user in ("ann", "ann", "bo"):
        async with Runtime({"post": Post()}, policy=policy, user=user, limits=PATIENT) as rt:
            found.append(await passed(rt))
    assert found == wanted


async def test_two_sessions_at_once_take_from_one_count() -> None:
    policy, posts = at_most(20, "all"), [Post(), Post()]

    async def tries(post: Post) -> Any:
        async with Runtime({"post": post}, policy=policy, limits=PATIENT) as rt:
            return (await run(rt, TRIES)).value

    found = await asyncio.gather(*map(tries, posts))
    assert sum(sent for sent, _ in found) == len(posts[0].sent) + len(posts[1].sent) == 20


async def test_the_message_says_which_limit_it_is_and_when_a_call_is_free_and_so_does_the_audit(tmp_path: Path) -> None:
    policy = Policy(
        limits=(
            RateLimit(operation="*.count", most=0, within="1h"),
            RateLimit(operation="post.*", most=1, within="10m", per="user"),
        )
    )
    async with Runtime({"post": Post()}, policy=policy, audit=tmp_path, limits=PATIENT) as rt:
        assert (await run(rt, "await post.send(1)")).ok
        late, never = [str((await run(rt, code)).error) for code in ("await post.send(2)", "post.count()")]
    assert "the limit of 1 calls of post.* in 10m of this user is reached; the next is free in 10 min" in late
    assert "no call is allowed" in never
    told = [one["why"] for one in audit_records(tmp_path) if one["event"] == "denied"]
    assert all("is reached" in why for why in told)
    assert len(told) == 2


async def test_calls_that_are_refused_do_not_count_and_those_that_fail_do() -> None:
    class Broken(Post):
        async def send(self, what: Any) -> str:
            """Send it."""
            raise ValueError("no")

    rules = (PolicyRule(action="deny", operation="post.send", arguments={"what": "> 100"}),)
    async with Runtime({"post": Broken()}, policy=at_most(2, rules=rules), limits=PATIENT) as rt:
        said = [str((await run(rt, f"await post.send({what})")).error) for what in (999, 999, 1, 1, 1)]
    assert ["ValueError" in line for line in said] == [False, False, True, True, False]


async def test_a_call_that_the_data_flow_refuses_does_not_count_and_a_limit_that_stands_twice_counts_once() -> None:
    class Box(Post):
        @operation(reads=True, untrusted=True)
        def body(self) -> str:
            """The mail."""
            return "hello"

    limit = RateLimit(operation="post.send", most=2, within="1h")
    flow = FlowPolicy(mode="deny", proven=(ProvenValues(operation="post.send", values=("ann",)),))
    post = Box()
    async with Runtime({"post": post}, policy=Policy(limits=(limit, limit), flow=flow), limits=PATIENT) as rt:
        await run(rt, "text = post.body()")
        for to, ok in (("eve", False), ("eve", False), ("eve", False), ("ann", True), ("ann", True), ("ann", False)):
            assert (await run(rt, f"await post.send('{to}')")).ok == ok
    assert post.sent == ["ann", "ann"]


async def test_a_call_whose_question_was_answered_no_counts_as_one_that_was_asked_for() -> None:
    post, person = Post(), Person(lambda wanted: False)
    policy = at_most(2, rules=(PolicyRule(action="ask", operation="post.send"),))
    async with Runtime({"post": post}, policy=policy, approve=person.approve, limits=PATIENT) as rt:
        said = [str((await run(rt, "await post.send(1)")).error) for _ in range(3)]
    assert ["limit" in line for line in said] == [False, False, True]  # a person is not asked without an end
    assert (len(person.asked), post.sent) == (2, [])


async def test_calls_that_a_replay_answers_do_not_count(tmp_path: Path) -> None:
    post, office, policy = Post(), Office(tmp_path), at_most(4)
    async with office.open(scope={"post": post}, policy=policy) as rt:
        assert await passed(rt, 2) == 2
    for _ in range(3):
        async with office.open(scope={"post": post}, policy=policy) as rt:
            assert (await run(rt, "1")).ok
    async with office.open(scope={"post": post}, policy=policy) as rt:
        assert await passed(rt) == 2
    assert len(post.sent) == 4


async def test_a_fork_is_a_session_of_its_own_and_the_user_is_the_same() -> None:
    for per, wanted in (("session", 2), ("user", 0)):
        post = Post()
        options: Any = {"policy": at_most(2, per), "user": "ann", "store": MemoryStore(), "limits": PATIENT}
        async with Runtime({"post": post}, session="s1", **options) as rt:
            assert await passed(rt) == 2
            async with await rt.fork() as branch:
                assert await passed(branch) == wanted, per


async def test_a_call_that_waits_for_a_person_counts_once_however_often_its_cell_is_run(tmp_path: Path) -> None:
    post, office = Post(), Office(tmp_path)
    policy = at_most(1, rules=(PolicyRule(action="ask", operation="post.send"),))
    async with office.open(scope={"post": post}, policy=policy) as rt:
        assert (await run(rt, "await post.send('once')")).waiting
        office.say()
        assert (await rt.outcome()).value == "sent"
        assert "limit" in str((await run(rt, "await post.send('twice')")).error)
    assert post.sent == ["once"]
