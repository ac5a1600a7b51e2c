"""The address of a PostgreSQL store, shown without its password; and what the server's failures mean for an operator.

Our errors have neither cause nor context: the driver's errors lead to the connection, which has the password.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import psycopg
from psycopg import conninfo

from cellwright import short_texts
from cellwright.errors import CellwrightError, JournalFailed, UsageError
from cellwright.store.sql_database import SNAPSHOTS_MB, is_room

BUSY_S = 10.0  # for a lock that another process holds
SCHEMA = "cellwright"
FORM = (
    '"postgresql://user@host:5432/database"; in a password, characters that mean something in a URL are written as %40'
)
OPTIONS = frozenset({"schema", "power_safe", "snapshots_mb"})
YES_OR_NO = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
LONGEST = 300

_WHY = {  # by SQLSTATE, or the class that it begins with
    "22003": "a number is larger than a store keeps",
    "25006": "it may only be read; name a server that takes writes",
    "28": "it does not let this user in; check the user and the password",
    "3D000": "there is no such database; make it (createdb), or name another",
    "42501": "the user lacks rights in it; grant them, or name another schema with ?schema=",
    "53100": "the server's disk is full; make room, then resume",
    "53300": "it has no connection left; raise max_connections, or close others",
    "53": "the server lacks memory or disk; make room, then resume",
    "54": "a value is larger than PostgreSQL takes; hand over less at a time",
    "55P03": "another process kept it locked for too long; end that process, or try again",
    "57014": "the server cancelled the statement; try again, or raise its statement_timeout",
    "57P03": "the server is starting or stopping; try again",
    "58": "the server's disk refused to read or write; check it",
    "XX001": "its data are damaged; restore them from a copy",
    "XX002": "its index is damaged; run reindex",
}
_REFUSED = (  # messages of libpq while connecting, where it gives no SQLSTATE
    ("password authentication failed", "28"),
    ("no password supplied", "28"),
    ("no pg_hba.conf entry", "28"),
    ("authentication failed", "28"),
    (r'role ".*" does not exist', "28"),
    (r'database ".*" does not exist', "3D000"),
    ("too many clients|remaining connection slots|too many connections", "53300"),
    ("starting up|shutting down|in recovery", "57P03"),
)
_UNREACHED = "it cannot be reached; check that the server runs, and the address"


class Unsure(Exception):
    """The connection was lost during a commit: the transaction was made, or it was not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """Where a store is. `shown` is for people; `conninfo` has the password."""

    shown: str
    schema: str
    power_safe: bool | None
    snapshots_mb: int
    conninfo: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False, default=())


def address(url: str) -> Address:
    """The address in a URL. Our own options are taken out; the others are the driver's."""
    scheme, _, rest = url.partition(":")
    place, _, query = f"{scheme.lower()}:{rest}".partition("?")
    parts = [part.partition("=") for part in query.split("&") if part]
    ours = {name: value for name, _, value in parts if name in OPTIONS}
    rest = "&".join("".join(part) for part in parts if part[0] not in OPTIONS)
    try:
        known = conninfo.conninfo_to_dict(f"{place}?{rest}" if rest else place)
    except psycopg.Error:
        known = None  # the driver's message may have a piece of the password
    # After an unescaped @ or /, the rest of a password would be taken for the host or the database, and shown.
    if known is None or "@" in place.partition("@")[2] or "@" in place.partition("//")[2].partition("/")[2]:
        raise UsageError(f"this is no address of a PostgreSQL database; one is like {FORM}")
    schema, safe = ours.get("schema", SCHEMA), ours.get("power_safe")
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema) or schema.startswith("pg_"):
        raise UsageError(f"?schema={schema!r}: a schema's name is lower-case letters, digits and _, and not pg_…")
    if safe is not None and safe not in YES_OR_NO:
        raise UsageError(f'?power_safe={safe!r}: it is "1" or "0"')
    room = ours.get("snapshots_mb", str(SNAPSHOTS_MB))
    if not is_room(room):
        raise UsageError(f"?snapshots_mb={room!r}: it is a whole number")
    usual: dict[str, Any] = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10}
    usual |= {"keepalives_count": 3, "fallback_application_name": "cellwright"}
    return Address(
        shown=_shown(known),
        schema=schema,
        power_safe=None if safe is None else YES_OR_NO[safe],
        snapshots_mb=int(room),
        conninfo=conninfo.make_conninfo("", **usual | known),
        secrets=tuple(str(known[name]) for name in ("password", "sslpassword") if known.get(name)),
    )


def _shown(known: dict[str, Any]) -> str:
    user = f"{known['user']}@" if known.get("user") else ""
    host = str(known.get("host") or known.get("hostaddr") or "")
    port = f":{known['port']}" if known.get("port") else ""
    return f"postgresql://{user}{host}{port}/{known.get('dbname') or ''}"


def failure(address: Address, error: psycopg.Error | Unsure) -> CellwrightError:
    """One line for the operator. Whatever failed, all writes that returned are there."""
    if isinstance(error, Unsure):
        return JournalFailed(
            f"journal {address.shown}: the connection was lost in the middle of a write, which was made whole or not "
            "at all; when the server is back, look which"
        )
    words = one_line(address, error)
    state = error.sqlstate or next((code for said, code in _REFUSED if re.search(said, words)), "")
    why = _WHY.get(state) or _WHY.get(state[:2])
    if why is None and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        why = _UNREACHED if not state or state.startswith(("08", "57P")) else "PostgreSQL failed"
    if state == "22003":
        return UsageError(f"journal {address.shown}: {why} ({words})")
    return JournalFailed(f"journal {address.shown}: {why or 'PostgreSQL failed'} ({words})")


def one_line(address: Address, error: psycopg.Error) -> str:
    """The first sentence of the server's or the driver's message, without secrets."""
    text = short_texts.one_line(error.diag.message_primary or str(error))
    for secret in address.secrets:
        text = text.replace(secret, "…")
    return short_texts.cut(text, LONGEST)


class HasAddress(Protocol):
    @property
    def address(self) -> Address: ...


A = TypeVar("A", bound=HasAddress)
P = ParamSpec("P")
T = TypeVar("T")


def reports_failures(method: Callable[Concatenate[A, P], T]) -> Callable[Concatenate[A, P], T]:
    """Errors of the driver in this method become ours, without the driver's as their cause."""

    @wraps(method)
    def tried(self: A, *args: P.args, **named: P.kwargs) -> T:
        try:
            return method(self, *args, **named)
        except (psycopg.Error, Unsure) as error:
            failed = failure(self.address, error)
        raise failed

    return tried
