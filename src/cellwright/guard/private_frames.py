"""The columns of a frame that crosses as Arrow bytes, each given to a function that gives other values.

Only columns of texts, and those that become texts, are written anew.
"""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Callable
from typing import Any, cast

from cellwright.errors import CannotCross
from cellwright_guest.wire import type_of

MapColumn = Callable[[str, list[Any], bool], list[Any]]
"""Other values for those of a column, by its name; the last argument says whether they are texts."""


def map_frame(body: list[Any], content: Any, changes: Callable[[tuple[str, ...]], MapColumn]) -> Any:
    """The bytes of a frame with its columns changed; the same bytes where none is. `body` is its packed form, `changes`
    gives what changes columns of these names.
    """
    if body[0] == "numpy.ndarray":
        return content  # numbers without names
    try:
        pyarrow: Any = importlib.import_module("pyarrow")
    except ImportError:
        raise CannotCross(
            f"private= looks into frames with pyarrow, and this host has none; a {body[0]} stays"
        ) from None
    try:
        table = pyarrow.ipc.open_stream(content).read_all()
    except (pyarrow.ArrowException, ValueError, OSError):
        return content  # not Arrow: the next reader says so
    changed: set[str] = set()
    change = changes(tuple(table.schema.names))
    for at, field in enumerate(table.schema):
        column = _changed(pyarrow, field, table.column(at), change)
        if column is not None:
            table = table.set_column(at, field.name, column)
            changed.add(field.name)
    if not changed:
        return content
    table = table.replace_schema_metadata(_metadata(table.schema.metadata, changed))
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _metadata(known: dict[bytes, bytes] | None, changed: set[str]) -> dict[bytes, bytes] | None:
    """What pandas wrote of the columns, without the types of those that have another type now."""
    if known is None or b"pandas" not in known:
        return known
    told = json.loads(known[b"pandas"])
    told["columns"] = [one for one in told.get("columns", ()) if one.get("field_name") not in changed]
    return known | {b"pandas": json.dumps(told).encode()}


def _changed(pyarrow: Any, field: Any, column: Any, change: MapColumn) -> Any:
    """The column anew; None where nothing in it is changed."""
    values: list[Any] = column.to_pylist()
    sample = next((value for value in values if value is not None), None)
    if sample is None:
        return None
    if isinstance(sample, list | dict):
        return None if (made := _nested(field.name, values, change)) == values else pyarrow.array(made)
    if not isinstance(sample, str | int | float):
        values = [None if value is None else str(value) for value in values]
    made = change(field.name, values, isinstance(sample, str))
    if made is values or made == values:
        return None
    alike = len(set(map(type_of, made)) - {type(None)}) == 1
    return pyarrow.array(made if alike else [None if value is None else str(value) for value in made])


def _nested(name: str, values: list[Any], change: MapColumn) -> list[Any]:
    """Lists and structs, each text in them."""

    def part(key: str, value: Any) -> Any:
        match value:
            case list():
                return [part(key, item) for item in cast("list[Any]", value)]
            case dict():
                return {inner: part(inner, item) for inner, item in cast("dict[str, Any]", value).items()}
            case str() | int() | float():
                return change(key, [value], isinstance(value, str))[0]
            case _:
                return value

    return [part(name, value) for value in values]
