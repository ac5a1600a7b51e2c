"""The full-text index: texts of entries in FTS5, found by words. A cache: it can be made again from the entries.

It works on a connection that has the table `texts`, with whatever lock and transaction its owner has. It knows sessions
by their numbers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from cellwright.store import queries
from cellwright.store.rows import Found
from cellwright.store.snippets import snippet_of
from cellwright.store.tables import INDEX, MAKE_INDEX
from cellwright.store.texts import Texts, parts_of

_INNER = (  # what FTS5 cannot be without, also to be removed
    f"create table if not exists {INDEX}_data (id integer primary key, block blob)",
    f"create table if not exists {INDEX}_idx (segid, term, pgno, primary key (segid, term)) without rowid",
    f"create table if not exists {INDEX}_content (id integer primary key, c0, c1)",
    f"create table if not exists {INDEX}_docsize (id integer primary key, sz blob)",
    f"create table if not exists {INDEX}_config (k primary key, v) without rowid",
    f"insert or replace into {INDEX}_config values ('version', 4)",
    f"delete from {INDEX}_data",
    f"insert into {INDEX}_data values (1, x''), (10, x'00000000000000')",  # as of an index without a text
)
_ROW = (
    "select t.n, t.session, t.entry, t.kind, t.cell, t.at, "
    f"highlight({INDEX}, 0, char(2), char(3)), f.rank "  # not `snippet`: its time is the square of what matched
    f"from {INDEX} f cross join texts t on t.n = f.rowid where {INDEX} match ?"
)
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT)
Reached = Mapping[int, int | None]  # sessions, each up to an entry or whole


class Hit(NamedTuple):
    """A text that was found: the lower the rank the better."""

    n: int
    session: int
    entry: int
    kind: Any
    cell: int
    at: float
    snippet: str
    rank: float


class Index:
    """The texts of one file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @property
    def is_there(self) -> bool:
        sql = "select 1 from sqlite_master where name = ? and sql = ?"
        return self._connection.execute(sql, (INDEX, MAKE_INDEX)).fetchone() is not None

    def make(self) -> None:
        """Make it, empty, whatever was there."""
        self._drop()
        self._connection.execute("delete from texts")
        self._connection.execute(MAKE_INDEX)

    def _drop(self) -> None:
        try:
            self._connection.execute(f"drop table if exists {INDEX}")
        except sqlite3.DatabaseError:
            for statement in _INNER:
                with suppress(sqlite3.DatabaseError):  # what cannot be mended shows when it is dropped
                    self._connection.execute(statement)
            self._connection.execute(f"drop table {INDEX}")

    def put(self, session: int, texts: Texts, entry: int, at: float) -> None:
        """In the place of what an earlier entry of the same source had. A text that is the same stays that entry's."""
        known = {kind: (n, text) for n, kind, text in self._known(session, texts.source)}
        for kind, (n, text) in known.items():
            if texts.by_kind.get(kind) != text:
                self._connection.execute(f"delete from {INDEX} where rowid = ?", (n,))
                self._connection.execute("delete from texts where n = ?", (n,))
        for kind, text in texts.by_kind.items():
            if (kind in known and known[kind][1] == text) or self._is_said(session, texts.source, kind, text):
                continue
            cell = texts.cell if -(1 << 63) <= texts.cell < 1 << 63 else 0
            sql = "insert into texts (session, source, kind, entry, cell, at) values (?, ?, ?, ?, ?, ?)"
            n = self._connection.execute(sql, (session, texts.source, kind, entry, cell, at)).lastrowid
            sql = f"insert into {INDEX} (rowid, text, parts) values (?, ?, ?)"
            self._connection.execute(sql, (n, text, parts_of(text)))

    def _known(self, session: int, source: str) -> list[tuple[int, str, str]]:
        sql = (
            f"select t.n, t.kind, f.text from texts t cross join {INDEX} f on f.rowid = t.n "
            "where t.session = ? and t.source = ?"
        )
        return self._connection.execute(sql, (session, source)).fetchall()

    def _is_said(self, session: int, source: str, kind: str, text: str) -> bool:
        """Whether the answer of a turn is the reply that the index has of the model already."""
        if kind != "reply" or not source.startswith("turn "):
            return False
        sql = (
            f"select f.text from texts t cross join {INDEX} f on f.rowid = t.n "
            "where t.n = (select max(n) from texts where session = ? and kind = 'reply')"
        )
        return self._connection.execute(sql, (session,)).fetchone() == (text,)

    def forget(self, session: int) -> int:
        """How many texts there were of it."""
        if self.is_there:
            sql = f"delete from {INDEX} where rowid in (select n from texts where session = ?)"
            try:
                self._connection.execute(sql, (session,))
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                self._drop()  # whoever searches next makes it again
        return self._connection.execute("delete from texts where session = ?", (session,)).rowcount

    def find(self, query: str, within: Reached | None, kinds: Sequence[str], limit: int) -> list[Hit]:
        """The best first: with all the words, or else with any."""
        terms = queries.terms(query)
        if not terms or limit <= 0:
            return []
        bounds, values = _bounds(within, kinds)
        sql = f"{_ROW}{bounds} order by f.rank limit ?"
        for match in dict.fromkeys((queries.every(terms), queries.any_of(terms))):
            found = self._connection.execute(sql, (match, *values, min(limit, 1 << 31))).fetchall()
            if found:
                hits = (Hit(*hit) for hit in found)
                return [hit._replace(snippet=snippet_of(hit.snippet, queries.words(query))) for hit in hits]
        return []


def is_damage(error: BaseException | None) -> bool:
    """Whether that is an index which must be made again."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _DAMAGE


def found_of(hit: Hit, session: str) -> Found:
    return Found(
        session=session,
        entry=hit.entry,
        kind=hit.kind,
        snippet=hit.snippet,
        score=-hit.rank,
        cell=hit.cell,
        at=hit.at,
    )


def _bounds(within: Reached | None, kinds: Sequence[str]) -> tuple[str, list[Any]]:
    """Numbers are written out: there may be more of them than SQLite takes parameters."""
    terms, values = "", list[Any]()
    if kinds:
        terms += f" and t.kind in ({', '.join('?' * len(kinds))})"
        values += kinds
    if within is not None:
        whole = ", ".join(str(session) for session, upto in within.items() if upto is None)
        parts = [f"(t.session = {one} and t.entry <= {upto})" for one, upto in within.items() if upto is not None]
        some = ", ".join(str(session) for session, upto in within.items() if upto is not None)
        # Asked first, which takes no time: most of what is found may be of sessions that are not meant.
        terms += f" and (t.session in ({whole}) or (t.session in ({some}) and {_any(parts)}))"
    return terms, values


def _any(parts: Sequence[str]) -> str:
    """In halves: SQLite bounds how deep a condition may be."""
    if len(parts) < 2:
        return parts[0] if parts else "0"
    half = len(parts) // 2
    return f"({_any(parts[:half])} or {_any(parts[half:])})"
