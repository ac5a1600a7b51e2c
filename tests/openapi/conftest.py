"""Fixtures for tests of APIs."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.openapi.upstream import Upstream, upstream


@pytest.fixture
async def api() -> AsyncIterator[Upstream]:
    """An API on 127.0.0.1."""
    async with upstream() as made:
        yield made
