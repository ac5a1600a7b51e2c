"""The tables of each version of a file, and the steps from one version to the next.

A step is a statement, or a function that does what no statement can. What rows mean is `encoding`'s business.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cellwright.store.encoding import storable
from cellwright.store.rows import CellRow
from cellwright.store.standing import Standing, after

NUMBER_BITS = 32  # an entry's key is its session's number and its own, in one integer: one tree, and no index beside it
Step = str | Callable[[sqlite3.Connection], None]

# Version 1. `session` is `sessions.n`, which is never used twice. `epochs` has one row: claims are counted for the
# whole file, so that no claim of a session that was forgotten fits one that has its name later.
FIRST: tuple[Step, ...] = (
    "create table epochs (last integer not null)",
    "insert into epochs values (0)",
    "create table sessions (n integer primary key autoincrement, epoch integer not null, id not null unique, parent, "
    "body not null)",
    "create index forks on sessions (parent)",
    "create table calls (session integer not null, cell not null, path not null, seq integer not null, body not null, "
    "primary key (session, cell, path)) without rowid",
    "create table cells (session integer not null, number not null, body not null, "
    "primary key (session, number)) without rowid",
    "create table checkpoints (session integer not null, cell not null, body not null, "
    "primary key (session, cell)) without rowid",
    "create table blobs (n integer primary key, digest text not null unique, content blob not null)",
    "create table uses (session integer not null, digest text not null, primary key (session, digest)) without rowid",
    "create index users on uses (digest)",
)


def _sessions_again(connection: sqlite3.Connection) -> None:
    """Each session with what a list shows of it, and its cells and calls as entries."""
    for n, epoch, id, parent, body in connection.execute("select * from sessions_1 order by n").fetchall():
        facts = _loads(body)
        created = _time(facts, "created", 0.0)
        connection.execute(
            "insert into sessions (n, epoch, id, parent, parent_cell, created, updated) values (?, ?, ?, ?, ?, ?, ?)",
            (n, epoch, id, parent, storable(_of(facts, "parent_cell", (int,), 0)), created, created),
        )
        connection.execute("insert into facts values (?, ?)", (n, body))
        _entries_of(connection, n, created)
    # Numbers of sessions that were forgotten are not given again.
    connection.execute(
        "update sqlite_sequence set seq = (select seq from sqlite_sequence where name = 'sessions_1') "
        "where name = 'sessions'"
    )


def _entries_of(connection: sqlite3.Connection, n: int, created: float) -> None:
    standing, at, count, top, early = Standing(), created, 0, 0, 0
    for count, (kind, cell, path, body) in enumerate(_in_order(connection, n), 1):
        if kind == "cell":
            fields = _loads(body)
            at = _time(fields, "at", at) or at
            row = CellRow(number=0, code=_code(fields), status=_of(fields, "status", (str,), "failed"))
            if row.status in ("running", "done", "failed", "ended"):
                standing = after(standing, row, _none_known)
            top = max(top, _sorts(cell))
        elif _sorts(cell) > top:
            top = early = _sorts(cell)
        place = (n << NUMBER_BITS) + count
        connection.execute(
            "insert into entries values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (place, n, count, count - 1, kind, cell, path, at, body),
        )
    connection.execute(
        "update sessions set title = ?, state = ?, cells = ?, entries = ?, updated = ?, early = ? where n = ?",
        (storable(standing.title), standing.state, standing.cells, count, at, storable(early), n),
    )


def _in_order(connection: sqlite3.Connection, n: int) -> Iterator[tuple[str, Any, Any, Any]]:
    """Cells before their calls, and calls as they were first written. When either was written is not known."""
    # Bodies are read one at a time: a session may be larger than memory.
    calls = connection.execute("select cell, path, body from calls where session = ? order by seq", (n,))
    cells = connection.execute("select number, body from cells where session = ? order by number", (n,))
    waiting = cells.fetchone()
    for cell, path, body in calls:
        while waiting is not None and _sorts(waiting[0]) <= _sorts(cell):
            yield "cell", waiting[0], "", waiting[1]
            waiting = cells.fetchone()
        yield "row", cell, path, body
    while waiting is not None:
        yield "cell", waiting[0], "", waiting[1]
        waiting = cells.fetchone()


def _none_known(kind: str, number: int) -> bool:
    return False


def _sorts(cell: Any) -> int:
    return cell if type(cell) is int else 1 << 63


def _loads(body: Any) -> dict[str, Any]:
    """What a damaged body says is nothing; it is told when somebody reads it."""
    try:
        found: Any = json.loads(body)
    except (ValueError, TypeError, RecursionError):
        return {}
    return {**found} if type(found) is dict else {}


def _of(fields: dict[str, Any], name: str, kinds: tuple[type[Any], ...], default: Any) -> Any:
    return fields[name] if type(fields.get(name)) in kinds else default


def _time(fields: dict[str, Any], name: str, default: float) -> float:
    try:
        return float(_of(fields, name, (int, float), default))
    except OverflowError:  # an integer that no time is
        return default


def _code(fields: dict[str, Any]) -> str:
    part = _of(fields, "code", (dict,), {})
    return _of(part, "tree", (str,), "")


TEXTS = (
    "create table texts (n integer primary key, session integer not null, source text not null, kind text not null, "
    "entry integer not null, cell not null, at not null)",
    "create index sources on texts (session, source)",
)

# Version 2. Entries are only ever added. `sessions` has what a list of them shows, and the lease: `until` is when it
# runs out. What a session began with is in `facts`: a list need not read past it. `texts` says where each text of
# the search index is from; the index itself is made when somebody first searches.
SECOND: tuple[Step, ...] = (
    "drop index forks",
    "alter table sessions rename to sessions_1",
    "create table sessions (n integer primary key autoincrement, epoch integer not null, id not null unique, parent, "
    "child_of, parent_cell not null default 0, parent_entry not null default 0, agent not null default '', "
    "created not null, updated not null, title not null default '', name not null default '', "
    "state not null default 'new', turns integer not null default 0, cells integer not null default 0, "
    "entries integer not null default 0, early not null default 0, stale integer not null default 1, "
    "indexed integer not null default 0, machine, process, started, holder, until not null default 0)",
    "create index latest on sessions (updated)",
    "create index leased on sessions (until) where until > 0",
    "create index forks on sessions (parent) where parent is not null",
    "create index children on sessions (child_of) where child_of is not null",
    "create index unindexed on sessions (stale) where stale = 1",
    "create table facts (session integer primary key, body not null)",
    "create table entries (n integer primary key, session integer not null, number integer not null, "
    "parent integer not null, kind text not null, cell not null, path not null, at not null, body not null)",
    _sessions_again,
    "drop table sessions_1",
    "drop table calls",
    "drop table cells",
    "create index cells on entries (session, cell) where kind = 'cell'",
    "create index turns on entries (session, cell) where kind = 'turn'",
    "create index notes on entries (session) where kind = 'note'",
    "create table questions (n integer primary key, id not null unique, session integer not null, asked not null, "
    "expires, decided integer not null default 0, body not null)",
    "create index asked on questions (session)",
    "create index undecided on questions (asked) where decided = 0",
    "create table decisions (question integer primary key, body not null)",
    "create table grants (n integer primary key, operation not null, session integer not null, body)",
    "create index granted on grants (operation, session)",
    "create table inbox (n integer primary key autoincrement, session integer not null, body not null)",
    "create index sent on inbox (session)",
    *TEXTS,
)

MIGRATIONS: tuple[Sequence[Step], ...] = (FIRST, SECOND)  # the steps from version i to i + 1

# Made by the first search, not by a step: a Python without FTS5 can do everything else. As SQLite writes it down, which
# is how it is known again.
INDEX = "found"
MAKE_INDEX = f'CREATE VIRTUAL TABLE {INDEX} using fts5(text, parts, tokenize = "unicode61 remove_diacritics 2")'
INDEX_PARTS = frozenset(f"{INDEX}_{part}" for part in ("data", "idx", "content", "docsize", "config"))
