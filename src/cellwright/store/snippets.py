"""The part of a text that shows best what matched, which stands between \\x02 and \\x03. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

WIDTH, BEFORE = 240, 40  # letters of a snippet, and of its part before the first match
BEGIN, END = "\x02", "\x03"
_MARKED = re.compile(f"{BEGIN}[^{END}]*{END}")
_LONG = re.compile(f"{BEGIN}([^{END}]{{120}})[^{END}]*{END}")
_EDGE = 20  # letters that may be left out at either end so that no word is cut


def snippet_of(text: str, words: Sequence[str]) -> str:
    """The snippet of a marked text. Where it has no marks, the first of these words that it contains is marked."""
    if BEGIN not in text:
        text = _marked(text, words)
    text = _LONG.sub(rf"{BEGIN}\1…{END}", text)
    marks = [(found.start(), found.end()) for found in _MARKED.finditer(text)]
    if len(text) <= WIDTH or not marks:
        return text if len(text) <= WIDTH else f"{text[:WIDTH].rstrip()}…"
    begin, end = _densest(marks)
    first = max(0, begin - BEFORE)
    last = min(len(text), max(end, first + WIDTH))
    last = next((stop for start, stop in marks if start < last < stop), last)
    first = next((start for start, stop in marks if start < first < stop), first)
    return f"{'…' * (first > 0)}{_whole(text, first, begin, last)}{'…' * (last < len(text))}"


def _marked(text: str, words: Sequence[str]) -> str:
    found = re.search("|".join(map(re.escape, words)), text, re.IGNORECASE) if words else None
    return text if found is None else f"{text[: found.start()]}{BEGIN}{found[0]}{END}{text[found.end() :]}"


def _densest(marks: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The span, in letters, that has the most marks."""
    best, first = (0, 0), 0
    for last, (_, end) in enumerate(marks):
        while end - marks[first][0] > WIDTH - BEFORE and first < last:
            first += 1
        if last - first > best[1] - best[0]:
            best = first, last
    return marks[best[0]][0], marks[best[1]][1]


def _whole(text: str, first: int, begin: int, last: int) -> str:
    """The text from `first` to `last`, without the parts of words at its ends."""
    head = text[first:begin]
    if first and (blank := re.search(r"\s", head[:_EDGE])):
        head = head[blank.end() :]
    tail = text[begin:last]
    if (
        last < len(text)
        and (blank := re.search(r"\s\S*$", tail[-_EDGE:]))
        and END not in tail[-_EDGE:][blank.start() :]
    ):
        tail = tail[: len(tail) - len(tail[-_EDGE:]) + blank.start()]
    return head + tail
