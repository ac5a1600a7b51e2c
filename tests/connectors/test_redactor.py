"""Known keys do not come through, in whatever form a server repeats them."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.connectors import Redactor

KEY = 'k3y/of+the "host" & <söme>='


def redactor(*keys: str) -> Redactor:
    made = Redactor()
    made.add(*(keys or (KEY,)))
    return made


FORMS = {
    "plain": KEY,
    "in a URL": quote(KEY),
    "in a query": quote_plus(KEY),
    "in JSON": json.dumps(KEY),
    "in JSON of PHP": json.dumps(KEY).replace("/", "\\/"),
    "in JSON that is utf-8": json.dumps(KEY, ensure_ascii=False),
    "in base64": base64.b64encode(KEY.encode()).decode(),
    "in a login": base64.b64encode(f"user:{KEY}".encode()).decode(),
    "in a login of another length": base64.b64encode(f"a:{KEY}:b".encode()).decode(),
    "in base64 for URLs": base64.urlsafe_b64encode(f"me:{KEY}".encode()).decode(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_key_is_taken_out_in_every_form(form: str) -> None:
    assert "***" in redactor().text(f"x {form} y")
    assert b"***" in redactor().body(f"x {form} y".encode())


@given(st.text(min_size=8, max_size=60), st.integers(0, 2), st.text(max_size=5))
def test_any_key_is_taken_out_of_a_login(key: str, before: int, after: str) -> None:
    raw = b"u" * before + key.encode("utf-8", "surrogatepass") + after.encode()
    assert "***" in redactor(key).text(base64.b64encode(raw).decode())


def test_what_is_no_key_stays() -> None:
    assert redactor().text("nothing of it") == "nothing of it"
    assert redactor().body(b"\0\1") == b"\0\1"


def test_a_word_too_short_to_be_told_from_others_stays() -> None:
    assert redactor("abc").text("abc") == "abc"


def test_a_short_password_leaves_results_as_they_are() -> None:
    assert redactor("test").body(b"a test") == b"a test"
    assert redactor("test").text("a test") == "a ***"


def test_data_is_redacted_in_keys_and_values() -> None:
    assert redactor().plain({KEY: [KEY, 1, None, {"a": KEY}]}) == {"***": ["***", 1, None, {"a": "***"}]}


def test_an_old_key_stays_known() -> None:
    made = redactor("first-key-0123")
    made.add("second-key-4567")
    assert made.text("first-key-0123 second-key-4567") == "*** ***"


def test_a_key_is_taken_out_of_bytes_and_at_any_depth() -> None:
    deep: object = [KEY, KEY.encode(), {KEY: 1}]
    for _ in range(5000):
        deep = [deep]
    found = redactor().plain(deep)
    while len(found) == 1:
        found = found[0]
    assert found == ["***", b"***", {"***": 1}]


def test_a_short_key_is_left_in_results() -> None:
    assert redactor("abcd").result({"a": ["abcd"]}) == {"a": ["abcd"]}
    assert redactor("abcdefgh").result({"a": ["abcdefgh"]}) == {"a": ["***"]}
