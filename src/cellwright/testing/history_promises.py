"""Promises about the history of a session, lists of sessions, and families."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cellwright.store import CellRow, Checkpoint, Claim, EntryChange, Note, Store, Summary, TurnRow
from cellwright.testing.samples import LONE, expect, facts, row


def entries_are_only_added(journal: Store) -> None:
    """each change is an entry, numbered from 1, that follows the one before it, and stays as it was written."""
    id = (claim := journal.create(facts())).session
    written = _history()
    journal.write(claim, *written[:3])
    for change in written[3:]:
        journal.write(claim, change)
    journal.write(claim, Checkpoint(cell=1, digest="", signature=""))  # none: a checkpoint is a cache
    found = journal.entries(id)
    expect([entry.change for entry in found], written)
    expect(
        [(entry.session, entry.number, entry.parent) for entry in found], [(id, n + 1, n) for n in range(len(written))]
    )
    times = [entry.at for entry in found]
    expect(times, sorted(times))
    expect([entry.number for entry in journal.entries(id, 3, 5)], [3, 4, 5])
    expect([entry.number for entry in journal.entries(id, len(written))], [len(written)])
    expect((len(journal.entries(id, len(written) + 1)), len(journal.entries(id, 1, 0))), (0, 0))


def the_past_can_be_read(journal: Store) -> None:
    """with `upto`, rows, cells, turns and notes are as they were when that entry was the last."""
    id = (claim := journal.create(facts())).session
    written = _history()
    journal.write(claim, *written)
    for upto in (0, 1, 2, 4, 6, 8, len(written), len(written) + 5):
        then = written[:upto]
        expect(list(journal.rows(id, upto=upto)), _last(then, lambda c: (c.cell, c.path), type(row(0, ""))))
        expect(list(journal.cells(id, upto=upto)), _last(then, lambda c: c.number, CellRow))
        expect(list(journal.turns(id, upto)), _last(then, lambda c: c.number, TurnRow))
        expect(list(journal.notes(id, upto)), [change for change in then if isinstance(change, Note)])
    expect([one.number for one in journal.cells(id, 2, 6)], [2])
    expect([one.path for one in journal.rows(id, 2, 7)], ["2/a"])


def _history() -> list[EntryChange]:
    turn = TurnRow(number=1, task=f"the task {LONE}", at=1.5, opened=LONE)
    cell = CellRow(number=1, code="one")
    return [
        turn,
        cell,
        row(1, "a"),
        replace(cell, status="done", stdout="printed"),
        CellRow(number=2, code="two"),
        row(1, "a", status="done"),
        row(2, "a"),
        Note(kind="message", text="more " * 3000, who=LONE, about="7", at=2.5, what="add"),
        replace(turn, status="done", answer=LONE * 3000, cell=3, asked=4),
        TurnRow(number=2, task=""),
        Note(kind="decided", about="q"),
    ]


def _last(then: list[EntryChange], key: Callable[[Any], Any], kind: type[Any]) -> list[Any]:
    return list({key(change): change for change in then if isinstance(change, kind)}.values())


def a_rewound_session_has_two_branches(journal: Store) -> None:
    """a note that a session was rewound follows the last entry that counts, which it names, or that of its cell."""
    id = (claim := journal.create(facts())).session
    one, two = CellRow(number=1, code="", status="done"), CellRow(number=2, code="", status="done")
    journal.write(claim, one, two, CellRow(number=3, code=""))
    journal.write(claim, Note(kind="rewound", about="2"), row(2, "a"))
    journal.write(claim, Note(kind="rewound", about="1", text="1"))
    journal.write(journal.claim(id), row(1, "a"))
    expect([entry.parent for entry in journal.entries(id)], [0, 1, 2, 2, 4, 1, 6])


def a_summary_tells_how_it_stands(journal: Store) -> None:
    """a summary has the session's title, state, counts and name, as the last `write` left them."""
    one = facts(agent="clerk", created=3.5)
    claim = journal.create(one)
    expect(_told(journal, claim), ("", "new", 0, 0, 0, ""))
    journal.write(claim, row(0, "a"))
    journal.write(claim, CellRow(number=1, code="\n\n  x =   1\nmore"))
    expect(_told(journal, claim), ("x = 1", "running", 0, 1, 2, ""))
    journal.write(claim, CellRow(number=1, code="y", status="ended"), CellRow(number=2, code="", status="failed"))
    expect(_told(journal, claim), ("x = 1", "failed", 0, 2, 4, ""))
    journal.write(claim, CellRow(number=2, code="", status="done"))
    expect(_told(journal, claim), ("x = 1", "done", 0, 2, 5, ""))
    journal.write(claim, Note(kind="named", text="a  branch"), TurnRow(number=1, task="a task"))
    expect(_told(journal, claim), ("a branch", "running", 1, 2, 7, "a branch"))
    journal.write(claim, CellRow(number=3, code="", status="failed"))
    expect(_told(journal, claim), ("a branch", "running", 1, 3, 8, "a branch"))
    for status in ("waiting", "failed", "cancelled", "done"):
        journal.write(claim, TurnRow(number=1, task="a task", status=status))
        expect(journal.summary(one.id).state, status)
    told = journal.summary(one.id)
    expect((told.id, told.agent, told.created, told.holder), (one.id, "clerk", 3.5, None))
    expect(told.turns, 1)


