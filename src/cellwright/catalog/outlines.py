"""`outline`: what a prompt shows of a scope, as stub text within a budget. The same scope gives the same bytes.

A small scope is told whole. A larger one loses its docs first, then its signatures, then its names; what is left says
how to find the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from cellwright.catalog.index import Catalog
from cellwright.catalog.offer import Bound, Offer
from cellwright.catalog.reading import read_offer
from cellwright.catalog.rendering import below, called_text, needed, sentence, shape_text
from cellwright.catalog.upstream_text import outline_text
from cellwright.scope import Scope, Shape
from cellwright_guest.wire import type_of

HINT = '# An outline. search("what you need") finds functions, show("name") tells one in full.'
TYPES = "# Classes of what these take and return; not names in scope:"
NAMES_SHOWN = (1_000, 12, 0)  # of one object's members, where there is room for names only, or not even for these
KEYS = 20
TRIED = 40  # names whose signatures are fitted into the room that is left
PLACES = 3  # of objects of one class
DEPTH = 4


def outline(of: Scope | Catalog, budget_chars: int, leave_out: Collection[str] = ()) -> str:
    """The scope in at most about `budget_chars` characters; `leave_out` names what the reader knows already."""
    offer = _offer(of)
    values = dict((of.scope if isinstance(of, Catalog) else of).names())
    every = [bound for name, bound in offer.names.items() if name not in leave_out]
    bound = [one for one in every if one.kind != "upstream"]
    upstreams = [offer.upstreams[one.name] for one in every if one.kind == "upstream"]
    if not upstreams:
        return _live(offer, bound, values, budget_chars)
    room = budget_chars // (2 if bound else 1)
    told = "".join(outline_text(upstream, room // len(upstreams)) for upstream in upstreams)
    live = _live(offer, bound, values, budget_chars - len(told) - 1)
    return f"{live}\n{told}" if live else told


def _offer(of: Scope | Catalog) -> Offer:
    if isinstance(of, Catalog):
        return of.offer
    found = read_offer(of)
    return Catalog(of).offer if found.upstreams else found  # an index knows the names of ten thousand at once


def _live(offer: Offer, bound: Sequence[Bound], values: dict[str, Any], budget_chars: int) -> str:
    """What is read from live objects."""
    if not bound:
        return ""
    for docs in (True, False):
        text = _whole(offer, bound, values, docs=docs)
        if len(text) <= budget_chars:
            return text
    for members in NAMES_SHOWN:
        if len(_in_short(offer, bound, values, members)) <= budget_chars:
            return _mixed(offer, bound, values, members, budget_chars)
    return _cut([HINT, *_briefly(offer, bound, values, NAMES_SHOWN[-1])], budget_chars)


def _in_short(offer: Offer, every: Sequence[Bound], values: dict[str, Any], members: int) -> str:
    return "\n".join([HINT, *_briefly(offer, every, values, members)]) + "\n"


def _mixed(offer: Offer, every: Sequence[Bound], values: dict[str, Any], members: int, budget_chars: int) -> str:
    """In short, save for those names whose signatures there is room for, the first of them first."""
    text = _in_short(offer, every, values, members)
    told: list[Bound] = []
    for bound in every[:TRIED]:
        rest = [other for other in every if other is not bound and other not in told]
        short = _in_short(offer, rest, values, members)
        tried = f"{short}\n{_whole(offer, [*told, bound], values, docs=False)}"
        if len(tried) <= budget_chars:
            told.append(bound)
            text = tried
    return text


def _whole(offer: Offer, every: Sequence[Bound], values: dict[str, Any], *, docs: bool) -> str:
    """Every function as it is called, every class that they lead to, and every class that can be built."""
    classes: list[str] = []
    lines: list[str] = []
    written: set[str] = set()
    objects = _objects(offer, every)
    for bound in every:
        shape = offer.shapes.get(bound.shape)
        if shape is not None and bound.kind in ("class", "module") and not shape.standard:
            members = shape.lines if shape.init is None or shape.kind != "handle" else (shape.init, *shape.lines)
            classes.append(shape_text(shape, bound.name, docs=docs, lines=members))
            written.add(shape.name)
        elif bound.shape not in objects:
            lines.append(_bound_line(bound, shape, values[bound.name], docs=docs))
        else:
            lines.append(_object_line(bound.name, offer.shapes[bound.shape], docs=docs))
            own = {name: paths for name, paths in objects.items() if paths[0].partition(".")[0] == bound.name}
            for name, paths in own.items():
                lines += _called(offer, offer.shapes[name], paths, docs=docs)
                written.add(name)
    mentioned = needed(offer, [*lines, *classes], written)
    types = [shape_text(shape, docs=docs) for shape in mentioned if not shape.standard]
    return _joined([*lines, *classes]) + (f"\n{TYPES}\n" + "\n\n".join(types) + "\n" if types else "")


def _object_line(name: str, shape: Shape, *, docs: bool) -> str:
    words = sentence(shape.doc) if docs else ""
    return f"# {name}{f': {words}' if words else ''}"


def _called(offer: Offer, shape: Shape, paths: Sequence[str], *, docs: bool) -> Iterator[str]:
    """The functions of an object as code calls them, and its attributes: `crm.find(name: str) -> Customer`."""
    also = f"# {', '.join(paths[1:PLACES])}: the same functions as {paths[0]}" if len(paths) > 1 else ""
    for line in offer.lines_of(shape):
        if not line.callable and offer.thing(line.gives) in below(offer, shape).values():
            continue  # an object whose functions are told by its own path
        yield called_text(line, f"{paths[0]}.", docs=docs)
    if also:
        yield also


def _objects(offer: Offer, every: Sequence[Bound]) -> dict[str, list[str]]:
    """The classes of bound objects, and of the objects that these hold, each with where it stands."""
    found: dict[str, list[str]] = {}
    pending = [(b.name, b.shape, ("",)) for b in every if b.kind == "object"]
    while pending:
        path, named, above = pending.pop(0)
        shape = offer.shapes[named]
        if shape.standard or shape.kind != "handle" or named in above:
            continue
        if named not in found and len(above) <= DEPTH:
            pending += [(f"{path}.{n}", inner.name, (*above, named)) for n, inner in below(offer, shape).items()]
        found.setdefault(named, []).append(path)
    return found


def _bound_line(bound: Bound, shape: Shape | None, value: Any, *, docs: bool) -> str:
    if bound.kind == "class" and shape is not None:
        return f"class {bound.name}: ...  # {shape.name if shape.standard else bound.line.heads[0]}"
    if bound.line.callable:
        return called_text(bound.line, docs=docs)
    words = shape.name if shape is not None and shape.standard and bound.kind == "object" else _keys(value)
    return bound.line.heads[0] + (f"  # {words}" if words else "")


def _keys(value: Any) -> str:
    """The keys of rows, and of a dict that is one: code that reads them must know. Those of a mapping are data."""
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


def _briefly(offer: Offer, every: Sequence[Bound], values: dict[str, Any], members: int) -> Iterator[str]:
    """One line a name, and one for each object below it."""
    for bound in every:
        shape = offer.shapes.get(bound.shape)
        if shape is None or bound.kind == "class" or (shape.standard and bound.kind == "module"):
            yield _bound_line(bound, shape, values[bound.name], docs=members == NAMES_SHOWN[0])
        else:
            yield from _members(offer, bound.name, shape, members, (shape.name,))


def _members(offer: Offer, path: str, shape: Shape, shown: int, above: tuple[str, ...]) -> Iterator[str]:
    inside = {name: other for name, other in below(offer, shape).items() if other.name not in above}
    own = [line.name for line in offer.lines_of(shape) if line.callable and not line.name.startswith("_")]
    if own or not inside:
        words = sentence(shape.doc, 80) if shown != NAMES_SHOWN[1] else ""
        count = f"{len(own)} function{'' if len(own) == 1 else 's'}"
        listed = ", ".join(own[:shown]) + (", …" if len(own) > shown else "")
        listed = f": {listed}" if own and shown else ""
        yield f"{path}  # {f'{words} ' if words else ''}{count}{listed}"
    if len(above) < DEPTH:
        for name, other in inside.items():
            yield from _members(offer, f"{path}.{name}", other, shown, (*above, other.name))


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
    """Lines one below the other, classes with room round them."""
    text = ""
    for part in parts:
        text += f"{'' if not text or text.endswith(chr(10) * 2) or chr(10) not in part else chr(10)}{part}\n"
        text += "\n" if "\n" in part else ""
    return text.rstrip("\n") + "\n"
