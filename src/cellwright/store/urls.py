"""The URL of a store, and the store that it names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypedDict
from urllib.parse import parse_qsl

from cellwright.errors import NoSession, UsageError
from cellwright.redaction import is_secret_setting
from cellwright.settings import install_command
from cellwright.store.contract import Store
from cellwright.store.sql_database import SNAPSHOTS_MB, is_room
from cellwright.store.sqlite import MemoryStore, SqliteStore

KNOWN = (
    'known are "sqlite:///file.db" (four slashes for an absolute path), the path of a file, '
    '"postgresql://user@host/database", and "memory:"'
)
_YES_OR_NO = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def open_store(url: str, *, make: bool = True) -> Store:
    """The journal at `url`: "sqlite:///relative.db", "sqlite:////absolute.db", a path, or "memory:" for a new one; or
    "postgresql://user@host/database", which needs the extra `postgres`.

    A file is made where there is none; with `make=False` that is `NoSession`. `?power_safe=1` after it makes each write
    wait for the disk; `?snapshots_mb=4096` is how much of a session's files is kept.
    """
    place, _, query = url.partition("?")
    # Two letters at least: `C:` is a drive.
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", place)
    if scheme is None:
        path = place
    elif scheme[1].lower() == "memory" and place[scheme.end() :] == "" and not query:
        return MemoryStore()
    elif scheme[1].lower() == "sqlite" and place[scheme.end() :].startswith("///"):
        path = place[scheme.end() + 3 :]
    elif scheme[1].lower() in ("postgresql", "postgres") and place[scheme.end() :].startswith("//"):
        return _postgres(url, make=make)
    else:
        raise UsageError(f"no journal can be opened at {shown_url(url)!r}; {KNOWN}")
    if not path or path.endswith("/") or path == ":memory:":
        raise UsageError(f"{url!r} names no file; {KNOWN}")
    if not make and not Path(path).exists():
        raise NoSession(f"there is no journal {path}; name the file that the session was recorded in")
    return SqliteStore(path, **_options(url, query))


def shown_url(url: str) -> str:
    """A URL for people to read: without the password, if it has one."""
    scheme, colon, rest = url.partition(":")
    user, _, place = rest.rpartition("@")  # the last one: a password may have one in clear
    if ":" in user and scheme.lower() != "sqlite":
        url = f"{scheme}{colon}//…@{place}"
    return re.sub(
        r"(?<=[?&])([^=&]+)=[^&]*", lambda part: f"{part[1]}=…" if is_secret_setting(part[1]) else part[0], url
    )


def _postgres(url: str, *, make: bool) -> Store:
    try:
        from cellwright.store.postgres import PostgresStore
    except ImportError as error:
        if "psycopg" not in (error.name or "") and "pq wrapper" not in str(error):
            raise
        raise UsageError(f"a PostgreSQL store needs a package: {install_command('postgres')}") from None
    return PostgresStore(url, make=make)


class _Options(TypedDict):
    power_safe: bool
    snapshots_mb: int


def _options(url: str, query: str) -> _Options:
    chosen = dict(parse_qsl(query, keep_blank_values=True))
    safe, room = chosen.pop("power_safe", "0"), chosen.pop("snapshots_mb", str(SNAPSHOTS_MB))
    if chosen or safe not in _YES_OR_NO or not is_room(room):
        raise UsageError(f'{url!r}: the options of a journal are as in "?power_safe=1&snapshots_mb=4096"')
    return _Options(power_safe=_YES_OR_NO[safe], snapshots_mb=int(room))
