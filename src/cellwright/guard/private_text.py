"""`PrivateText`: where private values stand in a text, by their form and by the names beside them.

One pass finds the digits, others the marks (`@`, `:`, keys' prefixes) from which a value is looked at; nothing is
searched for at each character. What a value is for, and where it may go, is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from cellwright.errors import UsageError
from cellwright.guard.private_columns import is_bare_name, is_personal, is_private_value, kind_of_column
from cellwright.guard.private_kinds import KINDS, Detector, NameFinder, PrivateSpan, library
from cellwright.guard.private_labels import BIRTH_DAY, TWO_CAPITALS, labelled_values
from cellwright.guard.private_numbers import CALLS, COUNTRIES, NumberSpan, is_ip, is_valid, numbers_in
from cellwright.guard.private_places import place_at
from cellwright.guard.private_records import inserted_values, named_values, table_values, tagged_values
from cellwright.guard.private_titles import NO_NAMES, named_before, titled_names, untitled
from cellwright.key_formats import key_spans

_RUN = re.compile(r"[0-9](?:[ \u00a0\u202f.\u2010\u2011\u2013/()-]{0,2}(?:[0-9]|[A-Z](?![a-z]))){0,48}+")
_NUMERIC = frozenset({"phone", "card", "iban", "national_id", "ip", "npi", "address", "birth_date", "medical_record"})
_LIBRARIES = ("phonenumbers", "stdnum")  # that numbers are looked up in
_BEFORE, _AFTER, _CLOSE = 40, 20, 16  # where the word stands that a weak number needs
_BEFORE_LOCAL = re.compile(r".*(?:[\s<>()\[\]{},;:\"@=|&?/\\!#$%^*`~]|(?<!\w)')", re.DOTALL)
_LOCAL_MOST, _DOMAIN_MOST = 64, 253
_DOMAIN = re.compile(r"(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+(?:[^\W\d_]{2,24}|xn--[a-z0-9-]{2,60})(?![\w@])")
_QUOTED_LOCAL = re.compile(r"\"[^\"\n]{1,62}\"\Z")
_RANK = {
    kind: at for at, kind in enumerate((*(kind for kind in KINDS if kind != "phone"), "phone"))
}  # the least certain last
_FAR = 1 << 62
_EXTENSION = re.compile(r" ?(?:x|ext\.?) ?\d{1,6}\b")
_COLONS = re.compile(r":[0-9A-Fa-f]{0,4}:")
_IP6 = re.compile(r"[0-9A-Fa-f:]{3,39}(?:\.\d{1,3}){0,3}")


class _Covered:
    """What is a value by its name already, asked for in order: its digits are not looked at again."""

    def __init__(self, spans: list[PrivateSpan]) -> None:
        self._ends = iter(sorted((span.start, span.end) for span in spans))
        self._start, self._end = next(self._ends, (_FAR, _FAR))

    def holds(self, start: int, end: int) -> bool:
        while self._end <= start:
            self._start, self._end = next(self._ends, (_FAR, _FAR))
        return self._start <= start and end <= self._end


class PrivateText:
    """Finds private values. Made once for a session; it does not change.

    `region` is where national phone numbers belong; `countries`, whose national ids are looked for; `columns`, more
    names and the kinds of their values; `detectors`, the developer's own. `names` finds names in free text: without it
    names count by the fields, titles and addresses that they stand beside.
    """

    def __init__(
        self,
        kinds: Collection[str] = KINDS,
        *,
        region: str = "US",
        countries: Sequence[str] = COUNTRIES,
        columns: Mapping[str, str] | None = None,
        detectors: Sequence[Detector] = (),
        names: NameFinder | None = None,
    ) -> None:
        own = {detector.kind for detector in detectors} | set((columns or {}).values())
        if unknown := sorted(set(kinds) - set(KINDS) - own):
            raise UsageError(f"no such kind of private data: {unknown[0]!r}; there is {', '.join(KINDS)}")
        if unknown := sorted(set(countries) - set(COUNTRIES)):
            raise UsageError(f"no national ids of {unknown[0]!r} are known; of {', '.join(COUNTRIES)} they are")
        self.kinds = frozenset(kinds) | own
        for module in _LIBRARIES if not self.kinds.isdisjoint(_NUMERIC) else ():
            library(module)  # what is missing is told before there is a session, not in the middle of a call
        self._region = region
        self._countries = tuple(countries)
        self._detectors = tuple(detectors)
        self._names = names
        self._columns = {name: detector.kind for detector in detectors for name in detector.columns} | dict(
            columns or {}
        )
        self._by_key = {_key(name): kind for name, kind in self._columns.items()}

    def kind_of_column(self, name: str) -> str | None:
        """The kind of the values in a column or field of this name."""
        own = self._by_key.get(_key(name)) if self._by_key else None
        kind = own or kind_of_column(name)
        return kind if kind in self.kinds else None

    def kinds_of_columns(self, names: Sequence[str]) -> dict[str, str]:
        """The private columns of one record or table; `name` is one where another column is only a person's."""
        kinds = {name: kind for name in names if (kind := self.kind_of_column(name))}
        others = any(kind not in ("secret", "ip") for kind in kinds.values()) or any(map(is_personal, names))
        if others and "name" in self.kinds:
            kinds |= {name: "name" for name in names if name not in kinds and is_bare_name(name)}
        return kinds

    def is_value(self, kind: str, value: str) -> bool:
        """Whether a value in a column of this kind is private at all: not empty, not "n/a", not a type or a token."""
        return is_private_value(kind, value)

    def spans(self, text: str) -> list[PrivateSpan]:
        """The private values, in order and apart from each other. Of those that overlap the longest is whole."""
        named = [
            *named_values(text, self.kind_of_column),
            *table_values(text, self.kinds_of_columns),
            *tagged_values(text, self.kind_of_column),
            *inserted_values(text, self.kinds_of_columns),
        ]
        found = [*named, *self._found(text, _Covered(named))]
        return _apart(text, found, self._people(text) if "name" in self.kinds else [])

    def _found(self, text: str, covered: _Covered) -> Iterator[PrivateSpan]:
        kinds = self.kinds
        if "@" in text and not kinds.isdisjoint(("email", "name")):
            yield from (span for span in _emails(text) if span.kind in kinds)
        if not kinds.isdisjoint(_NUMERIC):
            yield from (span for span in self._numbers(text, covered) if span.kind in kinds)
        if "ip" in kinds:
            yield from _ip6(text)
        if "secret" in kinds:
            yield from (PrivateSpan(start, end, "secret") for start, end in key_spans(text))
        for detector in self._detectors:
            yield from (PrivateSpan(start, end, detector.kind) for start, end in detector.find(text))

    def _numbers(self, text: str, covered: _Covered) -> Iterator[PrivateSpan]:
        places = "address" in self.kinds
        for found in _RUN.finditer(text):
            digits, end = found.span()
            if covered.holds(digits, end):
                continue
            start = digits
            while start and digits - start < 6 and text[start - 1] in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
                start -= 1
            size = end - digits
            if (size > 2 and size != 4) or (size < 3 and BIRTH_DAY.match(text, end)):
                yield from labelled_values(text, start, digits)
            place = (
                place_at(text, start, digits) if places and (end - digits < 7 or not found[0][:6].isdigit()) else None
            )
            if place is not None:
                yield PrivateSpan(*place, "address")
            if end - start < 7:
                continue
            if start and (text[start - 1].isalnum() or text[start - 1] in "_-\\"):
                run = _later_pieces(text, start, end)
            else:
                while start and digits - start < 3 and text[start - 1] in "+(":
                    start -= 1
                if start == digits and TWO_CAPITALS.match(text, start - 4 if start > 3 else 0, start):
                    start -= 3
                run = text[start:end]
            if len(run) > 6:
                begin = end - len(run)
                for number in numbers_in(run, self._region, self._countries):
                    if _counts(text, begin, number):
                        stop = begin + number.end
                        more = _EXTENSION.match(text, stop) if number.kind == "phone" else None
                        yield PrivateSpan(begin + number.start, more.end() if more else stop, number.kind)

    def _people(self, text: str) -> list[PrivateSpan]:
        spans = list(titled_names(text))
        if self._names is not None:
            spans += [
                PrivateSpan(start, end, "name")
                for start, end in map(partial(untitled, text), self._names.names(text))
                if NO_NAMES.isdisjoint(text[start:end].split()) and (end - start > 2 or text[start].isupper())
            ]
        return spans


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _later_pieces(text: str, start: int, end: int) -> str:
    """A run without the piece that begins inside a word."""
    return text[start:end].partition(" ")[2]


