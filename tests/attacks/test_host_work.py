"""Work that guest code makes the host do: operators, iterators and results have limits, and hold no other session."""

from __future__ import annotations

import resource
from collections import UserString, deque
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.cells import PATIENT

from cellwright import Runtime


class Rows(list[Any]):
    """A subclass of list crosses by handle: its operators run on the host."""


class Money:
    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __mul__(self, other: Any) -> Money:
        return Money(self.cents * (other.cents if isinstance(other, Money) else other))

    def __pow__(self, times: int) -> Money:
        return Money(self.cents**times)

    def __format__(self, spec: str) -> str:
        return format(self.cents, spec)


def objects() -> dict[str, Any]:
    return {
        "rows": Rows([1, 2, 3, 4]),
        "queue": deque([1, 2, 3, 4]),
        "half": Fraction(2, 3),
        "whole": Fraction(4_000_000),
        "money": Money(7),
        "text": UserString("%d and %s"),
        "wide": UserString("%1000000000d"),
        "starred": UserString("%*d"),
        "digits": UserString("9" * 100_000),
        "column": np.ones((50_000, 1), dtype="i1"),
        "row": np.ones((1, 50_000), dtype="i1"),
    }


@pytest.fixture
def memory() -> Iterator[None]:
    """An operator that is not refused fails for want of memory, and does not take the machine with it."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


OPERATORS = [
    "rows * 250_000_000",
    "250_000_000 * rows",
    "queue * 250_000_000",
    "rows.__imul__(250_000_000)",
    "half ** 4_000_000",
    "half ** -4_000_000",
    "3 ** whole",
    "money ** 4_000_000",
    "wide % 5",
    "starred % (1_000_000_000, 5)",
    "text.__rmod__('%1000000000s')",
    "format(money, '1000000000')",
    "format(money, '.1000000000f')",
    "round(half, 1_000_000_000)",
    "round(half, -1_000_000_000)",
    "int(digits)",
    "column * row",
    "column @ row",
    "column == row",
    "text * 1_000_000_000",
    "text + 'x' * 5_000_000",
    # by steps: each doubles what the last one made
    "x = queue\nfor _ in range(40): x = x + x",
    "x = money\nfor _ in range(40): x = x * x",
    "x = half\nfor _ in range(40): x = x * x",
    "x = half\nfor _ in range(40): x = x + 1 / x",
    # towers: a list that holds the next one twice, which C code walks without ever giving up the interpreter
    "x = rows\nfor _ in range(60): x = fresh([x, x])\nrepr(x)",
    "x = rows\nfor _ in range(60): x = fresh([x, x])\nstr(x)",
    "x = rows\nfor _ in range(60): x = fresh([x, x])\nf'{x}'",
    "x, y = fresh([1]), fresh([1])\nfor _ in range(60): x, y = fresh([x, x]), fresh([y, y])\nx == y",
    "x, y = fresh([1]), fresh([1])\nfor _ in range(60): x, y = fresh([x, x]), fresh([y, y])\nx in fresh([y])",
]


@pytest.mark.usefixtures("memory")
async def test_an_operator_that_would_take_the_host_minutes_is_refused_before_it_runs() -> None:
    async with Runtime({**objects(), "fresh": Rows}, limits=PATIENT) as rt:
        for code in OPERATORS:
            error = (await rt.execute(code)).error
            assert getattr(error, "type", "") == "CallLimit", f"{code}: {error}"
            assert "call a method of the object" in str(error), str(error)
        assert (await rt.execute("len(rows * 1000), str(half ** 20), list(rows + [5]), text % (1, 'x')")).unwrap()
