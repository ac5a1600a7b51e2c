"""Rows as one text each, and back. Large parts are set aside by the digest of their content.

A small row is a JSON list of its fields, with trees as they are (`str`). In one with blobs or much text (`bytes`) a
packed value is an object: its tree and its blobs, each in itself or by digest. Nothing here knows where these are kept.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, TypeVar, cast, get_args

from cellwright.doors import Made
from cellwright.errors import JournalFailed, UsageError
from cellwright.store.rows import CellRow, CellStatus, Checkpoint, DoorName, Facts, Row, Status, TurnStatus
from cellwright_guest.wire import Packed

T = TypeVar("T")
LARGE_BLOB = 1 << 10
LARGE_TREE = 8 << 10

_ROW = (str, str, str, str, int, str, str, int, bool)  # the types of the first of them
_CELL = (str, str, str, str, str, dict, bool)
_DOORS = frozenset(get_args(DoorName))
_STATUSES = frozenset((*get_args(Status), *get_args(CellStatus), *get_args(TurnStatus)))
NUMBER, COUNT = (int, float), (int,)

Body = str | bytes
Large = dict[str, bytes]  # what was set aside, by digest
Fetch = Callable[[str], bytes]

_encoder = json.JSONEncoder(ensure_ascii=True, check_circular=False, separators=(",", ":"))
# As in `cellwright_guest.framing`: json makes this anew for every text, which takes longer than a short text does.
_chunks: Any = getattr(json.encoder, "c_make_encoder", None)
if _chunks is not None:
    _escape: Any = getattr(json.encoder, "c_encode_basestring_ascii")  # noqa: B009  no public name
    _chunks = _chunks(None, _encoder.default, _escape, None, ":", ",", False, False, True)


def dumps(tree: Any) -> str:
    """A tree as ASCII. Lone surrogates, infinities and NaN come back as they were."""
    try:
        return "".join(_chunks(tree, 0)) if _chunks is not None else _encoder.encode(tree)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"a journal keeps plain trees; this one is none: {error}") from error


def digest_of(content: bytes) -> str:
    """The name of these bytes."""
    return hashlib.blake2b(content, digest_size=32).hexdigest()


def checked(digest: str, content: bytes) -> bytes:
    """The content, when it is what its digest says."""
    if digest_of(content) != digest:
        raise JournalFailed(f"blob {digest} of the journal is damaged: its content is not what was written")
    return content


@contextmanager
def reading(session: str) -> Generator[None]:
    """Columns that no journal wrote are told as damage, not as errors of this module."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise JournalFailed(f"a row of session {session!r} is damaged: {error}") from error


def storable(name: Any) -> Any:
    """What a database takes as a key in the place of a text that is no UTF-8, or an integer beyond 64 bits."""
    if type(name) is str:
        try:
            name.encode()
        except UnicodeEncodeError:
            return name.encode("utf-8", "surrogatepass")
    elif type(name) is int and not -(1 << 63) <= name < 1 << 63:
        return str(name)
    return name


def restored(name: Any) -> str:
    """The text that `storable` was given."""
    return name.decode("utf-8", "surrogatepass") if type(name) is bytes else name


def filler(cls: type[T]) -> Callable[[Iterable[Any]], T]:
    """What makes a value of its fields in their order. A frozen class itself looks each up by name: thrice the time."""
    new: Callable[[type[T]], T] = object.__new__
    puts: list[Callable[[T, Any], None]] = [getattr(cls, one.name).__set__ for one in fields(cast("Any", cls))]

    def fill(values: Iterable[Any]) -> T:
        made = new(cls)
        for put, value in zip(puts, values, strict=True):
            put(made, value)
        return made

    return fill


_row, _cell = filler(Row), filler(CellRow)


def row_body(row: Row, large: Large) -> Body:
    """All of a row but its cell and path."""
    arguments, value, kept = row.arguments, row.value, row.kept
    if not arguments.blobs and kept is None and (value is None or not value.blobs):
        text = dumps(_fields(row, arguments.tree, None if value is None else [value.tree], None))
        if len(text) < LARGE_TREE:
            return text
    packed = pack(arguments, large), value and pack(value, large), kept and pack(kept, large)
    return dumps(_fields(row, *packed)).encode("ascii")


