"""What the journal hears of host objects and classes, and how a resumed session takes their numbers up again."""

from __future__ import annotations

import asyncio
import enum
import json
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from tests.scope.lives import Guest, Life, Refused

from cellwright import Scope
from cellwright.doors import Answer, Call, Made, ObjectOrigin
from cellwright.scope import ScopeHost
from cellwright_guest.wire import Packed

HERE = __name__


@dataclass
class Point:
    x: int
    y: int


class Colour(enum.Enum):
    RED = 1


class Trouble(LookupError):
    """An error of the developer's."""


class Deal:
    def __init__(self, title: str = "") -> None:
        self.title = title

    def text(self) -> str:
        return self.title

    @classmethod
    def build(cls, title: str) -> str:
        return f"built {title}"


class Shop:
    def __init__(self) -> None:
        self.deal = Deal("own")
        self.began = asyncio.Event()
        self.late: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def make(self, title: str = "") -> Deal:
        return Deal(title)

    def point(self) -> Point:
        return Point(1, 2)

    def add(self, point: Point) -> int:
        return point.x + point.y

    def colour(self) -> Colour:
        return Colour.RED

    def fail(self) -> None:
        raise Trouble("no")

    def broken(self) -> list[Any]:
        return [self.deal, asyncio]

    def plain(self) -> list[int]:
        return [1, 2, 3]

    async def slow(self) -> Deal:
        self.began.set()
        await self.late
        return self.deal

    def call(self, function: Any) -> Any:
        return function(self.deal)


def told(answer: Answer) -> list[tuple[int, str, str]]:
    return [(made.number, made.path, made.kind) for made in answer.made]


# what is told


async def test_the_opening_tells_what_the_guest_begins_with() -> None:
    life = Life({"shop": Shop(), "deals": [Deal("a"), Deal("b")], "Point": Point, "n": 3, "json": json})
    made = {(one.path, one.kind) for one in life.beginning.made}
    assert (("shop", f"{HERE}:Shop")) in made
    assert (("shop", f"{HERE}:Shop|handle|")) in made
    assert (("Point", f"{HERE}:Point|record|")) in made
    assert (("json", "builtins:module")) in made
    assert (("json", "json|module|")) in made
    assert [one.path for one in life.beginning.made if one.kind == f"{HERE}:Deal"] == ["deals", "deals"]
    assert len({one.number for one in life.beginning.made}) == len(life.beginning.made)
    life.host.close()


async def test_an_answer_tells_of_an_object_once() -> None:
    life = Life({"shop": Shop()})
    shop = life.name("shop")
    first = await life.answer(life.call("get", shop, "deal"))
    number, deal_class = first.value.tree["h"][:2]
    assert told(first) == [
        (number, "shop.deal", f"{HERE}:Deal"),
        (deal_class, "shop.deal", f"{HERE}:Deal|handle|"),
    ]
    assert (await life.answer(life.call("get", shop, "deal"))).made == ()
    other = await life.answer(life.call("call", shop, "make"))
    assert told(other) == [(other.value.tree["h"][0], "shop.make", f"{HERE}:Deal")]
    life.host.close()


@pytest.mark.parametrize(
    ("name", "kind"), [("point", "Point|record|"), ("colour", "Colour|enum|"), ("fail", "Trouble|error|")]
)
async def test_an_answer_tells_of_classes(name: str, kind: str) -> None:
    life = Life({"shop": Shop()})
    answer = await life.answer(life.call("call", life.name("shop"), name))
    assert [k for _, _, k in told(answer)] == [f"{HERE}:{kind}"]
    assert (await life.answer(life.call("call", life.name("shop"), name))).made == ()
    life.host.close()


async def test_plain_answers_tell_nothing() -> None:
    life = Life({"shop": Shop()})
    assert (await life.answer(life.call("call", life.name("shop"), "plain"))).made == ()
    life.host.close()


async def test_what_could_not_be_packed_is_told_when_it_is_sent() -> None:
    life = Life({"shop": Shop()})
    broken = await life.answer(life.call("call", life.name("shop"), "broken"))
    assert broken.failed
    assert not any(number > 0 for number, _, _ in told(broken))
    sent = await life.answer(life.call("get", life.name("shop"), "deal"))
    assert [kind for _, _, kind in told(sent)] == [f"{HERE}:Deal", f"{HERE}:Deal|handle|"]
    life.host.close()


