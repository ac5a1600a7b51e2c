"""A PostgreSQL of their own for the tests of a process, started when the first of them wants it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.store.postgres_server import Server, new_server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    made = new_server()
    try:
        yield made
    finally:
        made.remove()


@pytest.fixture(scope="session")
def shared(server: Server) -> str:
    return server.database()


@pytest.fixture
def database(server: Server, shared: str) -> Iterator[str]:
    """The URL of an empty database."""
    yield server.url(shared)
    server.empty(shared)