def _fields(row: Row, arguments: Any, value: Any, kept: Any) -> list[Any]:
    return [
        row.status,
        row.door,
        row.title,
        row.verb,
        row.target,
        row.name,
        row.key,
        row.line,
        row.reads,
        arguments,
        value,
        row.delivered,
        row.at,
        row.after,
        row.back,
        row.made and _listed(row.made),
        kept,
    ]


def row_of(cell: int, path: str, body: Body, fetch: Fetch) -> Row:
    """The row that `row_body` made this of."""
    values: list[Any] = json.loads(body)
    status, door, title, verb, target, name, key, line, reads, arguments, value, delivered, at, after, *rest = values
    back, made, kept = rest
    if tuple(map(type, values[: len(_ROW)])) != _ROW or type(values) is not list or type(path) is not str:
        raise ValueError("a row of another shape")
    if door not in _DOORS or status not in _STATUSES or type(at) not in NUMBER or type(after) is not str:
        raise ValueError("fields of another type")
    if delivered is not None and type(delivered) is not int:
        raise ValueError("fields of another type")
    if type(body) is not str:
        arguments = unpack(arguments, fetch)
        value, kept = (None if part is None else unpack(part, fetch) for part in (value, kept))
    else:
        arguments = Packed(arguments, [])
        if value is not None:
            (tree,) = value
            value = Packed(tree, [])
        if kept is not None or (values[10] is not None and type(values[10]) is not list):
            raise ValueError("fields of another type")
    back = tuple((lent, count) for lent, count in back) if back else ()
    made = _made(made) if made else ()
    return _row(
        (cell, path, door, title, verb, target, name, key, line, status, reads)
        + (arguments, value, delivered, at, after, back, made, kept)
    )


def cell_body(cell: CellRow, large: Large) -> Body:
    """All of a cell but its number."""
    return dumps(
        {
            "code": pack(Packed(cell.code, []), large),
            "status": cell.status,
            "at": cell.at,
            "before": cell.before,
            "after": cell.after,
            "tree": cell.tree,
            "pending": cell.pending,
            "undone": cell.undone,
            "value": cell.value and pack(cell.value, large),
            "stdout": pack(Packed(cell.stdout, []), large),
            "error": pack(Packed(cell.error, []), large),
            "calls": pack(Packed(cell.calls, []), large),
            "rung": cell.rung,
            "duration_s": cell.duration_s,
            "tree_after": cell.tree_after,
            "files": pack(Packed(cell.files, []), large),
        }
    )


def cell_of(number: int, body: Body, fetch: Fetch) -> CellRow:
    """The cell that `cell_body` made this of."""
    found: dict[str, Any] = json.loads(body)
    code, stdout, error, calls = (text_of(found[name], fetch) for name in ("code", "stdout", "error", "calls"))
    value = None if found["value"] is None else unpack(found["value"], fetch)
    files = tuple(text_of(found["files"], fetch)) if "files" in found else ()  # older ones have none of these two
    tree, tree_after, rung, undone = found["tree"], found.get("tree_after", ""), found["rung"], found["undone"]
    pending = tuple(found["pending"])
    calls = tuple((name, duration, failed) for name, duration, failed in calls)
    if tuple(map(type, (code, stdout, tree, tree_after, rung, error, undone))) != _CELL or len(found) not in (14, 16):
        raise ValueError("fields of another type")
    require(found, at=NUMBER, before=COUNT, after=COUNT, duration_s=NUMBER)
    words = [error[word] for word in ("class", "text", "type", "message") if word in error] if error else []
    if not all(type(one) is str for one in (*pending, *files, *words)):
        raise ValueError("a cell of another shape")
    if type(error.get("line")) not in (int, type(None)):
        raise ValueError("an error of another shape")
    numbers = found["at"], found["before"], found["after"]
    return _cell(
        (number, code, found["status"], *numbers, tree, pending, undone, value, stdout, error, calls, rung)
        + (found["duration_s"], tree_after, files)
    )


