"""Data frames, Arrow tables and arrays on the host's side: Arrow bytes or a buffer, where both sides have the library.

Only pyarrow reads the bytes of a guest, and validates them in full before anything else sees them. Data that is small
as bytes and large in memory (compressed buffers, columns of zero width, views that share one text) does not cross.
"""

from __future__ import annotations

import importlib
import math
import struct
from typing import Any

from cellwright.errors import CannotCross
from cellwright_guest import frames as same
from cellwright_guest.packer import Packer, TooLarge
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import WireError, type_of

_NEEDS = {"pandas": {"pandas", "pyarrow"}, "polars": {"polars"}, "pyarrow": {"pyarrow"}, "numpy": {"numpy"}}
_TYPES = {"DataFrame", "Series", "Table", "RecordBatch", "ndarray"}
_FRAMES = {f"{library}.{kind}" for library in ("pandas", "polars") for kind in ("DataFrame", "Series")} | {
    "pyarrow.Table",
    "pyarrow.RecordBatch",
}
CELLS = 100_000_000


def pack(value: Any, packer: Packer, guest_has: frozenset[str]) -> Any:
    """The frame as a tree; None if `value` is no frame, or goes by handle because the guest cannot read it."""
    kind = type_of(value)
    top = kind.__module__.partition(".")[0]
    if top not in _NEEDS or kind.__name__ not in _TYPES or not _NEEDS[top] <= guest_has:
        return None
    packer.require_room(_bytes_of(value))
    try:
        return same.pack(value, packer)
    except TooLarge:
        raise
    except Exception:  # pyarrow raises errors of its own for a column that Arrow has no type for: it goes by handle
        return None


def _bytes_of(value: Any) -> int:
    """About what its columns take, without the texts that they refer to."""
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    return int(value.estimated_size() if hasattr(value, "estimated_size") else value.memory_usage().sum())


def build(body: Any, unpacker: Unpacker, guest_has: frozenset[str]) -> Any:
    """The frame that a guest sent."""
    if type_of(body) is not list or len(body) < 2 or type(body[0]) is not str:
        raise WireError("a frame without its parts")
    name, number, *more = body
    if not _NEEDS.get(name.partition(".")[0], {""}) <= guest_has:
        raise WireError("a frame of a library that this guest does not have")
    data = unpacker.blob(number)
    if name == "numpy.ndarray":
        return _array(data, more)
    if name not in _FRAMES:
        raise WireError("a frame of no known kind")
    table = guest_table(data)
    library, _, shape = name.partition(".")
    if library == "pyarrow":
        return same.record_batch(table) if shape == "RecordBatch" else table
    module = _library(library)
    if library == "polars":
        frame = module.from_arrow(table)
        return frame.to_series(0) if shape == "Series" else frame
    frame = table.to_pandas()
    if shape == "DataFrame":
        return frame
    name_of = frame.columns[0]
    return frame.iloc[:, 0].rename(None if name_of == same.NAMELESS else name_of)


def guest_table(data: Any) -> Any:
    """The table in bytes of a guest, once nothing in them can harm who reads it."""
    pyarrow = _library("pyarrow")
    try:
        if any(_is_compressed(message) for message in pyarrow.ipc.MessageReader.open_stream(data)):
            raise CannotCross("compressed Arrow data stays in the guest; write it uncompressed")
        table = pyarrow.ipc.open_stream(data).read_all()
        table.validate(full=True)
    except (pyarrow.ArrowException, ValueError, OSError, struct.error) as error:
        raise WireError(f"bytes that are not Arrow data ({type(error).__name__})") from None
    if table.num_rows * max(table.num_columns, 1) > CELLS:
        raise CannotCross(f"a frame of more than {CELLS} cells stays in the guest")
    for field in table.schema:
        if not (pyarrow.types.is_null(field.type) or _takes_its_bytes(field.type, pyarrow.types)):
            raise CannotCross(f"a column of the type {str(field.type)[:80]} stays in the guest; convert it first")
    for field in table.schema:
        if field.metadata and any(key.startswith(b"ARROW:extension") for key in field.metadata):
            raise WireError("Arrow extension types stay in the guest")
    return table


def _is_compressed(message: Any) -> bool:
    """Whether the buffers of a record batch are compressed, read from the message's flatbuffer."""
    if message.type not in ("record batch", "dictionary"):
        return False
    raw = message.metadata.to_pybytes()
    batch = _table_at(raw, struct.unpack_from("<I", raw, 0)[0], 2)
    if message.type == "dictionary" and batch:
        batch = _table_at(raw, batch, 1)
    return bool(batch and _table_at(raw, batch, 3))


def _table_at(raw: bytes, table: int, field: int) -> int:
    """The offset of the table that is a field of another; 0 if the field is absent."""
    vtable = table - struct.unpack_from("<i", raw, table)[0]
    slot = 4 + 2 * field
    if slot + 2 > struct.unpack_from("<H", raw, vtable)[0]:
        return 0
    offset = struct.unpack_from("<H", raw, vtable + slot)[0]
    return table + offset + struct.unpack_from("<I", raw, table + offset)[0] if offset else 0


def _takes_its_bytes(kind: Any, types: Any) -> bool:
    """Whether every value of an Arrow type takes bytes in the message itself."""
    if hasattr(kind, "storage_type"):
        return _takes_its_bytes(kind.storage_type, types)
    if types.is_dictionary(kind):
        return _takes_its_bytes(kind.value_type, types)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind) or types.is_struct(kind):
        return kind.num_fields > 0 and all(_takes_its_bytes(kind.field(i).type, types) for i in range(kind.num_fields))
    if types.is_fixed_size_list(kind):
        return kind.list_size > 0 and _takes_its_bytes(kind.value_type, types)
    if types.is_fixed_size_binary(kind):
        return kind.byte_width > 0
    texts = types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind)
    return texts or types.is_primitive(kind) or types.is_decimal(kind)


def _array(data: Any, more: list[Any]) -> Any:
    if len(more) != 2 or type(more[0]) is not str or len(more[0]) > 20 or more[0][1:2] not in same.KINDS:
        raise WireError("an array without its type")
    shape = more[1]
    if type_of(shape) is not list or len(shape) > 32 or not all(type(n) is int and n >= 0 for n in shape):
        raise WireError("an array without its shape")
    numpy = _library("numpy")
    try:
        dtype = numpy.dtype(more[0])
        if dtype.hasobject or dtype.kind not in same.KINDS or dtype.itemsize * math.prod(shape) != len(data):
            raise WireError("an array whose bytes do not fit its shape")
        return numpy.frombuffer(bytearray(data), dtype=dtype).reshape(shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise WireError(f"bytes that are not an array ({type(error).__name__})") from None


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise CannotCross(
            f"this host has no {name}, so the value stays in the guest; send plain lists or dicts instead"
        ) from None
