"""`check_store`: tries every promise of the `Store` contract on a store. It knows no implementation.

A promise is a function in one of the modules `*_promises`; its docstring is the sentence in the error for a store that
breaks it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from cellwright.store import Store
from cellwright.testing.history_promises import HISTORY_PROMISES
from cellwright.testing.lease_promises import DURABILITY_PROMISES, LEASE_PROMISES, Reopen
from cellwright.testing.question_promises import QUESTION_PROMISES
from cellwright.testing.row_promises import ROW_PROMISES
from cellwright.testing.samples import BREAKS
from cellwright.testing.search_promises import SEARCH_PROMISES

PROMISES = (*ROW_PROMISES, *HISTORY_PROMISES, *LEASE_PROMISES, *QUESTION_PROMISES, *SEARCH_PROMISES)


def check_store(make: Callable[[], Store], *, reopen: Reopen | None = None) -> None:
    """Try every promise of the `Store` contract. Raises AssertionError that names the first one that is broken.

    `make` gives a journal, which need not be empty. For one that outlives its process, `reopen` opens what `make` made
    last, from any process: it must be picklable (a function of a module, a `functools.partial` of one).
    """
    with closing(make()) as journal:
        for promise in PROMISES:
            _try(promise.__doc__, lambda promise=promise: promise(journal))
    _try(closing_twice_is_fine.__doc__, lambda: closing_twice_is_fine(make()))
    if reopen is not None:
        for lasting in DURABILITY_PROMISES:
            _try(lasting.__doc__, lambda lasting=lasting: lasting(make(), reopen))


def _try(words: str | None, tried: Callable[[], None]) -> None:
    try:
        tried()
    except BREAKS as broken:
        raise AssertionError(f"the journal breaks a promise: {words} ({type(broken).__name__}: {broken})") from broken


def closing_twice_is_fine(journal: Store) -> None:
    """a journal may be closed twice."""
    journal.close()
    journal.close()