def checkpoint_body(checkpoint: Checkpoint, large: Large) -> Body:
    """All of a checkpoint but its cell."""
    if checkpoint.content:
        large[checkpoint.digest] = checked(checkpoint.digest, checkpoint.content)
    return dumps([checkpoint.digest, checkpoint.signature, checkpoint.missing])


def checkpoint_of(cell: int, body: Body) -> Checkpoint:
    """The checkpoint that `checkpoint_body` made this of."""
    digest, signature, missing = json.loads(body)
    return Checkpoint(cell=cell, digest=digest, signature=signature, missing=tuple(missing))


def facts_body(facts: Facts, large: Large) -> Body:
    """All of a session's facts but its id."""
    return dumps(
        {
            "created": facts.created,
            "seed": base64.b64encode(facts.seed).decode("ascii"),
            "pins": facts.pins,
            "names": pack(facts.names, large),
            "made": pack(Packed(_listed(facts.made), []), large),
            "parent": facts.parent,
            "parent_cell": facts.parent_cell,
            "parent_entry": facts.parent_entry,
            "child_of": facts.child_of,
            "agent": facts.agent,
        }
    )


def facts_of(id: str, body: Body, fetch: Fetch) -> Facts:
    """The facts that `facts_body` made this of."""
    fields: dict[str, Any] = {"parent_entry": 0, "child_of": "", "agent": ""} | json.loads(body)
    fields["seed"] = base64.b64decode(fields["seed"])
    require(fields, created=NUMBER, pins=(dict,), parent=(str,), parent_cell=COUNT)
    require(fields, parent_entry=COUNT, child_of=(str,), agent=(str,))
    fields["names"] = unpack(fields["names"], fetch)
    fields["made"] = _made(unpack(fields["made"], fetch).tree)
    return Facts(id=id, **fields)


def require(fields: dict[str, Any], **kinds: tuple[type[Any], ...]) -> None:
    """What was read has these types; the file may be a stranger's."""
    if fields.get("status", "done") not in _STATUSES or any(type(fields[n]) not in kinds[n] for n in kinds):
        raise ValueError("fields of another type")


def pack(packed: Packed, large: Large) -> dict[str, Any]:
    """A value, with what is large of it set aside."""
    tree, blobs = packed
    text = dumps(tree)
    part: dict[str, Any] = {"at": _aside(text.encode("ascii"), large)} if len(text) >= LARGE_TREE else {"tree": tree}
    if blobs:
        part["blobs"] = [_blob(bytes(blob), large) for blob in blobs]
    return part


def unpack(part: dict[str, Any], fetch: Fetch) -> Packed:
    """What `pack` made this of."""
    tree = json.loads(fetch(part["at"])) if "at" in part else part["tree"]
    blobs: list[Any] = part.get("blobs", [])
    return Packed(tree, [base64.b64decode(b) if type(b) is str else fetch(b["at"]) for b in blobs])


def text_of(part: dict[str, Any], fetch: Fetch) -> Any:
    """The tree of what `pack` made this of, where it has no blobs."""
    return part["tree"] if "tree" in part else unpack(part, fetch).tree


def _blob(content: bytes, large: Large) -> Any:
    if len(content) < LARGE_BLOB:
        return base64.b64encode(content).decode("ascii")
    return {"at": _aside(content, large)}


def _aside(content: bytes, large: Large) -> str:
    digest = digest_of(content)
    large[digest] = content
    return digest


def _listed(made: tuple[Made, ...]) -> list[tuple[int, str, str]]:
    return [(one.number, one.path, one.kind) for one in made]


def _made(listed: Any) -> tuple[Made, ...]:
    made = tuple(Made(number=number, path=path, kind=kind) for number, path, kind in listed)
    if not all((type(m.number), type(m.path), type(m.kind)) == (int, str, str) for m in made):
        raise ValueError("an object of another shape")
    return made
