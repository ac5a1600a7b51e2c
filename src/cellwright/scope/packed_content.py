"""`PackedContent`: what a packed value holds, with the names of the fields that it stands in. No code of objects runs.

It is read from the tree that crosses the door, in both directions: what is found is what the other side gets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cellwright_guest.wire import Packed, type_of

Scalar = str | int | float | bool | bytes
FieldNames = Callable[[int], tuple[str, ...]]
"""The names of a record's fields, by the number of its class; none where they are not known."""

ATOMS = frozenset((type(None), bool, int, float, str))
"""Types of values that are their own packed form."""
KEY = ""
"""The name under which a key of a dict stands."""
_DEPTH = 200
_ITEMS = ("t", "s", "F")
_CLASSES = ("c", "T", "G")
_PARTS = (*_ITEMS, "m", "d", "o", "h")  # tags of what has parts, or is an object
_BLOBS: dict[str, Callable[[bytes], Scalar]] = {
    "S": lambda blob: blob.decode("utf-8", "replace"),
    "b": bytes,
    "B": bytes,
    "i": lambda blob: int.from_bytes(blob, "little", signed=True),
}
_TEXTS = ("datetime", "date", "time", "decimal", "uuid", "path")  # whose first part is the text of the value


class Leaf(NamedTuple):
    """One value that has no parts. `names` are the fields and keys that lead to it, without positions in lists."""

    names: tuple[str, ...]
    value: Scalar


@dataclass(kw_only=True, slots=True)
class PackedContent:
    """What a packed value holds.

    leaves   texts, numbers and the like, with the fields that lead to them
    handles  numbers of host objects
    classes  numbers of classes themselves
    records  of each record and dict the fields that are leaves
    flags    how often None, True and False are in it
    top      how many values there are on top: of a list its items, else one, and none for None
    several  a list in it has more than one record, object or list
    size     how long it takes to read the leaves: one for each, and one for 32 characters
    opaque   there is more than leaves tell: a frame, a function, an exception
    """

    leaves: list[Leaf] = field(default_factory=list[Leaf])
    handles: list[int] = field(default_factory=list[int])
    classes: list[int] = field(default_factory=list[int])
    records: list[dict[str, Leaf]] = field(default_factory=list[dict[str, Leaf]])
    flags: int = 0
    top: int = 0
    several: bool = False
    size: int = 0
    opaque: bool = False

    @property
    def references(self) -> list[int]:
        """Numbers of objects, functions and classes."""
        return [*self.handles, *self.classes]

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the other side's choice is in it: no value but None, False, True and empty containers."""
        return not self.opaque and not self.handles and all(leaf.value in ("", b"") for leaf in self.leaves)


def content_of(packed: Packed, field_names: FieldNames = lambda number: (), *, keys: bool = False) -> PackedContent:
    """Takes long for a large value. `keys`: those of dicts are leaves too; else they are names of fields."""
    tree: Any = packed.tree
    if type_of(tree) in ATOMS:
        leaves = [] if tree is None or tree is True or tree is False else [Leaf((), tree)]
        size = 1 + (len(tree) >> 5 if isinstance(tree, str) else 0)
        return PackedContent(leaves=leaves, flags=int(not leaves), top=int(tree is not None), size=size)
    reader = _Reader(packed.blobs, field_names, keys)
    items = _items(tree)
    reader.content.top = len(items) if items is not None else int(tree is not None)
    reader.read(tree, (), None)
    return reader.content


def named_arguments(arguments: Packed, parameters: Sequence[str]) -> dict[str, Packed]:
    """The arguments of a call by name. Positional ones beyond the known parameters are named by their position; a
    positional-only one and a further keyword of the same name are both there.
    """
    tree: Any = arguments.tree
    given: Any = _under(tree, "t")
    if type_of(given) is not list:
        return {}
    args, kwargs = given, dict[str, Any]()
    if len(given) == 2 and type_of(given[0]) is dict:
        parts: list[Any] = [_under(part, tag) for part, tag in zip(given, "tm", strict=True)]
        if [type_of(part) for part in parts] == [list, dict]:
            args, kwargs = parts
        else:
            parameters = ()  # two arguments come in a pair: what other code than ours sends may be one in other words
    blobs = arguments.blobs
    if not kwargs:
        more = (f"#{at + 1}" for at in range(len(parameters), len(args)))
        return {name: Packed(item, blobs) for name, item in zip((*parameters, *more), args, strict=False)}
    named = {
        (parameters[at] if at < len(parameters) and parameters[at] not in kwargs else f"#{at + 1}"): item
        for at, item in enumerate(args)
    }
    twice = set(parameters[: len(args)])  # a keyword of the name of a positional-only parameter is another argument
    named |= {(f"#{name}" if name in twice or name[:1] == "#" else name): item for name, item in kwargs.items()}
    return {name: Packed(item, blobs) for name, item in named.items()}


