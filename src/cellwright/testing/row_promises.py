"""Promises about rows, cells and blobs: they come back as they were, and a claim fences older ones."""

from __future__ import annotations

import threading
import tracemalloc
import uuid
from dataclasses import replace

from cellwright.doors import Made
from cellwright.errors import Fenced, NoSession, UsageError
from cellwright.store import (
    BlobFiles,
    BoundedFiles,
    CellRow,
    Change,
    Checkpoint,
    Claim,
    DroppedCheckpoint,
    RowsByPath,
    Store,
)
from cellwright.testing.samples import BREAKS, LONE, PATIENCE_S, VALUES, expect, expect_refused, facts, row
from cellwright_guest.wire import Packed


def sessions_are_made(journal: Store) -> None:
    """a session's facts come back as they were, and `sessions` has its id."""
    one = facts()
    made = (Made(number=1, path="crm", kind="shop.Crm"), Made(number=-2, path=LONE, kind=LONE))
    two = facts(id=f"/{LONE}?{one.id}", pins={"python": "3.11", LONE: LONE}, made=made, parent=one.id, parent_cell=7)
    two = replace(two, parent_entry=3, child_of=one.id, agent=LONE)
    wide = [facts(names=value, made=made * 1000) for value in VALUES]
    for each in (one, two, *wide):
        journal.create(each)
        expect(journal.facts(each.id), each)
    expect([id for id in journal.sessions() if id in (one.id, two.id)], [one.id, two.id])


def a_name_is_taken_once(journal: Store) -> None:
    """`create` refuses an id that is there, and leaves that session as it was."""
    first = facts(created=1.0)
    claim = journal.create(first)
    expect_refused(UsageError, lambda: journal.create(replace(first, created=2.0)))
    journal.write(claim, row(1, "a"))
    expect((journal.facts(first.id), len(journal.rows(first.id))), (first, 1))


def unknown_sessions_are_refused(journal: Store) -> None:
    """what asks for a session that is not there raises NoSession."""
    reads = journal.facts, journal.cells, journal.rows, journal.checkpoints, journal.turns, journal.notes
    for asked in (
        *reads,
        journal.entries,
        journal.summary,
        journal.family,
        journal.inbox,
        journal.claim,
        journal.forget,
    ):
        expect_refused(NoSession, lambda asked=asked: asked("no such session"))
    expect_refused(NoSession, lambda: journal.keep("no such session", b"content"))


def rows_come_back(journal: Store) -> None:
    """a row comes back with every field as it was: any tree, any text, any bytes, any size."""
    made = (Made(number=3, path=LONE, kind="k"),)
    written = [row(0, "plain")]
    for n, value in enumerate(VALUES):
        written += [
            row(n, "arguments", arguments=value, status="asked", reads=True, line=3, verb="call"),
            row(n, "value", value=value, status="done", delivered=0, at=1.25, door="guest", after=f"{n}/plain"),
            row(n, "kept", kept=value, status="failed", back=((1, 2), (3, 4)), made=made, door="undo", imported=True),
            row(
                n, f"all {LONE}", arguments=value, value=value, kept=value, title=LONE, name=LONE, key=LONE, after=LONE
            ),
            row(
                n, "huge", target=-(2**70), delivered=2**70, line=2**63, door="model", status="cancelled", imported=True
            ),
        ]
    id = (claim := journal.create(facts())).session
    for each in written[::2]:
        journal.write(claim, each)
    journal.write(claim, *written[1::2])
    expect(list(journal.rows(id)), [*written[::2], *written[1::2]])


def cells_come_back(journal: Store) -> None:
    """a cell and a checkpoint come back with every field as they were."""
    id = (claim := journal.create(facts())).session
    cells = [CellRow(number=1, code="")]
    for n, value in enumerate(VALUES, 2):
        text = LONE * 2000 if n % 2 else LONE
        cells.append(CellRow(number=n, code=text, status="done", value=value, stdout=text, rung="process", tree="t"))
        error: dict[str, object] = {"type": "KeyError", "text": text, "line": None}
        calls = (("crm.add", 0.25, None), ("crm.get", 1.0, text))
        ended = CellRow(
            number=100 + n, code="x", status="ended", error=error, calls=calls, at=1.5, before=3, after=2**70
        )
        ended = replace(ended, duration_s=0.5, pending=("1/a", text), undone=True, tree_after="t")
        cells.append(replace(ended, files=("a.txt", text)))
    points = [
        Checkpoint(cell=1, digest="d", signature="s"),
        Checkpoint(cell=2, digest="", signature="", missing=(LONE,)),
    ]
    for each in cells[::2]:
        journal.write(claim, each)
    journal.write(claim, *cells[1::2], *points)
    expect(list(journal.cells(id)), sorted(cells, key=lambda cell: cell.number))
    expect(list(journal.checkpoints(id)), points)


