"""Agents that set other agents to work: what these see, what they give back, and what holds them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.agent.dying_family import Ledger
from tests.cells import PATIENCE_S

from cellwright import Limits, Scope, replay
from cellwright.agent import Agent, Spawning
from cellwright.agent.spawn import child_id
from cellwright.doors import Reply, Request
from cellwright.errors import BudgetSpent, UsageError
from cellwright.events import CellFinished, ChildFinished, ChildStarted, Event
from cellwright.messages import AssistantMessage, ToolMessage, Usage, UserMessage
from cellwright.models import Budget
from cellwright.store import MemoryStore
from cellwright.testing import ScriptedModel, code

Line = Any
Play = Callable[[str, int], Line]


def task_of(request: Request) -> str:
    """The first line of the task that the asking agent works on."""
    first = request.messages[0]
    assert isinstance(first, UserMessage)
    return first.text.splitlines()[0]


def step_of(request: Request) -> int:
    return sum(isinstance(message, AssistantMessage) for message in request.messages)


def seen(request: Request) -> str:
    """What the model was told last."""
    last = request.messages[-1]
    return "\n".join(r.text for r in last.results) if isinstance(last, ToolMessage) else getattr(last, "text", "")


def always(line: Line) -> Play:
    return lambda task, step: line


def played(parent: str, child: Play, **options: Any) -> tuple[Agent, ScriptedModel]:
    """A parent whose one cell is `parent`, and children that reply as `child` says: by their task and step."""

    def reply(request: Request) -> Line:
        task, step = task_of(request), step_of(request)
        if task != "parent":
            return child(task, step)
        return code(parent) if step == 0 else f"stop: {seen(request)}"

    model = ScriptedModel(otherwise=reply)
    settings: dict[str, Any] = {"spawn": True, "check": "off", **options}
    return Agent(model, **settings), model


async def value(parent: str, child: Play, **options: Any) -> Any:
    agent, _ = played(parent, child, **options)
    async with asyncio.timeout(PATIENCE_S):
        return (await agent.run("parent")).value


# what a child is and gives


async def test_a_child_does_its_task_and_its_answer_is_the_value() -> None:
    assert await value("done(await spawn('six by seven'))", lambda task, _: code("done(6 * 7)")) == 42


async def test_children_run_side_by_side() -> None:
    met = asyncio.Barrier(3)

    class Hall:
        async def meet(self, n: int) -> int:
            await met.wait()
            return n * n

    parent = "import asyncio\ndone(await asyncio.gather(*(spawn(f'square {n}') for n in range(3))))"
    squares = await value(parent, lambda task, _: code(f"done(await hall.meet({task[-1]}))"), scope={"hall": Hall()})
    assert squares == [0, 1, 4]


async def test_events_of_a_child_are_told_to_the_parents_listeners_with_its_session() -> None:
    agent, _ = played("done(await spawn('child'))", lambda task, _: code("done(1)"))
    events: list[Event] = []
    result = await agent.run("parent", on_event=events.append)
    (started,) = [e for e in events if isinstance(e, ChildStarted)]
    (finished,) = [e for e in events if isinstance(e, ChildFinished)]
    assert (started.session, started.task, finished.error) == (result.session_id, "child", None)
    assert started.child == finished.child
    assert started.child.startswith(f"{result.session_id}.")
    cells = [e.session for e in events if isinstance(e, CellFinished)]
    assert cells == [started.child, result.session_id]
    assert [e.session for e in result.trace if isinstance(e, CellFinished)] == cells


async def test_a_childs_instructions_and_task_are_all_that_it_knows() -> None:
    agent, model = played(
        "secret = 1\ndone(await spawn('child', instructions='Be brief.'))",
        lambda task, _: code("done('secret' in globals())"),
        instructions="Of the house.",
    )
    assert (await agent.run("parent")).value is False
    asked = next(r for r in model.requests if task_of(r) == "child")
    assert "Be brief." in asked.instructions
    assert "Of the house." in asked.instructions


# typed answers


@dataclass
class Contact:
    name: str
    age: int


async def test_the_answer_of_a_child_has_the_type_that_was_asked_for() -> None:
    def child(task: str, step: int) -> Line:
        return code("done([{'name': 'Ada', 'age': 'old'}])" if step == 0 else "done([Contact(name='Ada', age=36)])")

    parent = "found = await spawn('who?', returns=list[Contact])\ndone([found[0].name, type(found[0]) is Contact])"
    assert await value(parent, child, scope={"Contact": Contact}) == ["Ada", True]


@pytest.mark.parametrize(
    ("returns", "answer"),
    [
        ("list", [1]),
        ("dict[str, int] | None", {"a": 1}),
        ("list[Contact]", []),
        ("int", 5),
        ("__import__('typing').Any", "x"),
    ],
)
async def test_a_type_that_can_be_written_can_be_asked_for(returns: str, answer: Any) -> None:
    parent = f"done(await spawn('x', returns={returns}))"
    assert await value(parent, always(code(f"done({answer!r})")), scope={"Contact": Contact}) == answer


async def test_a_class_of_the_cells_own_is_refused_with_what_to_do() -> None:
    told = await value("class Own: ...\nawait spawn('x', returns=Own)", always("never"))
    assert "`Own` is of your own code" in told


@pytest.mark.parametrize("returns", ["'int'", "'box.empty()'", "5", "box", "['int']", "lambda: 1", "box.card"])
async def test_what_is_no_type_is_refused_and_a_text_is_never_evaluated(returns: str) -> None:
    agent, model = played(f"await spawn('x', returns={returns})", always("never"), scope=box_scope())
    assert "returns= takes a type" in (await agent.run("parent")).value
    assert len(model.requests) == 2


# failing


async def test_one_that_fails_does_not_take_the_others_down() -> None:
    def child(task: str, step: int) -> Line:
        return code("1 / 0") if task == "n3" else code(f"done('{task}')")

    parent = """
        import asyncio
        got = await asyncio.gather(*(spawn(f"n{n}") for n in range(6)), return_exceptions=True)
        done([g if isinstance(g, str) else [type(g).__name__, isinstance(g, ChildFailed)] for g in got])
    """
    agent, _ = played(parent, child, budget=Budget(steps=4))
    events: list[Event] = []
    got = (await agent.run("parent", on_event=events.append)).value
    assert got == ["n0", "n1", "n2", ["ChildFailed", True], "n4", "n5"]
    assert sum(e.error is not None for e in events if isinstance(e, ChildFinished)) == 1


async def test_the_error_of_a_child_is_short_and_can_be_caught() -> None:
    parent = "try:\n    await spawn('x')\nexcept ChildFailed as error:\n    done(str(error))"
    told = await value(parent, always(code(f"raise ValueError({'z' * 9000!r})")), budget=Budget(steps=3))
    assert len(told) <= 500


@pytest.mark.needs_layers
async def test_cancelling_the_parent_cancels_its_children() -> None:
    begun = asyncio.Event()

    class Hall:
        async def wait(self) -> None:
            begun.set()
            await asyncio.Event().wait()

    agent, _ = played("await spawn('child')", always(code("await hall.wait()")), scope={"hall": Hall()})
    events: list[Event] = []
    running = asyncio.ensure_future(agent.run("parent", on_event=events.append))
    async with asyncio.timeout(PATIENCE_S):
        await begun.wait()
        running.cancel()
        await asyncio.wait([running])
    assert [e.error for e in events if isinstance(e, ChildFinished)] == ["cancelled"]


async def test_a_parent_that_gives_up_on_a_child_ends_it() -> None:
    begun = asyncio.Event()

    class Hall:
        async def wait(self) -> None:
            begun.set()
            await asyncio.Event().wait()

        async def until_begun(self) -> None:
            await begun.wait()

    parent = """
        import asyncio
        task = asyncio.ensure_future(spawn("child"))
        await hall.until_begun()
        task.cancel()
        await asyncio.wait([task])
        done(task.cancelled())
    """
    agent, _ = played(parent, always(code("await hall.wait()")), scope={"hall": Hall()})
    events: list[Event] = []
    async with asyncio.timeout(PATIENCE_S):
        assert (await agent.run("parent", on_event=events.append)).value is True
    assert [e.error for e in events if isinstance(e, ChildFinished)] == ["cancelled"]


async def test_the_time_of_a_child_is_not_that_of_the_parents_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cellwright.sandboxes.guest_calls.WALL_S", 0.5)  # the default

    class Hall:
        async def rest(self) -> None:
            await asyncio.sleep(0.8)  # longer than any one cell may take

    class Model(ScriptedModel):
        async def request(self, request: Request, on_piece: Any = None) -> Any:
            if task_of(request) == "child":
                await Hall().rest()
            return await super().request(request, on_piece)

    model = Model(otherwise=lambda r: code("done(await spawn('child'))" if task_of(r) == "parent" else "done(7)"))
    agent = Agent(model, spawn=True, check="off", limits=Limits(wall_s=0.5))
    async with asyncio.timeout(PATIENCE_S):
        assert (await agent.run("parent")).value == 7


# limits


async def test_the_last_generation_has_no_spawn() -> None:
    def child(task: str, step: int) -> Line:
        if step:
            return "no spawn here"
        return code(f"done(await spawn('{task}+'))" if len(task) < 9 else "done(1)")

    parent = "done(await spawn('c'))"
    assert await value(parent, child, spawn=Spawning(depth=2), budget=Budget(steps=3)) == "no spawn here"


async def test_there_are_no_more_in_all_than_allowed() -> None:
    parent = """
        import asyncio
        got = await asyncio.gather(*(spawn(f"n{n}") for n in range(5)), return_exceptions=True)
        done([g if isinstance(g, int) else str(g) for g in got])
    """
    got = await value(parent, always(code("done(1)")), spawn=Spawning(in_all=3))
    assert got.count(1) == 3
    assert "no more than 3 agents" in got[-1]


@pytest.mark.parametrize("limits", [{"cost": 0.02}, {"tokens": 5_000}, {"requests": 7}])
async def test_fifty_children_at_once_exceed_their_parents_budget_by_one_request_at_most(limits: Any) -> None:
    usage = Usage(requests=1, input_tokens=1_500, output_tokens=118, cost=0.01)

    async def reply(request: Request) -> Reply:
        for _ in range(50):
            await asyncio.sleep(0)
        text = "async def one(n):\n    try: await spawn(f'child {n}')\n    except ChildFailed: pass\n"
        text += "import asyncio\nawait asyncio.gather(*map(one, range(50)))"
        return Reply(message=code(text if task_of(request) == "parent" else "done(1)"), usage=usage)

    budget = Budget(**limits)
    agent = Agent(ScriptedModel(otherwise=reply), spawn=Spawning(at_once=50), check="off", budget=budget)
    async with asyncio.timeout(2 * PATIENCE_S):
        with pytest.raises(BudgetSpent) as caught:
            await agent.run("parent")
    result: Any = caught.value.result
    assert result.usage.tokens <= (budget.tokens or 10**9) + 1_618
    assert result.usage.cost <= (budget.cost or 10**9) + 0.01
    assert result.usage.requests <= (budget.requests or 10**9)


async def test_there_are_no_more_at_once_than_allowed_and_grandchildren_do_not_wait_for_their_parents() -> None:
    now, most = 0, 0

    class Hall:
        async def stay(self) -> None:
            nonlocal now, most
            now += 1
            most = max(most, now)
            for _ in range(50):
                await asyncio.sleep(0)
            now -= 1

    def child(task: str, step: int) -> Line:
        return code("await hall.stay()\ndone(1)" if task == "grandchild" else "done(await spawn('grandchild'))")

    parent = "import asyncio\ndone(sum(await asyncio.gather(*(spawn('child') for _ in range(6)))))"
    assert await value(parent, child, scope={"hall": Hall()}, spawn=Spawning(at_once=2)) == 6
    assert most <= 2


@pytest.mark.parametrize("wrong", [{"depth": 0}, {"at_once": -1}, {"in_all": 0}])
def test_limits_that_allow_nothing_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="above zero"):
        Spawning(**wrong)


async def test_children_spend_what_the_parent_may_spend() -> None:
    parent = """
        got = []
        for n in range(5):
            try:
                got.append(await spawn(f"n{n}"))
            except ChildFailed as error:
                got.append(str(error))
        got
    """
    agent, model = played(parent, always(code("done(1)")), budget=Budget(requests=4))
    with pytest.raises(BudgetSpent):
        await agent.run("parent")
    assert len(model.requests) == 4


async def test_steps_are_each_turns_own() -> None:
    def child(task: str, step: int) -> Line:
        return code(f"{step}") if step < 3 else code("done(1)")

    parent = "import asyncio\ndone(sum(await asyncio.gather(*(spawn('x') for _ in range(4)))))"
    assert await value(parent, child, budget=Budget(steps=5)) == 4


# scope and live objects


class Card:
    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.notes: list[str] = []

    def note(self, text: str) -> int:
        self.notes.append(text)
        return len(self.notes)

    def burn(self) -> str:
        return "burnt"

    def copy(self) -> Card:
        return Card(f"copy of {self.owner}")


class Box:
    def card(self, n: int) -> Card:
        return self._cards[n]

    def __init__(self) -> None:
        self._cards = [Card("Ada"), Card("Bo")]

    def empty(self) -> str:
        return "emptied"


def box_scope() -> Scope:
    scope = Scope({"box": Box(), "other": 5})
    scope.declare("box.card.*", hide=["burn"])
    return scope


async def test_a_child_has_no_name_that_it_was_not_given() -> None:
    def child(task: str, step: int) -> Line:
        return code("done(sorted(n for n in ('box', 'other', 'spawn', 'c') if n in globals()))")

    parent = "done([await spawn('a'), await spawn('b', scope=['other']), await spawn('c', scope={'c': box.card(0)})])"
    assert await value(parent, child, scope=box_scope()) == [
        ["box", "other", "spawn"],
        ["other", "spawn"],
        ["c", "spawn"],
    ]


async def test_a_live_object_goes_to_a_child_and_comes_back_as_itself() -> None:
    parent = "card = box.card(0)\nback = await spawn('note it', scope={'c': card})\ndone([back is card, card.notes])"
    assert await value(parent, always(code("c.note('seen')\ndone(c)")), scope=box_scope()) == [True, ["seen"]]


@pytest.mark.parametrize("attempt", ["c.burn()", "c.copy().burn()"])
async def test_a_rule_holds_in_the_child(attempt: str) -> None:
    def child(task: str, step: int) -> Line:
        return code(f"try:\n    {attempt}\nexcept AttributeError as error:\n    done(str(error))")

    told = await value("done(await spawn('x', scope={'c': box.card(0)}))", child, scope=box_scope())
    assert "has no attribute 'burn'" in told


async def test_what_a_child_reached_has_the_parents_rules_in_the_parent() -> None:
    parent = """
        made = await spawn("copy it", scope={"c": box.card(0)})
        try:
            made.burn()
        except AttributeError:
            done(made.owner)
    """
    assert await value(parent, always(code("done(c.copy())")), scope=box_scope()) == "copy of Ada"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("['nothing']", "`nothing` is not in scope; in scope: box, other"),
        ("['done']", "`done` is not in scope"),
        ("['spawn']", "`spawn` is not in scope"),
        ("{'again': spawn}", "`spawn` belongs to the agent that has it"),
        ("{'end': [done]}", "`done` belongs to the agent that has it"),
        ("{'done': 1}", "'done' is a name that each agent has of its own"),
        ("{'_x': 1}", "cannot be a name in scope"),
        ("5", "scope is a list of names"),
        ("'box'", "scope is a list of names"),
        ("iter(['box'])", "scope is a list of names"),
        ("[5]", "`5` is not in scope"),
    ],
)
async def test_a_scope_that_cannot_be_given_is_told_at_once(given: str, says: str) -> None:
    agent, model = played(f"await spawn('x', scope={given})", always("never"), scope=box_scope())
    assert says in (await agent.run("parent")).value
    assert len(model.requests) == 2


async def test_a_child_calls_a_function_of_the_parents_while_that_awaits_it() -> None:
    parent = """
        seen = []
        got = await spawn("count", scope={"note": lambda n: seen.append(n) or len(seen)})
        done([got, seen])
    """
    assert await value(parent, always(code("done([note(7), note(8)])"))) == [[1, 2], [7, 8]]


# kept


def test_a_childs_id_is_its_parents_and_its_calls() -> None:
    assert child_id("s1", "k1") == child_id("s1", "k1") != child_id("s1", "k2")
    assert child_id("s1", "k1").startswith("s1.")
    long = child_id("a" * 64, "k1")
    assert len(long) <= 64
    assert long != child_id("a" * 63 + "b", "k1")


async def test_children_are_kept_in_the_parents_store_and_share_its_journal() -> None:
    journal = MemoryStore()
    agent, _ = played("done(await spawn('child'))", always(code("done(1)")), store=journal)
    result = await agent.run("parent")
    child, parent = sorted(journal.sessions(), key=len, reverse=True)
    assert parent == result.session_id
    assert child.startswith(f"{parent}.")
    assert [cell.code for cell in journal.cells(child)] == ["done(1)"]


async def test_a_parents_session_is_repeated_without_its_children() -> None:
    journal = MemoryStore()
    parent = """
        seen = []
        card = await spawn("x", scope={"c": box.card(0), "note": lambda text: seen.append(text)})
        try:
            await spawn("y", scope=[])
        except ChildFailed as error:
            done([card.owner, seen, str(error)[:11]])
    """

    def child(task: str, step: int) -> Line:
        return code("note('a')\nnote('b')\ndone(c)") if task == "x" else code("raise ValueError")

    agent, model = played(parent, child, store=journal, scope=box_scope(), budget=Budget(steps=3))
    result = await agent.run("parent")
    assert result.value == ["Ada", ["a", "b"], "BudgetSpent"]
    paid = len(model.requests)
    for session in journal.sessions():
        assert (await replay(session, store=journal)).same
    assert len(model.requests) == paid


@pytest.mark.crash
@pytest.mark.parametrize("when", ["0", "1", "2", "end"])
def test_after_a_death_in_the_childs_turn_the_child_goes_on_and_no_reply_is_paid_twice(
    tmp_path: Path, when: str
) -> None:
    def life(dies: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-m", "tests.agent.dying_family", str(tmp_path), dies]
        return subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)

    assert life(when).returncode == -9
    done = life("never")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == "2 lines"
    assert Ledger(tmp_path / "paid").lines() == ["parent 0", "child 0", "child 1", "child 2"]
    assert Ledger(tmp_path / "ledger").lines() == ["first", "second"]


@pytest.mark.crash
@pytest.mark.parametrize("deaths", [("0",), ("1",), ("2", "2"), ("0", "1", "2")], ids=", ".join)
def test_a_death_with_six_children_in_flight_costs_one_reply_of_each(tmp_path: Path, deaths: tuple[str, ...]) -> None:
    def life(when: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-m", "tests.agent.dying_children", str(tmp_path), when]
        return subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)

    for when in deaths:
        assert life(when).returncode == -9
    done = life("never")
    assert done.returncode == 0, done.stderr
    children = [f"child {n}" for n in range(6)]
    assert json.loads(done.stdout) == children
    asked = Counter(Ledger(tmp_path / "asked").lines())
    assert asked["the parent's task 0"] == 1
    assert {f"{c} {s}": asked[f"{c} {s}"] for c in children for s in "012"} == {
        f"{c} {s}": 1 + deaths.count(s) for c in children for s in "012"
    }
    assert sorted(Ledger(tmp_path / "ledger").lines()) == sorted(f"{c}: {e}" for c in children for e in "ab")


# many


@pytest.mark.slow
async def test_two_hundred_children_at_once_of_which_some_fail() -> None:
    def child(task: str, step: int) -> Line:
        return code("raise ValueError") if task.endswith("7") else code(f"done({task[1:]})")

    parent = """
        import asyncio
        got = await asyncio.gather(*(spawn(f"n{n}") for n in range(200)), return_exceptions=True)
        done([sum(g for g in got if isinstance(g, int)), sum(isinstance(g, ChildFailed) for g in got)])
    """
    got = await value(parent, child, spawn=Spawning(at_once=200), budget=Budget(steps=3))
    assert got == [sum(n for n in range(200) if n % 10 != 7), 20]


async def test_the_usage_of_a_turn_counts_what_its_children_used() -> None:
    model = ScriptedModel(code("done(await spawn('count'))"), code("done(3)"))
    result = await Agent(model, spawn=True).run("…")
    assert (result.value, result.usage.requests, len(model.requests)) == (3, 2, 2)
