"""Data frames, Arrow tables and arrays on the host's side: Arrow bytes or a raw buffer, where both sides have the library.

Bytes of a guest are read by pyarrow alone, and validated in full before anything else sees them.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

from toolwright.errors import CannotCross
from toolwright_guest import frames as same
from toolwright_guest.wire import Packer, Unpacker, WireError

LIBRARIES = ("numpy", "pandas", "polars", "pyarrow")
_NEEDS = {"pandas": {"pandas", "pyarrow"}, "polars": {"polars"}, "pyarrow": {"pyarrow"}, "numpy": {"numpy"}}
_TYPES = {"DataFrame", "Series", "Table", "RecordBatch", "ndarray"}


def pack(value: Any, packer: Packer, guest_has: frozenset[str]) -> Any:
    """The frame as a tree; None when `value` is no frame, or must go by handle because the guest cannot read it."""
    kind = type(value)
    top = kind.__module__.partition(".")[0]
    if top not in _NEEDS or kind.__name__ not in _TYPES or not _NEEDS[top] <= guest_has:
        return None
    try:
        return same.pack(value, packer)
    except Exception:  # pyarrow raises its own kinds for columns that Arrow has no type for: such a frame goes by handle
        return None


def build(body: Any, unpacker: Unpacker) -> Any:
    """The frame that a guest sent."""
    if type(body) is not list or len(body) < 2 or type(body[0]) is not str:
        raise WireError("a frame without its parts")
    name, number, *more = body
    data = unpacker.blob(number)
    if name == "numpy.ndarray":
        return _array(data, more)
    if name not in ("pandas.DataFrame", "pandas.Series", "polars.DataFrame", "polars.Series") and name not in (
        "pyarrow.Table",
        "pyarrow.RecordBatch",
    ):
        raise WireError("a frame of no known kind")
    table = _table(data)
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


def _table(data: Any) -> Any:
    pyarrow = _library("pyarrow")
    try:
        table = pyarrow.ipc.open_stream(data).read_all()
        table.validate(full=True)
    except (pyarrow.ArrowException, ValueError, OSError) as error:
        raise WireError(f"Arrow bytes that are none ({type(error).__name__})") from None
    for field in table.schema:
        if field.metadata and any(key.startswith(b"ARROW:extension") for key in field.metadata):
            raise WireError("Arrow extension types stay in the guest")
    return table


def _array(data: Any, more: list[Any]) -> Any:
    if len(more) != 2 or type(more[0]) is not str or len(more[0]) > 20 or more[0][1:2] not in same.KINDS:
        raise WireError("an array without its type")
    shape = more[1]
    if type(shape) is not list or len(shape) > 32 or not all(type(n) is int and n >= 0 for n in shape):
        raise WireError("an array without its shape")
    numpy = _library("numpy")
    try:
        dtype = numpy.dtype(more[0])
        if dtype.hasobject or dtype.itemsize * math.prod(shape) != len(data):
            raise WireError("an array whose bytes do not fit its shape")
        return numpy.frombuffer(bytearray(data), dtype=dtype).reshape(shape)
    except (TypeError, ValueError) as error:
        raise WireError(f"an array that is none ({type(error).__name__})") from None


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise CannotCross(
            f"this host has no {name}, so the value stays in the guest; send plain lists or dicts instead"
        ) from None
