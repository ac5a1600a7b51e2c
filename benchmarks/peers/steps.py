"""DBOS: an async workflow, each step's result a row in its system database before the next step begins."""

from __future__ import annotations

import asyncio
import sqlite3
import time
import uuid
from contextlib import closing
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.peers import cells
from benchmarks.peers.contestant import directory, serve

dbos: Any = import_module("dbos")
alchemy: Any = import_module("sqlalchemy")
runner = asyncio.Runner()
FILE = Path(directory()) / "dbos.sqlite"
times: list[float] = []


def as_durable_as_ours(connection: Any, _: object) -> None:
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = normal")
    assert connection.execute("pragma synchronous").fetchone() == (1,)


@dbos.DBOS.step()
async def add(a: int, b: int) -> int:
    times.append(time.perf_counter())
    return cells.add(a, b)


@dbos.DBOS.workflow()
async def counted(steps: int) -> int:
    total = 0
    for _ in range(steps):
        total = await add(total, 1)
    return total


async def named(workflow: str, steps: int) -> int:
    with dbos.SetWorkflowID(workflow):  # in the runner's own context, which is not that of who calls `run`
        return await counted(steps)


@cache
def launched() -> None:
    alchemy.event.listen(alchemy.engine.Engine, "connect", as_durable_as_ours)
    config = {
        "name": "benchmark",
        "system_database_url": f"sqlite:///{FILE}",
        "application_version": "1",
        "executor_id": "benchmark",
        "log_level": "ERROR",
    }
    dbos.DBOS(config=config)
    dbos.DBOS.launch()


def kept_calls(steps: int) -> list[float]:
    """Seconds from each step to the next."""
    launched()
    times.clear()
    workflow = str(uuid.uuid4())
    assert runner.run(named(workflow, steps)) == steps
    with closing(sqlite3.connect(FILE)) as database:
        assert database.execute("pragma journal_mode").fetchone() == ("wal",)
        kept = database.execute("select count(*) from operation_outputs where workflow_uuid = ?", (workflow,))
        assert kept.fetchone() == (steps,)
    return [later - sooner for sooner, later in pairwise(times)]


serve("dbos", {"kept_call": kept_calls})
