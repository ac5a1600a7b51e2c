"""The files that a session keeps have a bound: old contents are dropped, and what a resume needs stays."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.journal.lasting import PATIENT, value

from cellwright import Runtime
from cellwright.errors import JournalFailed, RestoreFailed, UsageError
from cellwright.journal import History, manifests
from cellwright.runtime import replay
from cellwright.sandboxes import WorkspaceEntry
from cellwright.sessions import Sessions
from cellwright.store import (
    BoundedFiles,
    CellRow,
    Claim,
    DroppedCheckpoint,
    Facts,
    LeaseHolder,
    MemoryStore,
    SqliteStore,
    Store,
    Summary,
)
from cellwright_guest.wire import NOTHING

pytestmark = pytest.mark.usefixtures("warm")

MB = 1 << 20
ROOM = 12  # more than what the cells since a checkpoint write
GONE = "files as they were after cell 3 are no longer kept; those after cell"


def write(number: int) -> str:
    """A megabyte that no other cell writes."""
    return f"last = {number}; open('large', 'wb').write(last.to_bytes(4, 'big') * 2**18); None"


async def written(rt: Runtime, upto: int, first: int = 1) -> None:
    for number in range(first, upto + 1):
        await value(rt, write(number))


def drop_checkpoints(store: Store) -> None:
    claim = store.claim("s1")
    store.write(claim, *(DroppedCheckpoint(cell=one.cell) for one in store.checkpoints("s1")))
    store.release(claim)


def resumed(store: Store, **options: Any) -> Runtime:
    return Runtime.resume("s1", store=store, limits=PATIENT, progress=list[str]().append, **options)


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore(snapshots_mb=ROOM)
    return SqliteStore(tmp_path / "agents.db", snapshots_mb=ROOM)


def held(store: Store) -> int:
    assert isinstance(store, BoundedFiles)
    return store.held("s1")


def on_disk(tmp_path: Path) -> int:
    return sum(file.stat().st_size for file in tmp_path.glob("agents.db.blobs/*"))


async def test_a_session_that_writes_on_and_on_keeps_its_bound_and_can_be_resumed(store: Store, tmp_path: Path) -> None:
    most = 0
    async with Runtime(store=store, session="s1", limits=PATIENT) as rt:
        for number in range(1, 41):
            await value(rt, write(number))
            most = max(most, held(store))
    assert most <= (ROOM + 4) * MB
    assert held(store) <= ROOM * MB
    assert on_disk(tmp_path) <= ROOM * MB
    shutil.rmtree(tmp_path / "agents.db.workspaces", ignore_errors=True)
    async with resumed(store) as rt:  # from its checkpoint
        assert rt.restored is not None
        assert rt.restored.checkpoint == 40
        assert await value(rt, "last, open('large', 'rb').read(4)") == (40, (40).to_bytes(4, "big"))
    drop_checkpoints(store)
    async with resumed(store) as rt:  # from its first cell: the cells write again what was dropped
        assert rt.restored is not None
        assert len(rt.restored.cells) == 41
        assert await value(rt, "last, open('large', 'rb').read(4)") == (40, (40).to_bytes(4, "big"))
    assert (await replay("s1", store=store)).same


async def test_an_old_cell_whose_files_were_dropped_cannot_be_gone_back_to(store: Store) -> None:
    async with Runtime(store=store, session="s1", limits=PATIENT) as rt:
        await written(rt, 30)
        entries, ended = store.summary("s1").entries, History(store, "s1").entry_of(3)
        ways = (
            lambda: rt.rewind(to=3),
            lambda: rt.rollback(to=3),
            lambda: rt.fork(at=3),
            lambda: rt.fork(entry=ended),
            lambda: rt.restore_files(at=3),
        )
        for way in ways:
            with pytest.raises(UsageError, match=GONE):
                await way()
        assert store.summary("s1").entries == entries
        assert [change.path for change in await rt.diff(since=3)] == ["large"]
        async with await rt.fork(at=29) as fork:
            assert await value(fork, "last, open('large', 'rb').read(4)") == (29, (29).to_bytes(4, "big"))
        await rt.rewind(to=28)
        assert await value(rt, "last, open('large', 'rb').read(4)") == (28, (28).to_bytes(4, "big"))


async def test_what_cells_did_not_write_themselves_is_kept_for_running_them_again() -> None:
    store = MemoryStore(snapshots_mb=ROOM)
    undone = """
        try:
            with transaction():
                open("small", "w").write("new")
                raise ValueError
        except ValueError:
            pass
        open("small").read()
    """
    async with Runtime(store=store, session="s1", limits=PATIENT) as rt:
        await rt.files.write("input", b"i" * MB)
        assert await value(rt, "import os; len(open('input').read())") == MB
        await value(rt, "open('small', 'w').write('old'); None")
        assert await value(rt, undone) == "old"
        await value(rt, "os.unlink('small')")
        await rt.files.write("input", b"j" * MB)
        await value(rt, "open('input').read(1)")
        await value(rt, "os.unlink('input')")
        await written(rt, 30, first=7)
        with pytest.raises(UsageError, match=r"after cell 7 are no longer kept"):
            await rt.rewind(to=7)
    drop_checkpoints(store)
    async with resumed(store) as rt:
        assert await value(rt, "last") == 30
        assert rt.restored is not None
        assert len(rt.restored.cells) == 30


async def test_a_fork_keeps_the_files_that_it_begins_with() -> None:
    store = MemoryStore(snapshots_mb=ROOM)
    async with Runtime(store=store, session="s1", limits=PATIENT) as rt:
        await written(rt, 3)
        fork = Sessions(store).fork("s1", at=2)
        await written(rt, 30, first=4)
        with pytest.raises(UsageError, match="after cell 3 are no longer kept"):
            Sessions(store).fork("s1", at=3)
    with pytest.raises(UsageError, match="after cell 3 are no longer kept"):
        Sessions(store).rewind("s1", to=3)
    async with Runtime.resume(fork, store=store, limits=PATIENT) as rt:
        assert await value(rt, "last, open('large', 'rb').read(4)") == (2, (2).to_bytes(4, "big"))


class ForkedMeanwhile(SqliteStore):
    """Another process forks the session when it has been looked at which forks there are."""

    fork = ""

    def family(self, session: str) -> Sequence[Summary]:
        known = super().family(session)
        if not self.fork and any(one.cell > 4 for one in self.checkpoints("s1")):
            with closing(SqliteStore(self.path)) as other:
                self.fork = Sessions(other).fork("s1", at=2)
        return known


async def test_a_fork_that_is_made_while_old_files_are_looked_for_has_its_files(tmp_path: Path) -> None:
    store = ForkedMeanwhile(tmp_path / "agents.db", snapshots_mb=ROOM)
    async with Runtime(store=store, session="s1", limits=PATIENT) as rt:
        await written(rt, 20)
    assert held(store) <= ROOM * MB
    async with Runtime.resume(store.fork, store=store, limits=PATIENT) as rt:
        assert await value(rt, "last, open('large', 'rb').read(4)") == (2, (2).to_bytes(4, "big"))


def test_a_fork_whose_files_are_dropped_while_it_is_made_is_not_made() -> None:
    class DroppedMeanwhile(MemoryStore):
        def create(self, facts: Facts, holder: LeaseHolder | None = None) -> Claim:
            if facts.parent:
                self.drop(self.claim("s1"), [content])
            return super().create(facts, holder)

    store = DroppedMeanwhile()
    claim = store.create(Facts(id="s1", created=0.0, seed=b"", pins={}, names=NOTHING))
    content = store.digest(b"of a file")
    file = WorkspaceEntry(path="a", kind="file", mode=0o644, mtime_ns=0, size=9, content=content)
    manifest = manifests.encoded([file], [])
    store.keep_all("s1", [b"of a file", manifest])
    store.write(claim, CellRow(number=1, code="", status="done", tree_after=store.digest(manifest)))
    with pytest.raises(UsageError, match="after cell 1 are no longer kept"):
        Sessions(store).fork("s1", at=1)
    assert store.sessions() == ["s1"]


async def test_what_a_call_of_a_cell_may_have_written_is_kept_for_resumes_forks_and_rewinds() -> None:
    store = MemoryStore(snapshots_mb=ROOM)

    class Desk:
        async def save(self) -> None:
            await rt.files.write("saved", b"s" * 1000)

    async with Runtime({"desk": Desk()}, store=store, session="s1", limits=PATIENT) as rt:
        await value(rt, "await desk.save()")
        await value(rt, "import os; os.path.getsize('saved')")
        await value(rt, "os.unlink('saved')")
        await value(rt, "last = 4")
        fork = Sessions(store).fork("s1", at=4)
        await written(rt, 30, first=5)
        assert held(store) < (ROOM + 2) * MB
        await rt.rewind(to=25)
        assert await value(rt, "last") == 25
    async with Runtime.resume(fork, store=store, scope={"desk": Desk()}, limits=PATIENT) as rt:
        assert await value(rt, "last") == 4
    drop_checkpoints(store)
    async with resumed(store, scope={"desk": Desk()}) as rt:
        assert await value(rt, "last") == 25
    assert (await replay("s1", store=store)).same


async def test_files_that_are_gone_are_told_and_the_journal_stays_as_it_was() -> None:
    store = MemoryStore(snapshots_mb=ROOM)
    async with Runtime(store=store, session="s1", limits=PATIENT) as rt:
        await rt.files.write("saved", b"s" * 1000)
        await value(rt, "import os; os.path.getsize('saved')")
    entries, claim = store.summary("s1").entries, store.claim("s1")
    store.drop(claim, [store.digest(b"s" * 1000)])
    store.release(claim)
    drop_checkpoints(store)
    with pytest.raises(RestoreFailed, match="before cell 1 are no longer kept") as failed:
        await replay("s1", store=store)
    assert (failed.value.session, failed.value.cell) == ("s1", 1)
    assert store.summary("s1").entries == entries


async def test_without_a_complete_checkpoint_nothing_is_dropped() -> None:
    store = MemoryStore(snapshots_mb=1)
    async with Runtime(store=store, session="s1", limits=PATIENT) as rt:
        await value(rt, "file = open('/dev/null')")
        await written(rt, 12, first=2)
    assert held(store) > 11 * MB


class Dying(SqliteStore):
    """Dies when contents are dropped, before it or after it."""

    moment = ""

    def drop(self, claim: Claim, digests: Collection[str]) -> None:
        if self.moment == "after":
            super().drop(claim, digests)
        if self.moment:
            raise JournalFailed("this life is over")
        super().drop(claim, digests)


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_death_while_contents_are_dropped_costs_nothing(moment: str, tmp_path: Path) -> None:
    store = Dying(tmp_path / "agents.db", snapshots_mb=ROOM)
    async with Runtime(store=store, session="s1", limits=PATIENT) as rt:
        await written(rt, 10)
        store.moment = moment
        await written(rt, 20, first=11)
    store.moment = ""
    async with resumed(store) as rt:
        assert await value(rt, "last, open('large', 'rb').read(4)") == (20, (20).to_bytes(4, "big"))
        await written(rt, 30, first=21)
    assert held(store) <= ROOM * MB
    drop_checkpoints(store)
    async with resumed(store) as rt:
        assert await value(rt, "last") == 30


async def test_a_session_whose_old_files_are_gone_is_exported_and_goes_on_elsewhere(tmp_path: Path) -> None:
    store, other = MemoryStore(snapshots_mb=ROOM), MemoryStore()
    async with Runtime(store=store, session="s1", limits=PATIENT) as rt:
        await written(rt, 30)
    Sessions(store).export("s1", tmp_path / "s1.jsonl")
    Sessions(other).import_(tmp_path / "s1.jsonl")
    async with resumed(other) as rt:
        assert await value(rt, "last, open('large', 'rb').read(4)") == (30, (30).to_bytes(4, "big"))
        with pytest.raises(UsageError, match=GONE):
            await rt.restore_files(at=3)


async def test_what_an_undone_transaction_put_back_is_exported_too(tmp_path: Path) -> None:
    store, other = MemoryStore(), MemoryStore()
    undone = """
        open("f", "w").write("old")
        try:
            with transaction():
                open("f", "w").write("new")
                raise ValueError
        except ValueError:
            pass
        text = open("f").read()
        open("f", "w").write("later")
    """
    async with Runtime(store=store, session="s1", limits=PATIENT) as rt:
        await value(rt, undone)
    Sessions(store).export("s1", tmp_path / "s1.jsonl")
    Sessions(other).import_(tmp_path / "s1.jsonl")
    async with resumed(other) as rt:
        assert await value(rt, "text, open('f').read()") == ("old", "later")
