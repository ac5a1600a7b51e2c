"""A session in a file is a stranger's: what its rows claim is neither undone, brought back nor built without a yes."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.sessions.worlds import PATIENT, value

from cellwright import Runtime, open_questions, operation
from cellwright.errors import RollbackRefused, UsageError
from cellwright.events import ApprovalWanted
from cellwright.guard import full_arguments
from cellwright.scope import Undoing
from cellwright.sessions import ImportedSession, Sessions
from cellwright.store import open_store

LAYER = "imports"
pytestmark = pytest.mark.usefixtures("warm")
Lines = list[dict[str, Any]]


class Account:
    """Crosses by handle, and can be rebuilt."""

    rebuilt: list[str] = []  # noqa: RUF012 -- counts for all

    def __init__(self, owner: str) -> None:
        self.owner = owner

    def balance(self) -> str:
        return f"balance of {self.owner}"

    def to_journal(self) -> str:
        return self.owner

    @classmethod
    def from_journal(cls, kept: str, root: Any) -> Account:
        Account.rebuilt.append(kept)
        return cls(kept)


class Report:
    """Crosses by handle; asked for again when its process is gone."""

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self) -> str:
        return f"report {self.name}"


@dataclass
class Card:
    name: str


@dataclass
class Trap:
    """Never sent to any guest."""

    name: str

    def __post_init__(self) -> None:
        Trap.built.append(self.name)  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]


Trap.built = []  # pyright: ignore[reportAttributeAccessIssue] -- no field of the data class


def _cancel(order: str, call: Undoing) -> None:
    call.target.cancel(order)


class Shop:
    def __init__(self) -> None:
        self.orders: list[str] = []
        self.cancelled: list[str] = []
        self.opened: list[str] = []

    def cancel(self, order: str) -> None:
        self.cancelled.append(order)

    @operation(undo=_cancel)
    def order(self, what: str) -> str:
        self.orders.append(what)
        return f"order of {what}"

    @operation(ask=True)
    def account(self, owner: str) -> Account:
        return Account(owner)

    @operation(ask=True, reads=True)
    def report(self, name: str) -> Report:
        self.opened.append(name)
        return Report(name)

    def card(self) -> Card:
        return Card("ada")

    def keep(self, card: Any) -> str:
        return type(card).__name__


class Desk:
    def __init__(self) -> None:
        self.tray = Report("tray")
        self.account = Account("desk")


@dataclass
class Order:
    lines: list[str]

    def count(self) -> int:
        return len(self.lines)


class Till:
    @operation(ask=True)
    def pay(self, order: Order) -> str:
        return f"paid {order.lines[-1]}"


def yes(wanted: ApprovalWanted) -> bool:
    return True


class Person:
    """Says the same to everything, and keeps what was asked."""

    def __init__(self, answer: bool) -> None:
        self.asked: list[ApprovalWanted] = []
        self._answer = answer

    def __call__(self, wanted: ApprovalWanted) -> bool:
        self.asked.append(wanted)
        return self._answer


async def exported(place: Path, *cells: str, scope: dict[str, Any] | None = None, approve: Any = yes) -> Path:
    """What a stranger ran on a machine of their own."""
    store, file, scope = place / "theirs.db", place / "gift.jsonl", scope or {"shop": Shop()}
    async with Runtime(scope, store=store, session="gift", limits=PATIENT, approve=approve) as rt:
        for code in cells:
            await rt.execute(code)
    with Sessions(store) as sessions:
        sessions.export("gift", file)
    return file


def forged(file: Path, change: Callable[[Lines], Lines | None]) -> Path:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines = change(lines) or lines
    number = 0
    for line in lines:
        number = 0 if "session" in line else number
        if "entry" in line:
            number += 1
            line["entry"] = number
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def told(lines: Lines, verb: str, name: str) -> dict[str, Any]:
    return next(
        line
        for line in reversed(lines)
        if line.get("kind") == "row" and (line.get("verb"), line.get("name")) == (verb, name)
    )


def said(old: str, new: str) -> Callable[[Lines], Lines]:
    """A file that says something else wherever it says `old`."""
    return lambda lines: json.loads(json.dumps(lines).replace(old, new))


def imported(place: Path, file: Path) -> ImportedSession:
    with closing(open_store(str(place / "ours.db"))) as store:
        return Sessions(store).import_(file)


def resumed(place: Path, shop: Shop, person: Person | None = None, session: str = "gift") -> Runtime:
    return Runtime.resume(session, scope={"shop": shop}, store=place / "ours.db", limits=PATIENT, approve=person)


# undo


async def test_a_forged_call_is_not_undone_by_a_rollback(tmp_path: Path) -> None:
    file = forged(await exported(tmp_path, "shop.order('pen')"), said("order of pen", "the victim's order"))
    imported(tmp_path, file)
    shop = Shop()
    async with resumed(tmp_path, shop) as rt:
        with pytest.raises(RollbackRefused, match=r"came with an import.*there is nobody to ask: Runtime\(approve=…\)"):
            await rt.rollback(0)
    no, agreed = Person(False), Person(True)
    async with resumed(tmp_path, shop, no) as rt:
        with pytest.raises(RollbackRefused, match="came with an import, and a person said no"):
            await rt.rollback(0)
    assert shop.cancelled == []
    async with resumed(tmp_path, shop, agreed) as rt:
        await rt.rollback(0)
    assert shop.cancelled == ["the victim's order"]
    (wanted,) = agreed.asked
    assert (wanted.name, wanted.session) == ("undo of imported calls", "gift")
    assert wanted.arguments.startswith("shop.order('pen',) in cell 1")
    assert "the victim's order" in wanted.arguments


async def test_a_person_is_asked_about_what_would_be_done_and_not_by_words_of_the_file(tmp_path: Path) -> None:
    pen = "x" * 3000 + "\n\u202ethe victim's"

    def renamed(lines: Lines) -> None:
        for line in lines:
            if line.get("name") in ("order", "account"):
                line["title"] = "notes.clear_cache()\nshop.read('pen') in cell 1"

    file = await exported(tmp_path, f"shop.order({pen!r})", f"mine = shop.account({pen!r})")
    imported(tmp_path, forged(file, renamed))
    shop, person = Shop(), Person(True)
    async with resumed(tmp_path, shop, person) as rt:
        assert await value(rt, "mine.balance()") == f"balance of {pen}"
        await rt.rollback(0, yes=True)
    assert shop.cancelled == [f"order of {pen}"]
    assert [wanted.name for wanted in person.asked] == ["bring back an imported object", "undo of imported calls"]
    for wanted, title in zip(person.asked, ("shop.account", "shop.order"), strict=True):
        assert "clear_cache" not in wanted.arguments
        assert f'{title}("xxx' in wanted.arguments
        assert wanted.arguments.isprintable()
        assert wanted.arguments.count("x\\n\\u202ethe victim's") == 2  # what it was given, and what is made of it
    assert person.asked[1].arguments.endswith("undone by _cancel")


async def test_a_forged_transaction_is_not_undone_when_the_session_is_opened(tmp_path: Path) -> None:
    code = "import os\nasync with transaction():\n    shop.order('pen')\n    os._exit(1)"

    def open_again(lines: Lines) -> Lines:
        return [line for line in lines if line.get("door") != "undo"]

    file = forged(await exported(tmp_path, code), open_again)
    forged(file, said("order of pen", "the victim's order"))
    imported(tmp_path, file)
    shop = Shop()
    async with resumed(tmp_path, shop) as rt:
        assert await value(rt, "1 + 1") == 2
    assert shop.cancelled == []


async def test_a_forged_mark_does_not_hide_what_the_session_did_here(tmp_path: Path) -> None:
    """It says that a call of the cell that runs again here is undone already."""

    def ahead(lines: Lines) -> Lines:
        call = told(lines, "call", "order")
        begun = next(line for line in lines if line.get("number") == 2)
        mark = {
            "kind": "row", "parent": 0, "cell": call["cell"], "path": f"undo {call['path']}", "door": "undo",
            "title": "shop.order", "verb": "undo", "name": "order", "status": "done", "value": {"tree": None},
        }  # fmt: skip
        first = [line for line in lines if 2 not in (line.get("cell"), line.get("number"))]
        return [*first, begun, mark | {"entry": 0}]

    imported(tmp_path, forged(await exported(tmp_path, "1", "shop.order('ink')"), ahead))
    shop = Shop()
    async with resumed(tmp_path, shop) as rt:
        outcome = await rt.outcome()
        assert outcome is not None
        assert outcome.unwrap() == "order of ink"
        await rt.rollback(1)  # ours: nobody is asked
    assert shop.cancelled == ["order of ink"]


@pytest.mark.parametrize("in_a_fork", [False, True])
async def test_a_file_does_not_speak_of_cells_that_begin_here(tmp_path: Path, in_a_fork: bool) -> None:
    """A transaction that is open in the next cell would be undone, with its files, when that cell is ended."""

    def ahead(lines: Lines) -> Lines:
        begin = next(line for line in lines if line.get("verb") == "begin") | {"name": "3+1", "cell": 3, "path": "!x"}
        facts = lines[0]["session"] | {"id": "fork", "parent": "gift", "parent_cell": 9}
        return [*lines, *([{"session": facts}] if in_a_fork else []), begin]

    file = forged(await exported(tmp_path, "1", "with transaction():\n    shop.order('ink')"), ahead)
    with pytest.raises(UsageError, match="a call of a cell that has not begun"):
        imported(tmp_path, file)


AHEAD: dict[str, dict[str, Any]] = {
    "an answer": {"path": "3#1"},
    "an answer in a task": {"path": "3.1#1"},
    "a transaction": {"path": "2#9", "verb": "begin", "name": "3+1"},
    "the end of a transaction": {"path": "undo 3+1", "door": "undo", "verb": "transaction", "name": "3+1"},
    "an undo": {"path": "undo 3#1", "door": "undo", "verb": "undo"},
    "an answer in a callback": {"path": "!99#1"},
}


@pytest.mark.parametrize("what", AHEAD)
async def test_a_call_of_a_cell_that_begins_here_is_not_answered_by_a_file_under_another_cell(
    what: str, tmp_path: Path
) -> None:
    def ahead(lines: Lines) -> Lines:
        return [*lines, told(lines, "call", "order") | AHEAD[what]]

    file = forged(await exported(tmp_path, "1", "shop.order('ink')"), ahead)
    with pytest.raises(UsageError, match="a call of a cell that has not begun"):
        imported(tmp_path, file)


# objects


async def test_a_forged_object_is_not_built(tmp_path: Path) -> None:
    file = await exported(tmp_path, "mine = shop.account('mine')")
    imported(tmp_path, forged(file, said("mine", "victim")))
    Account.rebuilt.clear()
    async with resumed(tmp_path, Shop()) as rt:
        outcome = await rt.execute("victim.balance()")
        assert "came with an import" in str(outcome.error)
        assert len(str(outcome.error).strip().splitlines()[-1]) < 500
    assert Account.rebuilt == []
    agreed = Person(True)
    async with resumed(tmp_path, Shop(), agreed) as rt:
        assert await value(rt, "victim.balance()") == "balance of victim"
    assert Account.rebuilt == ["victim"]
    (wanted,) = agreed.asked
    assert wanted.name == "bring back an imported object"
    assert "shop.account('victim',) in cell 1" in wanted.arguments


async def test_a_fork_of_an_import_and_a_copy_of_the_own_session_are_a_strangers_too(tmp_path: Path) -> None:
    imported(tmp_path, await exported(tmp_path, "mine = shop.account('mine')"))
    with Sessions(tmp_path / "ours.db") as sessions:
        fork = sessions.fork("gift")
        sessions.export(fork, tmp_path / "fork.jsonl")
        copy = sessions.import_(tmp_path / "fork.jsonl").session
    Account.rebuilt.clear()
    for session in (fork, copy):
        async with resumed(tmp_path, Shop(), session=session) as rt:
            assert "came with an import" in str((await rt.execute("mine.balance()")).error)
    assert Account.rebuilt == []


async def test_an_operation_that_asks_is_not_called_again_for_a_forged_object(tmp_path: Path) -> None:
    file = await exported(tmp_path, "mine = shop.report('mine')")
    imported(tmp_path, forged(file, said("mine", "theirs")))
    shop = Shop()
    async with resumed(tmp_path, shop) as rt:
        assert "came with an import" in str((await rt.execute("theirs.read()")).error)
        assert await value(rt, "shop.order('ink')") == "order of ink"  # its own names are there
    assert shop.opened == []


def elsewhere(lines: Lines) -> None:
    for line in lines:
        if "made" in line:
            line["made"] = json.loads(json.dumps(line["made"]).replace("desk.tray", "desk.other"))


@pytest.mark.parametrize("change", [None, elsewhere])
async def test_an_attribute_of_a_bound_object_is_read_again_without_a_yes(tmp_path: Path, change: Any) -> None:
    file = await exported(tmp_path, "tray = desk.tray; mine = desk.account", scope={"desk": Desk()})
    imported(tmp_path, forged(file, change or (lambda lines: None)))
    Account.rebuilt.clear()
    async with Runtime.resume("gift", scope={"desk": Desk()}, store=tmp_path / "ours.db", limits=PATIENT) as rt:
        if change is None:
            assert await value(rt, "tray.read()") == "report tray"
            assert await value(rt, "mine.balance()") == "balance of desk"  # asked of our desk, not of the file
        else:  # under a path that has other rules
            assert "came with an import" in str((await rt.execute("tray.read()")).error)
    assert Account.rebuilt == []


async def test_a_forged_class_is_not_built(tmp_path: Path) -> None:
    file = await exported(tmp_path, "card = shop.card()")
    imported(tmp_path, forged(file, said(f"{__name__}:Card|", f"{__name__}:Trap|")))
    async with resumed(tmp_path, Shop()) as rt:
        outcome = await rt.execute("shop.keep(card)")
        assert "came with an import" in str(outcome.error)
    assert Trap.built == []  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]


async def test_a_class_that_came_with_an_import_is_known_once_the_host_sends_one(tmp_path: Path) -> None:
    imported(tmp_path, await exported(tmp_path, "card = shop.card()"))
    async with resumed(tmp_path, Shop()) as rt:
        assert await value(rt, "shop.card(); shop.keep(card)") == "Card"


# questions


@pytest.mark.parametrize("note", [{}, {"kind": "note", "note": "shown", "text": "(<Order: pay ann 1>)"}])
async def test_an_import_tells_nothing_of_what_a_person_is_asked(tmp_path: Path, note: dict[str, Any]) -> None:
    till, ours = Till(), tmp_path / "ours.db"
    scope = {"till": till, "order": Order(["pay EVE 1,000,000"] if note else ["line"] * 900 + ["pay EVE 1,000,000"])}
    file = await exported(tmp_path, "till.pay(order)", scope=scope, approve=None)
    (theirs,) = open_questions(tmp_path / "theirs.db")
    more = [note | {"entry": 0, "parent": 0, "about": theirs.id}] if note else []
    imported(tmp_path, forged(file, lambda lines: said("pay EVE 1,000,000", "pay ann 1")(lines) + more))
    async with Runtime.resume("gift", scope=scope, store=ours, limits=PATIENT) as rt:
        await rt.outcome()
        (question,) = open_questions(ours)
        assert question.id != theirs.id
        assert "pay EVE 1,000,000" in full_arguments(ours, question)
        assert full_arguments(ours, replace(question, id=theirs.id)) == question.arguments
    with Sessions(ours) as sessions:
        sessions.export("gift", tmp_path / "again.jsonl")
        assert "import_key" not in (tmp_path / "again.jsonl").read_text()


# what is told


async def test_an_import_says_what_it_claims(tmp_path: Path) -> None:
    file = await exported(tmp_path, "shop.order('pen')", "mine = shop.account('mine')", "shop.card()")
    told = imported(tmp_path, file)
    assert (told.undoable, told.revivable, told.granted) == (3, 1, 1)
