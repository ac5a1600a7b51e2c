"""A process of its own that runs the first cells of a session and is killed: nothing of it is left but the journal.

python -m tests.journal.elsewhere STORE MODULE:FUNCTION CELL...     the function gives the names of the scope
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from textwrap import dedent

from tests.journal.lasting import PATIENT, SESSION

from cellwright import Runtime

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120


def killed_after(store: Path | str, scope: str, *cells: str) -> None:
    """Run these cells elsewhere, each to its end; then that process is gone."""
    command = [sys.executable, "-m", "tests.journal.elsewhere", str(store), scope, *map(dedent, cells)]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    ended = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


async def main(store: str, scope: str, *cells: str) -> None:
    module, _, function = scope.partition(":")
    names = getattr(import_module(module), function)()
    async with Runtime(names, store=store, session=SESSION, limits=PATIENT) as rt:
        for cell in cells:
            (await rt.execute(cell)).unwrap()
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
