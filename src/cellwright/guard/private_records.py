"""Private values by the names that stand before or above them in a text: `"email": "…"`, `Name: Ann Lee`, tables, SQL.

Each name is looked at once and each value has a bound, so the time grows with the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator

from cellwright.guard.private_columns import is_bare_name, is_personal, is_private_value
from cellwright.guard.private_kinds import PrivateSpan
from cellwright.guard.private_words import pattern

_LONGEST_NAME, _LONGEST_VALUE, _LONGEST_HEADER = 48, 400, 2_000
_NEAR = 300  # characters between a bare `name` and another field of the same record
_MOST_ITEMS = 100  # of a list after a name
_BAD_ROWS = 3  # lines in a row of another form end a table

_ASSIGNED = re.compile(r"[:=]")
_CLOSING = " \t\"'`*\\"
_MARKS = ("|", "│", "\t", ";", ",")
_CELLS = {  # a quoted cell ends where a mark or the line's end follows its quote
    mark: re.compile(rf"(?:\A|{each})(\s*+(?:\"[^\"]*+\"|'(?:[^']|'')*+')\s*(?={each}|\Z)|(?:(?!{each}).)*)", re.DOTALL)
    for mark, each in zip(_MARKS, (r"\|", "[│┆]", r"\t", ";", ","), strict=True)
}
_LINE = re.compile(r"([^\n]*)\n?")
_SPACED_CELL = re.compile(r"[^ \r]+(?: [^ \r]+)*")

KindOf = Callable[[str], str | None]
KindsOf = Callable[[list[str]], dict[str, str]]


def named_values(text: str, kind_of: KindOf) -> list[PrivateSpan]:
    """Values after a private name and a colon or `=`."""
    spans: list[PrivateSpan] = []
    bare: list[tuple[int, PrivateSpan]] = []  # values of bare names, which need a neighbour
    people: list[int] = []  # where a field stands that only people have
    for found in _ASSIGNED.finditer(text):
        at = found.start()
        left = text[max(at - _LONGEST_NAME, 0) : at].rstrip(_CLOSING)
        begun = pattern("before_field").match(left)
        name = left[begun.end() :] if begun else left
        kind = kind_of(name) if name else None
        if kind is not None:
            values = list(_values(text, at, kind, name))
            spans += values
            if values and kind not in ("secret", "ip"):
                people.append(at)
        elif is_bare_name(name):
            bare += [(at, span) for span in _values(text, at, "name", name)]
        elif is_personal(name):
            people.append(at)
    is_person = pattern("person").fullmatch
    spans += [span for at, span in bare if is_person(text, *span[:2]) and _has_neighbour(text, at, people)]
    return spans


def _has_neighbour(text: str, at: int, people: list[int]) -> bool:
    """Whether another field of the same record is one that only people have."""
    place = bisect_left(people, at)
    return any(
        abs(at - other) <= _NEAR and not pattern("end_of_record").search(text, min(at, other), max(at, other))
        for other in people[max(place - 1, 0) : place + 1]
    )


def _values(text: str, at: int, kind: str, name: str) -> Iterator[PrivateSpan]:
    begin = at + 1
    while begin < len(text) and begin < at + 6 and text[begin] in " \t=*":
        begin += 1
    if text.startswith("[", begin):
        for _ in range(_MOST_ITEMS):
            item = pattern("item").match(text, begin)
            if item is None:
                return
            yield from _checked(text, *item.span(item.lastindex or 0), kind)
            begin = item.end()
        return
    form = f"bare_{kind}" if kind in ("name", "address", "email", "secret", "ip") else "bare_number"
    quoted = pattern("quoted").match(text, begin)
    value = quoted or pattern(form).match(text, begin)
    if value and (quoted or value[0].lower() != name.lower()):
        yield from _checked(text, *value.span(value.lastindex or 0), kind)


def _checked(text: str, start: int, end: int, kind: str) -> Iterator[PrivateSpan]:
    value = text[start:end]
    start, end = start + len(value) - len(value.lstrip()), start + len(value.rstrip(" \t.,"))
    if end > start and is_private_value(kind, text[start:end]):
        yield PrivateSpan(start, end, kind)


def table_values(text: str, kinds_of: KindsOf) -> Iterator[PrivateSpan]:
    """Values in the private columns of tables: CSV, TSV, Markdown, as databases and data frames print them."""
    done = 0
    for head in pattern("table_head").finditer(text):
        if head.start() < done or head.end() - head.start() > _LONGEST_HEADER:
            continue
        mark = next((mark for mark in _MARKS if mark in head[0]), "  ")
        names = [text[start:end] for start, end in _cells(text, *head.span(), mark)]
        if mark == "  " and len(names) < 2:
            names = head[0].split()
        if len(names) < 2 or not all(map(pattern("column_title").fullmatch, names)):
            continue
        kinds = kinds_of(names)
        if kinds and (mark != "  " or set(kinds.values()) != {"name"}):
            done, spans = _rows(text, head.end() + 1, mark, [kinds.get(name) for name in names])
            yield from spans


def _rows(text: str, at: int, mark: str, kinds: list[str | None]) -> tuple[int, list[PrivateSpan]]:
    """Where the table ends, and its private values."""
    spans: list[PrivateSpan] = []
    bad = 0
    for line in _LINE.finditer(text, at):
        if bad == _BAD_ROWS or not line[1].strip():
            break
        start, end = line.span(1)
        at = line.end()
        if end - start > _LONGEST_HEADER or not pattern("table_rule").fullmatch(line[1]):
            cells = _cells(text, start, min(end, start + 10 * _LONGEST_HEADER), mark)
            extra = len(cells) - len(kinds)
            is_row = extra == 0 or (mark == "  " and extra == 1)  # the index of a data frame has no title
            bad = 0 if is_row else bad + 1
            if is_row:
                spans += _row_values(text, cells[extra:], kinds)
    return at, spans


def _row_values(text: str, cells: list[tuple[int, int]], kinds: list[str | None]) -> Iterator[PrivateSpan]:
    for (start, end), kind in zip(cells, kinds, strict=True):
        if kind is not None:
            yield from _checked(text, start, end, kind)


def _cells(text: str, start: int, end: int, mark: str) -> list[tuple[int, int]]:
    """Where the cells of a line are, without blanks and quotes."""
    if mark == "  ":
        return [cell.span() for cell in _SPACED_CELL.finditer(text, start, end)]
    line = text[start:end]
    if mark in "|│":
        start, line = start + len(line) - len(line.lstrip(" \t|│")), line.strip(" \t|│\r")
    cells: list[tuple[int, int]] = []
    for cell in _CELLS[mark].finditer(line):
        inner = cell[1].strip(" \t\r\n\"'")
        begin = start + cell.start(1) + cell[1].find(inner)
        cells.append((begin, begin + len(inner)))
    return cells


def tagged_values(text: str, kind_of: KindOf) -> Iterator[PrivateSpan]:
    """Values between tags of a private name: `<email>…</email>`."""
    for found in pattern("end_tag").finditer(text):
        kind = kind_of(found[1])
        begin = text.rfind(">", max(found.start() - _LONGEST_VALUE, 0), found.start()) + 1 if kind else 0
        if kind and begin:
            yield from _checked(text, begin, found.start(), kind)


def inserted_values(text: str, kinds_of: KindsOf) -> Iterator[PrivateSpan]:
    """Values of an SQL `INSERT` that names its columns."""
    if "INSERT" not in text and "insert" not in text:
        return
    for found in pattern("insert").finditer(text):
        names = [name.strip(' "`\n\t') for name in found[1].split(",")]
        kinds = kinds_of(names)
        at = found.end()
        while kinds and (row := pattern("insert_row").match(text, at)):
            cells = _cells(text, *row.span(1), ",")
            if len(cells) == len(names):
                yield from _row_values(text, cells, [kinds.get(name) for name in names])
            at = row.end()
