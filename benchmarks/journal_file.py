"""A journal's file seen from outside: what is in it, whatever its Runtime says; and taking its checkpoints away."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def journaled(file: Path) -> tuple[int, str]:
    """How many calls a journal holds, and the last of them as it is held."""
    with closing(sqlite3.connect(file)) as connection:
        each = "select distinct session, cell, path from entries where kind = 'row'"  # begun and done are two entries
        ((calls,),) = connection.execute(f"select count(*) from ({each})")
        ((body,),) = connection.execute("select body from entries where kind = 'row' order by n desc limit 1")
        return calls, body


def forget_checkpoints(file: Path) -> None:
    """Nothing is lost by it but time."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("delete from checkpoints")
