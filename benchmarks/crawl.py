"""Every OpenAPI description below a directory, compiled: how many load, how long it takes, and why the rest does not.

    python -m benchmarks.crawl DIR [--json] [--workers 2] [--timeout 120] [--memory-mb 2048]

Each description is compiled in a worker process that is bounded in time and memory; what ends it costs itself alone.
A file that names neither `openapi` nor `swagger` is no description, and is counted apart.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from typing import Any

ENDINGS = (".json", ".yaml", ".yml")
BATCH = 25  # descriptions that one worker compiles, one after another
SHOWN = 40  # failures that are listed


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """What came of one description. `reason` is "" where it loaded."""

    path: str
    operations: int = 0
    skipped: int = 0
    seconds: float = 0.0
    reason: str = ""


def descriptions(folder: Path) -> Iterator[Path]:
    """Files that look like descriptions, by their first and last bytes."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in ENDINGS and path.is_file() and _names_openapi(path):
            yield path


def _names_openapi(path: Path) -> bool:
    with path.open("rb") as file:
        told = file.read(200_000)
        if path.stat().st_size > 400_000:
            file.seek(-200_000, os.SEEK_END)
            told += file.read()
    marks = (b'"openapi"', b'"swagger"', b"openapi:", b"swagger:")
    return any(mark in told for mark in marks)


# --- in the worker ---


def compile_each(paths: Iterable[str], memory_mb: int, timeout_s: int) -> None:
    """Compile what standard input names, one a line; tell what came of each on standard output."""
    import signal

    from cellwright.errors import CellwrightError
    from cellwright.openapi import compile_openapi

    resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))
    for path in paths:
        signal.alarm(timeout_s)  # ends this process: what hangs in C is ended too
        started = time.perf_counter()
        print(json.dumps({"begun": path}), flush=True)
        try:
            compiled = compile_openapi(Path(path), name="it")
        except CellwrightError as wrong:
            load = Load(path=path, reason=str(wrong), seconds=time.perf_counter() - started)
        except Exception as wrong:  # an outer edge: whatever a description causes is what the crawl reports
            load = Load(path=path, reason=f"{type(wrong).__name__}: {wrong}", seconds=time.perf_counter() - started)
        else:
            seconds = time.perf_counter() - started
            load = Load(path=path, operations=len(compiled), skipped=len(compiled.skipped), seconds=seconds)
            compiled.close()
        print(json.dumps(asdict(load)), flush=True)


# --- outside ---


def crawl(paths: Sequence[Path], *, workers: int, memory_mb: int, timeout_s: int) -> Iterator[Load]:
    """What came of each, as it comes."""
    batches = [paths[at : at + BATCH] for at in range(0, len(paths), BATCH)]
    with ThreadPoolExecutor(workers) as pool:
        asked = [pool.submit(_batch, batch, memory_mb, timeout_s) for batch in batches]
        for done in as_completed(asked):
            yield from done.result()


def _batch(paths: Sequence[Path], memory_mb: int, timeout_s: int) -> list[Load]:
    left = [str(path) for path in paths]
    loads: list[Load] = []
    while left:
        found, ended = _worker(left, memory_mb, timeout_s)
        loads += found
        left = left[len(found) :]
        if left and ended:
            loads.append(Load(path=left.pop(0), reason=ended))
    return loads


def _worker(paths: list[str], memory_mb: int, timeout_s: int) -> tuple[list[Load], str]:
    """What a worker told, and how it ended if that was early."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.crawl",
        "--worker",
        f"--memory-mb={memory_mb}",
        f"--timeout={timeout_s}",
    ]
    with Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True) as process:
        try:
            out, err = process.communicate("\n".join(paths), timeout=timeout_s * len(paths) + 60)
        except TimeoutExpired:
            process.kill()
            return [], "the worker hung"
    told: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]
    loads = [Load(**one) for one in told if "begun" not in one]
    if process.returncode == 0:
        return loads, ""
    last = (err.strip().splitlines() or [""])[-1][:200]
    return loads, f"took more than {timeout_s} s" if process.returncode == -14 else f"ended the worker: {last}"


def report(loads: Sequence[Load], seconds: float) -> str:
    failed = sorted((load for load in loads if load.reason), key=lambda load: load.path)
    good = len(loads) - len(failed)
    operations = sum(load.operations for load in loads)
    slow = max(loads, key=lambda load: load.seconds)
    lines = [
        f"{good:,} of {len(loads):,} descriptions load: {100 * good / len(loads):.2f} %",
        f"{operations:,} operations; {sum(load.skipped for load in loads):,} notes of what was skipped or simplified",
        f"{seconds:.0f} s in all; the slowest took {slow.seconds:.1f} s: {slow.path}",
    ]
    lines += [f"  {load.path}: {load.reason}" for load in failed[:SHOWN]]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crawl", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--json", action="store_true", help="print every result as JSON")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one description")
    parser.add_argument("--memory-mb", type=int, default=2048)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.worker:
        compile_each((line.strip() for line in sys.stdin), given.memory_mb, given.timeout)
        return 0
    if given.folder is None or not given.folder.is_dir():
        parser.error("name a directory of descriptions")
    paths = list(descriptions(given.folder))
    if not paths:
        parser.error(f"there is no description below {given.folder}")
    started, loads = time.perf_counter(), list[Load]()
    for load in crawl(paths, workers=given.workers, memory_mb=given.memory_mb, timeout_s=given.timeout):
        loads.append(load)
        if sys.stderr.isatty() or len(loads) % 250 == 0:
            print(
                f"\r{len(loads):,} of {len(paths):,}, {sum(bool(one.reason) for one in loads)} failed",
                end="",
                file=sys.stderr,
            )
    print(file=sys.stderr)
    seconds = time.perf_counter() - started
    if given.json:
        reasons = Counter(load.reason for load in loads if load.reason)
        print(json.dumps({"loads": [asdict(one) for one in loads], "reasons": reasons, "seconds": seconds}))
    else:
        print(report(loads, seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
