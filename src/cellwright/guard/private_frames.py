"""Frames that cross as Arrow bytes, with other values in their columns, and other names of columns.

Only columns that have another value are written anew. What a guest sent is read as the door reads it: validated in
full, and uncompressed.
"""

from __future__ import annotations

import datetime as dt
import importlib
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from cellwright.errors import CannotCross
from cellwright.scope import guest_table
from cellwright_guest.packer import Packer, plain
from cellwright_guest.unpacker import Unpacker, refuse
from cellwright_guest.wire import Bounds, type_of

_OWN = b"pandas"
_SAME = object()


class ColumnTexts(Protocol):
    """Gives other values. `other` takes and gives a packed one; `kind` is what the name of its column says."""

    def kinds_of(self, names: Sequence[str]) -> Mapping[str, str]: ...
    def other(self, tree: Any, kind: str | None) -> Any: ...
    def text(self, text: str) -> str: ...


def map_frame(body: list[Any], content: Any, texts: ColumnTexts, *, of_guest: bool) -> Any:
    """The bytes of a frame with other values; the same bytes where all are as they were. `body` is its packed form."""
    if body[0] == "numpy.ndarray":
        return content  # numbers without names
    try:
        pyarrow: Any = importlib.import_module("pyarrow")
    except ImportError:
        raise CannotCross(
            f"private= looks into frames with pyarrow, and this host has none; a {body[0]} stays"
        ) from None
    if of_guest:
        try:
            table = guest_table(content)
        except CannotCross:
            return content  # the door's own reader refuses it
    else:
        table = pyarrow.ipc.open_stream(content).read_all()
    changed = _Frame(pyarrow, texts).changed(table)
    if changed is table:
        return content
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, changed.schema) as writer:
        writer.write_table(changed)
    return sink.getvalue()


