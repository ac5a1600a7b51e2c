"""Rows as one text each, and back. Large parts are set aside by the digest of their content.

A small row is a JSON list of its fields, with trees as they are (`str`). In one with blobs or much text (`bytes`) a
packed value is an object: its tree and its blobs, each in itself or by digest. Nothing here knows where these are kept.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, get_args

from toolwright.doors import Made
from toolwright.errors import JournalFailed, UsageError
from toolwright.journal.rows import CellRow, CellStatus, Checkpoint, DoorName, Facts, Row, Status
from toolwright_guest.wire import Packed

LARGE_BLOB = 1 << 10
LARGE_TREE = 8 << 10

FIELDS = (  # of a row, in the order of `_fields`
    "status door title verb target name key line reads arguments value delivered at after back made kept"
).split()

_ROW = (str, str, str, str, int, str, str, int, bool)  # the types of the first of them
_DOORS = frozenset(get_args(DoorName))
_STATUSES = frozenset(get_args(Status)) | frozenset(get_args(CellStatus))
_NUMBER, _COUNT = (int, float), (int,)

Body = str | bytes
Large = dict[str, bytes]  # what was set aside, by digest
Fetch = Callable[[str], bytes]

_encoder = json.JSONEncoder(ensure_ascii=True, check_circular=False, separators=(",", ":"))
# As in `toolwright_guest.framing`: json makes this anew for every text, which takes longer than a short text does.
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


def row_body(row: Row, large: Large) -> Body:
    """All of a row but its cell and path."""
    arguments, value, kept = row.arguments, row.value, row.kept
    if not arguments.blobs and kept is None and (value is None or not value.blobs):
        text = dumps(_fields(row, arguments.tree, None if value is None else [value.tree], None))
        if len(text) < LARGE_TREE:
            return text
    packed = _pack(arguments, large), value and _pack(value, large), kept and _pack(kept, large)
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
    values = json.loads(body)
    fields: dict[str, Any] = dict(zip(FIELDS, values, strict=True))
    if tuple(map(type, values[: len(_ROW)])) != _ROW or fields["door"] not in _DOORS or type(path) is not str:
        raise ValueError("a row of another shape")
    _require(fields, at=_NUMBER, delivered=(int, type(None)), after=(str,))
    if type(body) is str:
        fields["arguments"] = Packed(fields["arguments"], [])
        _require(fields, value=(list, type(None)), kept=(type(None),))
        if fields["value"] is not None:
            (tree,) = fields["value"]
            fields["value"] = Packed(tree, [])
    else:
        fields["arguments"] = _unpack(fields["arguments"], fetch)
        for name in ("value", "kept"):
            fields[name] = None if fields[name] is None else _unpack(fields[name], fetch)
    fields["back"] = tuple((lent, count) for lent, count in fields["back"])
    fields["made"] = _made(fields["made"])
    return Row(cell=cell, path=path, **fields)


def cell_body(cell: CellRow, large: Large) -> Body:
    """All of a cell but its number."""
    return dumps(
        {
            "code": _pack(Packed(cell.code, []), large),
            "status": cell.status,
            "at": cell.at,
            "before": cell.before,
            "after": cell.after,
            "tree": cell.tree,
            "pending": cell.pending,
            "undone": cell.undone,
            "value": cell.value and _pack(cell.value, large),
            "stdout": _pack(Packed(cell.stdout, []), large),
            "error": _pack(Packed(cell.error, []), large),
            "calls": _pack(Packed(cell.calls, []), large),
            "rung": cell.rung,
            "duration_s": cell.duration_s,
        }
    )


def cell_of(number: int, body: Body, fetch: Fetch) -> CellRow:
    """The cell that `cell_body` made this of."""
    fields: dict[str, Any] = json.loads(body)
    for name in ("code", "stdout", "error", "calls"):
        fields[name] = _unpack(fields[name], fetch).tree
    fields["value"] = None if fields["value"] is None else _unpack(fields["value"], fetch)
    fields["pending"] = tuple(fields["pending"])
    fields["calls"] = tuple((name, duration, error) for name, duration, error in fields["calls"])
    _require(fields, code=(str,), stdout=(str,), tree=(str,), rung=(str,), error=(dict,), undone=(bool,))
    _require(fields, at=_NUMBER, before=_COUNT, after=_COUNT, duration_s=_NUMBER)
    error: dict[str, Any] = fields["error"]
    words = [error[word] for word in ("class", "text", "type", "message") if word in error]
    if not all(type(one) is str for one in (*fields["pending"], *words)):
        raise ValueError("a cell of another shape")
    if type(error.get("line")) not in (int, type(None)):
        raise ValueError("an error of another shape")
    return CellRow(number=number, **fields)


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
            "names": _pack(facts.names, large),
            "made": _pack(Packed(_listed(facts.made), []), large),
            "parent": facts.parent,
            "parent_cell": facts.parent_cell,
        }
    )


def facts_of(id: str, body: Body, fetch: Fetch) -> Facts:
    """The facts that `facts_body` made this of."""
    fields: dict[str, Any] = json.loads(body)
    fields["seed"] = base64.b64decode(fields["seed"])
    _require(fields, created=_NUMBER, pins=(dict,), parent=(str,), parent_cell=_COUNT)
    fields["names"] = _unpack(fields["names"], fetch)
    fields["made"] = _made(_unpack(fields["made"], fetch).tree)
    return Facts(id=id, **fields)


def _require(fields: dict[str, Any], **kinds: tuple[type[Any], ...]) -> None:
    """What was read has these types; the file may be a stranger's."""
    if fields.get("status", "done") not in _STATUSES or any(type(fields[n]) not in kinds[n] for n in kinds):
        raise ValueError("fields of another type")


def _pack(packed: Packed, large: Large) -> dict[str, Any]:
    tree, blobs = packed
    text = dumps(tree)
    part: dict[str, Any] = {"at": _aside(text.encode("ascii"), large)} if len(text) >= LARGE_TREE else {"tree": tree}
    if blobs:
        part["blobs"] = [_blob(bytes(blob), large) for blob in blobs]
    return part


def _unpack(part: dict[str, Any], fetch: Fetch) -> Packed:
    tree = json.loads(fetch(part["at"])) if "at" in part else part["tree"]
    blobs: list[Any] = part.get("blobs", [])
    return Packed(tree, [base64.b64decode(b) if type(b) is str else fetch(b["at"]) for b in blobs])


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
