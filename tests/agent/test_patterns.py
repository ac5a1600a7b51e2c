"""Many agents, put together by plain functions: what they give, what fails alone, and what ends with what."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.agent.worlds import last_observation
from tests.cells import PATIENCE_S

from cellwright import Limits
from cellwright.agent import Agent, patterns
from cellwright.agent.patterns import Improved, Tried, Verdict
from cellwright.doors import Request
from cellwright.errors import BudgetSpent, ChildFailed, ReturnTypeError, TurnFailed, UsageError
from cellwright.events import CellFinished, Event
from cellwright.messages import UserMessage
from cellwright.models import Budget, Spending
from cellwright.store import MemoryStore
from cellwright.testing import ScriptedModel, code
from cellwright.testing.model import Script

pytestmark = pytest.mark.usefixtures("warm")


def worker(*replies: Script, otherwise: Script | None = None, **options: Any) -> Agent:
    settings: dict[str, Any] = {"check": "off", **options}
    return Agent(ScriptedModel(*replies, otherwise=otherwise), **settings)


def by_task(reply: Callable[[str], Script], **options: Any) -> Agent:
    """An agent whose replies depend on the task alone."""
    return worker(otherwise=lambda request: reply(task_of(request).splitlines()[0]), **options)  # pyright: ignore[reportArgumentType] - no function of a function


def task_of(request: Request) -> str:
    first = request.messages[0]
    assert isinstance(first, UserMessage)
    return first.text


async def asked(agent: Agent) -> list[Request]:
    model = await agent.model()
    assert isinstance(model, ScriptedModel)
    return model.requests


class Hall:
    """Where agents meet, and where some wait for ever."""

    def __init__(self, parties: int = 1) -> None:
        self.inside = self.most = self.left = 0
        self.full = asyncio.Event()
        self._barrier = asyncio.Barrier(parties)
        self._parties = parties

    async def meet(self, number: int) -> int:
        """Wait until as many are here as there are places."""
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self._barrier.wait()
        finally:
            self.inside -= 1
        return number * number

    async def stay(self) -> None:
        """Wait, for ever."""
        self.inside += 1
        if self.inside == self._parties:
            self.full.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.inside -= 1
            self.left += 1


async def cancelled_when_full(hall: Hall, work: Any) -> None:
    """Cancel it once everybody is inside; afterwards nobody is, and no task is left that was not there before."""
    before = asyncio.all_tasks()
    running = asyncio.ensure_future(work)
    async with asyncio.timeout(PATIENCE_S):
        await hall.full.wait()
        running.cancel()
        await asyncio.wait([running])
    assert running.cancelled()
    assert hall.inside == 0
    assert asyncio.all_tasks() <= before


# one after the other


async def test_each_stage_works_on_the_answer_of_the_one_before() -> None:
    finds = by_task(lambda task: code(f"done([len({task!r}), 4])"))
    adds = worker(code("done(sum(given))"))

    async def doubled(number: int) -> int:
        return number * 2

    assert await patterns.pipeline("tea", finds, adds, doubled) == 14
    assert "`given`" in task_of((await asked(adds))[0])


async def test_a_live_object_goes_through_stages_as_itself() -> None:
    hall = Hall()
    first = worker(code("done(hall)"), scope={"hall": hall})
    second = worker(code("await given.meet(3)\ndone(given)"))
    assert await patterns.pipeline("find the hall", first, second) is hall
    assert hall.most == 1


async def test_a_pipeline_without_stages_gives_what_it_got() -> None:
    assert await patterns.pipeline("tea") == "tea"


async def test_an_error_of_a_stage_is_of_its_own_kind_and_says_which_stage() -> None:
    fails = worker(otherwise=code("1 / 0"), budget=Budget(steps=2))

    async def never(_: Any) -> None:
        raise AssertionError("the stage before it failed")

    with pytest.raises(TurnFailed) as caught:
        await patterns.pipeline("tea", worker(code("done('cake')")), fails, never)
    assert caught.value.__notes__ == ["in stage 2 of 3"]


async def test_patterns_fit_into_each_other_and_an_error_tells_the_whole_way() -> None:
    async def halved(number: int) -> int:
        if number % 2:
            raise ValueError("odd")
        return number // 2

    tried = await patterns.fan_out([4, 6], lambda number: patterns.pipeline(number, halved, halved))
    assert tried[0].value == 1
    assert isinstance(tried[1].error, ValueError)
    assert tried[1].error.__notes__ == ["in stage 2 of 2: halved", "at item 2 of 2: 6"]


# side by side


async def test_a_hundred_items_are_worked_on_so_many_at_once_and_no_more() -> None:
    hall, at_work, most = Hall(parties=6), 0, 0
    agent = by_task(lambda task: code(f"done(await hall.meet({task}))"), scope={"hall": hall})

    async def squared(number: int) -> int:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        try:
            return (await agent.run(str(number), returns=int)).value
        finally:
            at_work -= 1

    async with asyncio.timeout(3 * PATIENCE_S):
        tried = await patterns.fan_out(range(120), squared, at_once=6)
    assert patterns.values(tried) == [n * n for n in range(120)]
    assert [each.item for each in tried] == list(range(120))
    assert (most, hall.most) == (6, 6)  # and not fewer: each meets five others in the hall


async def test_one_that_fails_does_not_stop_the_others_and_is_known_by_its_item() -> None:
    agent = by_task(lambda task: code("1 / 0" if task == "b" else f"done('{task}!')"), budget=Budget(steps=2))
    tried = await patterns.fan_out(["a", "b", "c"], agent)
    assert [(each.item, each.ok, each.value) for each in tried] == [
        ("a", True, "a!"),
        ("b", False, None),
        ("c", True, "c!"),
    ]
    assert isinstance(tried[1].error, BudgetSpent)
    assert tried[1].error.__notes__ == ["at item 2 of 3: 'b'"]
    with pytest.raises(BudgetSpent):
        tried[1].unwrap()


async def test_values_raises_what_failed_all_together() -> None:
    async def even(number: int) -> int:
        if number % 2:
            raise ValueError(number)
        return number

    assert patterns.values(await patterns.fan_out([0, 2], even)) == [0, 2]
    with pytest.raises(ExceptionGroup, match="2 of 4 items failed") as caught:
        patterns.values(await patterns.fan_out(range(4), even))
    assert [str(error) for error in caught.value.exceptions] == ["1", "3"]


async def test_work_that_cancels_itself_is_one_failure_among_the_others() -> None:
    async def cancels(number: int) -> int:
        if number == 1:
            raise asyncio.CancelledError
        return number

    tried = await patterns.fan_out(range(3), cancels, at_once=1)
    assert [each.ok for each in tried] == [True, False, True]


async def test_an_exception_that_work_gives_is_its_value() -> None:
    async def gives(number: int) -> Exception:
        return ValueError(number)

    (tried,) = await patterns.fan_out([7], gives)
    assert tried.ok
    assert isinstance(tried.value, ValueError)


async def test_an_item_that_cannot_be_shown_is_worked_on_all_the_same() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise LookupError("no words")

    async def fails(item: Shy) -> None:
        raise ValueError("it failed")

    (tried,) = await patterns.fan_out([Shy()], fails)
    assert isinstance(tried.error, ValueError)
    assert tried.error.__notes__[0].startswith("at item 1 of 1: <Shy instance")


async def test_items_may_be_none_at_all() -> None:
    assert await patterns.fan_out([], worker()) == []


async def test_cancelling_a_fan_out_ends_every_agent_of_it_before_it_ends_itself() -> None:
    hall = Hall(parties=5)
    agent = worker(otherwise=code("await hall.stay()"), scope={"hall": hall})
    await cancelled_when_full(hall, patterns.fan_out(map(str, range(20)), agent, at_once=5))
    assert hall.left == 5  # the other fifteen never began


async def test_agents_within_one_spending_stop_together() -> None:
    spending = Spending(Budget(requests=4))
    agents = [worker(otherwise=code(f"done({n})"), within=spending) for n in range(3)]
    tried = await patterns.fan_out(range(6), lambda n: agents[n % 3].run("go", returns=int), at_once=1)
    assert [each.ok for each in tried] == [True] * 4 + [False] * 2
    assert all(isinstance(each.error, BudgetSpent) for each in tried[4:])
    assert spending.usage.requests == 4


# one as a function of another's code


@dataclass(frozen=True)
class Fact:
    about: str
    year: int


def researcher(*replies: Script, **options: Any) -> Callable[[str], Any]:
    agent = worker(*replies, **options)
    return patterns.as_function(agent, "researcher", "Finds out when something happened.", Fact)


async def test_code_asks_another_agent_as_it_calls_a_function() -> None:
    finds = researcher(code("done(Fact(about='tea', year=library.year('tea')))"), scope={"library": Library()})
    main = Agent(
        ScriptedModel(code("fact = await researcher('tea')\ndone(fact.year + 1)")), scope={"researcher": finds}
    )
    assert (await main.run("a year after tea?", returns=int)).value == 1661
    instructions = (await asked(main))[0].instructions
    assert "await researcher(task: str) -> Fact  # Finds out when something happened." in instructions


class Library:
    def year(self, about: str) -> int:
        return {"tea": 1660, "coffee": 1652}[about]


async def test_a_function_of_an_agent_gives_the_host_its_typed_value_too() -> None:
    finds = researcher(code("done(Fact(about='tea', year=1660))"))
    assert await finds("tea") == Fact("tea", 1660)


async def test_an_agent_that_fails_is_an_error_that_code_can_catch() -> None:
    finds = researcher(otherwise=code("1 / 0"), budget=Budget(steps=2))
    cell = "try:\n    await researcher('tea')\nexcept Exception as e:\n    done([type(e).__name__, str(e)])"
    main = worker(code(cell), scope={"researcher": finds})
    kind, text = (await main.run("x")).value
    assert kind == "ChildFailed"
    assert text.startswith("researcher: BudgetSpent: spent 2 of 2 steps")
    with pytest.raises(ChildFailed) as caught:
        await finds("tea")
    assert isinstance(caught.value.__cause__, BudgetSpent)


@pytest.mark.parametrize("task", ["5", "' '", "['tea']"])
async def test_a_task_that_is_no_text_is_told_before_the_agent_is_asked(task: str) -> None:
    model = ScriptedModel(code(f"await researcher({task})"), "stop")
    await Agent(model, scope={"researcher": researcher()}, check="off").run("x")
    assert "give it a text that says what to do" in last_observation(model)


async def test_events_of_a_delegate_go_to_who_listens_to_it() -> None:
    events: list[Event] = []
    finds = patterns.as_function(worker(code("done(1)")), "finds", "Finds.", int, on_event=events.append)
    main = worker(code("done(await finds('x'))"), scope={"finds": finds})
    own = (await main.run("x")).trace
    assert len([e for e in events if isinstance(e, CellFinished)]) == 1
    assert len([e for e in own if isinstance(e, CellFinished)]) == 1


async def test_cancelling_an_agent_ends_those_that_its_code_asked() -> None:
    hall = Hall(parties=2)
    waits = patterns.as_function(worker(otherwise=code("await hall.stay()"), scope={"hall": hall}), "waits", "Waits.")
    cell = "import asyncio\nawait asyncio.gather(waits('a'), waits('b'))"
    await cancelled_when_full(hall, worker(code(cell), scope={"waits": waits}).run("x"))
    assert hall.left == 2


async def test_the_time_of_a_delegate_is_not_that_of_the_cell_that_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cellwright.sandboxes.guest_calls.WALL_S", 0.4)  # the default

    async def slow(request: Request) -> Any:
        await asyncio.sleep(0.6)  # longer than the cell may take
        return code("done(7)")

    waits = patterns.as_function(worker(slow), "waits", "Takes its time.", int)
    main = worker(code("done(await waits('x'))"), scope={"waits": waits}, limits=Limits(wall_s=0.4))
    assert (await main.run("x")).value == 7


async def test_a_delegate_is_asked_once_by_a_session_that_is_resumed() -> None:
    store, scope = MemoryStore(), {"finds": patterns.as_function(worker(code("done(1660)")), "finds", "Finds.", int)}
    async with worker(code("year = await finds('tea')\ndone(year)"), scope=scope, store=store).session("s") as session:
        assert (await session.run("x")).value == 1660
    async with worker(code("done(year + 1)"), scope=scope, store=store).resume("s") as session:
        assert (await session.run("and a year later?")).value == 1661


# one object for several


class Board:
    """Jobs that each are done by one. Its methods are async: they run on the host's loop, one at a time."""

    def __init__(self, *jobs: str) -> None:
        self.open = list(jobs)
        self.notes: dict[str, str] = {}

    async def claim(self) -> str | None:
        """The next job; None when all are taken."""
        return self.open.pop(0) if self.open else None

    async def note(self, job: str, text: str) -> None:
        """Write down what came of a job."""
        assert job not in self.notes
        self.notes[job] = text