def _counts(text: str, begin: int, number: NumberSpan) -> bool:
    start, end = begin + number.start, begin + number.end
    if (
        end < len(text)
        and (text[end].isalnum() or text[end] == "_")
        and not (number.kind == "phone" and _EXTENSION.match(text, end))
    ):
        return False
    before = text[max(start - _BEFORE, 0) : start].lower().rpartition("\n")[2]
    if before.endswith(("$", "€", "£")):
        return False
    needed = _last(number.needs, before)
    if number.needs and not needed and not _search(number.needs, text[end : end + _AFTER].partition("\n")[0].lower()):
        return False
    if number.validator and not is_valid(number.validator, text[start:end]):
        return False
    other = _last(number.unless, before)
    if not other or other <= len(before) - _CLOSE:
        return True
    return (needed or (_last(CALLS, before) if number.kind == "phone" else 0)) > other


_COMPILED: dict[str, re.Pattern[str]] = {}


def _search(pattern: str, text: str) -> Any:
    compiled = _COMPILED.get(pattern) or _COMPILED.setdefault(pattern, re.compile(pattern))
    return compiled.search(text)


def _last(pattern: str, text: str) -> int:
    """Where the last of these words ends; 0 where there is none."""
    if not pattern or not _search(pattern, text):
        return 0
    return max(found.end() for found in _COMPILED[pattern].finditer(text))


