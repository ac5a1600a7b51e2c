"""`PostgresStore`: many sessions, many machines, one writer a session. Its parts are in modules beside.

Only these modules need `psycopg`: they are imported when such a store is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

import psycopg

from cellwright.errors import CellwrightError
from cellwright.settings import Settings
from cellwright.store.postgres_failures import BUSY_S, Address, address, failure
from cellwright.store.postgres_link import PostgresLink
from cellwright.store.postgres_reader import PostgresReader
from cellwright.store.postgres_schema import open_schema, prepare
from cellwright.store.postgres_search import PostgresSearch
from cellwright.store.postgres_writer import PostgresWriter


class PostgresStore(PostgresReader, PostgresWriter, PostgresSearch):
    """See `Store`. A write is as durable as the server makes it, by its `synchronous_commit`.

    Methods may be called from any thread, and wait for each other. A lost connection is made again, for which a call
    waits up to `patience_s`. All is in the schema "cellwright" of the database, or in that of `?schema=`.
    `on_write` is for crash tests: it is called with the number of a durable write, and "before" or "after" it.
    """

    def __init__(self, url: str, *, make: bool = True, patience_s: float = BUSY_S) -> None:
        link, self.id = _opened(address(url), make, patience_s)
        super().__init__(link)
        self.snapshots_mb = self.address.snapshots_mb

    def __repr__(self) -> str:
        return f"PostgresStore({self.address.shown!r})"

    @property
    def workspaces(self) -> Path:
        """The directory of its sessions' files: on this machine, wherever the database is."""
        return Settings.from_environment().state_dir / "workspaces" / self.id[:16]

    @property
    def on_write(self) -> Callable[[int, Literal["before", "after"]], None] | None:
        return self._link.on_write

    @on_write.setter
    def on_write(self, listener: Callable[[int, Literal["before", "after"]], None] | None) -> None:
        self._link.on_write = listener

    def close(self) -> None:
        self._link.close()
        self._claims.clear()


def _opened(place: Address, make: bool, patience_s: float) -> tuple[PostgresLink, str]:
    link = None
    try:
        link = PostgresLink(place, partial(prepare, address=place, patience_s=patience_s), patience_s)
        return link, link.using(lambda connection: open_schema(connection, place, make=make))
    except (psycopg.Error, CellwrightError) as error:
        failed = failure(place, error) if isinstance(error, psycopg.Error) else error
    if link is not None:
        link.close()
    raise failed