async def test_agents_that_share_an_object_see_what_the_others_do_to_it() -> None:
    board = Board()
    writer = worker(code("await board.note('tea', 'hot')\ndone(board)"))
    reader = worker(code("done([board.notes['tea'], board])"))
    writes, reads = patterns.share({"board": board}, writer, reader)
    assert (await writes.run("write")).value is board
    assert (await reads.run("read")).value == ["hot", board]
    assert [name for agent in (writer, reader) for name, _ in agent.scope.names()] == []


async def test_atomic_methods_give_each_job_to_one_agent() -> None:
    board = Board(*(f"job {n}" for n in range(40)))
    cell = "while (job := await board.claim()):\n    await board.note(job, me)\ndone()"
    agents = [patterns.share({"board": board, "me": f"agent {n}"}, worker(code(cell)))[0] for n in range(8)]
    patterns.values(await patterns.fan_out(agents, lambda agent: agent.run("take jobs until there are none")))
    assert sorted(board.notes) == sorted(f"job {n}" for n in range(40))
    assert board.open == []


async def test_what_is_shared_or_given_may_be_handed_on_to_spawned_agents() -> None:
    board = Board()

    def play(request: Request) -> Script:
        if task_of(request).startswith("child"):
            return code("await paper.note('child', 'was here')\ndone(paper)")
        return code("done(await spawn('child', scope={'paper': given}))")

    agent = worker(otherwise=play, spawn=True)  # pyright: ignore[reportArgumentType]
    assert await patterns.pipeline(board, agent) is board
    assert board.notes == {"child": "was here"}

    @agent.function
    async def passed_on(given: Board) -> Any:
        """Hand it on."""

    board.notes.clear()
    assert await passed_on(board) is board


