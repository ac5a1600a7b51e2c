"""What changed in the lines of two texts, as others tell it too, and within a bounded time."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.journal import snapshots
from cellwright.journal.snapshots import LineDiffs

NAMES = ("before", "after")
TEXT = st.lists(st.sampled_from("abcd"), max_size=20)


@given(TEXT, TEXT)
def test_it_is_what_difflib_tells(before: list[str], after: list[str]) -> None:
    expected = list(difflib.unified_diff(before, after, *NAMES, lineterm=""))
    assert LineDiffs().between(before, after, NAMES) == expected


def test_what_would_take_minutes_is_told_as_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "WORK", 500_000)
    before = [line for i in range(5_000) for line in (f"same {i}", f"old {i}")]
    after = [line for i in range(5_000) for line in (f"same {i}", f"new {i}")]
    diffs = LineDiffs()
    for _ in range(5):  # a second text of the kind has nothing left
        lines = diffs.between(before, after, NAMES)
        assert [line[1:] for line in lines[3:] if line[0] in " -"] == before
        assert [line[1:] for line in lines[3:] if line[0] in " +"] == after
