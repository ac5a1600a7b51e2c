"""Attacks on a person's yes: the objects of the call are others than those that the person was shown."""

from __future__ import annotations

import asyncio
import collections
import enum
import ipaddress
import logging
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pydantic
import pytest
from tests.cells import PATIENCE_S, PATIENT
from tests.guard.keeping import Office, carried_on, waits
from tests.guard.people import Person

from cellwright import Agent, Outcome, Runtime, Scope, operation
from cellwright.events import ApprovalWanted
from cellwright.guard import full_arguments
from cellwright.scope.content_writer import ContentWriter
from cellwright.testing import ScriptedModel, code

LAYER = "approval"

pytestmark = pytest.mark.usefixtures("warm")


class Client:
    """Nothing that a person could read."""


@dataclass
class Order:
    """A record with methods: the guest holds it by handle."""

    id: int
    total: int
    lines: list[str] = field(default_factory=list[str])
    client: Client = field(default_factory=Client, repr=False)
    api_key: str = "hunter2"

    def __repr__(self) -> str:
        return f"Order(id={self.id}, total=1)"  # a lie

    def raise_to(self, total: int) -> None:
        self.total = total

    @operation(ask=True)
    def cancel(self) -> str:
        return f"cancelled {self.id}"


class Parcel:
    """A plain object, without content."""

    def __init__(self, to: str) -> None:
        self.to = to

    @operation(ask=True)
    def post(self) -> str:
        return self.to


class Names(list[str]):
    """By handle, since it is no plain list."""


class Shop:
    def __init__(self) -> None:
        self.order = Order(7, 30)
        self.names = Names(["ann"])
        self.paid: list[Any] = []
        self._parcel = Parcel("ann")

    @operation(reads=True)
    def find(self, id: int) -> Order:
        return self.order

    @operation(reads=True)
    def people(self) -> Names:
        return self.names

    @operation(reads=True)
    def parcel(self) -> Parcel:
        return self._parcel

    @operation(reads=True)
    def payer(self, total: int) -> Callable[[], int]:
        @operation(ask=True)
        def pay_it() -> int:
            self.paid.append(total)
            return total

        return pay_it

    @operation(reads=True)
    def numbers(self) -> Iterator[int]:
        return iter([1, 2])

    @operation(ask=True)
    def pay(self, what: Any) -> str:
        self.paid.append(what.total if isinstance(what, Order) else list(what) if isinstance(what, Names) else what)
        return "paid"

    @operation(ask=True)
    async def pay_later(self, what: Any) -> str:
        return self.pay(what)

    def swap(self, id: int, total: int) -> None:
        self.order.total = total

    def each(self, function: Callable[[], Any]) -> Any:
        return function()


async def run(source: str, scope: Any, approve: Any = None) -> Outcome:
    async with asyncio.timeout(2 * PATIENCE_S), Runtime(scope, limits=PATIENT, approve=approve) as rt:
        return await rt.execute(source)


def once(change: Callable[[], object]) -> Callable[[ApprovalWanted], bool]:
    """A yes, and meanwhile a change, the first time."""
    left = [change]

    def answer(wanted: ApprovalWanted) -> bool:
        if left:
            left.pop()()
        return True

    return answer


# what is shown


async def test_records_are_shown_by_their_fields_and_not_by_their_repr_and_without_secrets() -> None:
    shop, person = Shop(), Person()
    assert (await run("shop.pay(shop.find(7))", {"shop": shop}, person.approve)).unwrap() == "paid"
    assert person.calls == ["shop.pay(<Order#2: Order(id=7, total=30, lines=[], api_key=***)>)"]


async def test_the_object_of_a_method_is_shown_where_a_call_led_to_it() -> None:
    shop, person = Shop(), Person()
    assert (await run("shop.find(7).cancel()", {"shop": shop}, person.approve)).unwrap() == "cancelled 7"
    (asked,) = person.asked
    assert asked.name == "Order#2.cancel"
    assert asked.arguments == "() on Order#2: Order(id=7, total=30, lines=[], api_key=***)"