def _under(tree: Any, tag: str) -> Any:
    return tree.get(tag) if type_of(tree) is dict else None


def _items(tree: Any) -> list[Any] | None:
    """The items of a list, tuple or set; None for any other value."""
    if type_of(tree) is list:
        return tree
    if type_of(tree) is dict and len(tree) == 1:
        ((tag, body),) = tree.items()
        if tag in _ITEMS and type_of(body) is list:
            return body
    return None


class _Reader:
    def __init__(self, blobs: list[Any], field_names: FieldNames, keys: bool) -> None:
        self.content = PackedContent()
        self._keys = keys
        self._blobs = blobs
        self._field_names = field_names
        self._told: set[tuple[tuple[str, ...], str]] = set()  # keys, each once where it stands in many dicts

    def read(self, tree: Any, names: tuple[str, ...], record: dict[str, Leaf] | None) -> None:
        """`record`: the leaves directly in it are its fields, under the last of `names`."""
        pending: list[tuple[Any, tuple[str, ...], dict[str, Leaf] | None]] = [(tree, names, record)]
        while pending:
            part, path, inside = pending.pop()
            kind = type_of(part)
            if kind is list:
                pending.extend((item, path, None) for item in reversed(self._items(part)))
            elif kind is dict:
                pending.extend(reversed(list(self._tagged(part, path, inside))))
            elif part is None or kind is bool:
                self.content.flags += 1
            else:
                self._leaf(path, part, inside)

    def _items(self, items: list[Any]) -> list[Any]:
        if len(items) > 1 and not self.content.several:
            parts = (1 for item in items if type_of(item) is list or (type_of(item) is dict and item.keys() & _PARTS))
            self.content.several = sum(parts) > 1
        return items

    def _leaf(self, names: tuple[str, ...], value: Scalar, record: dict[str, Leaf] | None) -> None:
        leaf = Leaf(names, value)
        self.content.leaves.append(leaf)
        self.content.size += 1 + (len(value) >> 5 if isinstance(value, str | bytes) else 0)
        if record is not None and names:
            record[names[-1]] = leaf

    def _tagged(
        self, tree: dict[str, Any], names: tuple[str, ...], record: dict[str, Leaf] | None
    ) -> Iterator[tuple[Any, tuple[str, ...], dict[str, Leaf] | None]]:
        """The parts of a tagged value that are still to be read."""
        if len(tree) != 1 or len(names) > _DEPTH:
            self.content.opaque = True
            return
        ((tag, body),) = tree.items()
        kind = type_of(body)
        if tag == "m" and kind is dict:
            for key in body if self._keys else ():
                if (names, key) not in self._told:
                    self._told.add((names, key))
                    yield key, (*names, KEY), None
            yield from self._fields(list(body.items()), names)
        elif tag == "d" and kind is list:
            yield from ((key, (*names, KEY), None) for key in body[::2])
            yield from self._fields(
                [(str(key), value) for key, value in zip(body[::2], body[1::2], strict=False)], names
            )
        elif tag in _ITEMS and kind is list:
            yield from ((item, names, None) for item in self._items(body))
        elif tag == "o" and kind is list and len(body) >= 2 and type_of(body[-1]) is list:
            values: list[Any] = body[-1]
            known = self._field_names(body[0])
            known = (*known, *(f"?{at}" for at in range(len(known), len(values))))
            yield from self._fields(list(zip(known, values, strict=False)), names)
        elif tag in ("h", "f"):
            number = body[0] if kind is list and body else body
            self.content.handles += [number] if type_of(number) is int else []
        elif tag in _BLOBS and kind is int and 0 <= body < len(self._blobs):
            self._leaf(names, _BLOBS[tag](bytes(self._blobs[body])), record)
        elif tag == "e" and kind is list and len(body) >= 2:
            yield body[-1], names, record
        elif tag == "x" and kind is list and len(body) > 1 and body[0] in _TEXTS:
            self._leaf(names, str(body[1]), record)
        elif tag == "c" and kind is int:
            self.content.classes.append(body)
        elif tag not in _CLASSES:
            self.content.opaque = True

    def _fields(
        self, pairs: list[tuple[str, Any]], names: tuple[str, ...]
    ) -> Iterator[tuple[Any, tuple[str, ...], dict[str, Leaf]]]:
        record: dict[str, Leaf] = {}
        self.content.records.append(record)
        for name, value in pairs:
            yield value, (*names, name), record
