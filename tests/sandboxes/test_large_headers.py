"""The header of a large frame is read in pieces, and like json reads it."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from cellwright.sandboxes import large_headers
from cellwright_guest.framing import load

WORDS = ["", "a", 'é"\\,[]{}:', "x" * 50, 1, -2, 1.5, 1e300, 2**70, None, True]
VALUES: dict[str, Any] = {
    "rows": [[1, "a", 0.5]] * 200,
    "records": [{"a": [1], "b": {}, "c": [{}]}] * 200,
    "one dict": {f'k"{n}': n for n in range(1000)},
    "long texts": ["x\\" * 9000, ["y" * 9000 + '"'], {"z" * 9000: "é" * 9000}],
    "deep": json.loads("[" * 150 + "1" + "]" * 150),
}


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the texts that json reads at once."""
    lengths: list[int] = []

    def measured(text: str, *more: Any) -> Any:
        lengths.append(len(text))
        return load(text, *more)

    monkeypatch.setattr(large_headers, "load", measured)
    monkeypatch.setattr(large_headers, "PIECE", 100)
    return lengths


def written(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


@pytest.mark.parametrize("name", VALUES)
def test_a_large_header_is_read_in_pieces(name: str, pieces: list[int]) -> None:
    text = written([["d", VALUES[name], 7], []])
    assert large_headers.read(text) == json.loads(text)
    assert max(pieces) < 3000 or name == "long texts"


def test_long_rows_are_read_in_pieces_too(pieces: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_headers, "REACH", 100)
    rows = [[0.5] * 900 for _ in range(9)]
    assert large_headers.read(written(rows)) == rows
    assert max(pieces) < 400


@pytest.mark.parametrize("text", ["[" * 2000 + "]" * 2000, '["' + "\\" * 20_000 + '"]', '["' + "\\" * 20_000], ids=len)
def test_what_is_too_deep_or_too_long_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_headers, "TEXT", 10_000)
    monkeypatch.setattr(large_headers, "PIECE", 1)
    assert outcome(large_headers.read, text) == "refused"


def made(rng: random.Random, depth: int = 0) -> Any:
    if depth > 4 or rng.random() < 0.3:
        return rng.choice(WORDS)
    parts = [made(rng, depth + 1) for _ in range(rng.choice([0, 1, 2, 6]))]
    return parts if rng.random() < 0.6 else {f"{rng.choice(WORDS)}{n % 3}": part for n, part in enumerate(parts)}


def outcome(read: Any, text: str) -> Any:
    try:
        return read(text)
    except (ValueError, RecursionError, StopIteration):
        return "refused"


def test_what_json_refuses_is_refused_and_the_rest_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(17)
    for _ in range(400):
        monkeypatch.setattr(large_headers, "PIECE", rng.choice([0, 1, 5, 20, 100]))
        text = written([made(rng) for _ in range(4)])[:3000]  # some end too early
        at = rng.randrange(len(text))
        for changed in (text, f"{text[:at]}{rng.choice('[]{},:1')}{text[at:]}", text[:at] + text[at + 1 :]):
            if changed[:1] == "[":
                assert outcome(large_headers.read, changed) == outcome(load, changed), changed


@pytest.mark.parametrize(
    "text", ["", "{}", "1", "[1, 2]", "[1]\n", "[[1][2]]", "[,[1]]", "[1,]", '[{"a":[1],}]', "[" * 5000]
)
def test_what_no_guest_writes_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_headers, "PIECE", 1)
    assert outcome(large_headers.read, text) == "refused"
