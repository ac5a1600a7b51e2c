"""What guest code's SQL may not do on a bound SQLite connection: open or write other files, load code, change settings.

`ATTACH` would open the journal's own file. SQLite asks an authorizer about each statement; ours refuses only while a
call of guest code on the connection runs, and allows the host's own use. `sqlite3` cannot tell which authorizer a
connection has: an owner's own one is replaced at guest code's first call.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from functools import cache
from typing import TYPE_CHECKING, Any

from cellwright.errors import NotPublic
from cellwright.scope.grant_tables import library
from cellwright_guest.wire import type_of

if TYPE_CHECKING:
    import sqlite3

GUARDED = frozenset(("sqlite3", "aiosqlite", "sqlalchemy"))
# pragmas that tell something of the database and change nothing; the first group takes what it tells about
_ABOUT = frozenset(
    "table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list foreign_key_check "
    "integrity_check quick_check".split()
)
_TELLING = _ABOUT | frozenset(
    "user_version application_id data_version schema_version encoding page_count page_size freelist_count "
    "collation_list function_list module_list pragma_list compile_options foreign_keys "
    "journal_mode synchronous auto_vacuum".split()
)
_FUNCTIONS = frozenset(("load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"))
_TABLES = frozenset(("fts3", "fts4", "fts4aux", "fts5", "fts5vocab", "rtree", "rtree_i32", "geopoly"))

_reasons: ContextVar[list[str] | None] = ContextVar("cellwright_guest_sql", default=None)  # of the call under way


class GuestSql:
    """A context in which statements are those of guest code. Where one was refused, `NotPublic` says what."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._reasons: list[str] = []

    def __enter__(self) -> None:
        self._token = _reasons.set(self._reasons)

    def __exit__(self, *_: object) -> None:
        _reasons.reset(self._token)
        if self._reasons:
            why = f"{self._reasons[0]} is not granted by binding a database"
            raise NotPublic(f"{self._title} is refused: {why}") from None


def guarded(function: Callable[[], Any], owner: Any, title: str) -> Any:
    """What a library's method gives that is called for guest code."""
    import sqlite3

    connection = owner.connection if isinstance(owner, sqlite3.Cursor) else owner
    if isinstance(connection, sqlite3.Connection):
        _guard(connection)
    elif library(type_of(owner).__module__) == "aiosqlite":
        _require_thread(owner, title)
    elif "sqlalchemy" in sys.modules:
        _listen()
    with GuestSql(title):
        result = function()
    return _awaited(result, title) if inspect.iscoroutine(result) else result


async def _awaited(work: Coroutine[Any, Any, Any], title: str) -> Any:
    with GuestSql(title):
        return await work


def _guard(connection: sqlite3.Connection) -> None:
    """Set the authorizer, at each call: that also makes SQLite ask again about statements it has prepared before."""
    import sqlite3

    try:
        connection.set_authorizer(_authorize)
    except sqlite3.ProgrammingError:  # closed, or another thread's: the call itself says so
        pass


def _authorize(action: int, first: str | None, second: str | None, *_: Any) -> int:
    reasons = _reasons.get()
    refused = "" if reasons is None else _refused(action, first, second)
    if reasons is None or not refused:
        return 0  # SQLITE_OK
    reasons.append(refused)
    return 1  # SQLITE_DENY


def _refused(action: int, first: str | None, second: str | None) -> str:
    import sqlite3

    if action == sqlite3.SQLITE_ATTACH and first not in ("", ":memory:"):  # a plain VACUUM attaches ""
        return "ATTACH or VACUUM INTO, which opens another file,"
    if action == sqlite3.SQLITE_DETACH:
        return "DETACH"
    if action == sqlite3.SQLITE_PRAGMA:
        name = (first or "").lower()
        return "" if name in (_TELLING if second is None else _ABOUT) else f"PRAGMA {name:.40}"
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FUNCTIONS:
        return f"the function {second}"
    if action == sqlite3.SQLITE_CREATE_VTABLE and (second or "").lower() not in _TABLES:
        return f"a virtual table of {second or '':.40}"
    return ""


@cache
def _listen() -> None:
    """SQLAlchemy makes its connections itself: each of SQLite's is guarded before a statement of guest code's call."""
    import sqlite3

    from sqlalchemy import Engine, event

    def before(connection: Any, cursor: Any, *_: Any) -> None:
        reasons = _reasons.get()
        if reasons is None:
            return
        if isinstance(cursor, sqlite3.Cursor):
            _guard(cursor.connection)
        elif connection.dialect.name == "sqlite" and not _guard_thread(connection.connection.driver_connection):
            reasons.append("SQLite by another driver than sqlite3 and aiosqlite, which takes no authorizer here,")
            raise PermissionError("refused")

    event.listen(Engine, "before_cursor_execute", before)


def _require_thread(owner: Any, title: str) -> None:
    """Guard the connection of an object of `aiosqlite`. A result has none: it comes of a call on one."""
    driver = getattr(owner, "_conn", None) if hasattr(type_of(owner), "fetchone") else owner
    if hasattr(type_of(driver), "cursor") and not _guard_thread(driver):
        raise NotPublic(
            f"{title} is refused: this release of aiosqlite, or a closed connection, takes no authorizer here"
        )


def _guard_thread(driver: Any) -> bool:
    """Have the thread of `aiosqlite` run what it is given in the context of whoever gave it, and guarded.

    False for another driver, and for a release of it that is made in another way.
    """
    import sqlite3

    run, own = getattr(driver, "_execute", None), getattr(driver, "_conn", None)
    if library(type_of(driver).__module__) != "aiosqlite" or not inspect.iscoroutinefunction(run):
        return False
    if not isinstance(own, sqlite3.Connection):
        return False

    def within(context: Context, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        _guard(own)
        return context.run(function, *args, **kwargs)

    async def execute(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if _reasons.get() is None:
            return await run(function, *args, **kwargs)
        return await run(within, copy_context(), function, *args, **kwargs)

    if "_execute" not in vars(driver):
        driver._execute = execute
    return True