async def test_what_a_cancelled_call_would_have_told_is_told_when_it_is_sent() -> None:
    shop = Shop()
    life = Life({"shop": shop})
    cancelled = asyncio.create_task(life.answer(life.call("call", life.name("shop"), "slow")))
    await shop.began.wait()
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    sent = await life.answer(life.call("get", life.name("shop"), "deal"))
    assert f"{HERE}:Deal" in [kind for _, _, kind in told(sent)]
    life.host.close()


async def test_the_same_object_in_answers_at_once_is_told_by_one_of_them() -> None:
    shop = Shop()
    life = Life({"shop": shop})
    slow = [asyncio.create_task(life.answer(life.call("call", life.name("shop"), "slow"))) for _ in range(10)]
    quick = [asyncio.create_task(life.answer(life.call("get", life.name("shop"), "deal"))) for _ in range(10)]
    await shop.began.wait()
    shop.late.set_result(None)
    answers = await asyncio.gather(*slow, *quick)
    assert sum(len(answer.made) for answer in answers) == 2
    assert len({answer.value.tree["h"][0] for answer in answers}) == 1
    life.host.close()


async def test_a_call_into_the_guest_tells_too() -> None:
    guest = Guest()
    life = Life({"shop": Shop()}, guest=guest)
    call = life.call("call", life.name("shop"), "call")
    call = Call(
        id=7, cell=1, verb="call", target=call.target, name="call",
        arguments=Packed({"t": [{"g": [1, "function", "f"]}]}, []),
    )  # fmt: skip
    await life.answer(call)
    assert [made.kind for made in guest.made] == [f"{HERE}:Deal", f"{HERE}:Deal|handle|"]
    assert guest.parents == [7]
    assert (await life.answer(life.call("get", life.name("shop"), "deal"))).made == ()
    life.host.close()


# taken up again


async def test_names_have_their_numbers_again_whatever_their_order() -> None:
    first = Life({"shop": Shop(), "deal": Deal("d"), "print": print})
    second = first.resumed({"extra": Deal("e"), "print": print, "deal": Deal("d2"), "shop": Shop()})
    for name in ("shop", "deal", "print"):
        assert second.name(name) == first.name(name)
    assert second.name("extra") > max(made.number for made in first.began)
    assert await second.ask("call", first.name("deal"), "text") == "d2"
    assert [one.path for one in second.beginning.made if one.number > 0] == ["extra"]
    second.host.close()


async def test_objects_inside_a_bound_list_have_their_numbers_again() -> None:
    first = Life({"deals": [Deal("a"), Deal("b")], "shop": Shop()})
    numbers = [one["h"][0] for one in first.beginning.names.tree["m"]["deals"]]
    second = first.resumed({"shop": Shop(), "deals": [Deal("a2"), Deal("b2")]})
    assert [one["h"][0] for one in second.beginning.names.tree["m"]["deals"]] == numbers
    assert await second.ask("call", numbers[1], "text") == "b2"
    second.host.close()


async def test_one_object_under_two_names_stays_one() -> None:
    deal = Deal("d")
    first = Life({"a": deal, "b": deal})
    other = Deal("e")
    second = first.resumed({"a": other, "b": other})
    assert second.name("a") == second.name("b") == first.name("a")
    second.host.close()


async def test_new_objects_and_classes_get_numbers_beyond_all_that_are_known() -> None:
    first = Life({"shop": Shop()})
    made = [await first.handle("call", first.name("shop"), "make") for _ in range(3)]
    second = first.resumed({"shop": Shop()})
    known = [one.number for one in (*first.began, *(m for row in first.rows for m in row.answer.made))]
    assert await second.handle("call", second.name("shop"), "make") == max(made) + 1
    answer = await second.answer(second.call("call", second.name("shop"), "colour"))
    assert answer.value.tree["e"][0] < min(known)
    second.host.close()


async def test_a_class_has_its_number_again_and_is_described_again() -> None:
    first = Life({"shop": Shop()})
    tree = await first.ask("call", first.name("shop"), "make")
    assert tree["h"][2] is not None
    await first.ask("call", first.name("shop"), "colour")
    second = first.resumed({"shop": Shop()})
    await second.ask("call", second.name("shop"), "colour")
    again = await second.answer(second.call("call", second.name("shop"), "make"))
    assert again.value.tree["h"][1] == tree["h"][1]
    assert again.value.tree["h"][2] is not None
    assert [one.number for one in again.made] == [again.value.tree["h"][0]]
    second.host.close()


async def test_a_class_that_shows_other_members_now_has_another_number() -> None:
    first = Life({"shop": Shop()})
    tree = await first.ask("get", first.name("shop"), "deal")
    scope = Scope({"shop": Shop()})
    scope.declare("Deal.*", hide=["text"])
    second = first.resumed(scope)
    again = await second.ask("get", second.name("shop"), "deal")
    assert again["h"][1] != tree["h"][1]
    second.host.close()


