"""Promises about leases, what is removed with a session, and what outlives a process: one is started, and killed."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from multiprocessing.connection import Connection

from cellwright.errors import Fenced, SessionBusy, UsageError
from cellwright.store import (
    CellRow,
    Claim,
    Decision,
    Forgotten,
    LeaseHolder,
    Message,
    Question,
    Row,
    Store,
    this_process,
)
from cellwright.testing.samples import PATIENCE_S, VALUES, expect, expect_refused, facts, row
from cellwright_guest.wire import Packed

ELSEWHERE = LeaseHolder(machine="another machine", process=1, started="1", name="host")


def a_lease_keeps_others_out(journal: Store) -> None:
    """while a lease lasts, whoever else asks for the session gets SessionBusy, and who takes it over gets it."""
    claim = journal.create(facts(), ELSEWHERE)
    expect(journal.summary(claim.session).holder, ELSEWHERE)
    expect_refused(SessionBusy, lambda: journal.claim(claim.session, this_process(), take_over=False))
    expect_refused(SessionBusy, lambda: journal.claim(claim.session, take_over=False))
    journal.write(claim, row(1, "a"))
    again = journal.claim(claim.session, ELSEWHERE, take_over=False)  # its own
    taken = journal.claim(again.session, this_process())
    expect(journal.summary(claim.session).holder, this_process())
    for old in (claim, again):
        expect_refused(Fenced, lambda old=old: journal.write(old, row(1, "b")))
    expect_refused(SessionBusy, lambda: journal.claim(claim.session, ELSEWHERE, take_over=False))
    journal.write(taken, row(1, "b"))
    without = journal.claim(claim.session)
    expect(journal.summary(claim.session).holder, None)
    journal.claim(without.session, ELSEWHERE, take_over=False)


def a_lease_ends(journal: Store) -> None:
    """a lease that was released, or whose process on this machine is dead, keeps nobody out."""
    claim = journal.create(facts(), ELSEWHERE)
    journal.release(claim)
    expect(journal.summary(claim.session).holder, None)
    journal.write(claim, row(1, "a"))  # the claim is still its
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead = LeaseHolder(machine=this_process().machine, process=ended.pid, started=this_process().started)
    journal.claim(claim.session, dead, take_over=False)
    expect(journal.summary(claim.session).holder, None)
    last = journal.claim(claim.session, this_process(), take_over=False)
    journal.release(claim)  # of an older claim: says nothing of this one
    expect(journal.summary(claim.session).holder, this_process())
    journal.release(last)
    journal.release(last)


def renewing_says_what_still_holds(journal: Store) -> None:
    """`renew` gives the claims that still hold: not those that were taken, nor those of a session that is gone."""
    held, taken, gone = (journal.create(facts(), this_process()) for _ in range(3))
    bare = journal.create(facts())
    journal.claim(taken.session, ELSEWHERE)
    journal.forget(gone.session)
    expect(list(journal.renew(held, taken, gone, bare)), [held, bare])
    expect((len(journal.renew()), len(journal.renew(taken))), (0, 0))
    holders = [journal.summary(claim.session).holder for claim in (held, taken, bare)]
    expect(holders, [this_process(), ELSEWHERE, None])


def forgetting_says_what_it_removed(journal: Store) -> None:
    """`forget` removes entries, blobs, texts of the index, questions and messages, and says how many."""
    id = (claim := journal.create(facts())).session
    child = journal.create(facts(child_of=id)).session
    expect_refused(UsageError, lambda: journal.forget(id))
    expect(journal.forget(child), Forgotten(entries=0, blobs=0, bytes=0, indexed=0))
    word = f"word{id}"
    journal.write(claim, CellRow(number=1, code=f"{word} = 1", stdout="printed"), row(1, "a"), row(1, "a"))
    journal.write(claim, row(1, "b", value=Packed({"b": 0}, [id.encode() * 1000])))
    asked = Question(id=f"of {id}", session=id, cell=1, path="1/a", operation="op", arguments="", asked=1.0)
    journal.ask(claim, asked)
    journal.decide(asked.id, Decision(yes=True, always="session"))
    journal.post(id, Message(kind="add", text="hello"))
    expect(len(journal.search(word)), 1)
    told = journal.forget(id)
    expect((told.entries, told.blobs, told.indexed, told.bytes > 32_000), (4, 1, 2, True))
    expect(len(journal.search(word)), 0)
    expect([one for one in journal.questions(decided=True) if one.session == id], list[Question]())
    journal.create(facts(id=id))
    expect((len(journal.inbox(id)), journal.granted(id, "op"), journal.summary(id).entries), (0, None, 0))


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


def a_write_is_durable(journal: Store, reopen: Reopen) -> None:
    """what `write` returned from is there after the process that wrote it was killed."""
    claim = journal.create(facts())
    journal.close()
    written = _elsewhere(reopen, claim, wanted=20)
    with closing(reopen()) as again:
        found = list(again.rows(claim.session))
        expect(found[: len(written)], written)


def a_claim_fences_from_elsewhere(journal: Store, reopen: Reopen) -> None:
    """a claim that another process takes fences this one."""
    with closing(journal):
        claim = journal.create(facts())
        journal.write(claim, row(1, "a"))
        taken = _elsewhere(reopen, claim, wanted=1)
        expect_refused(Fenced, lambda: journal.write(claim, row(1, "late")))
        expect_refused(Fenced, lambda: journal.write(claim, row(1, "late"), row(1, "later")))
        expect(list(journal.rows(claim.session)), [row(1, "a"), *taken])


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