async def test_an_object_that_is_bound_and_its_attributes_are_known_by_their_path() -> None:
    class Crm:
        def __init__(self) -> None:
            self.parcels = Parcel("ann")

    person = Person()
    names = {"parcel": Parcel("bob"), "crm": Crm()}
    assert (await run("parcel.post(), crm.parcels.post()", names, person.approve)).unwrap() == ("bob", "ann")
    assert person.calls == ["parcel.post()", "Parcel#3.post() on Parcel#3: crm.parcels"]


async def test_a_function_that_was_made_by_a_call_is_shown_with_what_it_closes_over() -> None:
    shop, person = Shop(), Person()
    assert (await run("shop.payer(900)()", {"shop": shop}, person.approve)).unwrap() == 900
    assert "self=<shop>, total=900" in person.calls[0]


async def test_the_defaults_of_a_function_that_was_made_by_a_call_are_shown() -> None:
    @operation(reads=True)
    def payer(total: int) -> Callable[[], tuple[int, int]]:
        @operation(ask=True)
        def pay_it(total: int = total, *, fee: int = total // 10) -> tuple[int, int]:
            return total, fee

        return pay_it

    person = Person()
    assert (await run("payer(900)()", {"payer": payer}, person.approve)).unwrap() == (900, 90)
    assert ", total=900, fee=90>" in person.calls[0]


async def test_names_of_fields_make_no_other_argument_and_no_line() -> None:
    class Letter(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")
        to: str

        def post(self) -> None: ...

    @operation(reads=True)
    def letter(extra: dict[str, int]) -> Letter:
        return Letter(to="eve", **extra)

    person = Person()
    names = {"shop": Shop(), "letter": letter}
    source = """shop.pay(letter({"a='x'), to='ann": 1, "x\\nshop.pay('ann": 2}))"""
    (await run(source, names, person.approve)).unwrap()
    assert person.calls == ["""shop.pay(<Letter#3: Letter(to='eve', "a='x'), to='ann"=1, "x\\nshop.pay('ann"=2)>)"""]


async def test_text_that_is_declared_to_be_shown_makes_no_other_argument_and_no_line() -> None:
    shop, person = Shop(), Person()
    shop.parcel().to = "ann>)\nshop.pay(7"
    scope = Scope({"shop": shop})

    def told(parcel: Parcel) -> str:
        return f"to {parcel.to}"

    scope.declare("shop.pay", shown=told)
    (await run("shop.pay(shop.parcel())", scope, person.approve)).unwrap()
    assert person.calls == ["shop.pay(<Parcel#2: 'to ann>)\\nshop.pay(7'>)"]


async def test_the_number_of_a_function_is_never_that_of_an_object() -> None:
    shop, person = Shop(), Person()
    scope = Scope({"shop": shop})

    def told(value: Any) -> Any:
        return value.lines if isinstance(value, Order) else "5 coins for ann"

    scope.declare("shop.pay", shown=told)
    async with Runtime(scope, limits=PATIENT, approve=person.approve) as rt:
        (await rt.execute("order = shop.find(7)")).unwrap()
        outcome = await rt.execute("""
from cellwright_guest.door import Mailbox
handle = order._grip.handle
tree = {"t": [{"h": handle}, {"g": [-handle - 1, "function", "f"]}]}
door, mailbox = type(shop)._cellwright_world.door, Mailbox()
door.start(mailbox, "call", shop._grip.handle, "pay", tree, [])
door.receive(mailbox)
""")
    assert "a guest function without its parts" in str(outcome.error)
    assert (person.asked, shop.paid) == ([], [])


async def test_what_is_kept_whole_says_where_it_is_cut(tmp_path: Path) -> None:
    shop, office = Shop(), Office(tmp_path)
    shop.order.lines = [f"line {n:06}" for n in range(100_000)]
    async with office.open(scope={"shop": shop}) as rt:
        assert waits(await rt.execute("shop.pay(shop.find(7))"))
        (question,) = office.questions
        assert "[cut after 1,000,000 characters]" in full_arguments(office.store, question)


class Perm(enum.IntFlag):
    READ = 1


PLAIN: dict[str, Callable[[], Any]] = {
    "Perm(64)": lambda: Perm(64),
    "UserDict(data={'a': 1})": lambda: collections.UserDict({"a": 1}),
    "UserList(data=[1])": lambda: collections.UserList([1]),
    "IPv4Address('10.0.0.1')": lambda: ipaddress.ip_address("10.0.0.1"),
    "dict_keys(['a'])": lambda: {"a": 1}.keys(),
    "NaT": lambda: pytest.importorskip("pandas").NaT,
    "datetime64('2026-01-02')": lambda: pytest.importorskip("numpy").datetime64("2026-01-02"),
}


@pytest.mark.parametrize("shown", PLAIN)
def test_other_values_of_python_and_numpy_have_content(shown: str) -> None:
    assert shown in "".join(ContentWriter().parts([PLAIN[shown]()]))


async def test_long_content_is_cut_with_a_count_and_kept_whole(tmp_path: Path) -> None:
    shop, office = Shop(), Office(tmp_path)
    shop.order.lines = [f"line {n}" for n in range(9000)]
    async with office.open(scope={"shop": shop}) as rt:
        assert waits(await rt.execute("shop.pay(shop.find(7))"))
        (question,) = office.questions
        assert "characters more]" in question.arguments
        assert "line 8999" not in question.arguments
        assert "'line 8999'" in full_arguments(office.store, question)


# swapped between question and call


async def test_a_record_that_is_bound_is_shown_and_compared() -> None:
    order = Order(7, 30)
    person = Person(once(lambda: order.raise_to(9000)))
    assert (await run("order.cancel()", {"order": order}, person.approve)).unwrap() == "cancelled 7"
    shown = "order.cancel() on order: Order(id=7, total={}, lines=[], client=<Client>, api_key=***)"
    assert person.calls == [shown.format(30), shown.format(9000)]


async def test_a_record_that_is_bound_is_shown_and_compared_inside_of_another() -> None:
    @dataclass
    class Deal:
        cart: Names

        def close(self) -> None: ...

    shop, cart = Shop(), Names(["ann"])
    person = Person(once(lambda: cart.append("eve")))
    names = {"shop": shop, "cart": cart, "deal": operation(reads=True)(lambda: Deal(cart))}
    (await run("shop.pay(deal())", names, person.approve)).unwrap()
    assert ["Deal(cart=<cart: Names(['ann'])>)" in call for call in person.calls] == [True, False]
    assert "Deal(cart=<cart: Names(['ann', 'eve'])>)" in person.calls[1]


@dataclass
class Later:
    id: int

    def __post_init__(self) -> None:
        self.to = "ann"

    def post(self) -> None: ...


class Below(Order):
    def __init__(self) -> None:
        super().__init__(7, 30)
        self.to = "ann"


@dataclass
class Basket(list[str]):
    to: str

    def post(self) -> None: ...


class Tags(set[str]):
    to = "nobody"

    def __init__(self) -> None:
        super().__init__(["a"])
        self.to = "ann"


class Private(pydantic.BaseModel):
    _to: str = pydantic.PrivateAttr("ann")

    def post(self) -> None: ...


class Slotted(Names):
    __slots__ = ("to",)

    def __init__(self) -> None:
        self.to = "ann"


STATES: dict[str, Callable[[], Any]] = {
    "Later(id=7, to='ann')": lambda: Later(7),
    "Below(id=7, total=30, lines=[], api_key=***, to='ann')": Below,
    "Basket([], to='ann')": lambda: Basket("ann"),
    "Tags({'a'}, to='ann')": Tags,
    "Private(_to='ann')": Private,
    "Slotted([], to='ann')": Slotted,
    "SimpleNamespace(to='ann')": lambda: types.SimpleNamespace(to="ann"),
}


@pytest.mark.parametrize("shown", STATES)
async def test_attributes_beyond_the_fields_are_shown_and_compared(shown: str) -> None:
    given = STATES[shown]()
    name = "_to" if shown.startswith("Private") else "to"
    person = Person(once(lambda: setattr(given, name, "eve")))
    names = {"shop": Shop(), "given": operation(reads=True)(lambda: given)}
    (await run("shop.pay(given())", names, person.approve)).unwrap()
    assert [shown in person.calls[0], shown.replace("ann", "eve") in person.calls[1]] == [True, True]


@pytest.mark.parametrize("source", ["shop.pay(order)", "await shop.pay_later(order)", "order.cancel()"])
async def test_a_field_that_is_changed_after_the_question_asks_again_with_the_new_content(source: str) -> None:
    shop = Shop()
    person = Person(once(lambda: shop.swap(7, 9000)))
    (await run(f"order = shop.find(7)\n{source}", {"shop": shop}, person.approve)).unwrap()
    assert ["total=30," in call for call in person.calls] == [True, False]
    assert "total=9000," in person.calls[1]


async def test_a_second_question_may_be_answered_with_no() -> None:
    shop = Shop()
    swap = once(lambda: shop.swap(7, 9000))
    person = Person(lambda wanted: swap(wanted) and "total=30," in wanted.arguments)
    outcome = await run("shop.pay(shop.find(7))", {"shop": shop}, person.approve)
    assert "was denied" in str(outcome.error)
    assert shop.paid == []


async def test_guest_code_that_changes_the_object_while_its_call_waits_gets_no_yes_for_it() -> None:
    shop, asked, swapped = Shop(), asyncio.Event(), asyncio.Event()
    calls: list[str] = []

    async def approve(wanted: ApprovalWanted) -> bool:
        calls.append(wanted.arguments)
        asked.set()
        await swapped.wait()
        return len(calls) == 1

    async def until_asked() -> None:
        await asked.wait()

    def over() -> None:
        loop.call_soon_threadsafe(swapped.set)

    loop = asyncio.get_running_loop()
    source = """
import asyncio
order = shop.find(7)
async def swap():
    await until_asked()
    order.raise_to(9000)
    over()
await asyncio.gather(shop.pay_later(order), swap())
"""
    outcome = await run(source, {"shop": shop, "until_asked": until_asked, "over": over}, approve)
    assert "was denied" in str(outcome.error)
    assert (len(calls), shop.paid) == (2, [])


async def test_a_callback_of_the_guest_that_asks_while_host_code_waits_for_it_is_shown_too() -> None:
    shop = Shop()
    person = Person(once(lambda: shop.swap(7, 9000)))
    await run("order = shop.find(7)\nshop.each(lambda: shop.pay(order))", {"shop": shop}, person.approve)
    assert (len(person.asked), shop.paid) == (2, [9000])


async def test_content_that_never_stays_is_refused_in_the_end() -> None:
    shop = Shop()

    def approve(wanted: ApprovalWanted) -> bool:
        shop.order.total += 1
        return True

    outcome = await run("shop.pay(shop.find(7))", {"shop": shop}, approve)
    assert "has changed 3 times between the question and the call" in str(outcome.error)
    assert shop.paid == []


async def test_a_list_that_the_host_changes_is_looked_at_again() -> None:
    shop = Shop()
    person = Person(once(lambda: shop.names.append("eve")))
    await run("shop.pay(shop.people())", {"shop": shop}, person.approve)
    assert (len(person.asked), shop.paid) == (2, [["ann", "eve"]])
    assert "Names(['ann', 'eve'])" in person.calls[1]


async def test_the_last_row_of_a_frame_cannot_be_changed_unseen(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"to": [f"p{n}" for n in range(10_000)], "amount": range(10_000)})
    paid: list[int] = []

    class Bank:
        @operation(reads=True)
        def batch(self) -> Any:
            return frame

        @operation(ask=True)
        def pay(self, batch: Any) -> int:
            paid.append(int(batch["amount"].iloc[-1]))
            return len(batch)

    office = Office(tmp_path)
    async with office.open(scope={"bank": Bank()}) as rt:
        assert waits(await rt.execute("bank.pay(bank.batch())"))
        (first,) = office.questions
        assert "pandas.DataFrame of 10,000 rows of 2, sha256 " in first.arguments
        assert "the first 5 and not the other 9,995: ['to', 'amount'] [(0, 'p0', 0)," in first.arguments
        assert "'p9999', 9999)" in full_arguments(office.store, first)
        frame.loc[9999, "amount"] = 1_000_000
        office.say(yes=True)
        assert waits(await rt.outcome())
        (second,) = office.questions
        assert (paid, second.digest != first.digest) == ([], True)
        assert "'p9999', 1000000)" in full_arguments(office.store, second)
        assert (await carried_on(rt, office)).unwrap() == 10_000
    assert paid == [1_000_000]


FRAMES: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda pandas: pandas.Series([1, 2, 3], name="n"),
    "polars": lambda polars: polars.DataFrame({"n": [1, 2, 3], "to": ["a", "b", "c"]}),
    "pyarrow": lambda pyarrow: pyarrow.table({"n": [1, 2, 3], "to": ["a", "b", "c"]}),
    "numpy": lambda numpy: numpy.array([[1, 2], [3, 4], [5, 6]]),
}


