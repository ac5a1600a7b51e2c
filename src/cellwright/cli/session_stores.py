"""Which store a command means, and which session in it. Knows no command."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cellwright.cli.given import CANCELLED, ended, in_options
from cellwright.cli.recover import stores
from cellwright.cli.wishes import AGENTS_DB, code_of

if TYPE_CHECKING:
    from cellwright.sessions import Sessions


@contextmanager
def told() -> Generator[None]:
    """What goes wrong is one line on stderr, and an exit code."""
    from cellwright.errors import CellwrightError
    from cellwright.journal import printable

    try:
        yield
    except CellwrightError as error:
        raise ended(code_of(error), in_options(printable(str(error)))) from None
    except KeyboardInterrupt:
        raise ended(CANCELLED, "cancelled") from None


def places(store: str | None) -> list[str]:
    return stores(store) or [AGENTS_DB]


def opened(place: str) -> Sessions:
    from cellwright.sessions import Sessions

    return Sessions(place)


def in_store(store: str | None, session: str, work: Callable[[Sessions, str], Any]) -> Any:
    """Do it with the session that is meant, in the first store that has it."""
    from cellwright.errors import NoSession

    known = places(store)
    for number, place in enumerate(known, start=1):
        with opened(place) as held:
            try:
                id = held.resolve(session)
            except NoSession:
                if number == len(known):
                    raise
                continue
            return work(held, id)
    raise AssertionError("there is a store")
