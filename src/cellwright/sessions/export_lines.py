"""The lines of an exported session, written and read. The file may be a stranger's: all types are checked.

    {"cellwright": 1, "session": {…facts…}}        a session begins; the number stands in the first line of a file
    {"blob": digest, "base64": …}                  bytes, before what needs them; "more": true where they go on
    {"entry": 1, "parent": 0, "kind": "cell", …}   one entry, with its fields by name; fields that are as usual left out

A packed value is {"tree": …, "blobs": […]}: the tree of the wire, and its blobs in base64 or as {"blob": digest}. A
tree with NaN or an infinity, which JSON does not have, is {"text": …}: what Python's `json` writes for it, in a string.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from cellwright.errors import CellwrightError, UsageError
from cellwright.journal import check_id
from cellwright.store import (
    CellRow,
    Codec,
    EntryChange,
    Facts,
    JournalEntry,
    Note,
    Packing,
    Row,
    TurnRow,
    base64_of,
    bytes_of,
    check_error,
    digest_of,
)
from cellwright_guest.wire import Packed, type_of

FORMAT = 1
INLINE = 1 << 10  # bytes of a blob that stand where they are needed
DIGEST = 64  # letters
MOST_NUMBER = 1 << 53
MOST_TIME = 253402300800  # seconds: the year 10000, which no clock of a guest can tell
COUNTS = frozenset(("number", "cell", "before", "after", "delivered", "asked"))
TIMES = frozenset(("at", "duration_s"))
# how somebody opened it; who spawned it, which is not in the file; and that it came from another file
SECRET = frozenset(("opened", "child_of", "imported", "import_key"))

Aside = Callable[[bytes], None] | None  # gets bytes that a line names by their digest; None: all stand in the line
Fetch = Callable[[str], bytes]


# packed values


def _put_packed(packed: Packed, aside: Aside) -> dict[str, Any]:
    tree, blobs = packed
    part = {"tree": tree}
    try:
        json.dumps(tree, allow_nan=False)
    except ValueError:
        part = {"text": json.dumps(tree)}
    except (TypeError, RecursionError):
        pass  # `text_of` reports it
    return part | {"blobs": [_put_blob(bytes(blob), aside) for blob in blobs]} if blobs else part


def _put_blob(content: bytes, aside: Aside) -> Any:
    if aside is None or len(content) < INLINE:
        return base64_of(content)
    aside(content)
    return {"blob": digest_of(content)}


def _get_packed(part: Any, fetch: Fetch) -> Packed:
    if type_of(part) is not dict or part.keys() - {"blobs"} not in ({"tree"}, {"text"}):
        raise Damaged("no packed value")
    blobs = part.get("blobs", [])
    if type_of(blobs) is not list:
        raise Damaged("no list")
    tree = json.loads(part["text"]) if "text" in part else part["tree"]
    return Packed(tree, [_get_blob(blob, fetch) for blob in blobs])


def _get_blob(blob: Any, fetch: Fetch) -> bytes:
    if type(blob) is str:
        return bytes_of(blob)
    if type(blob) is not dict or blob.keys() != {"blob"}:
        raise Damaged("no blob")
    try:
        return fetch(checked_digest(blob["blob"]))
    except KeyError:
        raise Damaged(f"blob {blob['blob']} is not in the file before it is needed") from None


def _codec(cls: type[Any]) -> Codec[Any]:
    names = " ".join(one.name for one in fields(cls) if one.name not in SECRET)
    return Codec(cls, names, sparse=True, packing=Packing(_put_packed, _get_packed))


FACTS = _codec(Facts)
KINDS: dict[str, type[EntryChange]] = {"row": Row, "cell": CellRow, "turn": TurnRow, "note": Note}
NAMES = {kind: name for name, kind in KINDS.items()}
CODECS = {name: _codec(kind) for name, kind in KINDS.items()}


# writing


def facts_line(facts: Facts) -> dict[str, Any]:
    return {"session": FACTS.tree(facts, None)}


def entry_line(entry: JournalEntry, aside: Aside) -> dict[str, Any]:
    kind, change = NAMES[type(entry.change)], entry.change
    if isinstance(change, Note) and change.kind == "private":
        change = replace(change, text="")  # the entry keeps its number
    values = CODECS[kind].tree(change, aside)
    if kind == "note":
        values["note"] = values.pop("kind")
    return {"entry": entry.number, "parent": entry.parent, "kind": kind, **values}


def text_of(line: Mapping[str, Any]) -> bytes:
    """One line. In letters where that is possible; a text that is no UTF-8 is escaped."""
    try:
        return json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(", ", ": ")).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(line, allow_nan=False, separators=(", ", ": ")).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"an entry cannot be written as JSON: {error}") from None


# reading


class Damaged(ValueError):
    """A line that no export wrote."""


def facts_in(line: Mapping[str, Any], fetch: Fetch) -> Facts:
    try:
        facts: Facts = FACTS.of_tree(line.get("session"), fetch)
        check_id(facts.id)
    except (ValueError, TypeError, LookupError, CellwrightError) as error:
        raise Damaged(f"no facts of a session ({error})") from None
    if not all(type(name) is str for name in facts.pins) or not 16 <= len(facts.seed) <= 64:
        raise Damaged("no facts of a session")
    if not 0 <= facts.created < MOST_TIME or not 0 <= facts.parent_cell < MOST_NUMBER or facts.parent_entry < 0:
        raise Damaged("no facts of a session")
    return facts


def entry_in(line: Mapping[str, Any], fetch: Fetch) -> tuple[int, EntryChange]:
    """The number of an entry, and the entry. `fetch` gives what the line names by digest, or raises `KeyError`."""
    number, kind = line.get("entry"), line.get("kind")
    if type(number) is not int or type(kind) is not str or kind not in KINDS:
        raise Damaged("no entry")
    values = {key: value for key, value in line.items() if key not in ("entry", "parent", "kind", "note")}
    if kind == "note":
        values["kind"] = line.get("note")
    for name, most in (*((name, MOST_NUMBER) for name in COUNTS), *((name, MOST_TIME) for name in TIMES)):
        if type(values.get(name)) in (int, float) and not 0 <= values[name] < most:
            raise Damaged(f"its {name} is none")
    try:
        change: EntryChange = CODECS[kind].of_tree(values, fetch)
        if isinstance(change, CellRow):
            check_error(change.error)
    except Damaged:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError, CellwrightError) as error:
        raise Damaged(f"no {kind} ({error})") from None
    if isinstance(change, Row) and (change.door, change.status) == ("host", "failed") and not _is_error(change.value):
        raise Damaged("its error is none")
    return number, change


def _is_error(value: Packed | None) -> bool:
    """Whether a guest can take it as an error, and a history show it."""
    match None if value is None else value.tree:
        case None | {"E": [str() | [int(), dict() | None, *_], _, _, _]}:
            return True
        case _:
            return False


def checked_digest(text: Any) -> str:
    if type(text) is not str or len(text) != DIGEST or not set(text) <= set("0123456789abcdef"):
        raise Damaged("no digest")
    return text


def bytes_in(line: Mapping[str, Any]) -> bytes:
    """What a blob's line holds."""
    if not {"blob", "base64"} <= line.keys() <= {"blob", "base64", "more"} or type(line.get("more", True)) is not bool:
        raise Damaged("no blob")
    return bytes_of(line["base64"])