@pytest.mark.parametrize("library", FRAMES)
async def test_frames_of_every_library_are_shown(library: str) -> None:
    frame = FRAMES[library](pytest.importorskip(library))
    person = Person()

    @operation(reads=True)
    def batch() -> Any:
        return frame

    (await run("shop.pay(batch())", {"shop": Shop(), "batch": batch}, person.approve)).unwrap()
    assert f"<{type(frame).__name__}#" in person.calls[0]
    assert " of 3 rows" in person.calls[0]
    assert ", all: " in person.calls[0]


async def test_arguments_as_long_as_can_be_do_not_hide_the_object() -> None:
    class Box(Parcel):
        @operation(ask=True, shown=vars)
        def send(self, text: str) -> None: ...

    @operation(reads=True)
    def find() -> Box:
        return Box("eve")

    person = Person()
    (await run("find().send('x' * 50_000)", {"find": find}, person.approve)).unwrap()
    assert person.asked[0].arguments.startswith(" on Box#2: {'to': 'eve'}: ('xxx")


async def test_objects_too_large_for_the_event_loop_are_refused_there_and_shown_elsewhere() -> None:
    shop, person = Shop(), Person()
    shop.order.lines = [f"line {n}" for n in range(20_000)]
    outcome = await run("await shop.pay_later(shop.find(7))", {"shop": shop}, person.approve)
    assert "who cannot be shown objects of so many characters" in str(outcome.error)
    (await run("shop.pay(shop.find(7))", {"shop": shop}, person.approve)).unwrap()
    assert (len(person.asked), len(shop.paid)) == (1, 1)


