"""What guest code may try on the agent that runs it: by values, texts, types and children. The host goes on.

Where an attack would cost the host hours, a small form of it is tried, and what is asserted is the bound.
"""

from __future__ import annotations

import asyncio
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, field_validator
from tests.agent.test_spawn import always, played
from tests.agent.worlds import agent_with, last_observation
from tests.cells import PATIENCE_S
from typing_extensions import TypeAliasType

from cellwright import Limits, Scope, operation
from cellwright.agent import Agent
from cellwright.agent.context_window import ContextWindow
from cellwright.doors import Reply
from cellwright.errors import BudgetSpent, Fenced, JournalFailed, ReturnTypeError, UsageError
from cellwright.events import ApprovalWanted, ChildFinished, Event
from cellwright.messages import AssistantMessage, ToolCall, ToolMessage, Traits, Usage, estimated_tokens
from cellwright.models import Budget, open_model
from cellwright.scope import shown
from cellwright.store import MemoryStore, Row
from cellwright.testing import ScriptedModel, call, code
from cellwright_guest.wire import Packed

RING = "rs = [[] for _ in range(9)]\nfor r in rs: r.extend(rs)\n"  # a million paths; with twenty there is no end
SMALL = RING.replace("9", "6")
Json = TypeAliasType("Json", "int | list[Json] | dict[str, Json]")


class Bank:
    """Speaks of its password where it is printed."""

    def __init__(self) -> None:
        self.taken = 0

    def __repr__(self) -> str:
        return "<Bank https://ann:hunter22@bank.example password=hunter22>"

    def ticks(self) -> Iterator[int]:
        """Numbers; guest code cannot know whether they end."""
        for n in range(10):
            self.taken += 1
            yield n


class Mute:
    def __repr__(self) -> str:
        raise RuntimeError("it does not want to be printed")


# what the model is told of a value


async def test_a_number_of_too_many_digits_is_shown_and_does_not_end_the_turn() -> None:
    agent, model = agent_with(code("10 ** 5000"), "seen", check="off")
    assert (await agent.run("…")).value == "seen"
    assert last_observation(model).startswith("0x")


async def test_lists_that_hold_each_other_are_shown_up_to_a_bound() -> None:
    cells = code(f"{RING}rs"), code("done(len(show('output:1', start=1_500_000)))")
    agent, _ = agent_with(*cells, check="off")
    assert (await agent.run("…")).value == 0


async def test_a_live_object_says_no_more_to_the_model_than_to_guest_code() -> None:
    agent, model = agent_with(code("print(repr(bank))\nbank"), "seen", scope={"bank": Bank()}, check="off")
    await agent.run("…")
    printed, _, told = last_observation(model).partition("\nValue: ")
    assert printed == told
    assert "hunter22" not in told


async def test_an_object_that_cannot_be_printed_is_named() -> None:
    agent, model = agent_with(code("[mute]"), "seen", scope={"mute": Mute()}, check="off")
    assert (await agent.run("…")).value == "seen"
    assert last_observation(model) == "[<Mute whose repr raised RuntimeError>]"


async def test_half_a_character_is_not_sent_to_a_model() -> None:
    agent, model = agent_with(code("raise ValueError('a\\ud800b')"), "seen", check="off")
    await agent.run("…")
    assert last_observation(model).endswith("ValueError: a?b")


def test_what_is_shown_is_what_repr_has_where_nothing_is_in_the_way() -> None:
    @dataclass
    class Card:
        owner: str
        notes: list[str]

    value = [
        (1,),
        (),
        {"a": {2.5}},
        set[int](),
        frozenset([1]),
        b"x",
        None,
        Card("Ada", ["n"]),
        slice(1, None),
        range(3),
        Path("/tmp"),
    ]
    assert shown(value) == repr(value).replace(Card.__qualname__, "Card")


# the answer


@pytest.mark.parametrize("returns", [int, Json, dict[str, int]])
async def test_an_answer_that_holds_itself_is_refused_before_it_is_checked(returns: Any) -> None:
    agent, model = agent_with(
        code(f"{SMALL}done(rs)"), code("done({})" if returns is not int else "done(1)"), check="off"
    )
    await agent.run("…", returns=returns)
    assert "Rejected: it holds itself" in last_observation(model)


async def test_answers_with_long_numbers_are_refused_as_any_other() -> None:
    agent, _ = agent_with(*[code("done([10 ** 5000])")] * 3, check="off")
    with pytest.raises(ReturnTypeError, match=r"3 answers are not of type int; the last one: \[0x"):
        await agent.run("…", returns=int)