def a_change_replaces(journal: Store) -> None:
    """a change replaces the whole row of the same cell and path, or the same number; its place stays."""
    id = (claim := journal.create(facts())).session
    first = row(1, "a", value=VALUES[5], title="first", back=((1, 1),))
    journal.write(claim, row(2, "z"), first, CellRow(number=1, code="old", stdout="old"))
    journal.write(claim, row(1, "b"))
    journal.write(claim, replace(first, value=None, title="", back=(), status="done"))
    journal.write(claim, row(2, "z", line=1), row(1, "c"), CellRow(number=1, code="new"))
    for cell in (Checkpoint(cell=1, digest="old", signature="old"), Checkpoint(cell=1, digest="new", signature="new")):
        journal.write(claim, cell)
    wanted = [row(2, "z", line=1), row(1, "a", status="done"), row(1, "b"), row(1, "c")]
    expect(list(journal.rows(id)), wanted)
    expect(list(journal.cells(id)), [CellRow(number=1, code="new")])
    expect(list(journal.checkpoints(id)), [Checkpoint(cell=1, digest="new", signature="new")])
    journal.write(journal.claim(id), row(2, "z"), row(0, "d"))
    expect(list(journal.rows(id)), [row(2, "z"), *wanted[1:], row(0, "d")])


def the_last_can_be_asked_for(journal: Store) -> None:
    """`cells` come by number from `first` on, `rows` from `first_cell` on, `checkpoints` by cell."""
    id = (claim := journal.create(facts())).session
    order = [10, 2, 9, 1]
    journal.write(claim, *(CellRow(number=n, code=str(n)) for n in order))
    journal.write(claim, *(row(n, "a") for n in order))
    journal.write(claim, *(Checkpoint(cell=n, digest="", signature="") for n in order))
    expect([cell.number for cell in journal.cells(id)], [1, 2, 9, 10])
    expect([cell.number for cell in journal.cells(id, 9)], [9, 10])
    expect([each.cell for each in journal.rows(id, 2)], [10, 2, 9])
    expect([point.cell for point in journal.checkpoints(id)], [1, 2, 9, 10])
    expect((len(journal.cells(id, 11)), len(journal.rows(id, 11))), (0, 0))


def a_write_is_whole(journal: Store) -> None:
    """`write` writes all changes or none."""
    id = (claim := journal.create(facts())).session
    journal.write(claim)
    bad = row(1, "b", value=Packed(object(), []))
    for changes in ((row(1, "a"), bad), (CellRow(number=1, code=""), row(1, "c", value=VALUES[5]), bad)):
        expect_refused(UsageError, lambda changes=changes: journal.write(claim, *changes))
    journal.write(claim, row(1, "d"))
    expect((list(journal.rows(id)), len(journal.cells(id))), ([row(1, "d")], 0))


def a_claim_fences(journal: Store) -> None:
    """a newer claim fences the older ones: they raise Fenced, and write nothing."""
    id = (first := journal.create(facts())).session
    other = journal.create(facts())
    journal.write(first, row(1, "a"))
    second = journal.claim(id)
    if not second.epoch > first.epoch:
        raise AssertionError(f"epoch {second.epoch} after {first.epoch}")
    late: list[tuple[Change, ...]] = [
        (),
        (row(1, "a", status="done"),),
        (row(1, "b"), row(1, "c")),
        (row(1, "d", value=VALUES[5]),),
        (CellRow(number=1, code=""),),
        (Checkpoint(cell=1, digest="", signature=""),),
    ]
    wrong = Claim(session=id, epoch=other.epoch), Claim(session=id, epoch=second.epoch + 1)
    for claim in (first, *wrong):
        for changes in late:
            expect_refused(Fenced, lambda claim=claim, changes=changes: journal.write(claim, *changes))
    expect((list(journal.rows(id)), len(journal.cells(id)), len(journal.checkpoints(id))), ([row(1, "a")], 0, 0))
    journal.write(second, row(1, "b"))
    expect(list(journal.rows(id)), [row(1, "a"), row(1, "b")])


def a_dead_claim_stays_dead(journal: Store) -> None:
    """a claim of a session that was forgotten is fenced, also when another session has its name."""
    one = facts()
    claim = journal.create(one)
    newest = journal.claim(one.id)
    journal.forget(one.id)
    expect_refused(Fenced, lambda: journal.write(newest, row(1, "a")))
    journal.create(one)
    for old in (claim, newest):
        expect_refused(Fenced, lambda old=old: journal.write(old, row(1, "a")))
    expect(list(journal.rows(one.id)), [])