def _emails(text: str) -> Iterator[PrivateSpan]:
    at = text.find("@")
    while at >= 0:
        domain = _DOMAIN.match(text, at + 1, at + 1 + _DOMAIN_MOST)
        if domain:
            left = text[max(at - _LOCAL_MOST, 0) : at]
            quoted = _QUOTED_LOCAL.search(left) if left.endswith('"') else None
            begun = None if quoted else _BEFORE_LOCAL.match(left)
            begin = quoted.start() if quoted else begun.end() if begun else 0
            start = at - len(left[begin:].lstrip(".-+"))
            is_login = "://" in left[:begin].rpartition(" ")[2]
            if start < at and not is_login:
                yield PrivateSpan(start, domain.end(), "email")
                if start and text[start - 1] == "<":
                    yield from named_before(text, start - 1)
        at = text.find("@", at + 1)


def _ip6(text: str) -> Iterator[PrivateSpan]:
    done = 0
    for found in _COLONS.finditer(text):
        if found.start() < done:
            continue
        start = found.start()
        while start and found.start() - start < 4 and text[start - 1] in "0123456789abcdefABCDEF":
            start -= 1
        value = _IP6.match(text, start)
        if value and (not start or not (text[start - 1].isalnum() or text[start - 1] in "_:")):
            done = value.end()
            written = value[0] if value[0].endswith("::") else value[0].rstrip(":.")
            if sum(map(str.isalnum, written)) > 3 and is_ip(written) and not text[done : done + 1].isalnum():
                yield PrivateSpan(start, start + len(written), "ip")


def _apart(text: str, found: list[PrivateSpan], people: list[PrivateSpan]) -> list[PrivateSpan]:
    """Sorted, the longest whole, of others the part that it leaves. A name by its looks gives way to all else."""
    found.sort(key=lambda span: (span.start, -span.end, _RANK.get(span.kind, -1)))
    spans = _swept(text, found)
    if not people:
        return spans
    people.sort(key=lambda span: (span.start, -span.end))
    taken = iter([*spans, PrivateSpan(len(text) + 1, len(text) + 1, "")])
    other = next(taken)
    free: list[PrivateSpan] = []
    for person in people:
        while other.end <= person.start:
            other = next(taken)
        if other.start >= person.end:
            free.append(person)
    return sorted([*spans, *_swept(text, free)], key=lambda span: span.start) if free else spans


def _swept(text: str, found: list[PrivateSpan]) -> list[PrivateSpan]:
    spans: list[PrivateSpan] = []
    end = 0
    for span in found:
        start = span.start
        if span.end <= end:
            continue
        if start < end:
            start = end
            while start < span.end and not text[start].isalnum():
                start += 1
        if start < span.end:
            spans.append(PrivateSpan(start, span.end, span.kind))
            end = span.end
    return spans
