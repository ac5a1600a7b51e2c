"""Fixtures that every test may use."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cellwright import Limits, Runtime

pytest_plugins = ("tests.layers",)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, which is what Cellwright runs on."""
    return "asyncio"


@pytest.fixture(scope="session")
async def warm(anyio_backend: str) -> AsyncIterator[None]:
    """Keeps the zygote of this process alive, so that a test's own Runtime opens in milliseconds."""
    async with Runtime():
        yield


@pytest.fixture(scope="session")
def venv() -> Path:
    """The environment that the tests themselves run in: it has numpy, pandas, polars and pyarrow."""
    return Path(sys.prefix)


@pytest.fixture(scope="session")
async def warm_data(anyio_backend: str, venv: Path) -> AsyncIterator[None]:
    """The same for guests that have those packages."""
    async with Runtime(packages=venv, limits=Limits(memory_mb=1024)):
        yield
