"""A store in a PostgreSQL database: many sessions, many machines, one writer a session. Its parts are beside this.

Needs `psycopg`, which nothing else of Cellwright does: this module is imported when such a store is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

import psycopg

from cellwright.errors import CellwrightError
from cellwright.settings import Settings
from cellwright.store.postgres_deciding import PostgresDeciding
from cellwright.store.postgres_failures import BUSY_S, Address, address, failure
from cellwright.store.postgres_link import Link
from cellwright.store.postgres_reading import PostgresReading
from cellwright.store.postgres_schema import open_schema, prepare
from cellwright.store.postgres_searching import PostgresSearching
from cellwright.store.postgres_writing import PostgresWriting


class PostgresStore(PostgresReading, PostgresWriting, PostgresDeciding, PostgresSearching):
    """See `Store`. What `write` returned from is as durable as the server makes it, by its `synchronous_commit`.

    Its methods may be called from any thread, and wait for each other. A connection that was lost is made again, for
    which a call waits up to `patience_s`. All is in the schema "cellwright" of the database, or that of `?schema=`.
    `on_write` is for crash tests: it is called with the number of a durable write, and "before" or "after" it.
    """

    def __init__(self, url: str, *, make: bool = True, patience_s: float = BUSY_S) -> None:
        link, self.id = _opened(address(url), make, patience_s)
        super().__init__(link)

    def __repr__(self) -> str:
        return f"PostgresStore({self.address.shown!r})"

    @property
    def workspaces(self) -> Path:
        """Where the files of its sessions are: on this machine, whatever the database's is."""
        return Settings.from_environment().state_dir / "workspaces" / self.id[:16]

    @property
    def on_write(self) -> Callable[[int, Literal["before", "after"]], None] | None:
        return self._link.on_write

    @on_write.setter
    def on_write(self, told: Callable[[int, Literal["before", "after"]], None] | None) -> None:
        self._link.on_write = told

    def close(self) -> None:
        self._link.close()
        self._held.clear()


def _opened(place: Address, make: bool, patience_s: float) -> tuple[Link, str]:
    link = None
    try:
        link = Link(place, partial(prepare, address=place, patience_s=patience_s), patience_s)
        return link, link.using(lambda connection: open_schema(connection, place, make=make))
    except (psycopg.Error, CellwrightError) as error:
        failed = failure(place, error) if isinstance(error, psycopg.Error) else error
    if link is not None:
        link.close()
    raise failed
