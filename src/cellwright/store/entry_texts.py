"""The texts of an entry that can be searched, by kind. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cellwright.store.rows import CellRow, EntryChange, Note, Row, TurnRow
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import Bounds, Packed, WireError

LONGEST = 64 << 10  # letters of one text
_CONTROLS = dict.fromkeys((*range(9), *range(14, 32), 127), " ")
_NAME = re.compile(r"[A-Za-z0-9]+")
_JOINED = re.compile(r"[a-z0-9][A-Z]")  # apart from `_NAME`: one pattern would take the square of a name's length
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryTexts:
    """A later entry of the same `source` replaces these texts."""

    source: str
    cell: int
    by_kind: dict[str, str]


def texts_of(change: EntryChange, *, has_turns: bool = True) -> EntryTexts | None:
    """The texts of an entry; None where it has none. Without turns, the prompt is only in the request to the model."""
    match change:
        case TurnRow():
            found = {"prompt": change.task, "reply": change.answer}
            return _texts(f"turn {change.number}", change.cell, found)
        case CellRow():
            return _texts(f"cell {change.number}", change.number, _of_cell(change))
        case Row(door="model", value=Packed()):
            return _texts(f"row {change.cell} {change.path}", change.cell, _of_reply(change, has_turns))
        case Note(kind="message"):
            return _texts(f"message {change.about}", 0, {"prompt": change.text})
        case Note(kind="answered"):
            return _texts(f"answer {change.about}", 0, {"reply": change.text})
        case _:
            return None


def parts_of(text: str) -> str:
    """The words in names that are written as one: `findOrders` has `find` and `Orders`."""
    names = dict.fromkeys(name for name in _NAME.findall(text) if _JOINED.search(name))
    return "\n".join(" ".join(_PART.findall(name)) for name in names)


def _texts(source: str, cell: int, found: dict[str, str]) -> EntryTexts | None:
    texts = {kind: plain(text) for kind, text in found.items()}
    kept = {kind: text for kind, text in texts.items() if not text.isspace() and text}
    return EntryTexts(source=plain(source), cell=cell, by_kind=kept)


def plain(text: str) -> str:
    """A text that a database takes, without the marks that a snippet has round a match."""
    return text[:LONGEST].translate(_CONTROLS).encode("utf-8", "replace").decode()


def _of_cell(cell: CellRow) -> dict[str, str]:
    error = cell.error.get("text") or " ".join(str(cell.error.get(key, "")) for key in ("type", "message"))
    value = "" if cell.value is None else " ".join(_leaves(cell.value))
    return {
        "code": cell.code,
        "output": f"{cell.stdout}\n{value}",
        "error": str(error) if cell.error else "",
        "file": "\n".join(cell.files),
    }


def _leaves(value: Packed) -> Iterator[str]:
    """The texts and numbers in a value, up to `LONGEST` letters. A stack, because a stranger's tree may be deep."""
    value = Packed(*value)  # in memory: each text of it may be a part by itself
    left, size = [value.tree], 0
    while left and size < LONGEST:
        part = left.pop()
        if isinstance(part, dict) and "S" in part:
            part = _long(value, part)
        if isinstance(part, list):
            left.extend(reversed(part))  # pyright: ignore[reportUnknownArgumentType] - of anything
        elif isinstance(part, dict):
            left.extend(reversed(list(part.values())))  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(part, str | int | float) and not isinstance(part, bool):
            text = part if isinstance(part, str) else repr(part)
            size += len(text)
            yield text


def _long(value: Packed, tree: Any) -> Any:
    """A text that is kept as a blob."""
    try:
        return bytes(value.blobs[tree["S"]]).decode("utf-8", "replace")
    except (TypeError, LookupError):
        return None


def _of_reply(row: Row, has_turns: bool) -> dict[str, str]:
    """The reply without its code, which the cells have; and the prompt, where no turn has it."""
    text = _item(_item(_fields(row.value), "message"), "text")
    found = {"reply": _without_code(text)} if isinstance(text, str) else {}
    if not has_turns:
        messages = _item(_fields(row.arguments), "messages") or ()
        texts = [_item(message, "text") for message in messages if _item(message, "kind") == "asked"]
        found["prompt"] = "\n".join(text for text in texts if isinstance(text, str))
    return found


def _without_code(text: str) -> str:
    """Without fenced blocks that are closed. In one pass: a model may repeat a fence many times."""
    kept, block = list[str](), list[str]()
    for line in text.splitlines(keepends=True):
        if not block and not line.startswith("```"):
            kept.append(line)
            continue
        block.append(line)
        if len(block) > 1 and line.rstrip() == "```":
            kept.append(" ")
            block = []
    return "".join(kept + block)


def _item(fields: Any, name: str) -> Any:
    """A field that a stranger's row may lack."""
    try:
        return fields[name]
    except (TypeError, LookupError):
        return None


def _fields(packed: Packed | None) -> Any:
    try:
        return None if packed is None else Unpacker(packed.blobs, _nothing_else, Bounds()).unpack(packed.tree)
    except (ValueError, TypeError, LookupError, WireError):
        return None


def _nothing_else(tag: str, body: object, unpacker: Unpacker) -> object:
    raise ValueError(f"a reply holds plain data only, and no {tag!r}")