def sessions_are_apart(journal: Store) -> None:
    """two sessions share no rows, also where their paths are the same; a fork is read without its parent's."""
    one = (claim := journal.create(facts())).session
    two = (other := journal.create(facts(parent=one, parent_cell=1))).session
    journal.write(claim, row(1, "a", line=1), CellRow(number=1, code="one"))
    journal.write(other, row(1, "a", line=2))
    expect((list(journal.rows(one)), list(journal.rows(two))), ([row(1, "a", line=1)], [row(1, "a", line=2)]))
    expect(list(journal.cells(two)), [])


def blobs_are_kept(journal: Store) -> None:
    """bytes are kept by their content: the same have one digest, others another; an unknown digest is a KeyError."""
    one, two = journal.create(facts()).session, journal.create(facts()).session
    contents = [b"", b"\x00", b"small " + uuid.uuid4().bytes, b"large " * 50_000]
    digests = [journal.keep(one, content) for content in contents]
    expect([journal.blob(digest) for digest in digests], contents)
    expect([journal.keep(id, content) for id in (one, two) for content in contents], digests * 2)
    expect(len(set(digests)), len(contents))
    for unknown in ("", "no such digest", LONE):
        expect_refused(KeyError, lambda unknown=unknown: journal.blob(unknown))


def forgetting_takes_what_is_its_own(journal: Store) -> None:
    """`forget` removes a session and the blobs that no other uses, and refuses while a fork of it is there."""
    one = (claim := journal.create(facts())).session
    fork = journal.create(facts(parent=one)).session
    other = (others := journal.create(facts())).session
    shared = Packed([{"b": 0}], [uuid.uuid4().bytes * 1000])
    journal.write(
        claim, row(1, "a", value=shared), CellRow(number=1, code=""), Checkpoint(cell=1, digest="", signature="")
    )
    journal.write(others, row(1, "a", value=shared))
    own, both = journal.keep(one, uuid.uuid4().bytes), journal.keep(one, uuid.uuid4().bytes)
    expect(journal.keep(other, journal.blob(both)), both)
    expect_refused(UsageError, lambda: journal.forget(one))
    expect(len(journal.rows(one)), 1)
    journal.forget(fork)
    journal.forget(one)
    expect({one, fork} & set(journal.sessions()), set[str]())
    expect_refused(NoSession, lambda: journal.rows(one))
    expect_refused(KeyError, lambda: journal.blob(own))
    expect((len(journal.blob(both)), list(journal.rows(other))), (16, [row(1, "a", value=shared)]))
    journal.create(facts(id=one))
    expect((len(journal.rows(one)), len(journal.cells(one)), len(journal.checkpoints(one))), (0, 0, 0))


def what_is_written_is_a_copy(journal: Store) -> None:
    """what is changed after it was written, or after it was read, is not changed in the journal."""
    id = (claim := journal.create(facts())).session
    tree, buffer = ["before"], bytearray(b"before" * 500)
    journal.write(claim, row(1, "a", arguments=Packed(tree, [buffer, memoryview(buffer)[:6]]), kept=Packed(tree, [])))
    tree[0], buffer[:6] = "after", b"after!"
    for _ in range(2):
        (found,) = journal.rows(id)
        expect(
            (found.arguments, found.kept), (Packed(["before"], [b"before" * 500, b"before"]), Packed(["before"], []))
        )
        found.arguments.tree[0] = "read"
        found.arguments.blobs.clear()


def large_values_are_read_when_asked_for(journal: Store) -> None:
    """rows, cells and entries hold no large value: it is read when somebody asks for it."""
    id = (claim := journal.create(facts())).session
    values = [Packed({"t": [[n] * 20_000, {"b": 0}]}, [bytes([n]) * 100_000]) for n in range(10)]
    for n, value in enumerate(values):
        journal.write(claim, row(n, "a", arguments=value, value=value), CellRow(number=n, code="x", value=value))
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        found = list(journal.rows(id)), list(journal.cells(id)), list(journal.entries(id))
        held = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    if held > 300_000:
        raise AssertionError(f"rows with {3 * len(values)} values of 100 kB and more hold {held:,} bytes")
    expect([(each.arguments, each.value) for each in found[0]], [(value, value) for value in values])
    expect([each.value for each in found[1]], values)


