"""Private values by the names that stand before or above them in a text: `"email": "…"`, `Name: Ann Lee`, tables, SQL.

Each name is looked at once and each value has a bound, so the time grows with the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cellwright.guard.private_columns import is_bare_name, is_personal, is_private_value
from cellwright.guard.private_kinds import PrivateSpan

_LONGEST_NAME, _LONGEST_VALUE, _LONGEST_HEADER = 48, 400, 2_000
_NEAR = 300  # characters between a bare `name` and another field of the same record
_MOST_ITEMS = 100  # of a list after a name
_BAD_ROWS = 3  # lines in a row of another form end a table

_ASSIGNED = re.compile(r"[:=]")
_BEFORE_NAME = re.compile(r".*[\n{},;(\"'|\[<>=:&?*`/\\\t!.]", re.DOTALL)
_CLOSING = " \t\"'`*\\"
_WORD = r"(?:[A-ZÀ-ÖØ-ÞĀ-Ž]\.|[A-ZÀ-ÖØ-ÞĀ-Ž][\w'’-]+)"
PERSON = re.compile(
    rf"{_WORD}(?:,? (?:(?:de|da|van|von|der|den|la|le|di|del|al|bin|ter|dos|e|y|af|zu) ){{0,2}}{_WORD}){{0,4}}"
)
_PLAIN_NAME = re.compile(r"[^\W\d_][\w'’.-]*(?: [^\W\d_][\w'’.-]*){0,3}(?=[ \t]*(?:[,;|\r\n]|\Z))")
_BARE = {
    "name": PERSON,
    "address": re.compile(r"(?=[^\n]{0,60}\d)[^\n\r|<>{}\[\]\"=;\t]{3,120}"),
    "email": re.compile(r"[^\s,;|<>(){}\[\]\"'&]{3,200}"),
    "secret": re.compile(r"(?=[^\s,;&'\"]*(?:\d|[A-Z][a-z]*[A-Z]|[^\w\s.'\",;&]))[^\s,;&|<>(){}\[\]\"']{6,200}"),
    "ip": re.compile(r"[\da-fA-F:.]{3,45}"),
}
_BARE_NUMBER = re.compile(
    r"[+(]{0,2}[A-Za-z]{0,6}-?\d(?:[ .()/-]{0,2}[\dA-Z]){1,40}|\d{1,2}\.? \w{3,10},? \d{4}|\w{3,10} \d{1,2},? \d{4}"
)
_APART = re.compile(r"[{}]|\n\s*\n|\), |\n---")

_HEADER = re.compile(
    r"^[ \t]*[|│]?[ \t]*\"?[A-Za-z_#À-ž][\w .#/()-]{0,40}\"?[ \t]*(?:[,;\t|│┆]|  )[^\n]*|^ {2,}[A-Za-z_]\w*(?: "
    r"+\w+)+ *$",
    re.MULTILINE,
)
_RULE = re.compile(r"[-+|=:─┼│┬┴├┤╞═╪╡┌┐└┘ \t]+")
_GAP = re.compile(r" {2,}")
_TITLE = re.compile(r"[A-Za-z_#À-ž\d][\w .#/()-]{0,40}")
_TAG = re.compile(r"</([A-Za-z_][\w.-]{0,40})>")
_INSERT = re.compile(r"INSERT INTO [\w.\"`]{1,80} ?\(([^()]{1,500})\)\s{0,9}VALUES\s{0,9}", re.IGNORECASE)
_TUPLE = re.compile(r"\(((?:[^()']|'(?:[^']|'')*'){1,2000})\)\s{0,9}[,;]?\s{0,9}")

KindOf = Callable[[str], str | None]


@dataclass(slots=True)
class _Fields:
    """What the named values of a text are so far, and the bare names that still need a neighbour."""

    spans: list[PrivateSpan] = field(default_factory=list[PrivateSpan])
    bare: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    people: list[int] = field(default_factory=list[int])  # where a field stands that only people have


def named_values(text: str, kind_of: KindOf) -> list[PrivateSpan]:
    """Values after a private name and a colon or `=`."""
    fields = _Fields()
    for found in _ASSIGNED.finditer(text):
        at = found.start()
        left = text[max(at - _LONGEST_NAME, 0) : at].rstrip(_CLOSING)
        begun = _BEFORE_NAME.match(left)
        name = left[begun.end() :] if begun else left
        if not name:
            continue
        kind = kind_of(name)
        if kind is not None:
            spans = list(_values(text, at, kind, name))
            fields.spans += spans
            if spans and kind not in ("secret", "ip"):
                fields.people.append(at)
        elif is_bare_name(name):
            fields.bare += [(at, span.start, span.end) for span in _values(text, at, "name", name)]
        elif is_personal(name):
            fields.people.append(at)
    for at, start, end in fields.bare:
        if PERSON.fullmatch(text, start, end) and _has_neighbour(text, at, fields.people):
            fields.spans.append(PrivateSpan(start, end, "name"))
    return fields.spans


def _has_neighbour(text: str, at: int, people: list[int]) -> bool:
    """Whether another field of the same record is one that only people have."""
    place = bisect_left(people, at)
    for other in people[max(place - 1, 0) : place + 1]:
        low, high = min(at, other), max(at, other)
        if high - low <= _NEAR and not _APART.search(text, low, high):
            return True
    return False


def _values(text: str, at: int, kind: str, name: str) -> Iterator[PrivateSpan]:
    begin = at + 1
    while begin < len(text) and begin < at + 6 and text[begin] in " \t=*":
        begin += 1
    opened = text[begin : begin + 1]
    if opened == "[":
        for _ in range(_MOST_ITEMS):
            begin += 1
            while text[begin : begin + 1] in (" ", ",", "\n"):
                begin += 1
            end = _quoted_end(text, begin)
            if end < 0:
                return
            yield from _checked(text, begin + 1, end, kind)
            begin = end
        return
    slashes = 1 if opened == "\\" else 0
    end = _quoted_end(text, begin + slashes, "\\" * slashes)
    if end >= 0:
        yield from _checked(text, begin + slashes + 1, end, kind)
        return
    bare = _BARE.get(kind, _BARE_NUMBER).match(text, begin)
    if bare is None and kind == "name":
        bare = _PLAIN_NAME.match(text, begin)
    if bare is not None and bare[0].lower() != name.lower():
        yield from _checked(text, begin, bare.end(), kind)


def _quoted_end(text: str, begin: int, before: str = "") -> int:
    """Where a quoted value ends whose quote stands at `begin`; -1 where there is none."""
    quote = text[begin : begin + 1]
    if quote not in ('"', "'"):
        return -1
    end = text.find(before + quote, begin + 1, begin + _LONGEST_VALUE)
    while end > 0 and not before and text[end - 1] == "\\":
        end = text.find(quote, end + 1, begin + _LONGEST_VALUE)
    return end


def _checked(text: str, start: int, end: int, kind: str) -> Iterator[PrivateSpan]:
    value = text[start:end]
    start, end = start + len(value) - len(value.lstrip()), start + len(value.rstrip(" \t.,"))
    if end > start and is_private_value(kind, text[start:end]):
        yield PrivateSpan(start, end, kind)


# --- tables ---


def table_values(text: str, kinds_of: Callable[[list[str]], dict[str, str]]) -> Iterator[PrivateSpan]:
    """Values in the private columns of tables: CSV, TSV, Markdown, as databases and data frames print them."""
    done = 0
    for found in _HEADER.finditer(text):
        if found.start() < done or found.end() - found.start() > _LONGEST_HEADER:
            continue
        mark = next((mark for mark in ("|", "│", "\t", ";", ",") if mark in found[0]), "  ")
        cells = _cells(text, found.start(), found.end(), mark)
        names = [text[start:end] for start, end in cells]
        if mark == "  " and len(names) < 2:
            names = found[0].split()
        if len(names) < 2 or not all(_TITLE.fullmatch(name) for name in names):
            continue
        kinds = kinds_of(names)
        if not kinds or (mark == "  " and not any(kind != "name" for kind in kinds.values())):
            continue
        done, spans = _rows(text, found.end() + 1, mark, [kinds.get(name) for name in names])
        yield from spans


def _rows(text: str, at: int, mark: str, kinds: list[str | None]) -> tuple[int, list[PrivateSpan]]:
    """Where the table ends, and its private values."""
    spans: list[PrivateSpan] = []
    bad = 0
    while at < len(text) and bad < _BAD_ROWS:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if end == at or (end - at < 3 and not text[at:end].strip()):
            break
        if end - at > _LONGEST_HEADER or not _RULE.fullmatch(text, at, end):
            cells = _cells(text, at, min(end, at + 10 * _LONGEST_HEADER), mark)
            extra = len(cells) - len(kinds)
            if extra == 0 or (mark == "  " and extra == 1):  # the index of a data frame has no title
                bad = 0
                for (start, stop), kind in zip(cells[extra:], kinds, strict=True):
                    if kind is not None:
                        spans += _checked(text, start, stop, kind)
            else:
                bad += 1
        at = end + 1
    return at, spans


def _cells(text: str, start: int, end: int, mark: str) -> list[tuple[int, int]]:
    """Where the cells of a line are, without blanks and quotes."""
    if mark in "|│":
        line = text[start:end].replace("┆", "│") if mark == "│" else text[start:end]
        start, stripped = start + len(line) - len(line.lstrip(" \t|│")), line.strip(" \t|│\r")
        line = text[start : start + len(stripped)].replace("┆", "│")
    else:
        line = text[start:end].rstrip("\r")
    if mark == "  ":
        shift = len(line) - len(line.lstrip())
        gaps = [found.span() for found in _GAP.finditer(line.rstrip(), shift)]
        edges = [shift, *(edge for gap in gaps for edge in gap), len(line.rstrip())]
        return [(start + a, start + b) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    cells: list[tuple[int, int]] = []
    at = 0
    while at <= len(line):
        opened = line[at : at + 1]
        stop = line.find(mark, at)
        if opened in ('"', "'") and mark not in "|│":
            closed = line.find(opened + mark, at + 1)
            stop = closed + 1 if closed >= 0 else len(line)
        stop = len(line) if stop < 0 else stop
        cell = line[at:stop]
        inner = cell.strip(" \t\"'")
        begin = at + cell.find(inner) if inner else at
        cells.append((start + begin, start + begin + len(inner)))
        at = stop + 1
    return cells


# --- tags and SQL ---


def tagged_values(text: str, kind_of: KindOf) -> Iterator[PrivateSpan]:
    """Values between tags of a private name: `<email>…</email>`."""
    for found in _TAG.finditer(text):
        kind = kind_of(found[1])
        if kind is not None:
            begin = text.rfind(">", max(found.start() - _LONGEST_VALUE, 0), found.start()) + 1
            if begin:
                yield from _checked(text, begin, found.start(), kind)


def inserted_values(text: str, kinds_of: Callable[[list[str]], dict[str, str]]) -> Iterator[PrivateSpan]:
    """Values of an SQL `INSERT` that names its columns."""
    if "INSERT" not in text and "insert" not in text:
        return
    for found in _INSERT.finditer(text):
        names = [name.strip(' "`\n\t') for name in found[1].split(",")]
        kinds = kinds_of(names)
        at = found.end()
        while kinds and (row := _TUPLE.match(text, at)):
            begin = row.start(1)
            begin += len(row[1]) - len(row[1].lstrip())
            cells = [_trimmed(text, start, end) for start, end in _quoted_cells(text, begin, row.end(1))]
            if len(cells) == len(names):
                for name, (start, end) in zip(names, cells, strict=True):
                    if name in kinds:
                        yield from _checked(text, start, end, kinds[name])
            at = row.end()


_QUOTED_CELL = re.compile(r"\s*('(?:[^']|'')*'|[^,]*)\s*(?:,|\Z)")


def _quoted_cells(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and (found := _QUOTED_CELL.match(text, start, end)):
        yield found.span(1)
        start = found.end()


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    return (start + 1, end - 1) if text[start : start + 1] == "'" and end - start > 1 else (start, end)