async def test_a_record_of_the_first_process_is_taken_back_by_the_second() -> None:
    first = Life({"shop": Shop()})
    tree = await first.ask("call", first.name("shop"), "point")
    number = tree["o"][0]
    second = first.resumed({"shop": Shop()})
    call = second.call("call", second.name("shop"), "add")
    sent = Call(
        id=call.id, cell=1, verb="call", target=call.target, name="add",
        arguments=Packed({"t": [{"o": [number, [3, 4]]}]}, []),
    )  # fmt: skip
    assert (await second.answer(sent)).value.tree == 7
    described = await second.ask("about", number)
    assert described["about"][1]["fields"] == ["x", "y"]
    second.host.close()


async def test_a_class_method_of_the_first_process_is_found_by_the_second() -> None:
    first = Life({"shop": Shop()})
    tree = await first.ask("call", first.name("shop"), "make")
    second = first.resumed({"shop": Shop()})
    assert await second.ask("call", tree["h"][1], "build", "x") == "built x"
    with pytest.raises(Refused, match="not in scope"):  # known is not declared
        await second.ask("new", tree["h"][1])
    second.host.close()


async def test_a_class_that_is_not_imported_or_is_of_another_kind_is_not_known() -> None:
    made = [
        Made(number=-5, path="x", kind="no_such_module_here:Thing|record|"),
        Made(number=-6, path="x", kind=f"{HERE}:Colour|record|"),
        Made(number=-7, path="x", kind="os|module|"),
        Made(number=-8, path="x", kind="garbage"),
        Made(number=-9, path="x", kind=f"{HERE}:HERE|record|"),
    ]
    host = ScopeHost(Scope({}))
    host.open(Guest(), frozenset(), _Known(made))
    for one in made:
        call = Call(id=1, cell=1, verb="about", target=one.number, name="", arguments=Packed({"t": []}, []))
        answer = await host.call(call)
        assert answer.failed
        assert "is not known to this session" in answer.value.tree["E"][3]
    host.close()


class _Known:
    def __init__(self, made: Sequence[Made]) -> None:
        self._made = made

    def known(self) -> Sequence[Made]:
        return self._made

    def origin(self, handle: int) -> ObjectOrigin | None:
        return None

    def imported(self, number: int) -> bool:
        return False

    async def refusal(self, made: Made, origin: ObjectOrigin) -> str:
        return ""


async def test_a_name_that_is_no_longer_bound_says_so() -> None:
    first = Life({"shop": Shop(), "deal": Deal("d"), "deals": [Deal("a"), Deal("b")]})
    inside = first.beginning.names.tree["m"]["deals"][1]["h"][0]
    second = first.resumed({"shop": 3, "deals": [Deal("a")]})
    for number, words in (
        (first.name("deal"), "`deal` is no longer bound"),
        (first.name("shop"), "`shop` is bound to something else now"),
        (inside, "`deals` is bound to something else now"),
    ):
        with pytest.raises(Refused, match=words) as refused:
            await second.ask("call", number, "text")
        assert refused.value.kind == "StaleHandle"
    second.host.close()


async def test_a_module_that_is_bound_again_is_the_same_module() -> None:
    module = types.ModuleType("measures")

    def double(x: int) -> int:
        return 2 * x

    vars(module)["double"] = double
    vars(module)["double"].__module__ = "measures"
    first = Life({"measures": module})
    second = first.resumed({"measures": module})
    assert second.beginning.made == ()
    assert await second.ask("call", first.name("measures"), "double", 4) == 8
    second.host.close()


async def test_a_handle_that_was_never_given_is_refused_in_a_resumed_session() -> None:
    first = Life({"shop": Shop()})
    await first.handle("call", first.name("shop"), "make")
    second = first.resumed({"shop": Shop()})
    with pytest.raises(Refused, match="not held by this session"):
        await second.ask("call", 4711, "text")
    second.host.close()


async def test_a_session_can_be_resumed_many_times() -> None:
    life = Life({"shop": Shop()})
    number = await life.handle("get", life.name("shop"), "deal")
    for _ in range(5):
        life = life.resumed({"shop": Shop()})
        assert await life.ask("call", number, "text") == "own"
        assert await life.handle("call", life.name("shop"), "make") > number
    numbers = [made.number for row in life.rows for made in row.answer.made]
    assert len(set(numbers)) == len(numbers)
    life.host.close()
