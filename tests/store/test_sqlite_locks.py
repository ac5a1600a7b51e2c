"""One file, two connections of one process, and another process that comes and goes: nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cellwright.store import SqliteStore
from cellwright.testing.samples import facts, row

COMES_AND_GOES = "import sys; from cellwright.store import SqliteStore; SqliteStore(sys.argv[1]).close()"


def test_a_second_connection_leaves_the_locks_of_the_first_alone(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    first = SqliteStore(path)
    claim = first.create(facts())
    SqliteStore(path).close()
    # the last one to leave takes the write-ahead log away; this one is not the last
    subprocess.run([sys.executable, "-c", COMES_AND_GOES, str(path)], check=True, timeout=60)
    first.write(claim, row(1, "a"))
    again = SqliteStore(path)
    assert list(again.rows(claim.session)) == [row(1, "a")]
    first.close()
    again.close()
