"""Handles after a resume: brought back on first use, or lost with words that say which call made them."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from tests.scope.lives import Guest, Handle, Life, Refused

from cellwright import Scope, operation
from cellwright.scope import LostObject
from cellwright_guest.wire import Packed


class Record:
    """What a connector gives: an object with behaviour that knows its own data."""

    def __init__(self, crm: Crm, number: int) -> None:
        self.crm = crm
        self.number = number

    def name(self) -> str:
        return f"{self.crm.url}/{self.number}"

    def to_journal(self) -> Any:
        return {"number": self.number}

    @classmethod
    def from_journal(cls, kept: Any, root: Any) -> Record:
        root.revived.append(kept["number"])
        return cls(root, kept["number"])


class Deal:
    def __init__(self, title: str) -> None:
        self.title = title
        self.notes: list[str] = []

    @operation(reads=True)
    def summary(self) -> str:
        return f"{self.title}: {len(self.notes)}"

    def note(self, text: str) -> int:
        self.notes.append(text)
        return len(self.notes)


class Desk:
    """Stands below the crm as an attribute."""

    def __init__(self) -> None:
        self.deals = {"a": Deal("a")}

    def __getitem__(self, title: str) -> Deal:
        return self.deals[title]


class Crm:
    def __init__(self, url: str = "one") -> None:
        self.url = url
        self.desk = Desk()
        self.revived: list[int] = []
        self.found: list[Any] = []
        self.gone = False

    def create(self, number: int) -> Record:
        return Record(self, number)

    def many(self, count: int) -> list[Record]:
        return [Record(self, number) for number in range(count)]

    @operation(reads=True)
    def find(self, title: str) -> Any:
        self.found.append(title)
        if self.gone:
            raise LookupError(f"no {title}")
        return "nothing" if title == "plain" else Desk() if title == "desk" else Deal(title)

    @operation(reads=True)
    async def find_later(self, title: str) -> Deal:
        await asyncio.sleep(0)
        self.found.append(title)
        return Deal(title)

    @operation(reads=True)
    def pair(self) -> list[Deal]:
        return [Deal("a"), Deal("b")]

    @operation(reads=True)
    def alone(self) -> list[Deal]:
        return [Deal("a")]

    @operation(reads=True)
    def joined(self, first: Deal, more: list[Deal]) -> Deal:
        return Deal("+".join(deal.title for deal in (first, *more)))

    @operation(reads=True)
    def each(self, function: Any) -> Deal:
        return Deal("each")

    def rename(self, deals: list[Deal], title: str) -> list[str]:
        return [deal.title + title for deal in deals]

    def numbers(self) -> Iterator[int]:
        yield from range(10)

    def ask(self, function: Any) -> str:
        return function().title

    async def ask_later(self, function: Any) -> str:
        return (await function.call_async()).title


async def lost(life: Life, *call: Any) -> str:
    with pytest.raises(Refused) as refused:
        await life.ask(*call)
    assert refused.value.kind == "HandleLost"
    return str(refused.value)


async def test_a_record_comes_back_from_its_own_data() -> None:
    first = Life({"crm": Crm("one")})
    number = await first.handle("call", first.name("crm"), "create", 7)
    crm = Crm("two")
    second = first.resumed({"crm": crm})
    assert await second.ask("call", number, "name") == "two/7"
    assert await second.ask("call", number, "name") == "two/7"
    assert crm.revived == [7]
    second.host.close()


async def test_records_in_a_list_come_back_each_from_its_own() -> None:
    first = Life({"crm": Crm()})
    tree = await first.ask("call", first.name("crm"), "many", 3)
    crm = Crm("two")
    second = first.resumed({"crm": crm})
    assert await second.ask("call", tree[2]["h"][0], "name") == "two/2"
    assert crm.revived == [2]
    second.host.close()


async def test_a_records_data_is_asked_for_only_where_there_is_a_journal() -> None:
    first = Life({"crm": Crm()})
    call = first.call("call", first.name("crm"), "create", 7)
    assert (await first.host.call(call)).kept is not None
    plain = type(call)(id=99, cell=1, verb="call", target=call.target, name="create", arguments=call.arguments)
    assert (await first.host.call(plain)).kept is None
    first.host.close()


async def test_what_a_record_has_for_the_journal_is_hidden_from_guest_code() -> None:
    first = Life({"crm": Crm(), "Record": Record})
    number = await first.handle("call", first.name("crm"), "create", 7)
    for target, name in ((number, "to_journal"), (number, "from_journal"), (first.name("Record"), "from_journal")):
        with pytest.raises(Refused, match="journal"):
            await first.ask("call", target, name)
    first.host.close()


async def test_data_that_is_not_plain_is_told_when_it_is_given() -> None:
    class Wrong(Record):
        def to_journal(self) -> Any:
            return {"crm": self.crm}

    def make() -> Wrong:
        return Wrong(Crm(), 1)

    first = Life({"make": make})
    with pytest.raises(Refused, match="plain data"):
        await first.ask("call", first.name("make"))
    first.host.close()


@pytest.mark.parametrize("how", ["find", "find_later"])
async def test_the_result_of_a_read_comes_back_by_reading_again(how: str) -> None:
    first = Life({"crm": Crm()})
    number = await first.handle("call", first.name("crm"), how, "a")
    assert await first.ask("call", number, "summary") == "a: 0"
    crm = Crm()
    second = first.resumed({"crm": crm})
    assert await second.ask("call", number, "summary") == "a: 0"
    assert await second.ask("call", number, "note", "x") == 1
    assert await second.ask("call", number, "summary") == "a: 1"
    assert crm.found == ["a"]
    second.host.close()


async def test_a_read_whose_object_was_changed_since_is_lost() -> None:
    first = Life({"crm": Crm()})
    number = await first.handle("call", first.name("crm"), "find", "a")
    await first.ask("call", number, "note", "x")
    crm = Crm()
    second = first.resumed({"crm": crm})
    told = await lost(second, "call", number, "summary")
    assert f"Deal#{number} came from crm.find(…) in cell 1" in told
    assert "changed" in told
    assert crm.found == []
    second.host.close()


async def test_a_read_that_now_gives_something_else_is_lost_and_says_so() -> None:
    first = Life({"crm": Crm()})
    number = await first.handle("call", first.name("crm"), "find", "a")
    for title, gives in (("plain", "str"), ("desk", "Desk")):
        crm = Crm()
        second = first.resumed({"crm": _Instead(crm, title)})
        assert f"asked again it gave a {gives}" in await lost(second, "call", number, "summary")
        second.host.close()


class _Instead:
    def __init__(self, crm: Crm, title: str) -> None:
        self._crm, self._title = crm, title

    @operation(reads=True)
    def find(self, title: str) -> Any:
        return self._crm.find(self._title)


async def test_a_read_that_fails_now_is_lost_with_what_it_raised_and_may_be_tried_again() -> None:
    first = Life({"crm": Crm()})
    number = await first.handle("call", first.name("crm"), "find", "a")
    crm = Crm()
    crm.gone = True
    second = first.resumed({"crm": crm})
    assert "LookupError: no a" in await lost(second, "call", number, "summary")
    crm.gone = False
    assert await second.ask("call", number, "summary") == "a: 0"
    second.host.close()


async def test_an_object_out_of_a_list_is_lost() -> None:
    first = Life({"crm": Crm()})
    pair = await first.ask("call", first.name("crm"), "pair")
    alone = await first.ask("call", first.name("crm"), "alone")
    second = first.resumed({"crm": Crm()})
    assert "held other objects" in await lost(second, "call", pair[1]["h"][0], "summary")
    assert "gave a list" in await lost(second, "call", alone[0]["h"][0], "summary")
    second.host.close()


async def test_an_attribute_and_an_item_come_back_one_after_the_other() -> None:
    first = Life({"crm": Crm()})
    desk = await first.handle("get", first.name("crm"), "desk")
    deal = await first.handle("op", desk, "__getitem__", "a")
    crm = Crm()
    second = first.resumed({"crm": crm})
    assert await second.ask("call", deal, "note", "x") == 1
    assert crm.desk.deals["a"].notes == ["x"]
    assert await second.handle("get", second.name("crm"), "desk") == desk
    second.host.close()


async def test_an_attribute_of_what_is_bound_comes_back_however_it_was_used() -> None:
    scope = Scope({"deal": Deal("a"), "crm": Crm()})
    scope.declare("crm.desk.busy", writable=True)
    first = Life(scope)
    desk = await first.handle("get", first.name("crm"), "desk")
    await first.ask("set", desk, "busy", True)
    second = first.resumed({"deal": Deal("a"), "crm": Crm()})
    assert "deals" in await second.ask("dir", desk)
    second.host.close()


async def test_an_attribute_of_a_read_that_was_changed_is_lost_and_so_is_an_iterator_of_the_scope() -> None:
    class Feed:
        def __init__(self) -> None:
            self.items = iter([1, 2, 3])
            self.crm = Crm()

        @operation(reads=True)
        def find(self) -> Crm:
            return Crm()

    scope = Scope({"feed": Feed()})
    scope.declare("feed.find.desk.busy", writable=True)
    first = Life(scope)
    items = await first.handle("get", first.name("feed"), "items")
    await first.ask("op", items, "__next__")
    desk = await first.handle("get", await first.handle("call", first.name("feed"), "find"), "desk")
    await first.ask("set", desk, "busy", True)
    second = first.resumed({"feed": Feed()})
    assert "changed" in await lost(second, "op", items, "__next__")
    assert "changed" in await lost(second, "dir", desk)
    second.host.close()


async def test_a_bound_method_comes_back() -> None:
    first = Life({"crm": Crm()})
    find = await first.handle("get", first.name("crm"), "find")
    await first.ask("call", find, "", "a")
    second = first.resumed({"crm": Crm()})
    assert "h" in await second.ask("call", find, "", "b")
    second.host.close()


async def test_arguments_are_brought_back_wherever_they_stand() -> None:
    first = Life({"crm": Crm()})
    one = await first.handle("call", first.name("crm"), "find", "a")
    two = await first.handle("call", first.name("crm"), "find", "b")
    joined = await first.handle("call", first.name("crm"), "joined", Handle(one), more=[Handle(two)])
    crm = Crm()
    second = first.resumed({"crm": crm})
    assert await second.ask("call", second.name("crm"), "rename", [Handle(joined), Handle(two)], title="!") == [
        "a+b!",
        "b!",
    ]
    assert sorted(crm.found) == ["a", "b"]
    second.host.close()


async def test_calls_at_the_same_time_share_one_revival() -> None:
    first = Life({"crm": Crm()})
    number = await first.handle("call", first.name("crm"), "find_later", "a")
    crm = Crm()
    second = first.resumed({"crm": crm})
    assert await asyncio.gather(*(second.ask("call", number, "summary") for _ in range(20))) == ["a: 0"] * 20
    assert crm.found == ["a"]
    second.host.close()


async def test_a_call_that_is_cancelled_does_not_cancel_the_revival_that_others_wait_for() -> None:
    first = Life({"crm": Crm()})
    number = await first.handle("call", first.name("crm"), "find_later", "a")
    second = first.resumed({"crm": Crm()})
    one = asyncio.create_task(second.ask("call", number, "summary"))
    two = asyncio.create_task(second.ask("call", number, "summary"))
    await asyncio.sleep(0)
    one.cancel()
    assert await two == "a: 0"
    assert one.cancelled()
    second.host.close()


async def test_a_database_cursor_is_lost_and_the_connection_is_not() -> None:
    one, two = (sqlite3.connect(":memory:", check_same_thread=False) for _ in range(2))
    first = Life({"db": one})
    number = await first.handle("call", first.name("db"), "execute", "select 1")
    one.close()
    second = first.resumed({"db": two})
    told = await lost(second, "call", number, "fetchall")
    assert told == (
        f"HandleLost: Cursor#{number} came from db.execute(…) in cell 1 and did not outlive the process that made it; "
        "call it again"
    )
    again = await second.handle("call", second.name("db"), "execute", "select 2")
    assert await second.ask("call", again, "fetchall") == [{"t": [2]}]
    second.host.close()
    two.close()


async def test_an_open_file_is_lost(tmp_path: Path) -> None:
    opened: list[IO[str]] = []

    def open_it() -> IO[str]:
        opened.append((tmp_path / "a").open())
        return opened[-1]

    (tmp_path / "a").write_text("text")
    first = Life({"open_it": open_it})
    number = await first.handle("call", first.name("open_it"))
    assert await first.ask("call", number, "read", 2) == "te"
    opened[0].close()
    second = first.resumed({"open_it": open_it})
    assert f"TextIOWrapper#{number} came from open_it() in cell 1" in await lost(second, "call", number, "read")
    assert len(opened) == 1
    second.host.close()


async def test_a_half_consumed_generator_is_lost() -> None:
    first = Life({"crm": Crm()})
    number = await first.handle("call", first.name("crm"), "numbers")
    iterator = await first.handle("op", number, "__iter__")
    assert await first.ask("items", iterator) == {"t": [[0], True]}
    second = first.resumed({"crm": Crm()})
    assert "generator#" in await lost(second, "items", iterator)
    second.host.close()


async def test_an_iterator_over_a_read_is_lost_once_an_item_was_taken() -> None:
    class Rows:
        def __iter__(self) -> Iterator[int]:
            return iter([1, 2, 3])

    first = Life({"rows": Rows()})
    fresh = await first.handle("op", first.name("rows"), "__iter__")
    used = await first.handle("op", first.name("rows"), "__iter__")
    await first.ask("op", used, "__next__")
    second = first.resumed({"rows": Rows()})
    assert await second.ask("op", fresh, "__next__") == 1
    assert "changed" in await lost(second, "op", used, "__next__")
    second.host.close()


async def test_revive_makes_the_object_from_the_arguments_of_its_operation() -> None:
    made: list[Any] = []

    class Files:
        def reopen(self, name: str) -> Deal:
            made.append((self, name))
            return Deal(f"{name} again")

        @operation(revive=reopen)
        def open(self, name: str) -> Deal:
            return Deal(name)

    async def remake(title: str) -> Deal:
        await asyncio.sleep(0)
        return Deal(f"{title} remade")

    @operation(revive=remake)
    def make(title: str) -> Deal:
        return Deal(title)

    first = Life({"files": Files(), "make": make})
    opened = await first.handle("call", first.name("files"), "open", "a")
    built = await first.handle("call", first.name("make"), "", title="b")
    await first.ask("call", opened, "note", "x")
    files = Files()
    second = first.resumed({"files": files, "make": make})
    assert await second.ask("get", opened, "title") == "a again"
    assert await second.ask("get", built, "title") == "b remade"
    assert made == [(files, "a")]
    second.host.close()


async def test_revive_that_gives_plain_data_is_told() -> None:
    def title_of(title: str) -> str:
        return title

    scope = Scope({"make": _deal})
    scope.declare("make", revive=title_of)
    first = Life(scope)
    number = await first.handle("call", first.name("make"), "", "a")
    second = first.resumed(scope)
    assert "revive= gave a str" in await lost(second, "call", number, "summary")
    second.host.close()


async def test_revive_is_found_for_a_method_that_was_held() -> None:
    scope = Scope({"crm": Crm()})
    scope.declare("crm.rename", revive=_deal)
    vars(scope.get("crm"))["rename"] = _deal
    first = Life(scope)
    method = await first.handle("get", first.name("crm"), "rename")
    number = await first.handle("call", method, "", "a")
    second = first.resumed(scope)
    assert await second.ask("get", number, "title") == "a"
    second.host.close()


def _deal(title: str) -> Deal:
    return Deal(title)


async def test_a_read_that_was_given_a_guest_function_is_lost() -> None:
    first = Life({"crm": Crm()})
    call = first.call("call", first.name("crm"), "each")
    given = type(call)(
        id=call.id, cell=1, verb="call", target=call.target, name="each", path=call.path,
        arguments=Packed({"t": [{"g": [1, "function", "f"]}]}, []),
    )  # fmt: skip
    number = (await first.answer(given)).value.tree["h"][0]
    second = first.resumed({"crm": Crm()})
    assert "a function of the guest" in await lost(second, "call", number, "summary")
    second.host.close()


async def test_what_it_needs_is_told_where_that_is_gone() -> None:
    first = Life({"make": lambda: Crm()})
    crm = await first.handle("call", first.name("make"))
    deal = await first.handle("call", crm, "find", "a")
    second = first.resumed({"make": lambda: Crm()})
    told = await lost(second, "call", deal, "summary")
    assert f"Deal#{deal} came from Crm#{crm}.find(…)" in told
    assert f"Crm#{crm} came from make() in cell 1" in told
    second.host.close()


@pytest.mark.parametrize("how", ["ask", "ask_later"])
async def test_what_a_guest_function_gives_is_brought_back_too(how: str) -> None:
    first = Life({"crm": Crm()})
    number = await first.handle("call", first.name("crm"), "find", "a")
    second = first.resumed({"crm": Crm()}, Guest({"h": number}))
    call = second.call("call", second.name("crm"), how)
    given = type(call)(
        id=call.id, cell=1, verb="call", target=call.target, name=how,
        arguments=Packed({"t": [{"g": [1, "function", "f"]}]}, []),
    )  # fmt: skip
    assert (await second.answer(given)).value.tree == "a"
    second.host.close()


async def test_the_value_of_a_cell_has_a_stand_in_for_what_is_lost() -> None:
    first = Life({"crm": Crm()})
    number = await first.handle("call", first.name("crm"), "find", "a")
    crm = Crm()
    second = first.resumed({"crm": crm})
    found: Any = second.host.value(Packed([{"h": number}, {"h": second.name("crm")}], []))
    assert isinstance(found[0], LostObject)
    assert repr(found[0]) == f"<lost: Deal#{number}, which came from crm.find(…) in cell 1>"
    assert found[1] is crm
    with pytest.raises(ReferenceError):
        second.host.value(Packed({"h": 4711}, []))
    second.host.close()


async def test_what_came_back_stays_whatever_the_guest_lets_go_of() -> None:
    first = Life({"crm": Crm()})
    number = await first.handle("call", first.name("crm"), "find", "a")
    crm = Crm()
    second = first.resumed({"crm": crm})
    await second.ask("call", number, "summary")
    second.host.drop(number, 5)
    assert await second.ask("call", number, "note", "x") == 1
    assert crm.found == ["a"]
    second.host.close()


async def test_an_object_that_the_process_still_has_is_that_object_for_the_next_guest() -> None:
    db = sqlite3.connect(":memory:", check_same_thread=False)
    first = Life({"db": db})
    number = await first.handle("call", first.name("db"), "execute", "select 1")
    for _ in range(3):
        first.open(first)
    assert await first.ask("call", number, "fetchall") == [{"t": [1]}]
    first.host.close()
    db.close()


async def test_a_class_that_is_not_imported_is_told() -> None:
    class Local(Record):
        """No process can find it by its name."""

    first = Life({"make": lambda: Local(Crm(), 1)})
    number = await first.handle("call", first.name("make"))
    second = first.resumed({"make": lambda: Local(Crm(), 1)})
    assert "is not imported here" in await lost(second, "call", number, "name")
    second.host.close()


async def test_a_record_whose_root_is_gone_is_told() -> None:
    first = Life({"crm": Crm()})
    number = await first.handle("call", first.name("crm"), "create", 7)
    second = first.resumed({})
    assert "`crm` is no longer bound" in await lost(second, "call", number, "name")
    second.host.close()
