"""A module that is bound by name: plain statistics."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

DIGITS = 2


@dataclass(frozen=True)
class Summary:
    count: int
    mean: float
    low: float
    high: float


class EmptyData(ValueError):
    """There is nothing to count."""


def mean(values: Sequence[float]) -> float:
    if not values:
        raise EmptyData("no values")
    return round(sum(values) / len(values), DIGITS)


def median(values: list[float]) -> float:
    return statistics.median(values)


def histogram(values: list[float], bins: int = 4) -> dict[str, int]:
    low, high = min(values), max(values)
    step = (high - low) / bins or 1.0
    found: dict[str, int] = {}
    for value in values:
        key = f"bin{min(int((value - low) / step), bins - 1)}"
        found[key] = found.get(key, 0) + 1
    return found


def moving(values: list[float], window: int) -> list[float]:
    return [mean(values[i : i + window]) for i in range(len(values) - window + 1)]


def summarize(values: Iterable[float]) -> Summary:
    found = list(values)
    return Summary(len(found), mean(found), min(found), max(found))


def weighted(weights: dict[str, float], counts: dict[str, int]) -> float:
    return sum(weights[key] * counts.get(key, 0) for key in weights)
