"""python -m evals.privacy                 precision and recall on generated records, ours and Presidio's; some minutes
python -m evals.privacy --count 240     fewer records
python -m evals.privacy --json found.json --write
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.roster import Entry, Environment
from benchmarks.results import machine, today
from rich.console import Console
from rich.markdown import Markdown

from cellwright.cli.models import PullProgress
from cellwright.models import pull_names
from cellwright.settings import Settings
from evals.privacy.privacy_page import WIDE, PrivacyReport, markdown, rewrite
from evals.privacy.scores import FinderScore, score

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "tests" / "interop" / "pip" / "privacy.txt"
PAGE = ROOT / "docs" / "privacy.md"
COUNT, SEED = 2400, 19


def entry() -> Entry:
    """Presidio as a peer is installed: another lock file is another environment."""
    return Entry(
        name="Presidio",
        module="",
        requirements=("--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(LOCK)),
        isolation="",
        language="",
        environment=f"privacy-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:8]}",
    )


def report(found: Mapping[str, Any]) -> PrivacyReport:
    """The scores; of a finder with several thresholds, the best one's."""
    records: list[dict[str, Any]] = found["records"]
    return PrivacyReport(
        records=len(records),
        characters=sum(len(record["text"]) for record in records),
        scores=_best(found["found"], records, [True] * len(records)),
        unseen=_best(found["found"], records, [record["unseen"] for record in records]),
        versions=found["versions"],
        machine=machine(),
        date=today(),
    )


def _best(
    found: Mapping[str, Any], records: Sequence[dict[str, Any]], wanted: Sequence[bool]
) -> tuple[FinderScore, ...]:
    chosen = [record for record, want in zip(records, wanted, strict=True) if want]
    best: dict[str, FinderScore] = {}
    for name, one in found.items():
        spans = [each for each, want in zip(one["spans"], wanted, strict=True) if want]
        finder = name.rstrip(".0123456789 ")
        wide = WIDE if finder.startswith("Presidio") else ()
        scored = score(finder, {"spans": spans, "seconds": one["seconds"]}, chosen, wide)
        if finder not in best or scored.f1 > best[finder].f1:
            best[finder] = scored
    return tuple(best.values())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evals.privacy", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=COUNT, help="records")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the records and what was found in them")
    parser.add_argument("--write", action="store_true", help="rewrite the figures of docs/privacy.md")
    chosen = parser.parse_args(arguments)
    if chosen.write and (chosen.count, chosen.seed) != (COUNT, SEED):
        parser.error("--write is for a whole run: leave --count and --seed out")
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    settings = Settings.from_environment()
    python, missing = Environment(settings.cache_dir, console.print).python(entry(), install=True)
    if missing:
        console.print(f"Presidio is not here: {missing}")
        return 2
    with PullProgress(quiet=True) as progress:
        model = pull_names(settings, progress=progress)
    command = [python, "-m", "evals.privacy.finders", str(chosen.count), str(chosen.seed), str(model)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    made = report(json.loads(done.stdout))
    console.print(Markdown(markdown(made)))
    if chosen.json is not None:
        chosen.json.write_text(done.stdout, encoding="utf-8")
    if chosen.write:
        rewrite(PAGE, made)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
