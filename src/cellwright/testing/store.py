"""`check_store`: tries every promise of the `Store` contract on a store. It knows no implementation.

A promise is a public function in one of the modules `*_promises`; its docstring is the sentence in the error for a
store that breaks it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import closing
from types import ModuleType
from typing import Any

from cellwright.store import Store
from cellwright.testing import history_promises, lease_promises, question_promises, row_promises, search_promises
from cellwright.testing.lease_promises import Reopen
from cellwright.testing.samples import BREAKS


def _promises(module: ModuleType, parameters: int = 1) -> list[Callable[..., Any]]:
    """The public functions that a module defines, with so many parameters, in the order of its text."""
    functions = [f for name, f in vars(module).items() if inspect.isfunction(f) and not name.startswith("_")]
    own = (f for f in functions if f.__module__ == module.__name__)
    return [f for f in own if len(inspect.signature(f).parameters) == parameters]


_MODULES = (row_promises, history_promises, lease_promises, question_promises, search_promises)
PROMISES = [promise for module in _MODULES for promise in _promises(module)]
DURABILITY_PROMISES = _promises(lease_promises, 2)  # also given how the store is opened again


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
