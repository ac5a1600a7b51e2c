"""Sessions as lines of JSON, and back. What is read may be a stranger's: it is taken only where a store could have it.

    {"cellwright": 1, "session": {…facts…}}        a session begins; the number stands in the first line of a file
    {"blob": digest, "base64": …}                  bytes, before what needs them; "more": true where they go on
    {"entry": 1, "parent": 0, "kind": "cell", …}   one entry, with its fields by name; those that are as usual left out

A packed value is {"tree": …, "blobs": […]}: the tree of the wire, and its blobs in base64 or as {"blob": digest}.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from cellwright.doors import Made
from cellwright.errors import CellwrightError, UsageError
from cellwright.journal import check_id
from cellwright.store import CellRow, Entry, Facts, Kept, Note, Row, TurnRow, digest_of, proven, proven_facts
from cellwright_guest.wire import Packed, type_of

FORMAT = 1
INLINE = 1 << 10  # bytes of a blob that stand where they are needed
DIGEST = 64  # letters
MOST_NUMBER = 1 << 53
MOST_TIME = 253402300800  # seconds: the year 10000, which no clock of a guest can tell
KINDS: dict[str, type[Kept]] = {"row": Row, "cell": CellRow, "turn": TurnRow, "note": Note}
NAMES = {kind: name for name, kind in KINDS.items()}
COUNTS = frozenset(("number", "cell", "before", "after", "delivered", "asked"))
TIMES = frozenset(("at", "duration_s"))
PACKED = frozenset(("arguments", "value", "kept", "names"))
SECRET = frozenset(("opened", "child_of"))  # how somebody opened it; who spawned it is not in the file

Aside = Callable[[bytes], None] | None  # told of bytes that a line names by their digest; None: all stand in the line
Fetch = Callable[[str], bytes]


# writing


def facts_line(facts: Facts) -> dict[str, Any]:
    told = _told(facts, None)
    told["seed"] = base64.b64encode(facts.seed).decode("ascii")
    return {"session": told}


def entry_line(entry: Entry, aside: Aside) -> dict[str, Any]:
    kind = NAMES[type(entry.change)]
    told = _told(entry.change, aside)
    if kind == "note":
        told["note"] = told.pop("kind")
    return {"entry": entry.number, "parent": entry.parent, "kind": kind, **told}


def _told(value: Kept | Facts, aside: Aside) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for one in fields(value):
        it: Any = getattr(value, one.name)
        usual: Any = one.default_factory() if one.default_factory is not MISSING else one.default
        if one.name in SECRET or it == usual:
            continue
        if one.name in PACKED and it is not None:
            it = _packed(it, aside)
        elif one.name == "made":
            it = [[made.number, made.path, made.kind] for made in it or ()]
        told[one.name] = it
    return told


def _packed(packed: Packed, aside: Aside) -> dict[str, Any]:
    if not packed.blobs:
        return {"tree": packed.tree}
    return {"tree": packed.tree, "blobs": [_blob(bytes(blob), aside) for blob in packed.blobs]}


def _blob(content: bytes, aside: Aside) -> Any:
    if aside is None or len(content) < INLINE:
        return base64.b64encode(content).decode("ascii")
    aside(content)
    return {"blob": digest_of(content)}


def text_of(line: Mapping[str, Any]) -> bytes:
    """One line. In letters where that is possible; a text that is none is escaped."""
    try:
        return json.dumps(line, ensure_ascii=False, separators=(", ", ": ")).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(line, separators=(", ", ": ")).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"an entry cannot be written as JSON: {error}") from None


# reading


class Damaged(ValueError):
    """A line that no export wrote."""


def facts_in(line: Mapping[str, Any], fetch: Fetch) -> Facts:
    told = _object(line.get("session"), Facts)
    if SECRET & told.keys():
        raise Damaged("it holds what no export has")
    given = _given(told, fetch)
    given["seed"] = _bytes(given.get("seed"))
    try:
        check_id(given["id"])
        facts = proven_facts(Facts(**given))
    except (TypeError, KeyError, CellwrightError) as error:
        raise Damaged(f"no facts of a session ({error})") from None
    pins = facts.pins.items()
    if not all(type(name) is str and type(pin) is str for name, pin in pins) or not 16 <= len(facts.seed) <= 64:
        raise Damaged("no facts of a session")
    if not 0 <= facts.created < MOST_TIME or not 0 <= facts.parent_cell < MOST_NUMBER or facts.parent_entry < 0:
        raise Damaged("no facts of a session")
    return facts


def entry_in(line: Mapping[str, Any], fetch: Fetch) -> tuple[int, Kept]:
    """The number of an entry, and the entry. `fetch` gives what the line names by digest, or raises `KeyError`."""
    number, name = line.get("entry"), line.get("kind")
    kind = KINDS.get(name) if type(name) is str else None
    if type(number) is not int or kind is None:
        raise Damaged("no entry")
    told = {key: value for key, value in line.items() if key not in ("entry", "parent", "kind", "note")}
    if kind is Note:
        told["kind"] = line.get("note")
    given = _given(_object(told, kind), fetch)
    for one in COUNTS & given.keys():
        if type(given[one]) is int and not 0 <= given[one] < MOST_NUMBER:
            raise Damaged(f"its {one} is none")
    for one in TIMES & given.keys():
        if type(given[one]) in (int, float) and not 0 <= given[one] < MOST_TIME:
            raise Damaged(f"its {one} is none")
    if not all(type(given.get(one, 0)) is int for one in ("number", "cell")):
        raise Damaged("its number is none")
    if type(given.get("path", "")) is not str or (kind is TurnRow and given.get("opened")):
        raise Damaged("it holds what no export has")
    failed = kind is Row and given.get("status") == "failed" and given.get("door", "host") == "host"
    if failed and not _is_error(given.get("value")):
        raise Damaged("its error is none")
    try:
        return number, proven(kind(**given))
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError, CellwrightError) as error:
        raise Damaged(f"no {name} ({error})") from None


def _is_error(value: Packed | None) -> bool:
    """As a guest can take it, and whoever tells of it."""
    match None if value is None else value.tree:
        case None | {"E": [str() | [int(), dict() | None, *_], _, _, _]}:
            return True
        case _:
            return False


def _object(told: Any, kind: type[Any]) -> dict[str, Any]:
    known = {one.name for one in fields(kind)}
    if type_of(told) is not dict or not all(type_of(key) is str and key in known for key in told):
        raise Damaged(f"no {kind.__name__}")
    return {**told}


def _given(told: dict[str, Any], fetch: Fetch) -> dict[str, Any]:
    """The fields as a value has them: tuples for lists, packed values for theirs."""
    for name, it in told.items():
        if name in PACKED:
            told[name] = None if it is None else _unpacked(it, fetch)
        elif name == "made":
            told[name] = tuple(_made(one) for one in _list(it))
        elif name in ("pending", "files", "back", "calls"):
            told[name] = tuple(tuple(one) if type_of(one) is list else one for one in _list(it))
    return told


def _unpacked(it: Any, fetch: Fetch) -> Packed:
    if type_of(it) is not dict or not {"tree"} <= it.keys() <= {"tree", "blobs"}:
        raise Damaged("no packed value")
    return Packed(it["tree"], [_content(blob, fetch) for blob in _list(it.get("blobs", []))])


def _content(blob: Any, fetch: Fetch) -> bytes:
    if type(blob) is str:
        return _bytes(blob)
    if type(blob) is not dict or blob.keys() != {"blob"}:
        raise Damaged("no blob")
    try:
        return fetch(checked_digest(blob["blob"]))
    except KeyError:
        raise Damaged(f"blob {blob['blob']} is not in the file before it is needed") from None


def checked_digest(text: Any) -> str:
    if type(text) is not str or len(text) != DIGEST or not set(text) <= set("0123456789abcdef"):
        raise Damaged("no digest")
    return text


def _made(one: Any) -> Made:
    number, path, kind = _list(one)
    if (type(number), type(path), type(kind)) != (int, str, str):
        raise Damaged("no object")
    return Made(number=number, path=path, kind=kind)


def _list(it: Any) -> list[Any]:
    if type_of(it) is not list:
        raise Damaged("no list")
    return it


def _bytes(text: Any) -> bytes:
    try:
        if type(text) is not str:
            raise Damaged("no base64")
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise Damaged("no base64") from None


def bytes_in(line: Mapping[str, Any]) -> bytes:
    """What a blob's line holds."""
    if not {"blob", "base64"} <= line.keys() <= {"blob", "base64", "more"} or type(line.get("more", True)) is not bool:
        raise Damaged("no blob")
    return _bytes(line["base64"])
