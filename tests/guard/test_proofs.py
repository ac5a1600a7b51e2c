"""Proofs: values are compared whole, in the form of their type; words stand alone; beyond a bound nothing is proven."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.linear import check_linear

from cellwright.guard import proofs
from cellwright.guard.proofs import Proofs, Words, literals_in, normalised, runs_text

SAME = [
    ("Ann@Corp.Example", "ann@corp.example"),
    ("ann@corp.example.", "ann@corp.example"),
    ("ａｎｎ@corp.example", "ann@corp.example"),  # fullwidth
    ("ann@bücher.example", "ann@xn--bcher-kva.example"),
    ("https://Bücher.Example:443/a", "https://xn--bcher-kva.example/a"),
    ("HTTPS://example.com", "https://example.com/"),
    ("http://example.com:80/a?b=c#d", "http://EXAMPLE.com/a?b=c#d"),
    ("NO93 8601 1117 947", "no9386011117947"),
    ("  two   words\n", "two words"),
    ("ﬁle", "file"),
    (7, 7.0),
    (7, "7"),
    (b"ann", "ann"),
]
OTHER = [
    ("ann@corp.example", "xann@corp.example"),
    ("ann@corp.example", "ann@corp.example.evil.example"),
    ("ann@corp.example", "аnn@corp.example"),  # a Cyrillic letter
    ("ann+x@corp.example", "ann@corp.example"),
    ("https://example.com/a", "http://example.com/a"),
    ("https://example.com/a", "https://example.com/A"),
    ("https://example.com/a", "https://example.com:8443/a"),
    ("https://example.com/a", "https://evil@example.com/a"),
    ("https://example.com/a", "https://example.com/a?q=1"),
    ("https://example.com@evil.example/", "https://example.com/"),
    ("NO9386011117947", "NO9386011117948"),
    (7, 7.5),
    (1, True),
    (float("inf"), "infinite"),
    ("1e3", 1000),
    (2**63, 2**63 + 1),
    (10**320, 10**320 + 1),
    (1 << 40_000, (1 << 40_000) + 1),
    ("AB12 Coffee Machines", "AB12CoffeeMachines"),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=range(len(SAME)))
def test_values_that_mean_the_same_are_the_same(one: Any, other: Any) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(("one", "other"), OTHER, ids=range(len(OTHER)))
def test_values_that_mean_something_else_are_not_the_same(one: Any, other: Any) -> None:
    assert normalised(one) != normalised(other)


@given(st.text(max_size=60) | st.integers() | st.binary(max_size=20))
@settings(max_examples=50)
def test_what_was_normalised_once_stays_as_it_is(value: Any) -> None:
    once = normalised(value)
    assert normalised(once) == once


TASK = (
    "Send the report to Ann Lee <ann@corp.example>, pay 1,200.50 to NO93 8601 1117 947, post it in #sales "
    "(see https://corp.example/a.) and tell bo."
)


@pytest.mark.parametrize(
    "value",
    ["ann@corp.example", "ANN@corp.example", "NO9386011117947", "https://corp.example/a", "Ann Lee", "ann lee", 1200.5]
    + ["#sales", "sales", "Bo", "report"],
)
def test_what_a_person_wrote_proves(value: Any) -> None:
    words = Words()
    words.add(TASK)
    assert words.has(value)


@pytest.mark.parametrize(
    "value",
    ["corp.example", "ann@corp", "nn@corp.example", "ann@corp.example.evil.example", "nn", "NO9386011117"]
    + ["https://corp.example/", "https://corp.example", "https://corp.example/a/", "corp", 1200, 200.5, 50, 1200.51]
    + ["to", "the", "it", "", "   ", "ale", "a", "b", "ax", "port to", "example"],
)
def test_a_part_of_what_a_person_wrote_proves_nothing(value: Any) -> None:
    words = Words()
    words.add(TASK)
    assert not words.has(value)


@given(st.text(alphabet="ab @.-/1#", max_size=12))
@settings(max_examples=50)
def test_nothing_that_stands_inside_a_word_proves(value: str) -> None:
    assume(value == value.strip())
    words = Words()
    words.add(f"x{value}x")
    assert not words.has(value)


@pytest.mark.parametrize(
    "after", ["", " today and tell bo about it", ", please", ".", " 12 times", " or NO1230000000000"]
)
def test_an_iban_ends_where_its_check_digits_say(after: str) -> None:
    words = Words()
    words.add(f"Pay 50 to NO93 8601 1117 947{after}")
    assert words.has("NO9386011117947")
    assert not any(words.has(other) for other in ("NO9386011117948", "NO938601111794", "NO93860111179"))


@pytest.mark.parametrize("text", ["“{}”", "({})", "`{}`", "**{}**", "<{}>", "{}, and", "to:{}", "'{}'.", "[it]({})"])
@pytest.mark.parametrize("value", ["ann@corp.example", "https://corp.example/a_(b)"])
def test_an_address_is_found_between_what_people_write_around_it(text: str, value: str) -> None:
    words = Words()
    words.add(text.format(value))
    assert words.has(value)


def test_long_numbers_are_not_rounded() -> None:
    words = Words()
    words.add("Pay into 12345678901234567890, not into 0.1.")
    assert words.has(12345678901234567890)
    assert words.has(0.1)
    assert not words.has(12345678901234567168)  # the float nearest to it


# code


def test_the_literals_of_code_prove_and_what_is_put_together_does_not() -> None:
    code = "to = 'ann@corp.example'\npost(f'{name}@evil.example', b'raw', 7, -3, True, None, 'a' + 'b')"
    assert literals_in(code) == {"ann@corp.example", "raw", "7", "3", "a", "b"}
    assert literals_in("not python (") == set()


@pytest.mark.parametrize(
    ("code", "runs"),
    [
        ("exec(page)", True),
        ("import pickle", True),
        ("from importlib import import_module", True),
        ("re.compile(pattern)", False),
        ("compile(page, 'x', 'exec')", True),
        ("x.exec(page)", True),
        ("df.eval('a + b')", True),
        ("not python (", True),
        ("import json; json.loads(page)", False),
    ],
)
def test_code_that_may_run_text_is_told(code: str, runs: bool) -> None:
    assert runs_text(code) == runs


# trusted answers


def test_a_trusted_value_proves_in_code_that_nothing_influenced_and_a_hit_in_any() -> None:
    known = Proofs()
    known.add_trusted(["ann@corp.example"], hit=False)
    known.add_trusted(["bo@corp.example"], hit=True)
    assert [known.proves(name, influenced=False) for name in ("ann@corp.example", "bo@corp.example")] == [True, True]
    assert [known.proves(name, influenced=True) for name in ("ann@corp.example", "bo@corp.example")] == [False, True]


def test_a_record_is_proven_by_a_name_that_it_alone_has_and_the_person_wrote() -> None:
    known = Proofs()
    known.words.add("Write to Ann Lee and to Bo.")
    known.add_records(
        [
            {"name": "Ann Lee", "mail": "ann@corp.example"},
            {"name": "Bo", "mail": "bo1@corp.example"},
            {"name": "Bo", "mail": "bo2@corp.example"},
            {"name": "Cid", "mail": "cid@corp.example"},
        ]
    )
    mails = ("ann@corp.example", "bo1@corp.example", "bo2@corp.example", "cid@corp.example")
    assert [known.proves(mail, influenced=True) for mail in mails] == [True, False, False, False]


# bounds


def test_values_beyond_the_bound_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "MOST", 3)
    known = Proofs()
    known.add_trusted((f"v{number}" for number in range(5)), hit=False)
    assert [known.proves(f"v{number}", influenced=False) for number in range(5)].count(True) == 3


def test_records_beyond_the_bound_prove_nothing() -> None:
    known = Proofs()
    known.words.add("Ann Lee")
    many = [{"name": f"n{number}", "mail": f"m{number}"} for number in range(proofs.RECORDS)]
    known.add_records([*many, {"name": "Ann Lee", "mail": "ann@corp.example"}])
    assert not known.proves("ann@corp.example", influenced=True)


@pytest.mark.parametrize("part", ["a@", "http://", "NO93 ", "1,", "a ", "@", "x@y.z "])
async def test_the_time_of_a_task_grows_with_its_length_only(part: str) -> None:
    await check_linear(lambda text: Words().add(text), part)
