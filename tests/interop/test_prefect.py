"""A real server with real state: Prefect's API on SQLite, driven from the description that it serves itself."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.interop.programs import Program, free_port
from tests.interop.software import venv

from cellwright import Limits, Runtime
from cellwright.openapi import OpenAPI

pytestmark = pytest.mark.interop

CELL = Path(__file__).parent / "cells" / "prefect.py"


@dataclass(frozen=True, kw_only=True)
class Prefect:
    url: str
    database: Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prefect]:
    home = tmp_path_factory.mktemp("prefect")
    programs, port, database = venv("prefect"), free_port(), home / "prefect.db"
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(home),
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_API_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{database}",
    }
    command = [programs / "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-services"]
    with Program(command, env=environment, cwd=home) as program:
        program.listens(port)
        yield Prefect(url=f"http://127.0.0.1:{port}", database=database)


def stored(server: Prefect, question: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(f"file:{server.database}?mode=ro", uri=True) as database:
        return database.execute(question).fetchall()


async def test_code_drives_a_real_server_from_its_own_description(server: Prefect) -> None:
    async with await OpenAPI.open(f"{server.url}/openapi.json", name="prefect") as prefect:
        assert prefect.skipped == ()
        async with Runtime(scope={"prefect": prefect}, limits=Limits(wall_s=120)) as runtime:
            outcome = await runtime.execute(CELL.read_text(encoding="utf-8"))
    assert outcome.error is None, outcome.error
    flow, runs = outcome.value
    ids = {str(uuid.UUID(str(row[0]))): row[1:] for row in stored(server, "SELECT id, name, state_type FROM flow_run")}
    assert ids.keys() == {runs[0], runs[2]}
    assert ids[runs[0]] == ("run 0", "COMPLETED")
    names = stored(server, "SELECT name, tags FROM flow")
    assert names == [("interop", '["first", "second"]')]
    assert str(uuid.UUID(str(stored(server, "SELECT id FROM flow")[0][0]))) == flow
    assert stored(server, "SELECT count(*) FROM log") == [(2,)]
