"""Labels: of operations and fields, as rows keep them, and what of them an answer carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.cells import PATIENT
from tests.guard.keeping import run

from cellwright import Runtime, Scope, operation
from cellwright.doors import Operation
from cellwright.errors import UsageError
from cellwright.guard.labels import NONE, LabelSpec
from cellwright.scope import Leaf
from cellwright.store import MemoryStore

pytestmark = pytest.mark.usefixtures("warm")
SPECS = [
    NONE,
    LabelSpec(untrusted=True),
    LabelSpec(untrusted=("body", "from.name"), private=True),
    LabelSpec(trusted=("email",), private=("notes",)),
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_what_a_row_keeps_is_read_back(spec: LabelSpec) -> None:
    assert LabelSpec.read(("untrusted", "hit", *spec.texts())) == spec


def test_two_that_are_said_hold_together() -> None:
    one, other = LabelSpec(untrusted=("body",), trusted=("id",)), LabelSpec(untrusted=("subject",), private=True)
    assert one | other == LabelSpec(untrusted=("body", "subject"), private=True, trusted=("id",))
    assert one | LabelSpec(untrusted=True) == LabelSpec(untrusted=True, trusted=("id",))
    assert NONE | one == one | NONE == one


def test_what_is_inside_an_object_carries_what_was_said_of_that_member_or_of_all_of_it() -> None:
    spec = LabelSpec(untrusted=("body", "from.name"), private=True)
    assert spec.inside("body") == LabelSpec(untrusted=True, private=True)
    assert spec.inside("from") == LabelSpec(untrusted=("name",), private=True)
    assert spec.inside("other") == LabelSpec(untrusted=("body", "from.name"), private=True)
    assert NONE.inside("body") is NONE


def test_an_untrusted_field_is_never_trusted_and_one_without_a_name_is_neither() -> None:
    spec = LabelSpec(trusted=True, untrusted=("note",))
    assert spec.is_in("trusted", Leaf(("id",), 1))
    assert not spec.is_in("trusted", Leaf(("note",), "x"))
    assert not spec.is_in("trusted", Leaf(("inner", "note", "deep"), "x"))
    assert not spec.is_in("trusted", Leaf(("?1",), "x"))


@dataclass
class Ticket:
    id: int
    body: str
    tags: list[str]


class Desk:
    def __init__(self, body: str = "hello", tags: tuple[str, ...] = ()) -> None:
        self._ticket = Ticket(7, body, list(tags))

    @operation(reads=True, untrusted=["body", "tags"])
    def ticket(self) -> Ticket:
        """A ticket."""
        return self._ticket

    @operation(reads=True, untrusted=["body"])
    def rows(self) -> Any:
        """As dicts."""
        return [{"id": 7, "body": self._ticket.body}]

    @operation(reads=True, untrusted=True)
    def text(self) -> str:
        """The body."""
        return self._ticket.body

    @operation(reads=True, untrusted=True)
    def count(self) -> int:
        """How many."""
        return 3


async def reached(desk: Any, code: str, **options: Any) -> tuple[str, ...]:
    """What reached the session by this code."""
    async with Runtime(desk if isinstance(desk, Scope) else {"desk": desk}, limits=PATIENT, **options) as rt:
        await run(rt, code)
        return rt.flow.reached


@pytest.mark.parametrize(
    ("desk", "code", "is_reached"),
    [
        (Desk(), "desk.ticket()", True),
        (Desk(""), "desk.ticket()", False),  # nothing of anybody's is in it
        (Desk("", ("x",)), "desk.ticket()", True),
        (Desk(), "desk.rows()", True),
        (Desk(""), "desk.rows()", False),
        (Desk(""), "desk.text()", False),
        (Desk(), "desk.count()", True),
        (Desk(), "desk.ticket", False),
    ],
)
async def test_an_answer_carries_a_label_where_something_is_in_the_field(
    desk: Desk, code: str, is_reached: bool
) -> None:
    assert ("untrusted" in await reached(desk, code)) == is_reached


async def test_labels_are_declared_of_operations_that_have_none() -> None:
    class Plain:
        def body(self) -> str:
            """The body."""
            return "hello"

    scope = Scope({"mail": Plain()})
    scope.declare("mail.*", untrusted=True, private=True)
    assert await reached(scope, "mail.body()") == ("untrusted", "private", "influenced")


async def test_what_an_object_gives_carries_the_labels_of_the_answer_that_gave_it() -> None:
    class Mail:
        def body(self) -> str:
            """The body."""
            return "hello"

    class Box:
        @operation(reads=True, untrusted=["body"])
        def mail(self) -> Mail:
            """A mail."""
            return Mail()

    store = MemoryStore()
    assert await reached(Box(), "mail = desk.mail()") == ()
    assert await reached(Box(), "mail = desk.mail()\nmail.body()", store=store, session="s1") != ()
    async with Runtime.resume("s1", scope={"desk": Box()}, store=store, limits=PATIENT) as rt:
        assert "untrusted" in rt.flow.reached


@pytest.mark.parametrize("wrong", [{"untrusted": "body"}, {"private": 1}, {"trusted": [1]}, {"selecting": "to"}])
def test_a_label_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError):
        Operation(**wrong)
