"""The schema of a PostgreSQL store: checked, and made where there is none.

Nothing outside that schema is touched. Texts with characters that PostgreSQL refuses are escaped, see `safe`.
"""

from __future__ import annotations

import re
import uuid
from typing import Any

import psycopg

from cellwright.errors import JournalFailed, NoSession
from cellwright.store.postgres_failures import BUSY_S, Address
from cellwright.store.postgres_link import Connection

OLDEST = 130000  # version of the server: older ones get no fixes any more
# Not `to_regclass`: it may not know what another process made while this one waited for a lock.
IN_SCHEMA = "from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = %s"
# Keys of advisory locks, which are for the whole database; the second key is the schema's.
MAKING, BLOBS, INDEXING = 0x63770001, 0x63770002, 0x63770003

# `sessions.n` is never used twice. Epochs are a sequence: no number of it comes back, not after a rollback or a crash.
# `sessions` has what a list of them shows, and the lease; `facts` what a session began with, so that a list need not
# read past it. An entry has the epoch of the claim that wrote it: a writer whose connection broke can tell its own.
# `packed`: the body is bytes and not text, see `codec`. `stale`: the search index does not know all of its entries.
TABLES = (
    "create table about (one boolean primary key default true check (one), version integer not null, id text not null)",
    "create sequence epochs",
    "create table sessions (n bigint generated always as identity primary key, epoch bigint not null, "
    "id text not null unique, parent text, child_of text, parent_cell bigint not null, parent_entry bigint not null, "
    "agent text not null, created float8 not null, updated float8 not null, title text not null default '', "
    "name text not null default '', state text not null default 'new', turns bigint not null default 0, "
    "cells bigint not null default 0, stale boolean not null default false, indexed bigint not null default 0, "
    "machine text, process bigint, started text, holder text, until timestamptz)",
    "create index latest on sessions (updated, n)",
    "create index forks on sessions (parent) where parent is not null",
    "create index children on sessions (child_of) where child_of is not null",
    "create index unindexed on sessions (n) where stale",
    "create table facts (session bigint primary key, body text not null)",
    "create table entries (session bigint not null, number bigint not null, parent bigint not null, "
    "epoch bigint not null, at float8 not null, cell bigint not null, packed boolean not null, kind text not null, "
    "path text not null, body text not null, primary key (session, number))",
    "create index numbered on entries (session, kind, cell) where kind <> 'row'",
    "create table checkpoints (session bigint not null, cell bigint not null, body text not null, "
    "primary key (session, cell))",
    "create table blobs (digest text not null, piece integer not null, content bytea not null, "
    "primary key (digest, piece))",
    "alter table blobs alter content set storage external",  # to compress them takes longer than to write them
    "create table uses (session bigint not null, digest text not null, primary key (session, digest))",
    "create index users on uses (digest)",
    "create table questions (n bigint generated always as identity primary key, id text not null unique, "
    "session bigint not null, asked float8 not null, expires float8, body text not null)",
    "create index asked on questions (session)",
    "create table decisions (question bigint primary key, body text not null)",
    "create table grants (n bigint generated always as identity primary key, operation text not null, "
    "session bigint not null, body text)",
    "create index granted on grants (operation, session)",
    "create table inbox (n bigint generated always as identity primary key, session bigint not null, "
    "body text not null)",
    "create index sent on inbox (session, n)",
    "create table texts (n bigint generated always as identity primary key, session bigint not null, "
    "source text not null, kind text not null, entry bigint not null, cell bigint not null, at float8 not null, "
    "content text not null, words tsvector not null)",
    "create index sources on texts (session, source)",
    "create index found on texts using gin (words)",
)
VERSION = 1


