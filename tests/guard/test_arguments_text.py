"""What the person reads who is asked: all of the arguments as they are, and nothing that passes for something else."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cells import PATIENT
from tests.guard.people import Person

from cellwright import Runtime, operation
from cellwright.guard.arguments_text import CUT, LONGEST, arguments_text, atoms_text
from cellwright_guest.packer import Packer, plain
from cellwright_guest.wire import Packed, WireError


def shown(*args: Any, **kwargs: Any) -> str:
    return arguments_text(Packer(plain).packed((args, kwargs)), lambda number: f"#{number}")


def raw(tree: Any, *blobs: bytes) -> str:
    return arguments_text(Packed(tree, list(blobs)), lambda number: f"#{number}")


VALUES: list[Any] = [
    (None, True, 1, -2.5, "it's", b"\x00x", bytearray(b"y")),
    [1, [2, (3,), ()], {"a": {"b": []}}, {1: 2}],
    ({1}, frozenset({2}), set(), frozenset()),
    (dt.date(2024, 2, 29), dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC), dt.timedelta(hours=1), Decimal("1.50")),
    (Path("a/b"), slice(1, [2], None), range(3), 1j, ...),
    ("x" * 3000, b"y" * 3000, 1 << 100),
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_plain_data_reads_as_python_writes_it(value: Any) -> None:
    assert shown(value) == f"({value!r})"


def test_keywords_follow_what_has_a_place() -> None:
    assert shown() == "()"
    assert shown(1, 2, to="ann") == "(1, 2, to='ann')"
    assert shown(to="ann") == "(to='ann')"


def test_what_is_shared_is_told_in_each_place() -> None:
    one = ["a"]
    assert shown(one, one, {"again": one}) == "(['a'], ['a'], {'again': ['a']})"


def test_a_list_that_holds_itself_is_told_up_to_the_bound() -> None:
    endless: list[Any] = [1]
    endless.append(endless)
    assert shown(endless).startswith("([1, [1, [1, ")


LONG: list[Any] = ["x" * 50_000, b"y" * 50_000, list(range(50_000)), {"k": "z" * 50_000}, 1 << 900_000]


@pytest.mark.parametrize("value", LONG, ids=range(len(LONG)))
def test_what_is_longer_than_the_bound_is_cut_with_a_mark(value: Any) -> None:
    text = shown("first", value)
    assert text.startswith("('first', ")
    assert LONGEST <= len(text) < LONGEST + len(CUT) + 10
    assert text.endswith(f"{CUT})")


def test_a_long_argument_does_not_push_the_others_out_of_sight() -> None:
    text = shown("x" * 50_000, ["y"] * 50_000, to="eve")
    assert text.endswith(f"{CUT}, to='eve')")
    assert text.count(CUT) == 2
    assert shown(*range(1000)).endswith(f", 199, {CUT})")


def test_nothing_that_moves_a_cursor_or_turns_a_line_round_is_left() -> None:
    text = shown("\x1b[2K\r\n\u202egnp.exe\x00\ud800", **{"a\x1b[1A": 1})
    assert text.isprintable()
    assert "\\x1b[2K\\r\\n\\u202e" in text


def test_a_name_that_the_guest_chose_passes_for_nothing_else() -> None:
    assert shown(**{"to='ann', body": "x"}) == "(\"to='ann', body\"='x')"
    assert raw({"t": [{"g": [1, "function", "f>, 'ann'"]}]}) == "(<function \"f>, 'ann'\">)"
    assert raw({"t": [{"e": [-3, "RED, 2"]}]}) == "(#-3.'RED, 2')"


def test_a_key_that_is_no_plain_data_takes_no_other_keys_place() -> None:
    tree = {"t": [{"d": [{"e": [-3, "RED"]}, 1, "#-3.RED", 2, "<#7>", 3, {"h": 7}, 4]}]}
    assert raw(tree) == "({#-3.RED: 1, '#-3.RED': 2, '<#7>': 3, <#7>: 4})"


def test_a_reference_after_an_exception_or_a_record_means_what_it_means_to_the_one_who_calls() -> None:
    fault = {"E": ["ValueError", ["in the exception"], "ValueError", "text"]}
    record = {"o": [-2, [["in the record"]]]}
    text = raw({"t": [fault, record, ["own"], {"r": 0}, {"r": 1}, {"r": 2}]})
    assert text == (
        "(<exception ValueError>(['in the exception'], 'text'), #-2(['in the record']), ['own'], "
        "['in the exception'], ['in the record'], ['own'])"
    )


@pytest.mark.parametrize("tree", [None, ["x"], {"t": [{"q": 1}]}, {"t": [{"r": 5}]}, {"t": [{"h": "x"}]}, {"m": {}}])
def test_what_no_honest_guest_sends_is_not_shown(tree: Any) -> None:
    with pytest.raises(WireError):
        raw(tree)


class Colour(enum.Enum):
    RED = 1


@dataclass
class Booking:
    room: str
    nights: int


class Hotel:
    def __repr__(self) -> str:
        raise AssertionError("nobody asked for it")

    @operation(ask=True)
    def book(self, *what: Any) -> int:
        return len(what)


@pytest.mark.usefixtures("warm")
async def test_host_objects_that_are_bound_records_and_types_are_told_by_name_and_no_code_of_theirs_runs() -> None:
    person = Person()
    names = {"hotel": Hotel(), "Booking": Booking, "Colour": Colour}
    code = "hotel.book(hotel, Booking('attic', 2), Colour.RED, Booking, int)"
    async with Runtime(names, limits=PATIENT, approve=person.approve) as rt:
        assert (await rt.execute(code)).unwrap() == 5
    (text,) = (wanted.arguments for wanted in person.asked)
    assert text == "(<hotel>, Booking('attic', 2), Colour.RED, <Booking>, <a type>)"


ATOMS = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=70)
KEYWORDS = st.dictionaries(st.sampled_from(["to", "password", "ok?", "a.b", ""]), ATOMS, max_size=3)


@given(st.lists(ATOMS, max_size=4), KEYWORDS)
@settings(max_examples=200, deadline=None)
def test_a_few_numbers_and_short_texts_are_written_in_one_way(args: list[Any], kwargs: dict[str, Any]) -> None:
    """The audit writes them without the steps that long arguments need."""
    packed = Packer(plain).packed((tuple(args), kwargs))
    assert atoms_text(packed) in (None, arguments_text(packed, str))


def test_arguments_of_which_one_is_hidden_are_written_with_its_mask() -> None:
    for packed in (Packer(plain).packed((1, 2)), Packer(plain).packed(((1,), {"password": 2}))):
        assert atoms_text(packed) is not None
        assert atoms_text(packed, lambda place: place in (1, "password")) is None