async def test_a_live_iterator_is_not_read_to_its_end_on_the_host() -> None:
    bank = Bank()
    agent, model = agent_with(
        code("done(bank.ticks())"), code("done(list(bank.ticks()))"), scope={"bank": bank}, check="off"
    )
    assert (await agent.run("…", returns=list[int])).value == list(range(10))
    assert bank.taken == 10
    assert "give a list of its items" in last_observation(model)


async def test_a_live_iterator_that_was_asked_for_is_given() -> None:
    bank = Bank()
    agent, _ = agent_with(code("done(bank.ticks())"), scope={"bank": bank}, check="off")
    value = (await agent.run("…", returns=Iterator[int])).value
    assert list(value) == list(range(10))


async def test_of_thousands_of_mistakes_the_first_are_told() -> None:
    agent, model = agent_with(code("done(['x'] * 5000)"), code("done([1])"), check="off")
    await agent.run("…", returns=list[int])
    told = last_observation(model)
    assert "0: Input should be a valid integer" in told
    assert "5,000 errors" in told


class Named(BaseModel):
    name: str

    @field_validator("name", mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value.strip()


async def test_a_validator_that_fails_in_its_own_way_does_not_end_the_turn() -> None:
    agent, _ = agent_with(code("{'name': 5}"), "there it is", code("done({'name': 'x'})"), check="off")
    assert (await agent.run("…", returns=Named)).value == Named(name="x")


async def test_a_warning_of_somebody_elses_does_not_fail_while_a_type_is_read() -> None:
    class Old(int):
        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
            warnings.warn("this is old", DeprecationWarning, stacklevel=1)
            return handler(int)

    agent, _ = agent_with(code("done(3)"), check="off")
    with pytest.deprecated_call():
        assert (await agent.run("…", returns=Old)).value == 3


async def test_a_turn_ends_though_the_code_goes_on_after_done() -> None:
    cell = "while True:\n    try:\n        done(1)\n    except BaseException:\n        pass"
    agent, _ = agent_with(code(cell), check="off", limits=Limits(host_calls=20, wall_s=1))
    assert (await agent.run("…", returns=int)).value == 1


async def test_a_thread_that_calls_done_later_ends_no_turn_with_a_value_of_another_type() -> None:
    late = """
        import threading
        go = threading.Event()
        t = threading.Thread(target=lambda: (go.wait(), done('late')))
        t.start()
        done('now')
    """
    agent, _ = agent_with(code(late), code("go.set()\nt.join()\ndone(2)"), check="off")
    async with agent.session() as session:
        assert (await session.run("…")).value == "now"
        assert (await session.run("…", returns=int)).value == 2


# what a model sends


async def test_a_cell_of_two_million_characters_is_not_read_by_the_host() -> None:
    agent, model = agent_with(code("x = 1\n" * 333_334), code("done(1)"))
    assert (await agent.run("…")).value == 1
    why = "a cell may have at most 200,000 characters, and this one has 2,000,004; nothing of it was run."
    assert why in last_observation(model)


@pytest.mark.parametrize("arguments", ['{"code":' + "[" * 100_000 + "}", '{"code":' + "9" * 5_000 + "}", '{"code"'])
async def test_arguments_that_cannot_be_read_go_back_to_the_model(arguments: str) -> None:
    agent, model = agent_with(
        AssistantMessage(text="", calls=(ToolCall(id="1", name="execute", arguments=arguments),)), "seen"
    )
    assert (await agent.run("…")).value == "seen"
    assert "the arguments are not JSON" in last_observation(model)


async def test_the_calls_of_one_reply_do_not_fill_the_window_together() -> None:
    calls = tuple(call("execute", code=f"print('{n}' * 200_000)") for n in range(30))
    agent, model = agent_with(AssistantMessage(text="", calls=calls), "seen", check="off", traits=Traits(window=8192))
    assert (await agent.run("…")).value == "seen"
    assert estimated_tokens(model.requests[-1].messages[-1]) < 8192 / 2
    assert "show('output:30')" in last_observation(model)


@pytest.mark.parametrize("given", ["search('word ' * 1000)", "show('name.' * 1000)"])
async def test_a_long_text_is_not_looked_for(given: str) -> None:
    agent, model = agent_with(code(given), "seen", check="off")
    await agent.run("…")
    assert "characters; 1,000 are enough" in last_observation(model)


@operation(direct=True)
def echo(text: str, **more: int) -> str:
    """Say it again."""
    return f"{text} {sum(more.values())}"


@pytest.mark.parametrize("lie", ["rs", "[(True, 'x', False, 10 ** 5000)]", "10 ** 5000", "[(1, 2)]", "[[[]]]", "None"])
async def test_a_guest_that_lies_about_direct_calls_fools_nobody_but_the_model(lie: str) -> None:
    lies = f"async def gather(*calls):\n    [c.close() for c in calls]\n    return {lie}\n"
    poison = f"import asyncio\n{RING}{lies}asyncio.gather = gather"
    model = ScriptedModel(code(poison), [call("echo", text="hi")], "seen")
    agent = Agent(model, scope={"echo": echo, "other": Bank()}, check="off")
    assert (await agent.run("Echo hi.")).value == "seen"
    assert len(last_observation(model)) < 1_000
    assert "no result could be read" in last_observation(model)


@pytest.mark.parametrize("name", ["__debug__", "ｈｉ", "a b", "class", "x=1) or f(y"])
async def test_the_name_of_an_argument_is_data_whatever_it_is(name: str) -> None:
    model = ScriptedModel([call("echo", text="a", **{name: 1}), call("echo", text="b")], "seen")
    await Agent(model, scope={"echo": echo}, mode="direct").run("Echo.")
    results = model.requests[-1].messages[-1]
    assert isinstance(results, ToolMessage)
    assert [r.text for r in results.results] == ["a 1", "b 0"]


# children


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("[rs]", "is not in scope"),
        ("[10 ** 5000]", "is not in scope"),
        ("['x'] * 5000", "5000 names are more than 1000"),
        ("{10 ** 5000: 1}", "cannot be a name in scope"),
        ("{'s': slice(spawn, None)}", "belongs to the agent that has it"),
    ],
)
async def test_a_scope_that_is_none_is_refused_in_few_words(given: str, says: str) -> None:
    cell = f"{RING}try:\n    await spawn('x', scope={given})\nexcept Exception as error:\n    done(str(error))"
    agent, _ = played(cell, always("never"))
    told = (await agent.run("parent")).value
    assert says in told
    assert len(told) < 1_000


