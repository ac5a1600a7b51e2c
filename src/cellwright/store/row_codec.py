"""The hot row: a call through a door is written twice, so its fields are taken at once and checked by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any, cast, get_args, get_type_hints

from cellwright.store.codec import STORED, Body, filler, value_codec
from cellwright.store.rows import DoorName, Row, Status
from cellwright.store.stored_values import LARGE_TREE, BodyPacked, Fetch, Large, digest_of, dumps, pack, unpack
from cellwright_guest.wire import Packed

ROW = (
    *("status", "door", "title", "verb", "target", "name", "key", "line", "reads", "arguments", "value", "delivered"),
    *("at", "after", "back", "made", "kept"),
)
_ARGUMENTS = ROW.index("arguments")
LONG_BODY = 2 << 10  # characters: in memory, a tree takes several times its text
_ROW_TYPES = (str, str, str, str, int, str, str, int, bool)  # of the fields before `arguments`
_DOORS, _STATUSES = frozenset(get_args(DoorName)), frozenset(get_args(Status))
_fill_row = filler(Row, ("cell", "path", *ROW, "imported", "labels", "sent"))
_put_made, _get_made = value_codec(get_type_hints(Row)["made"], STORED)


def row_body(row: Row, large: Large) -> Body:
    """All of a row but its cell and path.

    A small row has its trees as they are (`str`). One with blobs or much text has packed values (`bytes`).
    """
    arguments, value, kept = row.arguments, row.value, row.kept
    if not arguments.blobs and kept is None and (value is None or not value.blobs):
        text = dumps(_row_values(row, large, arguments.tree, None if value is None else [value.tree], None))
        if len(text) < LARGE_TREE:
            return text
    packed = pack(arguments, large), value and pack(value, large), kept and pack(kept, large)
    return dumps(_row_values(row, large, *packed)).encode("ascii")


def _row_values(row: Row, large: Large, arguments: Any, value: Any, kept: Any) -> list[Any]:
    """The fields `ROW`. Written out: to look them up by name takes longer than to write the row's text."""
    made = row.made and _put_made(row.made, None)
    # fmt: off
    values = [
        row.status, row.door, row.title, row.verb, row.target, row.name, row.key, row.line, row.reads,
        arguments, value, row.delivered, row.at, row.after, row.back, made, kept,
    ]
    # fmt: on
    if row.labels or row.sent is not None:  # last fields that only such rows have
        sent = row.sent and pack(row.sent, large)
        return [*values, row.imported, row.labels, sent]
    return [*values, True] if row.imported else values


def row_of(cell: int, path: str, body: Body, fetch: Fetch, again: Callable[[], Body] | None = None) -> Row:
    """The row that `row_body` was given. Where `again` reads its body, a long one is not held in memory."""
    values: list[Any] = json.loads(body)
    imported, labels, sent = _last_fields(values, fetch)
    status, door, *_, arguments, value, delivered, at, after, back, made, kept = values
    if tuple(map(type, values[:_ARGUMENTS])) != _ROW_TYPES or type(values) is not list or type(path) is not str:
        raise ValueError("a row of another shape")
    if door not in _DOORS or status not in _STATUSES or type(at) not in (float, int) or type(after) is not str:
        raise ValueError("a field of another type")
    if delivered is not None and type(delivered) is not int:
        raise ValueError("a field of another type")
    if type(body) is not str:
        arguments = unpack(arguments, fetch)
        value, kept = (None if part is None else unpack(part, fetch) for part in (value, kept))
    else:
        arguments = Packed(arguments, [])
        if kept is not None or (value is not None and type(value) is not list):
            raise ValueError("a field of another type")
        if value is not None:
            (tree,) = cast("list[Any]", value)
            value = Packed(tree, [])
    back = tuple((lent, count) for lent, count in back) if back else ()
    made = _get_made(made, fetch) if made else ()
    if again is not None and door == "host" and len(body) >= LONG_BODY:
        load, is_short = partial(_field, cell, path, again, fetch), type(body) is str
        value = value and BodyPacked.of(partial(load, "value"), is_short=is_short)
        kept = kept and BodyPacked.of(partial(load, "kept"), is_short=is_short)
        text = dumps(pack(arguments, {})) if type(arguments) is Packed else ""
        if len(text) >= LONG_BODY // 2:
            arguments = BodyPacked.of(
                partial(load, "arguments"), is_short=is_short, mark=digest_of(text.encode("ascii"))
            )
    return _fill_row(
        (cell, path, *values[:_ARGUMENTS], arguments, value, delivered, at, after, back, made, kept, imported)
        + (labels, sent)
    )


def _last_fields(values: list[Any], fetch: Fetch) -> tuple[bool, tuple[str, ...], Packed | None]:
    """Whether a row is imported, its labels, and `sent`: most rows have none of these. Taken off the list."""
    more = values[len(ROW) :]
    del values[len(ROW) :]
    if len(more) < 3:
        return len(more) == 1 and more[0] is True, (), None
    imported, labels, sent = more
    if type(imported) is not bool or type(labels) is not list or not set(map(type, cast("list[Any]", labels))) <= {str}:
        raise ValueError("a field of another type")
    return imported, tuple(cast("list[str]", labels)), None if sent is None else unpack(sent, fetch)


def _field(cell: int, path: str, again: Callable[[], Body], fetch: Fetch, name: str) -> Packed:
    return getattr(row_of(cell, path, again(), fetch), name)