def threads_may_write(journal: Store) -> None:
    """threads may write to sessions of their own at once, small rows and large."""
    broken: list[BaseException] = []
    claims = [journal.create(facts()) for _ in range(4)]

    def write(claim: Claim, number: int) -> None:
        try:
            for n in range(25):
                value = Packed({"b": 0}, [bytes([number]) * 5000]) if n % 5 == 0 else Packed(n, [])
                journal.write(claim, row(n, "a", value=value), *[row(n, "b")] * (n % 2))
                journal.rows(claim.session, n)
        except BREAKS as error:
            broken.append(error)

    threads = [threading.Thread(target=write, args=(claim, n)) for n, claim in enumerate(claims)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    if broken:
        raise broken[0]
    expect([len(journal.rows(claim.session)) for claim in claims], [37] * len(claims))


def a_checkpoint_goes_with_its_blob(journal: Store) -> None:
    """a checkpoint is kept with its content, and is dropped with it; to drop one that is not there does nothing."""
    id = (claim := journal.create(facts())).session
    kept = [journal.keep(id, content) for content in (b"one", b"two")]  # to learn their digests
    points = [
        Checkpoint(cell=n, digest=digest, signature="s", content=content)
        for n, digest, content in zip((1, 2), kept, (b"one", b"two"), strict=True)
    ]
    journal.write(claim, *points)
    expect(list(journal.checkpoints(id)), points)
    expect([journal.blob(digest) for digest in kept], [b"one", b"two"])
    journal.write(claim, DroppedCheckpoint(cell=1), DroppedCheckpoint(cell=7))
    journal.write(claim, DroppedCheckpoint(cell=1))
    expect(list(journal.checkpoints(id)), points[1:])
    expect(journal.blob(kept[1]), b"two")
    expect_refused(KeyError, lambda: journal.blob(kept[0]))
    journal.claim(id)
    expect_refused(Fenced, lambda: journal.write(claim, DroppedCheckpoint(cell=2)))
    expect(list(journal.checkpoints(id)), points[1:])


def rows_are_found_by_path(journal: Store) -> None:
    """`rows_by_path` gives those of `rows` whose path begins so, from `first_cell` on and `before` a cell."""
    if not isinstance(journal, RowsByPath):
        return
    id = (claim := journal.create(facts())).session
    paths = ("1/a", "model#1", "Model#2", "mode", "model-aside#%_", LONE, "", "model#2")
    journal.write(claim, *(row(n, path, line=n) for n, path in enumerate(paths)), row(1, "model#1", line=9))
    for path in ("model", "model#", "mode", "%", LONE, "no such path", "1/a"):
        for first, before in ((0, None), (0, 4), (4, None), (1, 7)):
            wanted = [each for each in journal.rows(id, first) if each.path.startswith(path)]
            wanted = [each for each in wanted if before is None or each.cell < before]
            expect(list(journal.rows_by_path(id, path, first, before)), wanted)
    expect_refused(NoSession, lambda: journal.rows_by_path("no such session", "model"))


def files_are_dropped_alone(journal: Store) -> None:
    """`drop` removes contents of a session's files, under its claim; what a row or another session needs stays."""
    if not isinstance(journal, BoundedFiles) or not isinstance(journal, BlobFiles):
        return
    one = (claim := journal.create(facts())).session
    two = journal.create(facts()).session
    own, rows, both, left = contents = [bytes([n]) * 2000 + uuid.uuid4().bytes for n in range(4)]
    journal.keep_all(one, contents)
    journal.keep_all(one, contents[:2])
    journal.keep_all(two, [both])
    journal.write(claim, row(1, "a", value=Packed({"b": 0}, [rows])))
    digests = [journal.digest(content) for content in contents]
    expect((journal.held(one), sorted(journal.contents(one).items())), (4 * 2016, sorted((d, 2016) for d in digests)))
    newer = journal.claim(one)
    expect_refused(Fenced, lambda: journal.drop(claim, digests))
    journal.drop(newer, digests[:3])
    journal.drop(newer, [*digests[:1], "no such digest"])
    expect((journal.held(one), journal.contents(one)), (2016, {digests[3]: 2016}))
    expect((journal.held(two), journal.blob(digests[2]), journal.blob(digests[3])), (2016, both, left))
    expect(list(journal.rows(one)), [row(1, "a", value=Packed({"b": 0}, [rows]))])
    expect(sorted(journal.lacking([*digests, "no such digest"])), [digests[0], "no such digest"])
    expect_refused(KeyError, lambda: journal.blob(digests[0]))
    journal.keep_all(one, [own])
    expect((journal.blob(digests[0]), journal.held(one)), (own, 2 * 2016))
    journal.forget(one)
    expect(sorted(journal.lacking(digests)), sorted(digests[:2] + digests[3:]))
