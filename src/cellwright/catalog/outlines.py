"""`outline`: what a prompt shows of a scope, as stub text within a budget. The same scope gives the same bytes.

A small scope is shown whole. The outline of a larger scope loses its docs first, then its signatures, then its names;
it says how to find the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from cellwright.catalog.catalog import Catalog
from cellwright.catalog.offer import BoundName, Offer, read_offer
from cellwright.catalog.stub_text import (
    called_text,
    needed_shapes,
    objects_below,
    qualified_signature,
    sentence,
    shape_text,
)
from cellwright.catalog.upstream_text import outline_text
from cellwright.scope import Scope, Shape
from cellwright_guest.wire import type_of

HINT = '# An outline. search("what you need") finds functions, show("name") tells one in full.'
TYPES = "# Classes of what these take and return; not names in scope:"
ENUMS = "# Enums; those that a function takes are names in scope:"
NAMES_SHOWN = (1_000, 12, 0)  # of one object's members, where there is room for names only, or for fewer
KEYS = 20
TRIED = 40  # names whose signatures are tried in the room that is left
PLACES = 3  # paths that are named for one class
DEPTH = 4


def outline(of: Scope | Catalog, budget_chars: int, leave_out: Collection[str] = ()) -> str:
    """The scope in at most about `budget_chars` characters; `leave_out` names what the reader knows already."""
    offer = _offer(of)
    names = [bound for name, bound in offer.names.items() if name not in leave_out]
    upstreams = [offer.upstreams[bound.name] for bound in names if bound.kind == "upstream"]
    live = [bound for bound in names if bound.kind != "upstream"]
    objects = _LiveOutline(offer, dict((of.scope if isinstance(of, Catalog) else of).names()))
    if not upstreams:
        return objects.text(live, budget_chars)
    room = budget_chars // (2 if live else 1)
    remote = "".join(outline_text(upstream, room // len(upstreams)) for upstream in upstreams)
    text = objects.text(live, budget_chars - len(remote) - 1)
    return f"{text}\n{remote}" if text else remote


def _offer(of: Scope | Catalog) -> Offer:
    if isinstance(of, Catalog):
        return of.offer
    offer = read_offer(of)
    return Catalog(of).offer if offer.upstreams else offer  # the index of a catalog lists ten thousand names at once


class _LiveOutline:
    """The part of an outline that is about live objects. `values` are the bound objects."""

    def __init__(self, offer: Offer, values: dict[str, Any]) -> None:
        self._offer = offer
        self._values = values

    def text(self, names: Sequence[BoundName], budget_chars: int) -> str:
        if not names:
            return ""
        for docs in (True, False):
            text = self._whole(names, docs=docs)
            if len(text) <= budget_chars:
                return text
        for members in NAMES_SHOWN:
            if len(self._short(names, members)) <= budget_chars:
                return self._mixed(names, members, budget_chars)
        return _cut([HINT, *self._brief_lines(names, NAMES_SHOWN[-1])], budget_chars)

    def _short(self, names: Sequence[BoundName], members: int) -> str:
        return "\n".join([HINT, *self._brief_lines(names, members)]) + "\n"

    def _mixed(self, names: Sequence[BoundName], members: int, budget_chars: int) -> str:
        """One line a name, with signatures for the first names that there is room for."""
        text = self._short(names, members)
        whole: list[BoundName] = []
        for bound in names[:TRIED]:
            rest = [other for other in names if other is not bound and other not in whole]
            tried = f"{self._short(rest, members)}\n{self._whole([*whole, bound], docs=False)}"
            if len(tried) <= budget_chars:
                whole.append(bound)
                text = tried
        return text

    def _whole(self, names: Sequence[BoundName], *, docs: bool) -> str:
        """Every function as code calls it, the classes that these mention, and the classes that code can build."""
        shapes = self._offer.shapes
        classes: list[str] = []
        lines: list[str] = []
        written: set[str] = set()
        objects = self._objects(names)
        for bound in names:
            shape = shapes.get(bound.shape)
            if shape is not None and bound.kind in ("class", "module") and not shape.standard:
                members = shape.lines if shape.init is None or shape.kind != "handle" else (shape.init, *shape.lines)
                classes.append(shape_text(shape, bound.name, docs=docs, lines=members))
                written.add(shape.name)
            elif bound.shape not in objects:
                lines.append(self._bound_line(bound, docs=docs))
            else:
                words = sentence(shapes[bound.shape].doc) if docs else ""
                lines.append(f"# {bound.name}{f': {words}' if words else ''}")
                own = {name: paths for name, paths in objects.items() if paths[0].partition(".")[0] == bound.name}
                for name, paths in own.items():
                    lines += self._called(shapes[name], paths, docs=docs)
                    written.add(name)
        mentioned = needed_shapes(self._offer, [*lines, *classes], written)
        types: dict[str, list[str]] = {ENUMS: [], TYPES: []}
        for shape in mentioned:
            if not shape.standard:
                types[ENUMS if shape.kind == "enum" else TYPES].append(shape_text(shape, docs=docs))
        titled = (f"\n{title}\n" + "\n\n".join(texts) + "\n" for title, texts in types.items() if texts)
        return _joined([*lines, *classes]) + "".join(titled)

    def _called(self, shape: Shape, paths: Sequence[str], *, docs: bool) -> Iterator[str]:
        """The functions of an object as code calls them, and its attributes: `crm.find(name: str) -> Customer`."""
        below = list(objects_below(self._offer, shape).values())
        for line in self._offer.lines_of(shape):
            if line.callable or self._offer.object_shape(line.gives) not in below:  # else it has a path of its own
                yield called_text(line, f"{paths[0]}.", docs=docs)
        if len(paths) > 1:
            yield f"# {', '.join(paths[1:PLACES])}: the same functions as {paths[0]}"

    def _objects(self, names: Sequence[BoundName]) -> dict[str, list[str]]:
        """The classes of bound objects and of the objects that these hold, each with the paths of its objects."""
        paths: dict[str, list[str]] = {}
        pending = [(bound.name, bound.shape, ("",)) for bound in names if bound.kind == "object"]
        while pending:
            path, named, above = pending.pop(0)
            shape = self._offer.shapes[named]
            if shape.standard or shape.kind != "handle" or named in above:
                continue
            if named not in paths and len(above) <= DEPTH:
                below = objects_below(self._offer, shape)
                pending += [(f"{path}.{name}", inner.name, (*above, named)) for name, inner in below.items()]
            paths.setdefault(named, []).append(path)
        return paths

    def _bound_line(self, bound: BoundName, *, docs: bool) -> str:
        shape = self._offer.shapes.get(bound.shape)
        if bound.kind == "class" and shape is not None:
            return f"class {bound.name}: ...  # {shape.name if shape.standard else qualified_signature(bound.line)}"
        if bound.line.callable:
            return called_text(bound.line, docs=docs)
        standard = shape is not None and shape.standard and bound.kind == "object"
        words = shape.name if standard and shape is not None else _keys(self._values[bound.name])
        return bound.line.declared + (f"  # {words}" if words else "")

    def _brief_lines(self, names: Sequence[BoundName], members: int) -> Iterator[str]:
        """One line for each name, and one for each object below it."""
        for bound in names:
            shape = self._offer.shapes.get(bound.shape)
            if shape is None or bound.kind == "class" or (shape.standard and bound.kind == "module"):
                yield self._bound_line(bound, docs=members == NAMES_SHOWN[0])
            else:
                yield from self._members(bound.name, shape, members, (shape.name,))

    def _members(self, path: str, shape: Shape, shown: int, above: tuple[str, ...]) -> Iterator[str]:
        inside = {name: other for name, other in objects_below(self._offer, shape).items() if other.name not in above}
        lines = self._offer.lines_of(shape)
        own = [line.name for line in lines if line.callable and not line.name.startswith("_")]
        if own or not inside:
            words = sentence(shape.doc, 80) if shown != NAMES_SHOWN[1] else ""
            count = f"{len(own)} function{'' if len(own) == 1 else 's'}"
            listed = ", ".join(own[:shown]) + (", …" if len(own) > shown else "")
            listed = f": {listed}" if own and shown else ""
            yield f"{path}  # {f'{words} ' if words else ''}{count}{listed}"
        if len(above) < DEPTH:
            for name, other in inside.items():
                yield from self._members(f"{path}.{name}", other, shown, (*above, other.name))


def _keys(value: Any) -> str:
    """The keys of rows, and of a dict that is one row: code needs them. The keys of a mapping are data."""
    if type_of(value) in (list, tuple) and value and type_of(value[0]) is dict:
        value, what = value[0], "each has the keys"
    elif type_of(value) is dict and len({type_of(one) for one in value.values()}) > 1:
        what = "keys"
    else:
        return ""
    keys = [repr(key) for key in value if type_of(key) is str]
    if not keys or len(keys) < len(value) or any(len(key) > 40 for key in keys):
        return ""
    return f"{what} {', '.join(keys[:KEYS])}{', …' if len(keys) > KEYS else ''}"


def _cut(lines: list[str], budget_chars: int) -> str:
    kept: list[str] = []
    room = budget_chars - 40
    for line in lines:
        if kept and len(line) + 1 > room:
            break
        kept.append(line)
        room -= len(line) + 1
    return "\n".join([*kept, f"# … and {len(lines) - len(kept)} more"]) + "\n"


def _joined(parts: list[str]) -> str:
    """Joins lines; a class has an empty line before and after it."""
    text = ""
    for part in parts:
        text += f"{'' if not text or text.endswith(chr(10) * 2) or chr(10) not in part else chr(10)}{part}\n"
        text += "\n" if "\n" in part else ""
    return text.rstrip("\n") + "\n"
