"""Processes that want the same things of one PostgreSQL store at the same moments. Imports little: each starts anew."""

from __future__ import annotations

import multiprocessing
from collections import Counter, defaultdict
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from typing import Any

from cellwright.errors import CellwrightError, Fenced
from cellwright.store import Decision, Facts, Question, Row
from cellwright.store.leases import this_process
from cellwright.store.postgres import PostgresStore
from cellwright_guest.wire import NOTHING

RACERS = 3
PATIENCE_S = 60.0


def race(url: str) -> dict[str, Counter[str]]:
    """What they got, by what they wanted."""
    spawn = multiprocessing.get_context("spawn")
    line, together = spawn.Queue(), spawn.Barrier(RACERS)
    racers = [spawn.Process(target=_run, args=(url, n, together, line), daemon=True) for n in range(RACERS)]
    for racer in racers:
        racer.start()
    got: dict[str, Counter[str]] = defaultdict(Counter)
    try:
        for _ in range(RACERS * len(WANTED)):
            name, result = line.get(timeout=PATIENCE_S)
            got[name][result] += 1
    finally:
        for racer in racers:
            racer.join(PATIENCE_S)
            racer.kill()
    return got


def _run(url: str, n: int, together: Barrier, line: Any) -> None:
    together.wait(PATIENCE_S)
    store: PostgresStore | None = None
    for name, wanted in WANTED.items():
        try:
            store = store or PostgresStore(url)
            got = wanted(store, n)
        except CellwrightError as error:
            got = f"{type(error).__name__}: {error}"
        together.wait(PATIENCE_S)  # nobody ends before all have asked: a claim of a dead process is nobody's
        line.put((name, got))
    if store is not None:
        store.close()


def opened(store: PostgresStore, n: int) -> str:
    if n == 0:
        for session in ("claimed", "decided", "taken"):
            claim = store.create(Facts(id=session, created=1.0, seed=b"", pins={}, names=NOTHING))
            asked = Question(id=session, session=session, cell=1, path="1/1", operation="pay", arguments="", asked=1.0)
            store.ask(claim, asked)
    return store.id


def claimed(store: PostgresStore, n: int) -> str:
    store.claim("claimed", this_process(), take_over=False)
    return "claimed"


def decided(store: PostgresStore, n: int) -> str:
    store.decide("decided", Decision(yes=True, who=f"racer {n}", always="session"))
    return f"racer {n}"


def taken(store: PostgresStore, n: int) -> str:
    """They overtake each other again and again. Who is overtaken writes nothing after that."""
    for _ in range(20):
        claim = store.claim("taken", this_process())
        try:
            for step in range(3):
                store.write(claim, Row(cell=1, path=f"{claim.epoch}/{step}"))
        except Fenced:
            pass
    return "done"


WANTED: dict[str, Callable[[PostgresStore, int], str]] = {
    "opened": opened,
    "claimed": claimed,
    "decided": decided,
    "taken": taken,
}