# another process


async def test_a_yes_for_other_content_is_not_good_in_another_process(tmp_path: Path) -> None:
    office, shops = Office(tmp_path), [Shop(), Shop(), Shop()]
    shops[1].order.total = shops[2].order.total = 9000
    source = "shop.pay(shop.find(7))"
    async with office.open(scope={"shop": shops[0]}) as rt:
        assert waits(await rt.execute(source))
    office.say(yes=True)
    async with office.open(scope={"shop": shops[1]}) as rt:
        assert waits(await rt.outcome())
        (question,) = office.questions
        assert "total=9000," in question.arguments
    office.say(yes=True)
    async with office.open(scope={"shop": shops[2]}) as rt:
        assert (await rt.outcome()).unwrap() == "paid"
    assert [shop.paid for shop in shops] == [[], [], [9000]]


async def test_a_yes_does_not_outlive_a_later_no_to_the_same_call(tmp_path: Path) -> None:
    office, shops = Office(tmp_path), [Shop(), Shop(), Shop()]
    shops[1].order.total = 9000
    async with office.open(scope={"shop": shops[0]}) as rt:
        assert waits(await rt.execute("shop.pay(shop.find(7))"))
    office.say(yes=True)
    async with office.open(scope={"shop": shops[1]}) as rt:
        assert waits(await rt.outcome())
    office.say(yes=False)
    async with office.open(scope={"shop": shops[2]}) as rt:
        assert "shop.pay was denied" in str((await rt.outcome()).error)
    assert [shop.paid for shop in shops] == [[], [], []]


