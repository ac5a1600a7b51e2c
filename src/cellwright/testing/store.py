"""`check_store`: what every store promises, tried on one. It knows the `Store` contract, and no implementation.

A promise is a function whose docstring is the sentence that a broken store is told. They lie in modules by their
subject: keeping, listing, holding, deciding, finding, lasting.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from cellwright.store import Store
from cellwright.testing.deciding import DECIDING
from cellwright.testing.finding import FINDING
from cellwright.testing.holding import HOLDING
from cellwright.testing.keeping import KEEPING
from cellwright.testing.lasting import LASTING, Reopen
from cellwright.testing.listing import LISTING
from cellwright.testing.samples import BREAKS

PROMISES = (*KEEPING, *LISTING, *HOLDING, *DECIDING, *FINDING)


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
        for lasting in LASTING:
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