class _Frame:
    def __init__(self, pyarrow: Any, texts: ColumnTexts) -> None:
        self._pyarrow = pyarrow
        self._texts = texts

    def changed(self, table: Any) -> Any:
        """The table anew; the same one where nothing in it is another."""
        kinds = self._texts.kinds_of(table.schema.names)
        fields, columns, new = list[Any](), list[Any](), set[str]()
        for at, field in enumerate(table.schema):
            column = self._column(table.column(at), kinds.get(field.name))
            known = field.metadata and self._metadata(field.metadata)
            if column is not None:
                new.add(field.name)
            columns.append(table.column(at) if column is None else column)
            made = self._pyarrow.field(self._texts.text(field.name), columns[-1].type, field.nullable, known or None)
            fields.append(made)
        metadata = table.schema.metadata and self._metadata(table.schema.metadata)
        if metadata and _OWN in metadata:
            metadata[_OWN] = self._of_pandas(metadata[_OWN], new)
        schema = self._pyarrow.schema(fields, metadata or None)
        if not new and schema.equals(table.schema, check_metadata=True):
            return table
        return self._pyarrow.Table.from_arrays(columns, schema=schema)

    def _metadata(self, known: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """What is told besides, without what has private values."""
        text = {key: value.decode("utf-8", "surrogateescape") for key, value in known.items()}
        return {key: known[key] for key in known if key == _OWN or self._texts.text(text[key]) == text[key]}

    def _of_pandas(self, known: bytes, new: set[str]) -> bytes:
        """What pandas wrote of the columns and the index, by their new names; columns with new values are texts."""
        told: dict[str, Any] = json.loads(known)
        attributes = json.dumps(told.get("attributes") or {})
        if self._texts.text(attributes) != attributes:
            told["attributes"] = {}
        renamed = False
        for one in told.get("columns", ()):
            if one.get("field_name") in new:
                one |= {"pandas_type": "unicode", "numpy_type": "object", "metadata": None}
            for key in ("name", "field_name"):
                if isinstance(one.get(key), str):
                    before, one[key] = one[key], self._texts.text(one[key])
                    renamed = renamed or one[key] != before
        index = told.get("index_columns", [])
        told["index_columns"] = [self._texts.text(one) if isinstance(one, str) else one for one in index]
        if renamed:
            for one in told.get("column_indexes", ()):
                one |= {"pandas_type": "unicode", "numpy_type": "object", "metadata": None}
        return json.dumps(told).encode() if json.loads(known) != told else known

    def _column(self, column: Any, kind: str | None) -> Any:
        """A column anew; None where nothing in it is another."""
        types = self._pyarrow.types
        if types.is_dictionary(column.type):
            return self._categories(column, kind)
        if kind is None and not _may_have_text(types, column.type):
            return None
        values: list[Any] = column.to_pylist()
        made = self._values(values, kind)
        if all(one is value for one, value in zip(made, values, strict=True)):
            return None
        return self._array(made, column.type)

    def _categories(self, column: Any, kind: str | None) -> Any:
        """Of a column that refers to its values by number: also of those that no row has."""
        chunks: list[Any] = []
        changed = False
        for chunk in column.unify_dictionaries().chunks:
            entries = self._column(self._pyarrow.chunked_array([chunk.dictionary]), kind)
            changed = changed or entries is not None
            known = chunk.dictionary if entries is None else entries.combine_chunks()
            chunks.append(self._pyarrow.DictionaryArray.from_arrays(chunk.indices, known, ordered=column.type.ordered))
        return self._pyarrow.chunked_array(chunks) if changed else None

    def _values(self, values: list[Any], kind: str | None) -> list[Any]:
        known: dict[Any, Any] = {}
        made: list[Any] = []
        for value in values:
            if value is None or type_of(value) in (list, dict, tuple):
                made.append(self._value(value, kind))
                continue
            key = type_of(value), value
            if key not in known:
                other = self._value(value, kind)
                known[key] = _SAME if other is value else other
            made.append(value if known[key] is _SAME else known[key])
        return made

    def _value(self, value: Any, kind: str | None) -> Any:
        what: Any = type_of(value)
        if value is None:
            return None
        if what in (list, tuple):
            items: list[Any] = list(value)
            kinds = [kind] * len(items)
            if what is tuple and len(items) == 2 and isinstance(items[0], str):  # of a map: a key and its value
                kinds = [None, self._texts.kinds_of([items[0]]).get(items[0]) or kind]
            made = [self._value(item, one) for item, one in zip(items, kinds, strict=True)]
            if all(one is item for one, item in zip(made, items, strict=True)):
                return value
            return tuple(made) if what is tuple else made
        if what is dict:
            known: dict[str, Any] = value
            named = self._texts.kinds_of(list(known))
            fields = {key: self._value(part, named.get(key) or kind) for key, part in known.items()}
            return known if all(fields[key] is part for key, part in known.items()) else fields
        if what is bytes:
            text = value.decode("utf-8", "surrogateescape")
            made_of = text if b"\0" in value else str(self._texts.other(text, kind))
            return value if made_of == text else made_of.encode("utf-8", "surrogateescape")
        return self._scalar(value, kind)

    def _scalar(self, value: Any, kind: str | None) -> Any:
        known: Any = value
        if isinstance(value, dt.datetime) and hasattr(value, "to_pydatetime"):  # of pandas, for nanoseconds
            known = cast("Any", value).to_pydatetime(warn=False)
        try:
            tree = Packer(plain).pack(known)
        except TypeError:  # a type of Arrow's own
            tree = str(value)
        other = self._texts.other(tree, kind)
        return value if other is tree or other == tree else Unpacker([], refuse, Bounds()).unpack(other)

    def _array(self, made: list[Any], known: Any) -> Any:
        """Of the type that it had, where that takes the values; else of theirs, or of texts."""
        alike = len({type_of(value) for value in made} - {type(None)}) < 2
        for given in [known, None] if alike else []:
            try:
                return self._pyarrow.chunked_array([self._pyarrow.array(made, type=given)])
            except (self._pyarrow.ArrowException, TypeError, ValueError, OverflowError):
                continue
        texts = [None if value is None else str(value) for value in made]
        return self._pyarrow.chunked_array([self._pyarrow.array(texts, type=self._pyarrow.string())])


def _may_have_text(types: Any, kind: Any) -> bool:
    """Whether a column may have texts, or fields with names."""
    if types.is_nested(kind):
        return True
    names = ("string", "large_string", "binary", "large_binary", "fixed_size_binary", "string_view", "binary_view")
    return any(getattr(types, f"is_{name}", _no)(kind) for name in names)


def _no(kind: Any) -> bool:
    return False