MADE: list[int] = []


@dataclass
class Account:
    number: int

    def __post_init__(self) -> None:
        MADE.append(self.number)

    def pay(self) -> str:
        return "paid"


@dataclass
class Order:
    account: Account


class Shop:
    def account(self) -> Account:
        return Account(1)


async def test_a_child_builds_no_class_that_its_parent_could_not() -> None:
    child = "try:\n    Account(777).pay()\nexcept NameError:\n    done({'account': shop.account()})"
    parent = "a = shop.account()\nb = await spawn('x', returns=Order)\ndone(b.account.number)"
    agent, _ = played(parent, always(code(child)), scope={"shop": Shop(), "Order": Order})
    assert (await agent.run("parent")).value == 1
    assert 777 not in MADE


async def test_a_cell_that_is_ended_by_a_limit_takes_its_children_with_it() -> None:
    class Hall:
        def __init__(self) -> None:
            self.ended = False
            self.begun = asyncio.Event()

        async def wait(self) -> None:
            self.begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.ended = True

        async def until_begun(self) -> None:
            await self.begun.wait()

    hall, events = Hall(), list[Event]()
    cell = "import asyncio\nt = asyncio.ensure_future(spawn('c'))\nawait hall.until_begun()\nwhile True: pass"
    child = always(code("await hall.wait()"))
    agent, _ = played(cell, child, scope={"hall": hall}, limits=Limits(cpu_s=0.5, wall_s=PATIENCE_S))
    async with asyncio.timeout(2 * PATIENCE_S):
        assert "CpuLimit" in (await agent.run("parent", on_event=events.append)).value
    assert hall.ended
    assert [e.error for e in events if isinstance(e, ChildFinished)] == ["cancelled"]


class Till:
    def pay(self, amount: int) -> str:
        return "paid"


@pytest.mark.parametrize("given", ["{'rehearsal': till}", "{'rehearsal': till, 'other': [till]}", "['till']", "None"])
async def test_a_person_is_asked_by_what_stands_there_and_not_by_a_name_of_the_guests(given: str) -> None:
    scope = Scope({"till": Till()})
    scope.declare("till.pay", ask=True)
    asked: list[ApprovalWanted] = []

    def approve(wanted: ApprovalWanted) -> bool:
        asked.append(wanted)
        return False

    child = "t = globals().get('rehearsal') or till\ntry:\n    t.pay(5)\nexcept PermissionError:\n    done('denied')"
    cell = f"done(await spawn('x', scope={given}))"
    agent, _ = played(cell, always(code(child)), scope=scope, approve=approve)
    assert (await agent.run("parent")).value == "denied"
    assert [wanted.name for wanted in asked] == ["till.pay"]


