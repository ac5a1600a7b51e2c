"""One connection to PostgreSQL, made again when it was lost: statements and transactions. Knows no table.

A transaction that was lost before its commit has written nothing, and is tried again. One that was lost during the
commit was made or not, and only its writer can find out which.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeVar

import psycopg

from cellwright.errors import UsageError
from cellwright.store.postgres_failures import BUSY_S, Address, Unsure

Fetched = list[tuple[Any, ...]]
Connection = psycopg.Connection[tuple[Any, ...]]
T = TypeVar("T")
TRIES = 4
AGAIN = frozenset({"40001", "40P01"})  # the server ended this transaction, for example in a deadlock: it wrote nothing


class PostgresLink:
    """Methods may be called from any thread, and wait for each other. `run`, `fetch` and `many` are for the `work` that
    the others are given.

    `prepare` is called with each new connection. A lost connection is tried again for `patience_s`.
    """

    def __init__(self, address: Address, prepare: Callable[[Connection], None], patience_s: float = BUSY_S) -> None:
        self.address = address
        self.on_write: Callable[[int, Literal["before", "after"]], None] | None = None
        self._prepare = prepare
        self._patience_s = patience_s
        self._writes = 0
        self._lock = threading.Lock()
        self._closed = False
        self._connection = self._connect()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._connection.close()

    def using(self, work: Callable[[Connection], T]) -> T:
        """Work with the connection itself, to open the store."""
        with self._lock:
            return work(self._connection)

    def read(self, sql: str, *values: Any, binary: bool = False) -> Fetched:
        """The rows of a statement that changes nothing. It is repeated where the connection was lost."""
        with self._lock:
            self._ready()
            try:
                return self.fetch(sql, *values, binary=binary)
            except psycopg.Error:
                if not self._lost():
                    raise
                self._reconnect()
                return self.fetch(sql, *values, binary=binary)

    def reading(self, work: Callable[[], T]) -> T:
        """Several statements that change nothing, on one snapshot of the database."""
        return self._transact(work, "begin isolation level repeatable read read only", lambda: None)

    def transact(
        self,
        work: Callable[[], T],
        *,
        first: str = "",
        made: Callable[[], T | None] | None = None,
        quiet: bool = False,
    ) -> T:
        """All that `work` does, or nothing. `first` is sent together with the beginning of the transaction.

        Where the connection is lost during the commit, `made` gives the result of `work` if it was committed, and None
        if it was not, or if to repeat it changes nothing. `on_write` does not count a `quiet` one.
        """
        return self._transact(work, f"begin; {first}" if first else "begin", made, writes=not quiet)

    def once(self, work: Callable[[], T], made: Callable[[], T | None]) -> T:
        """The same for `work` that is one statement, which is a transaction of its own."""
        return self._transact(work, "", made, writes=True)

    def run(self, sql: str, *values: Any, binary: bool = False) -> psycopg.Cursor[tuple[Any, ...]]:
        return self._connection.execute(sql.encode(), values or None, binary=binary)

    def fetch(self, sql: str, *values: Any, binary: bool = False) -> Fetched:
        return self.run(sql, *values, binary=binary).fetchall()

    def many(self, sql: str, values: Sequence[Sequence[Any]]) -> None:
        if values:
            with self._connection.cursor() as cursor:
                cursor.executemany(sql.encode(), values)

    def _transact(
        self, work: Callable[[], T], begin: str, made: Callable[[], T | None] | None, *, writes: bool = False
    ) -> T:
        with self._lock:
            self._ready()
            if writes:
                self._announce("before")
            for left in reversed(range(TRIES)):
                try:
                    result = self._attempt(work, begin)
                    break
                except (psycopg.Error, Unsure) as error:
                    if left == 0:
                        raise
                    known = self._recover(error, begin, made)
                if known is not None:
                    result = known
                    break
            else:
                raise AssertionError("the last try gives or raises")
            if writes:
                self._announce("after")
            return result

    def _attempt(self, work: Callable[[], T], begin: str) -> T:
        if not begin:
            return work()
        ended = False
        try:
            self._connection.execute(begin.encode())
            result = work()
            try:
                self._connection.execute("commit")
            except psycopg.Error:
                if self._lost():
                    raise Unsure from None
                raise
            ended = True
            return result
        finally:
            if not ended and not self._lost():
                with suppress(psycopg.Error):  # what failed first is the reason
                    self._connection.execute("rollback")

    def _recover(self, error: psycopg.Error | Unsure, begin: str, made: Callable[[], T | None] | None) -> T | None:
        """After a failure: the result, if the work was committed; None to try again; raises where neither is known."""
        if not self._lost():
            if isinstance(error, psycopg.Error) and error.sqlstate in AGAIN:
                return None
            raise error
        if begin and not isinstance(error, Unsure):
            self._reconnect()
            return None
        if made is None:
            raise Unsure
        try:
            self._reconnect()
        except psycopg.Error:
            raise Unsure from None
        return made()

    def _announce(self, moment: Literal["before", "after"]) -> None:
        if moment == "before":
            self._writes += 1
        if self.on_write is not None:
            self.on_write(self._writes, moment)

    def _ready(self) -> None:
        """Make sure that the connection is open before a statement: nothing is lost yet if it is not."""
        if self._closed:
            raise UsageError(f"journal {self.address.shown}: it is closed")
        if self._lost():
            return self._reconnect()
        poll = select.poll()
        poll.register(self._connection.fileno(), select.POLLIN)
        if poll.poll(0):  # a notice, or the end
            try:
                self._connection.execute("select 1")
            except psycopg.Error:
                self._reconnect()

    def _lost(self) -> bool:
        return self._connection.closed

    def _reconnect(self) -> None:
        with suppress(psycopg.Error):
            self._connection.close()
        until, pause = time.monotonic() + self._patience_s, 0.01
        while True:
            try:
                self._connection = self._connect()
                return
            except psycopg.OperationalError:
                if time.monotonic() + pause > until:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, 0.5)

    def _connect(self) -> Connection:
        connection = psycopg.connect(self.address.conninfo, autocommit=True)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection
