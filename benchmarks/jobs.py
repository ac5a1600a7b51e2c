"""One job in a process of its own: JSON to its standard input, and the last line of what it prints is the answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
JOB_S = 240


class JobFailed(Exception):
    """The job ended without an answer; the text is the end of what it said."""


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A module of `peers` that does jobs, the interpreter that runs it, and the cache directory that it is to use."""

    module: str
    python: str = sys.executable
    cache: Path | None = None

    def do(self, job: str, **given: Any) -> dict[str, Any]:
        """What the job tells. Its process has ended then."""
        environment = os.environ | ({"CELLWRIGHT_CACHE": str(self.cache)} if self.cache else {})
        try:
            done = subprocess.run(
                [self.python, "-m", f"benchmarks.peers.{self.module}"],
                cwd=ROOT,
                env=environment,
                input=json.dumps({"job": job, **given}),
                capture_output=True,
                text=True,
                timeout=JOB_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise JobFailed(f"{self.module}: {job} took longer than {JOB_S} s") from None
        if done.returncode:
            said = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
            raise JobFailed(f"{self.module}: {job} ended with status {done.returncode}: {said[0][:300]}")
        return json.loads(done.stdout.splitlines()[-1])