# money and keys


@pytest.mark.parametrize("usage", [Usage(requests=1, input_tokens=-1_000_000), Usage(requests=-5, output_tokens=-9)])
async def test_a_provider_that_counts_backwards_gives_no_budget_back(usage: Usage) -> None:
    reply = Reply(message=code("1"), usage=usage)
    agent, model = agent_with(Reply(message=code("2"), usage=Usage(requests=1, input_tokens=60)), otherwise=reply)
    agent = Agent(model, budget=Budget(tokens=100, steps=4), check="off")
    with pytest.raises(BudgetSpent):
        await agent.run("…")
    assert len(model.requests) == 4
    costly = ScriptedModel(reply, Reply(message=code("2"), usage=Usage(requests=1, input_tokens=100)), otherwise=reply)
    with pytest.raises(BudgetSpent, match="tokens"):
        await Agent(costly, budget=Budget(tokens=100), check="off").run("…")
    assert len(costly.requests) == 2


async def test_a_price_that_is_no_number_is_a_price_that_nobody_knows() -> None:
    model = ScriptedModel(otherwise=Reply(message=code("1"), usage=Usage(requests=1, cost=math.nan)))
    with pytest.raises(UsageError, match="nobody knows the price"):
        await Agent(model, budget=Budget(cost=1.0), check="off").run("…")


@pytest.mark.parametrize(
    "name",
    [
        "http://ann:hunter22@host:99999/v1#m",
        "http://ann:hunter22@[host/v1#m",
        "HTTPS://ann:hunter22@host/v1#m",
        "https://host/v1?api_key=hunter22#m",
    ],
)
def test_a_login_in_a_models_name_is_refused_without_being_repeated(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_model(name)
    assert "hunter22" not in str(caught.value)


# what was said


def test_room_is_made_also_where_nobody_counts_tokens() -> None:
    talk = ContextWindow(1_000)
    talk.begin("x" * 4_000)
    talk.say(AssistantMessage(text="y"), Usage(requests=1))
    assert talk.full


async def _recorded() -> MemoryStore:
    journal = MemoryStore()
    agent = Agent(ScriptedModel(code("x = 1", say="so"), code("done(x)")), store=journal, check="off")
    async with agent.session("s") as session:
        await session.run("…")
    return journal


@pytest.mark.parametrize(
    ("place", "wild"),
    [
        (("usage", "m", "input_tokens"), "many"),
        (("usage", "m", "cost"), []),
        (("usage",), None),
        (("message", "m", "text"), 5),
        (("message", "m", "kind"), "other"),
        (("message", "m", "calls"), [["id", "execute", 1.5]]),
        (("message",), []),
    ],
)
async def test_a_row_that_nobody_wrote_so_is_one_clear_error(place: tuple[str, ...], wild: Any) -> None:
    journal = await _recorded()

    def changed(read: Callable[..., Sequence[Row]]) -> Callable[..., Sequence[Row]]:
        def read_changed(*at: Any) -> Sequence[Row]:
            return [_with(row, place, wild) if row.door == "model" else row for row in read(*at)]

        return read_changed

    journal.rows = changed(journal.rows)
    journal.rows_by_path = changed(journal.rows_by_path)
    with pytest.raises(JournalFailed, match="damaged"):
        async with Agent(ScriptedModel(), store=journal, check="off").resume("s") as session:
            await session.carry_on()


def _with(row: Any, place: tuple[str, ...], wild: Any) -> Any:
    def put(tree: Any, rest: tuple[str, ...]) -> Any:
        return {**tree, rest[0]: put(tree[rest[0]], rest[1:])} if rest else wild

    return replace(row, value=Packed(put(row.value.tree, ("m", *place)), row.value.blobs))


async def test_of_two_that_carry_a_session_on_the_first_is_told_that_it_is_over(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    async with Agent(ScriptedModel(code("done(1)")), store=store, check="off").session("s") as session:
        await session.run("…")
    first, second = (Agent(ScriptedModel(otherwise=code(f"done({n})")), store=store, check="off") for n in (1, 2))
    async with first.resume("s") as one, second.resume("s", take_over=True) as two:
        with pytest.raises(Fenced):
            await one.run("…")
        assert (await two.run("…")).value == 2