async def test_a_yes_for_the_same_content_is_good_in_another_process(tmp_path: Path) -> None:
    office, shop = Office(tmp_path), Shop()
    async with office.open(scope={"shop": Shop()}) as rt:
        assert waits(await rt.execute("shop.find(7).cancel()"))
    office.say(yes=True)
    async with office.open(scope={"shop": shop}) as rt:
        assert (await rt.outcome()).unwrap() == "cancelled 7"


# what cannot be shown


REFUSED = {
    "an object": "shop.pay(shop.parcel())",
    "an object inside of data": "shop.pay({'p': [shop.parcel()]})",
    "an object's method": "shop.parcel().post()",
    "a function of the guest": "shop.pay(lambda: 1)",
    "an iterator of the guest": "shop.pay(iter([1]))",
    "a generator of the guest": "shop.pay(n for n in [1])",
    "a function of the host": "shop.pay(free)",
    "an iterator of the host": "shop.pay(shop.numbers())",
}


@pytest.mark.parametrize("what", REFUSED)
async def test_what_has_no_content_is_refused_and_nobody_is_asked_unless_it_is_declared(what: str) -> None:
    shop, person = Shop(), Person()
    scope = Scope({"shop": shop, "free": len})
    outcome = await run(REFUSED[what], scope, person.approve)
    line = str(outcome.error).splitlines()[-1]
    assert line.startswith("cellwright.Denied: ")
    assert "shown=" in line
    assert (person.asked, shop.paid) == ([], [])

    def told(value: Any) -> str:
        return f"told by the developer: {type(value).__name__}"

    scope.declare("*", shown=told)
    assert (await run(REFUSED[what], scope, person.approve)).ok
    assert "told by the developer" in person.calls[0]