async def test_a_name_that_an_agent_has_already_is_not_shared_over_it() -> None:
    with pytest.raises(UsageError, match="'board' is in this scope already"):
        patterns.share({"board": Board()}, worker(scope={"board": 1}))


# one of several


def desks() -> dict[str, tuple[str, Agent]]:
    return {
        "bills": ("what was paid and what was not", worker(code("done('paid')"))),
        "post": ("letters and parcels", worker(code("done('sent')"))),
    }


async def test_a_task_goes_to_the_one_that_the_router_chooses() -> None:
    routes, router = desks(), Agent(ScriptedModel(code("done('post')")))
    assert await patterns.route("Where is my parcel?", routes, router) == "sent"
    assert task_of((await asked(routes["post"][1]))[0]) == "Where is my parcel?"
    assert await asked(routes["bills"][1]) == []
    told = task_of((await asked(router))[0])
    assert "- post: letters and parcels" in told
    assert "Where is my parcel?" in told


async def test_a_router_that_says_the_name_in_plain_words_is_heard() -> None:
    assert await patterns.choose("x", {"bills": "…", "post": "…"}, worker("bills")) == "bills"


async def test_a_router_cannot_choose_what_is_not_there() -> None:
    model = ScriptedModel(code("done('garden')"), code("done('post')"))
    assert await patterns.choose("x", {"bills": "…", "post": "…"}, Agent(model, check="off")) == "post"
    assert "Input should be 'bills' or 'post'" in last_observation(model)
    with pytest.raises(ReturnTypeError):
        await patterns.route("x", desks(), worker(otherwise=code("done('garden')")))


