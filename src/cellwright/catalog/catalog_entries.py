"""`CatalogEntry`: a function or an attribute that a scope leads to, by the dotted name that code writes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from cellwright.catalog.offer import Offer
from cellwright.catalog.stub_text import objects_below, qualified_signature, sentence
from cellwright.scope import Declaration, Shape

DEPTH = 5
ENTRIES = 50_000
FIELDS = 160  # characters of a record's fields, below a search hit
METHODS = 90  # and of its methods
SOURCES = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class CatalogEntry:
    """A function or an attribute. `owner` is its class or module; `note` says where its object comes from."""

    name: str
    line: Declaration
    owner: str = ""
    about: str = ""  # the first sentence of its owner's docs
    note: str = ""
    shape: str = ""  # the class of the object, the module, or the class that it is

    @property
    def signature(self) -> str:
        return qualified_signature(self.line, self.name.rpartition(".")[0])

    def fitted(self, limit: int) -> str:
        """The signature in about so many characters."""
        return qualified_signature(self.line, self.name.rpartition(".")[0], limit)

    @property
    def summary(self) -> str:
        return sentence(self.line.doc)


def entries(offer: Offer) -> tuple[CatalogEntry, ...]:
    """All entries: by the shortest path from a bound name, then the members of classes that only calls return."""
    found: dict[str, CatalogEntry] = {}
    reached: set[str] = set()
    for entry in itertools.chain(_reachable(offer, reached), _returned(offer, reached)):
        if len(found) == ENTRIES:
            break
        found.setdefault(entry.name, entry)
    sources = _sources(offer, found.values())
    bases = {base for shape in offer.shapes.values() for base in shape.bases}
    kept: list[CatalogEntry] = []
    for entry in found.values():
        calls = sources.get(entry.owner, [])
        if entry.owner in reached or not entry.owner:
            kept.append(entry)
        elif calls or entry.owner not in bases:  # a base class that no call returns is listed with its subclasses
            note = f"{entry.owner} comes from {', '.join(calls[:SOURCES])}" if calls else ""
            kept.append(replace(entry, note=note))
    return tuple(kept)


def _returned(offer: Offer, reached: set[str]) -> Iterator[CatalogEntry]:
    for shape in offer.shapes.values():
        if shape.name not in reached and shape.kind == "handle" and not shape.standard:
            yield from (_entry(shape.name, line, shape) for line in offer.lines_of(shape) if _is_public(line))


def _reachable(offer: Offer, reached: set[str]) -> Iterator[CatalogEntry]:
    pending: list[tuple[str, str, tuple[str, ...]]] = []
    for bound in offer.names.values():
        if bound.kind == "upstream":
            continue
        shape = offer.shapes.get(bound.shape)
        about = sentence(shape.doc) if shape else ""
        yield CatalogEntry(name=bound.name, line=bound.line, about=about, shape=bound.shape)
        if shape is not None:
            pending.append((bound.name, shape.name, ()))
    while pending:
        path, named, above = pending.pop(0)
        shape = offer.shapes[named]
        reached.add(named)
        if shape.kind not in ("handle", "module"):
            continue
        inside = objects_below(offer, shape)
        for line in offer.lines_of(shape):
            if not _is_public(line):
                continue
            inner = inside.get(line.name)
            yield _entry(path, line, shape, inner.name if inner else "")
            if inner is not None and inner.name not in (*above, named) and len(above) < DEPTH:
                pending.append((f"{path}.{line.name}", inner.name, (*above, named)))


def _entry(path: str, line: Declaration, shape: Shape, inner: str = "") -> CatalogEntry:
    return CatalogEntry(name=f"{path}.{line.name}", line=line, owner=shape.name, about=sentence(shape.doc), shape=inner)


def _is_public(line: Declaration) -> bool:
    return not line.name.startswith("_")


def _sources(offer: Offer, known: Iterable[CatalogEntry]) -> dict[str, list[str]]:
    """The calls that return objects of each class."""
    found: dict[str, list[str]] = {}
    for entry in known:
        if entry.line.callable:
            for shape in offer.mentioned(entry.line.gives):
                found.setdefault(shape.name, []).append(f"{entry.name}()")
    return found


def fields_note(offer: Offer, entry: CatalogEntry) -> str:
    """The fields of the record that a call returns: `Contact: id: int, name: str`."""
    if entry.note or entry.shape or not entry.line.callable:
        return entry.note
    return record_note(offer.mentioned(entry.line.gives))


def record_note(shapes: Iterable[Shape]) -> str:
    """The fields and methods of the first record among the classes."""
    for shape in shapes:
        if shape.kind in ("record", "model", "namedtuple", "dict"):
            fields = _as_many(
                [line.declared for line in shape.lines if not line.callable], FIELDS - len(shape.name), ", "
            )
            named = [f".{line.name}()" for line in shape.lines if line.callable and not line.name.startswith("_")]
            methods = _as_many(named, METHODS, " ")
            return f"{shape.name}: {fields}" + (f"; {methods}" if methods else "")
    return ""


def _as_many(parts: list[str], room: int, between: str) -> str:
    """The parts that fit, with a mark where some do not."""
    kept: list[str] = []
    for part in parts:
        room -= len(part) + len(between)
        if room < 0:
            return between.join([*kept, "…"])
        kept.append(part)
    return between.join(kept)
