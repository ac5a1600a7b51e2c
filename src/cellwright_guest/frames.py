"""Data frames, Arrow tables and arrays, on the guest's side: Arrow bytes or a raw buffer, where the library is here."""

from __future__ import annotations

import importlib
import io
import sys
from typing import Any

from cellwright_guest.packer import Packer
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import type_of

KINDS = "biufcmM?"  # numpy kinds whose buffer says everything


def pack(value: Any, packer: Packer) -> Any:
    """The frame as a tree, or None when `value` is no frame."""
    kind = type_of(value)
    top = kind.__module__.partition(".")[0]
    if top == "polars" and kind.__name__ in ("DataFrame", "Series") and "polars" in sys.modules:
        return {"a": [f"polars.{kind.__name__}", packer.blob(_polars_bytes(value))]}
    if top == "pandas" and kind.__name__ in ("DataFrame", "Series"):
        return {"a": [f"pandas.{kind.__name__}", packer.blob(_arrow_bytes(_pandas_table(value)))]}
    if top == "pyarrow" and kind.__name__ in ("Table", "RecordBatch"):
        return {"a": [f"pyarrow.{kind.__name__}", packer.blob(_arrow_bytes(value))]}
    if top == "numpy" and kind.__name__ == "ndarray" and value.dtype.kind in KINDS:
        return {"a": ["numpy.ndarray", packer.blob(value.tobytes()), value.dtype.str, list(value.shape)]}
    return None


def build(body: Any, unpacker: Unpacker) -> Any:
    """The frame that a tree stands for."""
    name, number, *more = body
    data = unpacker.blob(number)
    if name == "numpy.ndarray":
        numpy = importlib.import_module("numpy")
        return numpy.frombuffer(bytearray(data), dtype=more[0]).reshape(more[1])
    if name.startswith("polars."):
        frame = importlib.import_module("polars").read_ipc_stream(io.BytesIO(data))
        return frame.to_series(0) if name.endswith("Series") else frame
    table = importlib.import_module("pyarrow").ipc.open_stream(data).read_all()
    match name:
        case "pandas.DataFrame" | "pandas.Series":
            frame = table.to_pandas()
            return frame.iloc[:, 0].rename(_unnamed(frame.columns[0])) if name.endswith("Series") else frame
        case "pyarrow.RecordBatch":
            return record_batch(table)
        case _:
            return table


def record_batch(table: Any) -> Any:
    """A table as one batch, also when it has no rows."""
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else importlib.import_module("pyarrow").RecordBatch.from_pylist([], table.schema)


NAMELESS = "__cellwright_unnamed__"


def _unnamed(name: Any) -> Any:
    return None if name == NAMELESS else name


def _polars_bytes(value: Any) -> bytes:
    polars = importlib.import_module("polars")
    sink = io.BytesIO()
    frame = value.to_frame() if type(value).__name__ == "Series" else value
    frame.write_ipc_stream(sink, compat_level=polars.CompatLevel.oldest())
    return sink.getvalue()


def _pandas_table(value: Any) -> Any:
    pyarrow = importlib.import_module("pyarrow")
    if type(value).__name__ == "Series":
        value = value.to_frame(NAMELESS if value.name is None else value.name)
    return pyarrow.Table.from_pandas(value)


def _arrow_bytes(table: Any) -> Any:
    pyarrow = importlib.import_module("pyarrow")
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write(table)
    return sink.getvalue().to_pybytes()
