"""The object that `gateway.toml` serves: notes in PostgreSQL. Code in the jail has its methods, not the password."""

from __future__ import annotations

import psycopg

from cellwright import operation


class Notes:
    """Short texts that stay."""

    def __init__(self) -> None:
        self._open: psycopg.Connection | None = None

    def add(self, text: str) -> int:
        """Keep a note; gives its number."""
        row = self._database().execute("insert into notes (text) values (%s) returning id", [text]).fetchone()
        assert row is not None
        return row[0]

    @operation(reads=True)
    def all(self) -> dict[int, str]:
        """Every note, by its number."""
        return dict(self._database().execute("select id, text from notes order by id").fetchall())

    def _database(self) -> psycopg.Connection:
        """Opened at first use, with PGHOST, PGUSER and PGPASSWORD, and again where it was lost."""
        if self._open is None or self._open.closed:
            self._open = psycopg.connect(autocommit=True)
            self._open.execute("create table if not exists notes (id serial primary key, text text not null)")
        return self._open


notes = Notes()
