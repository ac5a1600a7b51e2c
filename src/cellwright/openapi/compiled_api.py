"""`CompiledApi`: a compiled description in one SQLite file, written once under a name of its content, read in parts.

It knows how the parts are kept, and not how they are made.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from cellwright.atomic import replacing
from cellwright.errors import UpstreamGone
from cellwright.openapi.operation_plan import Api, OperationPlan, SkippedPart
from cellwright.schemas import RecordPlan
from cellwright.scope import Declaration, Parameter, Shape, Signature, UpstreamOperation

APPLICATION = 0x746F6170  # "toap": of a file of this kind, in its header
_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE operations (
    number INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, parameters TEXT NOT NULL, gives TEXT NOT NULL,
    doc TEXT NOT NULL, reads INTEGER NOT NULL, idempotent INTEGER NOT NULL,
    destructive INTEGER NOT NULL, words TEXT NOT NULL);
CREATE TABLE plans (path TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE below (parent TEXT NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, about TEXT NOT NULL,
    PRIMARY KEY (parent, number)) WITHOUT ROWID;
CREATE TABLE shapes (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, value TEXT NOT NULL);
CREATE TABLE records (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE methods (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE schemas (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE skipped (number INTEGER PRIMARY KEY, place TEXT NOT NULL, reason TEXT NOT NULL);
"""
_OPERATION = "path, parameters, gives, doc, reads, idempotent, destructive, words"
_BATCH = 500  # operations that are read at a time


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiParts:
    """All that is kept of a description."""

    api: Api
    operations: list[tuple[UpstreamOperation, OperationPlan]]
    abouts: Mapping[str, str]  # of namespaces
    shapes: Mapping[str, Shape]
    records: Mapping[str, RecordPlan]
    methods: Mapping[str, Mapping[str, Any]]
    schemas: Mapping[str, Any]
    skipped: Iterable[SkippedPart]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


class CompiledApi:
    """What a compiled description offers: `scope.Surface`, how each operation is called, how results are read.

    It reads from its file what is asked for, and nothing else. Any thread may ask: the one connection has a lock.
    """

    def __init__(self, connection: sqlite3.Connection, key: str) -> None:
        self.key = key
        self._connection = connection
        self._closed = False
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path, key: str) -> CompiledApi | None:
        """A file that was written; None where it is not there, is damaged, or is of another kind."""
        if not _is_whole(path):
            return None
        try:
            connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        except sqlite3.Error:
            return None
        try:
            kind = connection.execute("PRAGMA application_id").fetchone()[0]
            kept = connection.execute("SELECT value FROM facts WHERE name = 'key'").fetchone()
            whole = connection.execute("SELECT value FROM facts WHERE name = 'whole'").fetchone()
        except sqlite3.Error:
            connection.close()
            return None
        if kind != APPLICATION or whole is None or kept != (key,):
            connection.close()
            return None
        return cls(connection, key)

    @classmethod
    def write(cls, path: Path | None, key: str, parts: ApiParts) -> CompiledApi:
        """Write the parts under this name, or in memory, and open them. Readers see the whole file or none."""
        if path is None:
            connection = sqlite3.connect(":memory:", check_same_thread=False)
            _fill(connection, key, parts)
            return cls(connection, key)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with replacing(path) as draft, closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            _fill(connection, key, parts)
        opened = cls.open(path, key)
        assert opened is not None
        return opened

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._connection.close()

    def __del__(self) -> None:
        self._connection.close()  # a file that nobody holds any more

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        with self._lock:
            if self._closed:
                raise UpstreamGone("this API is closed; close it after the Runtime that it is bound in")
            return self._connection.execute(statement, values).fetchall()

    def _row(self, statement: str, *values: Any) -> Any:
        return next(iter(self._rows(statement, *values)), None)

    def _value(self, table: str, column: str, name: str) -> Any:
        found = self._row(f"SELECT value FROM {table} WHERE {column} = ?", name)
        return None if found is None else json.loads(found[0])

    @cached_property
    def api(self) -> Api:
        return Api.from_plain(self._value("facts", "name", "api"))

    @property
    def skipped(self) -> tuple[SkippedPart, ...]:
        """The parts of the description that could not be taken, or only in part."""
        rows = self._rows("SELECT place, reason FROM skipped ORDER BY number")
        return tuple(SkippedPart(where=where, reason=reason) for where, reason in rows)

    def __len__(self) -> int:
        """How many operations it has."""
        return self._row("SELECT count(*) FROM operations")[0]

    def listed(self) -> Iterator[UpstreamOperation]:
        last = -1
        query = f"SELECT number, {_OPERATION} FROM operations WHERE number > ? ORDER BY number LIMIT {_BATCH}"
        while rows := self._rows(query, last):
            last = rows[-1][0]
            yield from (_operation(*row[1:]) for row in rows)

    def find(self, path: str) -> UpstreamOperation | None:
        row = self._row(f"SELECT {_OPERATION} FROM operations WHERE path = ?", path)
        return None if row is None else _operation(*row)

    def plan(self, path: str) -> OperationPlan | None:
        """How the operation at a path of the surface is called."""
        found = self._value("plans", "path", path)
        return None if found is None else OperationPlan.from_plain(found)

    def below(self, path: str) -> tuple[str, ...]:
        return tuple(name for (name,) in self._rows("SELECT name FROM below WHERE parent = ? ORDER BY number", path))

    def about(self, path: str) -> str:
        parent, _, name = path.rpartition(".")
        found = self._row("SELECT about FROM below WHERE parent = ? AND name = ?", parent, name)
        return "" if found is None else found[0]

    def shape(self, name: str) -> Shape | None:
        found = self._value("shapes", "name", name)
        return None if found is None else _shape(found)

    def shapes(self) -> Iterator[str]:
        return (name for (name,) in self._rows("SELECT name FROM shapes ORDER BY number"))

    def record(self, name: str) -> RecordPlan | None:
        found = self._value("records", "name", name)
        return None if found is None else RecordPlan.from_plain(found)

    def methods(self, name: str) -> dict[str, Any]:
        """The methods of a record: {method: {"path": of the operation, "fill": {argument: source}}}.

        A source is ["field", key, key …], a value of the record, or ["via", name], an argument of the call that gave
        the record.
        """
        return self._value("methods", "name", name) or {}

    def resolve(self, ref: str, base: str = "") -> tuple[str, Any, str]:
        """`schemas.Resolve` for the schemas of plans: a `$ref` there is the name of the schema, whatever the base."""
        row = self._row("SELECT value FROM schemas WHERE name = ?", ref)
        if row is None:
            raise LookupError(f"no schema {ref}")
        return ref, json.loads(row[0]), ""