def _told(journal: Store, claim: Claim) -> tuple[Any, ...]:
    one = journal.summary(claim.session)
    return one.title, one.state, one.turns, one.cells, one.entries, one.name


def a_title_is_short(journal: Store) -> None:
    """a title is the first task or the first code: one line of at most 80 letters."""
    for change in (CellRow(number=1, code="word " * 100), TurnRow(number=1, task=f" \n{'x' * 500}\n{LONE}")):
        journal.write(claim := journal.create(facts()), change)
        title = journal.summary(claim.session).title
        expect((0 < len(title) <= 80, "\n" in title, title[:2]), (True, False, title.strip()[:2]))


def the_latest_come_first(journal: Store) -> None:
    """summaries are the latest first, as many as are wanted, and go on where an earlier answer ended."""
    claims = [journal.create(facts(agent=f"agent {n % 2}")) for n in range(6)]
    order = [3, 0, 5, 1, 4, 2]
    for n in order:
        status = "done" if n < 3 else "waiting"
        journal.write(claims[n], TurnRow(number=1, task=str(n), status=status))
    wanted = [claims[n].session for n in reversed(order)]
    expect(_ids(journal.summaries(limit=6)), wanted)
    expect(_ids(journal.summaries(limit=0)), list[str]())
    pages: list[Summary] = []
    while len(pages) < 6:
        pages += journal.summaries(limit=2, before=pages[-1] if pages else None)
    expect(_ids(pages), wanted)
    mine = set(wanted)
    expect(_ids(journal.summaries(state="waiting"), mine), [claims[n].session for n in (4, 5, 3)])
    expect(_ids(journal.summaries(agent="agent 1"), mine), [claims[n].session for n in (1, 5, 3)])
    expect(_ids(journal.summaries(agent="agent 1", state="done"), mine), [claims[1].session])
    expect(list(journal.summaries(limit=6)), [journal.summary(id) for id in wanted])
    journal.forget(pages[1].id)
    expect(_ids(journal.summaries(limit=4, before=pages[1])), wanted[2:])


def _ids(found: Any, mine: set[str] | None = None) -> list[str]:
    return [one.id for one in found if mine is None or one.id in mine]


def a_family_is_found_from_any_of_it(journal: Store) -> None:
    """the family of a session is its root, and all forks and children that come from it."""
    root = journal.create(facts()).session
    fork = journal.create(facts(parent=root, parent_cell=2, parent_entry=5)).session
    child = journal.create(facts(child_of=fork)).session
    other = journal.create(facts(parent=root)).session
    journal.create(facts())
    orphan = journal.create(facts(parent="gone long ago")).session
    for member in (root, fork, child, other):
        expect(_ids(journal.family(member))[0], root)
        expect(sorted(_ids(journal.family(member))), sorted((root, fork, child, other)))
    expect(_ids(journal.family(orphan)), [orphan])
    told = journal.summary(fork)
    expect((told.parent, told.parent_cell, told.parent_entry, told.child_of), (root, 2, 5, ""))
    expect(journal.summary(child).child_of, fork)
