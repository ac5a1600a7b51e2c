"""`PrivateText`: where private values stand in a text, by their form and by the names beside them.

One pass finds the digits, others the marks (`@`, `:`, keys' prefixes) from which a value is looked at; nothing is
searched for at each character. What a value is for, and where it may go, is not known here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from cellwright.errors import UsageError
from cellwright.guard.private_columns import kind_of_column, kinds_of_columns
from cellwright.guard.private_kinds import KINDS, Detector, NameFinder, PrivateSpan, library
from cellwright.guard.private_names import name_before_mail, people_in
from cellwright.guard.private_numbers import countries_of_ids, is_ip, labelled_values, numbers_at
from cellwright.guard.private_places import place_at
from cellwright.guard.private_records import inserted_values, named_values, table_values, tagged_values
from cellwright.guard.private_words import pattern
from cellwright.key_formats import key_spans

_RUN = re.compile(r"[0-9](?:[ \u00a0\u202f.\u2010\u2011\u2013/()-]{0,2}(?:[0-9]|[A-Z](?![a-z]))){0,48}+")
_CAPITALS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_UNNUMBERED = frozenset({"email", "secret", "name"})
_LIBRARIES = ("phonenumbers", "stdnum")  # that numbers are looked up in
_LOCAL_MOST, _DOMAIN_MOST = 64, 253
_RANK = {kind: at - 99 * (kind != "phone") for at, kind in enumerate(KINDS)}  # the least certain last
_COLONS = re.compile(r":[0-9A-Fa-f]{0,4}:")


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
        countries: Sequence[str] | None = None,
        columns: Mapping[str, str] | None = None,
        detectors: Sequence[Detector] = (),
        names: NameFinder | None = None,
    ) -> None:
        own = {name: detector.kind for detector in detectors for name in detector.columns} | dict(columns or {})
        own_kinds = {detector.kind for detector in detectors} | set(own.values())
        if unknown := sorted(set(kinds) - set(KINDS) - own_kinds):
            raise UsageError(f"no such kind of private data: {unknown[0]!r}; there is {', '.join(KINDS)}")
        self.kinds = frozenset(kinds) | own_kinds
        for module in _LIBRARIES if self.kinds.intersection(KINDS) - _UNNUMBERED else ():
            library(module)  # what is missing is told before there is a session, not in the middle of a call
        self._countries = countries_of_ids() if countries is None else tuple(countries)
        if unknown := sorted(set(self._countries) - set(countries_of_ids())):
            raise UsageError(f"no national ids of {unknown[0]!r} are known, but of {', '.join(countries_of_ids())}")
        self._region = region
        self._detectors = tuple(detectors)
        self._names = names
        self._own = {_key(name): kind for name, kind in own.items()}

    def kind_of_column(self, name: str) -> str | None:
        """The kind of the values in a column or field of this name."""
        own = self._own.get(_key(name)) if self._own else None
        kind = own or kind_of_column(name)
        return kind if kind in self.kinds else None

    def kinds_of_columns(self, names: Sequence[str]) -> dict[str, str]:
        """The private columns of one record or table; `name` is one where another column is only a person's."""
        kinds = kinds_of_columns(names, self.kind_of_column)
        return {name: kind for name, kind in kinds.items() if kind in self.kinds}

    def spans(self, text: str) -> list[PrivateSpan]:
        """The private values, in order and apart from each other. Of those that overlap the longest is whole."""
        kinds = self.kinds
        by_name = chain(
            named_values(text, self.kind_of_column),
            table_values(text, self.kinds_of_columns),
            tagged_values(text, self.kind_of_column),
            inserted_values(text, self.kinds_of_columns),
            _emails(text),
        )
        named = [span for span in by_name if span.kind in kinds]
        by_form = chain(
            self._numbers(text, named) if kinds - _UNNUMBERED else (),
            _ip6(text) if "ip" in kinds else (),
            (PrivateSpan(*edges, "secret") for edges in (key_spans(text) if "secret" in kinds else ())),
            (PrivateSpan(*edges, each.kind) for each in self._detectors for edges in each.find(text)),
        )
        found = [*named, *(span for span in by_form if span.kind in kinds)]
        return _apart(text, found, people_in(text, self._names) if "name" in kinds else [])

    def _numbers(self, text: str, named: Sequence[PrivateSpan]) -> Iterator[PrivateSpan]:
        """`named`: what is a value by its name already; its digits are not looked at again."""
        places, is_day = "address" in self.kinds, pattern("after_day").match
        covered = iter(sorted(named))
        low = high = -1
        for run in _RUN.finditer(text):
            digits, end = run.span()
            while high <= digits:
                low, high, _ = next(covered, (len(text), len(text) + 1, ""))
            if low <= digits and end <= high:
                continue
            start, size = digits, end - digits
            while start and digits - start < 6 and text[start - 1] in _CAPITALS:
                start -= 1
            if (size != 4 and size > 2) or (size < 3 and is_day(text, end)):
                yield from labelled_values(text, start)
            if places and (size < 7 or not run[0][:6].isdigit()):
                place = place_at(text, start, digits)
                if place is not None:
                    yield PrivateSpan(*place, "address")
            if end - start > 6:
                yield from numbers_at(text, start, run.span(), self._region, self._countries)


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _emails(text: str) -> Iterator[PrivateSpan]:
    at = text.find("@")
    while at >= 0:
        domain = pattern("mail_domain").match(text, at + 1, at + 1 + _DOMAIN_MOST)
        local = pattern("mail_local").match(text[max(at - _LOCAL_MOST, 0) : at]) if domain else None
        if domain and local and "://" not in local.string[: local.start(1)].rpartition(" ")[2]:  # no login
            start = at - len(local[1])
            yield PrivateSpan(start, domain.end(), "email")
            if start and text[start - 1] == "<":
                yield from name_before_mail(text, start - 1)
        at = text.find("@", at + 1)


def _ip6(text: str) -> Iterator[PrivateSpan]:
    for found in pattern("ip6").finditer(text) if _COLONS.search(text) else ():
        value = found[0] if found[0].endswith("::") else found[0].rstrip(":.")
        if sum(map(str.isalnum, value)) > 3 and is_ip(value) and not text[found.end() : found.end() + 1].isalnum():
            yield PrivateSpan(found.start(), found.start() + len(value), "ip")


def _apart(text: str, found: list[PrivateSpan], people: list[PrivateSpan]) -> list[PrivateSpan]:
    """Sorted, the longest whole, of others the part that it leaves. A name by its looks gives way to all else."""
    spans = _swept(text, found)
    ends = [span.end for span in spans] if people else []
    free = [
        person
        for person in people
        if (at := bisect_right(ends, person.start)) == len(ends) or spans[at].start >= person.end
    ]
    return sorted([*spans, *_swept(text, free)]) if free else spans


def _swept(text: str, found: list[PrivateSpan]) -> list[PrivateSpan]:
    spans: list[PrivateSpan] = []
    done = 0
    for start, end, kind in sorted(found, key=lambda span: (span.start, -span.end, _RANK.get(span.kind, -1))):
        if start < done:
            start = done
            while start < end and not text[start].isalnum():
                start += 1
        if start < end:
            spans.append(PrivateSpan(start, end, kind))
            done = end
    return spans
