"""`Catalog`: `search` and `show` over what a scope offers. Built when first asked, and again when the scope changes.

It reads the scope's classes and never its objects: a search runs none of the developer's code.
"""

from __future__ import annotations

import difflib
import re
import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from toolwright.catalog.entries import Entry, entries, fields_note
from toolwright.catalog.offer import Offer
from toolwright.catalog.ranking import Ranking, Row
from toolwright.catalog.reading import read_offer
from toolwright.catalog.rendering import needed, shape_text, whole_text
from toolwright.catalog.words import split
from toolwright.errors import NotInScope
from toolwright.scope import Scope

LIMIT = 8
BUDGET = 4_000  # characters of one `show`
NEAR = 3
LEFT = 8  # names of what was cut
NAMES = 40  # told to whoever asks for one that is not there
_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """One thing that a search found. `note`: the fields of what it returns, or where its object comes from."""

    name: str
    signature: str
    summary: str
    note: str = ""

    def __str__(self) -> str:
        return "\n".join([self.signature, *(f"    {text}" for text in (self.summary, self.note) if text)])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Built:
    """What was made of the scope as it was."""

    version: int
    names: tuple[tuple[str, Any], ...]
    offer: Offer
    entries: tuple[Entry, ...]
    by_name: dict[str, Entry]
    ranking: Ranking


class Catalog:
    """What a scope offers, to be searched and shown. `leave_out` names what is not to be found. Any thread may ask."""

    def __init__(self, scope: Scope, leave_out: Collection[str] = ()) -> None:
        self.scope = scope
        self._leave_out = frozenset(leave_out)
        self._built: _Built | None = None
        self._lock = threading.Lock()

    def search(self, query: str, limit: int = LIMIT) -> tuple[Hit, ...]:
        """What fits the words of a query, the best first."""
        built = self._ready()
        found = [built.entries[number] for number in built.ranking.find(query, limit)]
        named = built.by_name.get(query.strip().removesuffix("()"))
        if named is not None and limit > 0:
            found = [named, *(entry for entry in found if entry is not named)][:limit]
        return tuple(_hit(built.offer, entry) for entry in found)

    @property
    def offer(self) -> Offer:
        """What the scope offers now."""
        return self._ready().offer

    def show(self, name: str, budget: int = BUDGET) -> str:
        """The stub of a name with the classes it needs, in about `budget` characters."""
        built = self._ready()
        entry = built.by_name.get(name)
        if entry is None and name in built.offer.shapes and "." not in name and not name.startswith("_"):
            text = shape_text(built.offer.shapes[name], lines=built.offer.lines_of(built.offer.shapes[name]))
            return fitted(text, [shape_text(s) for s in needed(built.offer, [text], (name,))], budget, name)
        if entry is None:
            raise NotInScope(self.missing(name))
        return self._stub(entry, built.offer, budget)

    def _stub(self, entry: Entry, offer: Offer, budget: int) -> str:
        shape = offer.shapes.get(entry.shape)
        text = whole_text(entry.line)
        if "." in entry.name and shape is None:
            text = f"# {entry.name}\n{text}"
        known: tuple[str, ...] = ()
        if shape is not None:
            known = (shape.name,)
            init = (shape.init,) if shape.init is not None and shape.kind == "handle" and entry.line.callable else ()
            body = shape_text(shape, lines=(*init, *offer.lines_of(shape)))
            text = body if entry.line.callable or shape.kind == "module" else f"{text}\n\n{body}"
        further = [shape_text(s) for s in needed(offer, [text], known) if not s.standard]
        return fitted(text, further, budget, entry.name)

    def missing(self, name: str) -> str:
        """What to say of a name that is not there."""
        built = self._ready()
        near = _near(name, built)
        meant = f"did you mean {' or '.join(f'`{n}`' for n in near)}? " if near else ""
        names = list(built.offer.names)
        more = f", and {len(names) - NAMES} more" if len(names) > NAMES else ""
        return f"`{name}` is not in scope; {meant}in scope: {', '.join(names[:NAMES]) or 'nothing'}{more}"

    def _ready(self) -> _Built:
        names = tuple(self.scope.names())
        version = self.scope.rules.version
        with self._lock:
            built = self._built
            if built is None or built.version != version or not _same(built.names, names):
                built = self._built = _build(self.scope, version, names, self._leave_out)
            return built


def _near(name: str, built: _Built) -> list[str]:
    """Names that look like one that is not there, or end as it does."""
    known = {n.lower(): n for n in (*built.offer.shapes, *built.by_name) if not n.startswith("_")}
    last = name.lower().rpartition(".")[2]
    same = [n for lowered, n in known.items() if last and lowered.rpartition(".")[2] == last]
    close = [known[n] for n in difflib.get_close_matches(name.lower(), known, NEAR, 0.6)]
    words = set(split(name))
    same.sort(key=lambda n: -len(words & set(split(n))))
    return list(dict.fromkeys([*same[:2], *close]))[:NEAR]


def _same(one: tuple[tuple[str, Any], ...], other: tuple[tuple[str, Any], ...]) -> bool:
    return len(one) == len(other) and all(a == b and x is y for (a, x), (b, y) in zip(one, other, strict=True))


def _build(scope: Scope, version: int, names: tuple[tuple[str, Any], ...], leave_out: frozenset[str]) -> _Built:
    offer = read_offer(scope, leave_out)
    found = entries(offer)
    return _Built(
        version=version,
        names=names,
        offer=offer,
        entries=found,
        by_name={entry.name: entry for entry in found},
        ranking=Ranking(map(_row, found)),
    )


def _row(entry: Entry) -> Row:
    path, _, last = entry.name.rpartition(".")
    return Row(
        verb=last,
        name=path,
        params=" ".join(entry.line.parameters),
        doc=entry.line.doc[:400],
        tags=f"{entry.about} {entry.line.gives} {entry.owner}",
        prior=1.0 if entry.line.callable else 0.6,
    )


def _hit(offer: Offer, entry: Entry) -> Hit:
    return Hit(
        name=entry.name,
        signature=entry.signature,
        summary=entry.summary or (entry.about if entry.shape else ""),
        note=fields_note(offer, entry),
    )


def fitted(text: str, further: list[str], budget: int, name: str) -> str:
    """A stub and the classes it needs, cut at a line, with a mark that says what was cut and how to see it."""
    if len(text) > budget:
        return _cut(text, budget, name)
    left: list[str] = []
    for one in further:
        if len(text) + len(one) + 2 <= budget and not left:
            text += f"\n\n{one}"
        else:
            left.append(_CLASS.findall(one)[0])
    text = text.rstrip("\n")
    if not left:
        return f"{text}\n"
    names = ", ".join(left[:LEFT]) + (f" and {len(left) - LEFT} more" if len(left) > LEFT else "")
    return f'{text}\n# … also needs {names}: show("{left[0]}")\n'


def _cut(text: str, budget: int, name: str) -> str:
    lines = text.splitlines()
    kept: list[str] = []
    for line in lines:
        budget -= len(line) + 1
        if budget < 0 and kept:
            break
        kept.append(line)
    more = f"… {len(lines) - len(kept)} more lines"
    if sum(line.count('"""') for line in kept) % 2:  # in the middle of a docstring
        return "\n".join([*kept, f'    {more}: help({name})"""', ""])
    return "\n".join([*kept, f'    # {more}; show("{name}.<member>") tells one', ""])
