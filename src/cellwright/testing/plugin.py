"""A pytest plugin, loaded by pytest itself: the fixture `replay` makes a recorded session a test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def replay() -> Callable[..., Any]:
    """Run a recorded session again, offline; fails with the first difference.

    >>> def test_the_oslo_report_is_the_same(replay):
    ...     replay("tests/sessions.db", "oslo")
    """

    def check(store: str | Path, session: str, **options: Any) -> Any:
        from cellwright.runtime import replay as run_again

        def run() -> Any:
            return asyncio.run(run_again(session, store=store, **options))

        with ThreadPoolExecutor(1) as thread:  # a test may be running on a loop of its own
            found = thread.submit(run).result()
        if not found.same:
            pytest.fail(f"session {session} of {store} is not the same any more: {found.difference}", pytrace=False)
        return found

    return check