def prepare(connection: Connection, address: Address, patience_s: float = BUSY_S) -> None:
    """The settings of each new connection."""
    settings = {
        "search_path": address.schema,
        "lock_timeout": max(1, round(patience_s * 1000)),
        # A process that was stopped in the middle of a transaction would keep its locks.
        "idle_in_transaction_session_timeout": 60_000,
        "default_transaction_isolation": "'read committed'",
        "client_encoding": "'UTF8'",
    }
    if address.power_safe is not None:
        settings["synchronous_commit"] = "on" if address.power_safe else "off"
    connection.execute("; ".join(f"set {name} to {value}" for name, value in settings.items()).encode())


def open_schema(connection: Connection, address: Address, *, make: bool = True) -> str:
    """The id of the store. The schema is made where there is none; without `make`, that is `NoSession`."""
    _check_server(connection, address)
    if _is_there(connection, address):
        return _id(connection, address)
    with connection.transaction():  # one process makes it, and the others wait here
        connection.execute("select pg_advisory_xact_lock(%s, hashtext(%s))", (MAKING, address.schema))
        if _is_there(connection, address):
            return _id(connection, address)
        if not make:
            raise NoSession(f"there is no journal in {address.shown}; name the one that the session was recorded in")
        if _one(connection, f"select count(*) {IN_SCHEMA}", address.schema):
            raise _strange(address)
        if not _one(connection, "select count(*) from pg_namespace where nspname = %s", address.schema):
            connection.execute(f"create schema {address.schema}".encode())
        for statement in TABLES:
            connection.execute(statement.encode())
        id = uuid.uuid4().hex
        connection.execute("insert into about (version, id) values (%s, %s)", (VERSION, id))
    return id


def _check_server(connection: Connection, address: Address) -> None:
    if connection.info.server_version < OLDEST:
        raise JournalFailed(
            f"journal {address.shown}: the server is PostgreSQL {connection.info.server_version // 10000}; a journal "
            f"needs {OLDEST // 10000} or newer"
        )
    encoding = _one(connection, "select current_setting('server_encoding')")
    if encoding != "UTF8":
        raise JournalFailed(
            f"journal {address.shown}: its encoding is {encoding}; make a database with the encoding UTF8"
        )


def _is_there(connection: Connection, address: Address) -> bool:
    return bool(_one(connection, f"select count(*) {IN_SCHEMA} and c.relname = 'about'", address.schema))


def _id(connection: Connection, address: Address) -> str:
    """The id of the store. A schema of another version, or of something else, is refused."""
    try:
        found = connection.execute("select version, id from about").fetchall()
    except (psycopg.errors.UndefinedColumn, psycopg.errors.WrongObjectType):
        found = []
    if len(found) != 1 or type(found[0][0]) is not int or not re.fullmatch("[0-9a-f]{32}", str(found[0][1])):
        raise _strange(address)
    ((version, id),) = found
    if version != VERSION:
        raise JournalFailed(
            f"journal {address.shown}: it has version {version} and this Cellwright reads version {VERSION}; "
            "upgrade Cellwright, or name another database"
        )
    return id


def _strange(address: Address) -> JournalFailed:
    return JournalFailed(
        f"journal {address.shown}: its schema {address.schema} has tables of something else; name another with ?schema="
    )


def _one(connection: Connection, sql: str, *values: Any) -> Any:
    row = connection.execute(sql.encode(), values or None).fetchone()
    return None if row is None else row[0]


_UNSAFE = re.compile("[\\\\\x00\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(\\|0|u[0-9a-f]{4})")


def safe(text: str) -> str:
    r"""A text as PostgreSQL takes it: no NUL and no lone surrogate, but \0 and \udc80; and \\ for \."""
    return _UNSAFE.sub(_escape, text)


def plain(text: str) -> str:
    """The text that `safe` was given."""
    return _ESCAPED.sub(_unescape, text) if "\\" in text else text


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    return "\\\\" if char == "\\" else "\\0" if char == "\x00" else f"\\u{ord(char):04x}"


def _unescape(found: re.Match[str]) -> str:
    what = found[1]
    return "\\" if what == "\\" else "\x00" if what == "0" else chr(int(what[1:], 16))
