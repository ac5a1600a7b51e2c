"""Packed values on their way to the guest, with tokens instead of private values; and back.

What a value is called tells first: the field of a record, the key of a dict, the column of a frame. Texts are looked
through besides. It reads the trees that cross the door, and runs no code of objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from cellwright.guard.private_frames import map_frame
from cellwright.guard.private_values import PrivateValue
from cellwright.scope import FieldNames
from cellwright_guest.wire import Packed, type_of

_TEXTS = ("datetime", "date", "time", "decimal", "uuid", "path")  # whose first part is the text of the value
_ERRORS = {"S": "surrogatepass", "b": "surrogateescape", "B": "surrogateescape"}
_INTEGER = 64  # bytes of a whole number that is looked at
_LIGHT = frozenset((type(None), bool, int, float))


class PrivateTexts(Protocol):
    """What finds private values: by the name of a column, and in a text."""

    def kinds_of(self, names: tuple[str, ...]) -> Mapping[str, str]: ...
    def token(self, kind: str, tree: Any) -> Any: ...
    def hide_text(self, text: str) -> str: ...
    def tokens_in(self, text: str) -> Iterator[tuple[int, int, PrivateValue]]: ...


Allows = Callable[[PrivateValue], bool]
"""Whether a call may have a private value."""


class TreeHider:
    """Of one packed value. Values that stand under a private name become tokens whole; texts in part."""

    def __init__(self, texts: PrivateTexts, packed: Packed, field_names: FieldNames, *, of_guest: bool = False) -> None:
        self._texts = texts
        self._tree = packed.tree
        self._blobs = list(packed.blobs)
        self._row: list[str | None] = []
        self._field_names = field_names
        self._of_guest = of_guest

    def hidden(self, kind: str | None = None, row: tuple[str, ...] = ()) -> Packed:
        """With tokens. `kind`: what the whole value is known to be. `row`: the columns of the tuples in it."""
        kinds = self._texts.kinds_of(row)
        self._row = [kinds.get(name) for name in row]
        tree = self._part(self._tree, kind)
        return Packed(tree, self._blobs)

    def arguments(self) -> Packed:
        """Of a call. What a parameter is called says little: `name=` may be that of a file."""
        given: Any = self._tree.get("t") if type_of(self._tree) is dict else None
        match given:
            case [{"t": _}, {"m": dict()}]:
                by_name = {name: self._part(value, None) for name, value in given[1]["m"].items()}
                return Packed({"t": [self._part(given[0], None), {"m": by_name}]}, self._blobs)
            case _:
                return self.hidden()

    def _part(self, part: Any, kind: str | None) -> Any:
        what = type_of(part)
        if what is str:
            return self._text(part, kind)
        if what is list:
            if kind is None and _LIGHT.issuperset(map(type, part)):
                return part
            return [self._part(item, kind) for item in part]
        if what is dict:
            return self._tagged(part, kind)
        if kind is None or part is None or what is bool:
            return part
        return self._texts.token(kind, part)

    def _text(self, text: str, kind: str | None) -> Any:
        if kind is not None and not any(True for _ in self._texts.tokens_in(text)):
            token = self._texts.token(kind, text)
            if token is not text:
                return token
        return self._texts.hide_text(text)

    def _tagged(self, tree: dict[str, Any], kind: str | None) -> Any:
        if len(tree) != 1:
            return tree
        ((tag, body),) = tree.items()
        match tag:
            case "m":
                kinds = self._texts.kinds_of(tuple(body))
                return {"m": {self._texts.hide_text(key): self._part(body[key], kinds.get(key, kind)) for key in body}}
            case "d":
                kinds = self._texts.kinds_of(tuple(key for key in body[::2] if type_of(key) is str))
                pairs = zip(body[::2], body[1::2], strict=True)
                return {"d": [part for key, value in pairs for part in self._pair(key, value, kinds, kind)]}
            case "o":
                names = self._field_names(body[0])
                kinds = self._texts.kinds_of(names)
                known = [kinds.get(name, kind) for name in names] + [kind] * len(body[-1])
                return {"o": [*body[:-1], [self._part(part, one) for part, one in zip(body[-1], known, strict=False)]]}
            case "t" if self._row and len(body) == len(self._row):
                return {"t": [self._part(item, of) for item, of in zip(body, self._row, strict=True)]}
            case "t" | "s" | "F":
                return {tag: [self._part(item, kind) for item in body]}
            case "x" if kind is not None and body[0] in _TEXTS:
                return self._texts.token(kind, tree)
            case "x" if body[0] in ("path", "slice"):
                return {"x": [body[0], *(self._part(part, None) for part in body[1:])]}
            case "i" if kind is not None and len(self._blobs[body]) <= _INTEGER:
                return self._texts.token(kind, int.from_bytes(self._blobs[body], "little", signed=True))
            case "S" | "b" | "B":
                return self._blob(tag, body, kind)
            case "a":
                self._blobs[body[1]] = map_frame(body, self._blobs[body[1]], self, of_guest=self._of_guest)
                return tree
            case "E":  # class, arguments, attributes, text
                return {"E": [body[0], *(self._part(part, None) for part in body[1:])]}
            case "stays":  # what is told of a value that stays in the guest
                return {"stays": [body[0], self._texts.hide_text(str(body[1]))]}
            case _:
                return tree

    def _pair(self, key: Any, value: Any, kinds: Mapping[str, str], kind: str | None) -> tuple[Any, Any]:
        return self._part(key, None), self._part(value, kinds.get(key, kind) if type_of(key) is str else kind)

    def _blob(self, tag: str, number: int, kind: str | None) -> Any:
        """The content stays where it is, so that no blob holds what the tree does not."""
        content, errors = bytes(self._blobs[number]), _ERRORS[tag]
        if tag != "S" and b"\0" in content:
            return {tag: number}  # no text
        text = content.decode("utf-8", errors)  # bytes of another charset stay as they are
        hidden = str(self._text(text, kind if tag == "S" else None))
        if hidden is not text:
            self._blobs[number] = hidden.encode("utf-8", errors)
        return {tag: number}

    # of frames: see `ColumnTexts`

    def kinds_of(self, names: Sequence[str]) -> Mapping[str, str]:
        return self._texts.kinds_of(tuple(names))

    def other(self, tree: Any, kind: str | None) -> Any:
        return self._part(tree, kind)

    def text(self, text: str) -> str:
        return self._texts.hide_text(text)


class TreeRevealer:
    """Of one packed value: tokens that `allows` allows become values again. `left` are the kinds of the others."""

    def __init__(self, texts: PrivateTexts, packed: Packed, allows: Allows) -> None:
        self._texts = texts
        self._tree = packed.tree
        self._blobs = list(packed.blobs)
        self._allows = allows
        self.left: set[str] = set()

    def revealed(self) -> Packed:
        return Packed(self._part(self._tree), self._blobs)

    def _part(self, part: Any) -> Any:
        what = type_of(part)
        if what is str:
            return self._text(part) if "<" in part else part
        if what is list:
            return part if _LIGHT.issuperset(map(type, part)) else [self._part(item) for item in part]
        if what is not dict or len(part) != 1:
            return part
        ((tag, body),) = part.items()
        if tag in ("S", "b", "B") and self._has_blob(body):
            self._reveal_blob(tag, body)
            return part
        if tag == "a" and type_of(body) is list and len(body) > 1 and self._has_blob(body[1]):
            self._blobs[body[1]] = map_frame(body, self._blobs[body[1]], self, of_guest=True)
            return part
        if tag == "m" and type_of(body) is dict:
            keys = [self._text(key) if "<" in key else key for key in body]
            if all(type_of(key) is str for key in keys):
                return {"m": {key: self._part(part) for key, part in zip(keys, body.values(), strict=True)}}
            return {
                "d": [one for key, part in zip(keys, body.values(), strict=True) for one in (key, self._part(part))]
            }
        return {tag: self._part(body)}

    def kinds_of(self, names: Sequence[str]) -> Mapping[str, str]:
        return {}

    def other(self, tree: Any, kind: str | None) -> Any:
        return self._part(tree)

    def _has_blob(self, number: Any) -> bool:
        return type_of(number) is int and 0 <= number < len(self._blobs)

    def _text(self, text: str) -> Any:
        found = list(self._texts.tokens_in(text))
        if len(found) == 1 and found[0][:2] == (0, len(text)):
            value = found[0][2]
            if self._allows(value):
                return value.tree
            self.left.add(value.kind)
            return text
        return self.text(text)

    def text(self, text: str) -> str:
        """The text with values where their tokens stood."""
        parts: list[str] = []
        end = 0
        for start, stop, value in self._texts.tokens_in(text):
            if not self._allows(value):
                self.left.add(value.kind)
                continue
            parts += [text[end:start], value.text]
            end = stop
        return "".join([*parts, text[end:]]) if parts else text

    def _reveal_blob(self, tag: str, number: int) -> None:
        content = bytes(self._blobs[number])
        if b"<" in content:
            text = content.decode("utf-8", _ERRORS[tag])
            revealed = self.text(text)
            if revealed is not text:
                self._blobs[number] = _encoded(revealed, _ERRORS[tag])


def _encoded(text: str, errors: str) -> bytes:
    try:
        return text.encode("utf-8", errors)
    except UnicodeEncodeError:  # a value that has half a pair, which no charset has
        return text.encode("utf-8", "surrogatepass")
