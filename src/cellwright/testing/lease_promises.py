"""Promises about leases, and about what is removed with a session."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from cellwright.errors import Fenced, SessionBusy, UsageError
from cellwright.store import CellRow, Decision, Forgotten, LeaseHolder, Message, Question, Store, this_process
from cellwright.testing.samples import expect, expect_refused, facts, row
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


LEASE_PROMISES: tuple[Callable[[Store], None], ...] = (
    a_lease_keeps_others_out,
    a_lease_ends,
    renewing_says_what_still_holds,
    forgetting_says_what_it_removed,
)