async def test_a_router_may_be_a_function_and_is_held_to_the_names_too() -> None:
    async def by_length(task: str) -> str:
        return "post" if len(task) < 10 else "garden"

    assert await patterns.route("short", desks(), by_length) == "sent"
    with pytest.raises(UsageError, match="'garden', which is none of bills, post"):
        await patterns.route("very long indeed", desks(), by_length)


async def test_nothing_to_choose_from_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="nothing to choose from"):
        await patterns.choose("x", {}, worker())


async def test_an_error_on_a_route_says_which() -> None:
    async def post(task: str) -> str:
        raise LookupError(task)

    async def router(task: str) -> str:
        return "post"

    with pytest.raises(LookupError) as caught:
        await patterns.route("x", {"post": ("letters", post)}, router)
    assert caught.value.__notes__ == ["on the route 'post'"]


# a plan, workers, a sum


async def test_jobs_of_a_plan_are_done_side_by_side_and_summed_up() -> None:
    planner = Agent(ScriptedModel(code("done(['count tea', 'count cake', 'break'])")))
    works = by_task(lambda task: code("1 / 0" if task == "break" else f"done(len({task!r}))"), budget=Budget(steps=2))
    sums = worker(code("done([sum(g['answer'] for g in given if not g['error']), given[2]['job'], given[2]['error']])"))
    total, job, error = await patterns.orchestrate("count all", planner, works, sums)
    assert (total, job) == (19, "break")
    assert error.startswith("BudgetSpent: ")
    assert task_of((await asked(sums))[0]).startswith("count all\n")


