"""The full-text index in FTS5. A cache: it can be made again from the entries.

It works on a connection that has the tables, under the lock and in the transaction of its owner.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from cellwright.store.entry_texts import EntryTexts, parts_of
from cellwright.store.queries import MOST, terms_of, words_of
from cellwright.store.rows import EntryHit
from cellwright.store.snippets import snippet_of
from cellwright.store.sqlite_database import restored
from cellwright.store.sqlite_schema import INDEX, MAKE_INDEX

_INNER = (  # the tables that FTS5 needs even to be dropped
    f"create table if not exists {INDEX}_data (id integer primary key, block blob)",
    f"create table if not exists {INDEX}_idx (segid, term, pgno, primary key (segid, term)) without rowid",
    f"create table if not exists {INDEX}_content (id integer primary key, c0, c1)",
    f"create table if not exists {INDEX}_docsize (id integer primary key, sz blob)",
    f"create table if not exists {INDEX}_config (k primary key, v) without rowid",
    f"insert or replace into {INDEX}_config values ('version', 4)",
    f"delete from {INDEX}_data",
    f"insert into {INDEX}_data values (1, x''), (10, x'00000000000000')",  # as in an index without a text
)
_ROW = (
    "select s.id, t.entry, t.kind, t.cell, t.at, "
    f"highlight({INDEX}, 0, char(2), char(3)), f.rank "  # not `snippet`: its time grows with the square of the matches
    f"from {INDEX} f cross join texts t on t.n = f.rowid cross join sessions s on s.n = t.session "
    f"where {INDEX} match ?"
)
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT)
Reached = Mapping[int, int | None]  # sessions, each up to an entry or as a whole


class TextIndex:
    """The texts of one file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @property
    def is_there(self) -> bool:
        sql = "select 1 from sqlite_master where name = ? and sql = ?"
        return self._connection.execute(sql, (INDEX, MAKE_INDEX)).fetchone() is not None

    def make(self) -> None:
        """Make an empty index instead of what was there."""
        self._drop()
        self._connection.execute("delete from texts")
        self._connection.execute(MAKE_INDEX)

    def _drop(self) -> None:
        try:
            self._connection.execute(f"drop table if exists {INDEX}")
        except sqlite3.DatabaseError:
            for statement in _INNER:
                with suppress(sqlite3.DatabaseError):  # what cannot be repaired fails below, in `drop table`
                    self._connection.execute(statement)
            self._connection.execute(f"drop table {INDEX}")

    def put(self, session: int, texts: EntryTexts, entry: int, at: float) -> None:
        """Replace the texts of an earlier entry of the same source. A text that is the same stays with that entry."""
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
        """Whether the answer of a turn is the model's last reply, which is indexed already."""
        if kind != "reply" or not source.startswith("turn "):
            return False
        sql = (
            f"select f.text from texts t cross join {INDEX} f on f.rowid = t.n "
            "where t.n = (select max(n) from texts where session = ? and kind = 'reply')"
        )
        return self._connection.execute(sql, (session,)).fetchone() == (text,)

    def forget(self, session: int) -> int:
        """Remove the texts of a session; gives how many there were."""
        if self.is_there:
            sql = f"delete from {INDEX} where rowid in (select n from texts where session = ?)"
            try:
                self._connection.execute(sql, (session,))
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                self._drop()  # the next search makes it again
        return self._connection.execute("delete from texts where session = ?", (session,)).rowcount

    def find(self, query: str, within: Reached | None, kinds: Sequence[str], limit: int) -> list[EntryHit]:
        """The best first: with all of the words, or else with any of them."""
        phrases = _phrases(query)
        if not phrases or limit <= 0:
            return []
        bounds, values = _bounds(within, kinds)
        sql = f"{_ROW}{bounds} order by f.rank limit ?"
        for match in dict.fromkeys((" AND ".join(phrases), " OR ".join(phrases))):
            found = self._connection.execute(sql, (match, *values, min(limit, 1 << 31))).fetchall()
            if found:
                words = words_of(query)
                return [
                    EntryHit(
                        session=restored(id),
                        entry=entry,
                        kind=kind,
                        snippet=snippet_of(text, words),
                        score=-rank,
                        cell=cell,
                        at=at,
                    )
                    for id, entry, kind, cell, at, text, rank in found
                ]
        return []


def _phrases(query: str) -> list[str]:
    """The terms of a query as FTS5 phrases. No letter of the query is FTS5's own syntax."""
    phrases: list[str] = []
    for term, is_beginning in terms_of(query):
        text = term.replace('"', " ").replace("\0", " ")
        phrases.append(f'"{text.rstrip("*")}"*' if is_beginning else f'"{text}"')
    return list(dict.fromkeys(phrases))[:MOST]


def is_damage(error: BaseException | None) -> bool:
    """Whether an error means that the index is damaged, and must be made again."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _DAMAGE


def _bounds(within: Reached | None, kinds: Sequence[str]) -> tuple[str, list[Any]]:
    """SQL and values. Numbers are written out: there may be more than SQLite takes as parameters."""
    terms, values = "", list[Any]()
    if kinds:
        terms += f" and t.kind in ({', '.join('?' * len(kinds))})"
        values += kinds
    if within is not None:
        whole = ", ".join(str(session) for session, upto in within.items() if upto is None)
        parts = [f"(t.session = {one} and t.entry <= {upto})" for one, upto in within.items() if upto is not None]
        some = ", ".join(str(session) for session, upto in within.items() if upto is not None)
        # The session is compared first, which is quick: most matches may be of sessions outside of the bounds.
        terms += f" and (t.session in ({whole}) or (t.session in ({some}) and {_any(parts)}))"
    return terms, values


def _any(parts: Sequence[str]) -> str:
    """One condition of many, as a balanced tree: SQLite limits how deep a condition may be."""
    if len(parts) < 2:
        return parts[0] if parts else "0"
    half = len(parts) // 2
    return f"({_any(parts[:half])} or {_any(parts[half:])})"