def _is_whole(path: Path) -> bool:
    """Whether a file is there and as long as its header says: one that was cut off is not noticed before it is read."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
        size = path.stat().st_size
    except OSError:
        return False
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
        return False
    page = int.from_bytes(header[16:18]) or 1
    return size == (65536 if page == 1 else page) * int.from_bytes(header[28:32])


def _operation(
    path: str, parameters: str, gives: str, doc: str, reads: int, idempotent: int, destructive: int, words: str
) -> UpstreamOperation:
    line = _method(path.rpartition(".")[2], json.loads(parameters), gives, doc)
    return UpstreamOperation(
        path=path,
        line=line,
        reads=bool(reads),
        idempotent=bool(idempotent),
        destructive=bool(destructive),
        words=words,
    )


def _fill(connection: sqlite3.Connection, key: str, parts: ApiParts) -> None:
    for pragma in (f"application_id = {APPLICATION}", "journal_mode = OFF", "synchronous = OFF"):
        connection.execute(f"PRAGMA {pragma}")
    connection.executescript(_TABLES)
    connection.execute("BEGIN")
    many = connection.executemany
    many("INSERT INTO operations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", _operation_rows(parts.operations))
    many("INSERT INTO plans VALUES (?, ?)", ((plan.path, _json(plan.to_plain())) for _, plan in parts.operations))
    many("INSERT INTO below VALUES (?, ?, ?, ?)", _below_rows(parts))
    many(
        "INSERT INTO shapes VALUES (?, ?, ?)",
        ((number, name, _json(_plain_shape(shape))) for number, (name, shape) in enumerate(parts.shapes.items())),
    )
    many(
        "INSERT INTO records VALUES (?, ?)",
        ((n, _json({f.name: getattr(r, f.name) for f in fields(r)})) for n, r in parts.records.items()),
    )
    many("INSERT INTO methods VALUES (?, ?)", ((name, _json(one)) for name, one in parts.methods.items()))
    many("INSERT INTO schemas VALUES (?, ?)", ((name, _json(one)) for name, one in parts.schemas.items()))
    many("INSERT INTO skipped (place, reason) VALUES (?, ?)", ((one.where, one.reason) for one in parts.skipped))
    facts = {"key": key, "api": _json(parts.api.to_plain()), "whole": "yes"}
    many("INSERT INTO facts VALUES (?, ?)", facts.items())
    connection.execute("COMMIT")


def _operation_rows(operations: list[tuple[UpstreamOperation, OperationPlan]]) -> Iterable[tuple[Any, ...]]:
    for number, (one, _) in enumerate(operations):
        line = one.line
        told = (_json(_plain_parameters(line)), line.gives, line.doc)
        yield number, one.path, *told, one.reads, one.idempotent, one.destructive, one.words


def _below_rows(parts: ApiParts) -> list[tuple[str, int, str, str]]:
    """Each name right below a namespace, in the order in which the description comes to it."""
    found: dict[tuple[str, str], None] = {}
    for one, _ in parts.operations:
        path = one.path
        while path:
            parent, _, name = path.rpartition(".")
            found.setdefault((parent, name))
            path = parent
    return [
        (parent, number, name, parts.abouts.get(f"{parent}.{name}" if parent else name, ""))
        for number, (parent, name) in enumerate(found)
    ]


def _plain_shape(shape: Shape) -> list[Any]:
    return [shape.name, shape.kind, shape.doc, [_plain_line(line) for line in shape.lines], list(shape.bases)]


def _plain_line(line: Declaration) -> list[Any]:
    return [line.name, _plain_parameters(line) if line.callable else None, line.gives, line.doc]


def _plain_parameters(line: Declaration) -> list[Any]:
    return [[one.name, one.type, one.default, one.kind] for one in line.parameters]


def _shape(found: list[Any]) -> Shape:
    name, kind, doc, lines, bases = found
    made = tuple(
        Declaration(name=own, type=gives, doc=told) if taken is None else _method(own, taken, gives, told)
        for own, taken, gives, told in lines
    )
    return Shape(name=name, kind=kind, doc=doc, lines=made, bases=tuple(bases))


def _method(name: str, parameters: list[Any], gives: str, doc: str) -> Declaration:
    taken = tuple(Parameter(name=own, type=of, default=default, kind=kind) for own, of, default, kind in parameters)
    return Declaration(name=name, signatures=(Signature(parameters=taken, returns=gives),), first="self", doc=doc)
