"""What the parts of a PostgreSQL store share: the connection, and sessions by id."""

from __future__ import annotations

from typing import Any

from cellwright.errors import NoSession
from cellwright.store.encoding import Body
from cellwright.store.postgres_failures import Address
from cellwright.store.postgres_link import Link
from cellwright.store.postgres_schema import safe

CLOCK = "extract(epoch from clock_timestamp())::float8"  # the server's: processes on many machines have one


class PostgresDatabase:
    """Its methods with a leading underscore run within what the link runs, unless they say otherwise."""

    def __init__(self, link: Link) -> None:
        self._link = link

    @property
    def address(self) -> Address:
        return self._link.address

    def _locked(self, key: int, how: str = "") -> str:
        """The statement that waits for one of the store's own locks, to go with the beginning of a transaction."""
        return f"select pg_advisory_xact_lock{how}({key}, hashtext('{self.address.schema}'))"

    def _number(self, session: str) -> int | None:
        found = self._link.fetch("select n from sessions where id = %s", safe(session))
        return found[0][0] if found else None

    def _known(self, session: str) -> int:
        number = self._number(session)
        if number is None:
            raise no_session(session)
        return number


def body_of(packed: Any, text: str) -> Body:
    """A body as it was given: the driver gives text."""
    return text.encode("ascii") if packed else text


def text_of(body: Body) -> str:
    return body.decode("ascii") if isinstance(body, bytes) else body


def no_session(session: str) -> NoSession:
    return NoSession(f"the journal has no session {session!r}")