async def test_what_is_declared_to_be_shown_is_compared_too() -> None:
    shop = Shop()
    parcel = shop.parcel()
    person = Person(once(lambda: setattr(parcel, "to", "eve")))
    scope = Scope({"shop": shop})
    scope.declare("Parcel.post", shown=vars)
    assert (await run("shop.parcel().post()", scope, person.approve)).unwrap() == "eve"
    assert person.calls == [f"Parcel#2.post() on Parcel#2: {{'to': '{to}'}}" for to in ("ann", "eve")]


async def test_objects_inside_of_what_is_declared_to_be_shown_are_compared_too() -> None:
    class Outer:
        def __init__(self) -> None:
            self.inner = Parcel("ann")
            self.log = logging.getLogger("shop")

        @operation(ask=True, shown=vars)
        def post(self) -> str:
            return self.inner.to

    outer = Outer()
    person = Person(once(lambda: setattr(outer.inner, "to", "eve")))
    assert (await run("find().post()", {"find": operation(reads=True)(lambda: outer)}, person.approve)).ok
    shown = "{{'inner': Parcel(to='{}'), 'log': <Logger>}}"
    assert [call.partition(": ")[2] for call in person.calls] == [shown.format("ann"), shown.format("eve")]


async def test_a_secret_field_is_compared_and_not_shown() -> None:
    shop = Shop()
    person = Person(once(lambda: setattr(shop.order, "api_key", "of eve")))
    (await run("shop.pay(shop.find(7))", {"shop": shop}, person.approve)).unwrap()
    assert len(person.calls) == 2
    assert person.calls[0] == person.calls[1]
    assert "api_key=***" in person.calls[0]


async def test_a_shown_function_that_raises_gives_no_yes() -> None:
    person = Person()
    scope = Scope({"shop": Shop()})

    def broken(value: Any) -> str:
        raise AttributeError(value)

    scope.declare("shop.pay", shown=broken)
    assert "cannot be shown: AttributeError" in str((await run("shop.pay(shop.parcel())", scope, person.approve)).error)
    assert person.asked == []


async def test_a_child_cannot_make_a_name_of_an_object_that_a_call_led_to() -> None:
    shop, person = Shop(), Person(lambda wanted: False)

    def reply(request: Any) -> Any:
        if "child" in request.messages[0].text:
            return code("done(find.cancel())") if len(request.messages) == 1 else "denied"
        return code("done(await spawn('the child', scope={'find': shop.find(7)}))")

    agent = Agent(ScriptedModel(otherwise=reply), scope={"shop": shop}, approve=person.approve, spawn=True, check="off")
    async with asyncio.timeout(2 * PATIENCE_S):
        await agent.run("the parent")
    assert "total=30," in person.calls[0]


async def test_the_answer_of_another_agent_is_no_name_of_the_developers() -> None:
    person = Person()
    scope = Scope({"shop": Shop()}).extended({"given": Shop()}, own=False, given=True)
    assert (await run("given.order.cancel(), shop.order.cancel()", scope, person.approve)).ok
    assert all("total=30," in call for call in person.calls)
    scope = Scope().extended({"given": Parcel("eve")}, own=False, given=True)
    assert "cannot be shown a Parcel" in str((await run("given.post()", scope, person.approve)).error)