@dataclass(frozen=True)
class Job:
    item: str
    count: int


async def test_jobs_may_be_of_a_type_of_ones_own() -> None:
    planner = Agent(ScriptedModel(code("done([Job(item='tea', count=2), Job(item='cake', count=3)])")))

    @planner.function
    async def plan(task: str) -> list[Job]:
        """The jobs that the task comes to."""
        raise NotImplementedError

    async def work(job: Job) -> str:
        return job.item * job.count

    async def sum_up(tried: list[Tried[Job, str]]) -> str:
        return " ".join(patterns.values(tried))

    assert await patterns.orchestrate("x", plan, work, sum_up) == "teatea cakecakecake"


async def test_a_plan_that_fails_says_that_it_was_the_plan() -> None:
    with pytest.raises(ReturnTypeError) as caught:
        await patterns.orchestrate("x", worker(otherwise=code("done(7)")), worker(), worker())
    assert caught.value.__notes__ == ["in the plan"]


async def test_cancelling_an_orchestra_ends_its_workers() -> None:
    hall = Hall(parties=3)
    works = worker(otherwise=code("await hall.stay()"), scope={"hall": hall})
    await cancelled_when_full(hall, patterns.orchestrate("x", worker(code("done(['a', 'b', 'c'])")), works, worker()))


# until it is good


async def test_an_answer_is_made_again_with_the_advice_until_it_is_good() -> None:
    makes = worker(code("done('tea')"), code("done(given + ' and cake')"))
    judges = Agent(
        ScriptedModel(
            code("done(Verdict(good=False, advice='Add cake.'))"), code("done(Verdict(good='cake' in given))")
        )
    )
    improved = await patterns.improve("order", makes, judges)
    assert improved == Improved(value="tea and cake", verdict=Verdict(good=True), rounds=2)
    assert task_of((await asked(makes))[0]) == "order"
    assert "Add cake." in task_of((await asked(makes))[1])
    assert "order" in task_of((await asked(judges))[0])


async def test_an_answer_that_does_not_get_good_is_given_with_the_last_verdict() -> None:
    wishes: list[str] = []

    async def make(wish: str) -> int:
        wishes.append(wish)
        return len(wishes)

    async def judge(value: int) -> Verdict:
        return Verdict(good=False, advice=f"{value} is too few")

    improved = await patterns.improve("many", make, judge, rounds=3)
    assert improved == Improved(value=3, verdict=Verdict(good=False, advice="3 is too few"), rounds=3)
    assert wishes == ["many", *(f"many\n\nAn earlier answer was not good enough:\n{n} is too few" for n in (1, 2))]


async def test_a_round_that_fails_says_which() -> None:
    async def make(wish: str) -> int:
        return 1

    async def judge(value: int) -> Verdict:
        raise LookupError(value)

    with pytest.raises(LookupError) as caught:
        await patterns.improve("x", make, judge)
    assert caught.value.__notes__ == ["in round 1 of 3"]


@pytest.mark.parametrize("said", ["It is good.", True, None, {"good": True}])
async def test_a_judge_that_gives_no_verdict_is_told_so_in_one_line(said: Any) -> None:
    async def make(_: str) -> int:
        return 1

    async def judge(_: int) -> Any:
        return said

    with pytest.raises(UsageError, match=r"the judge gave .*; a judge gives Verdict\(good=…, advice=…\)") as caught:
        await patterns.improve("x", make, judge)
    assert caught.value.__notes__ == ["in round 1 of 3"]


async def test_an_agent_that_judges_in_plain_text_is_asked_again_for_a_verdict() -> None:
    judges = worker("It is good.", code("done(Verdict(good=True))"))
    improved = await patterns.improve("x", worker(code("done(1)")), judges)
    assert improved == Improved(value=1, verdict=Verdict(good=True), rounds=1)


@pytest.mark.parametrize("wrong", [0, -1])
async def test_numbers_below_one_are_refused(wrong: int) -> None:
    with pytest.raises(UsageError, match="at_once"):
        await patterns.fan_out(["a"], worker(), at_once=wrong)
    with pytest.raises(UsageError, match="rounds"):
        await patterns.improve("x", worker(), worker(), rounds=wrong)
