"""Promises of a store that outlives its process. Another process is started for them, and killed."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from multiprocessing.connection import Connection

from cellwright.errors import Fenced
from cellwright.store import CellRow, Claim, Row, Store
from cellwright.testing.samples import PATIENCE_S, VALUES, expect, expect_refused, facts, row

Reopen = Callable[[], Store]


def it_outlives_closing(journal: Store, reopen: Reopen) -> None:
    """what was written is there when the journal is opened again, and a claim still holds."""
    one = facts(names=VALUES[6])
    claim = journal.create(one)
    written = [row(2, "a", value=VALUES[5]), row(1, "b")]
    journal.write(claim, *written, CellRow(number=1, code="x"))
    digest = journal.keep(one.id, b"content")
    journal.close()
    with closing(reopen()) as again:
        expect((again.facts(one.id), list(again.rows(one.id)), again.blob(digest)), (one, written, b"content"))
        again.write(claim, row(0, "c"), replace(written[0], status="done"))
        expect(list(again.rows(one.id)), [replace(written[0], status="done"), written[1], row(0, "c")])
        expect(list(again.cells(one.id)), [CellRow(number=1, code="x")])


def a_claim_fences_from_elsewhere(journal: Store, reopen: Reopen) -> None:
    """a claim that another process takes fences this one."""
    with closing(journal):
        claim = journal.create(facts())
        journal.write(claim, row(1, "a"))
        taken = _elsewhere(reopen, claim, wanted=1)
        expect_refused(Fenced, lambda: journal.write(claim, row(1, "late")))
        expect_refused(Fenced, lambda: journal.write(claim, row(1, "late"), row(1, "later")))
        expect(list(journal.rows(claim.session)), [row(1, "a"), *taken])


def a_write_is_durable(journal: Store, reopen: Reopen) -> None:
    """what `write` returned from is there after the process that wrote it was killed."""
    claim = journal.create(facts())
    journal.close()
    written = _elsewhere(reopen, claim, wanted=20)
    with closing(reopen()) as again:
        found = list(again.rows(claim.session))
    expect(found[: len(written)], written)


def _elsewhere(reopen: Reopen, claim: Claim, wanted: int) -> list[Row]:
    """The rows that another process reported as written before it was killed."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    child = spawn.Process(target=_write_on, args=(reopen, claim.session, wanted, theirs), daemon=True)
    child.start()
    theirs.close()
    told = 0
    try:
        while told < wanted and ours.poll(PATIENCE_S):
            told = ours.recv()
    except EOFError:
        pass
    finally:
        child.kill()
        child.join(PATIENCE_S)
        ours.close()
    if told < wanted:
        raise AssertionError(f"another process wrote {told} of {wanted} rows")
    return [_written(n) for n in range(wanted)]


def _write_on(reopen: Reopen, session: str, wanted: int, line: Connection) -> None:
    journal = reopen()
    claim = journal.claim(session)
    for n in range(wanted):
        journal.write(claim, _written(n))
        line.send(n + 1)
    line.recv()  # until it is killed, with the journal open


def _written(n: int) -> Row:
    return row(n, "elsewhere", status="done", value=VALUES[n % len(VALUES)])


DURABILITY_PROMISES: tuple[Callable[[Store, Reopen], None], ...] = (
    it_outlives_closing,
    a_write_is_durable,
    a_claim_fences_from_elsewhere,
)
