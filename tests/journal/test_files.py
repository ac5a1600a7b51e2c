"""The files of a session: what a cell changed, put back, brought back where they are gone, and nobody else's."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.journal.lasting import run, value

from cellwright import Limits, Runtime
from cellwright.errors import JournalFailed, PlatformError, UsageError, WorkspaceLimit
from cellwright.journal import FileChange
from cellwright.runtime import replay
from cellwright.store import MemoryStore, SqliteStore

pytestmark = pytest.mark.usefixtures("warm")

WRITE = "open({path!r}, 'w').write({text!r}); None"


def write(path: str, text: str) -> str:
    return WRITE.format(path=path, text=text)


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'agents.db'}"


def silent(line: str) -> None:
    """For who resumes where a word is said of it."""


def place(tmp_path: Path, session: str = "s1") -> Path:
    return tmp_path / "agents.db.workspaces" / session


async def test_a_cell_tells_which_files_it_changed(store: str, tmp_path: Path) -> None:
    async with Runtime(store=store, session="s1") as rt:
        await value(rt, write("a.txt", "one"))
        await value(rt, "import os; os.mkdir('d'); open('d/b', 'w').close(); os.unlink('a.txt')")
        await value(rt, "1")
        journal = rt.journal
        assert journal is not None
        cells = journal.cells("s1")
    assert [cell.files for cell in cells] == [("a.txt",), ("a.txt", "d/b"), ()]
    assert cells[0].tree_after == cells[1].tree
    assert cells[2].tree_after == cells[2].tree


async def test_many_changed_files_are_told_up_to_a_bound(store: str) -> None:
    async with Runtime(store=store, session="s1") as rt:
        await value(rt, "for i in range(300): open(f'{i:03}', 'w').close()")
        journal = rt.journal
        assert journal is not None
        (cell,) = journal.cells("s1")
    assert len(cell.files) == 201
    assert cell.files[-1] == "…"


async def test_the_difference_is_told_by_path_with_the_lines_of_texts(store: str) -> None:
    async with Runtime(store=store, session="s1") as rt:
        await value(rt, write("kept", "same"))
        await value(rt, write("text", "one\ntwo\nthree\n"))
        await value(rt, write("text", "one\n2\nthree\n"))
        await rt.files.write("bytes", b"\xff\x00")
        changed, text = await rt.diff()
        assert (changed.path, changed.what, changed.text) == ("bytes", "added", "")
        assert (text.path, text.what) == ("text", "changed")
        assert text.text.splitlines() == ["--- text", "+++ text", "@@ -1,3 +1,3 @@", " one", "-two", "+2", " three"]
        assert [change.path for change in await rt.diff(since=3)] == ["bytes"]
        assert [change.path for change in await rt.diff(since=0)] == ["bytes", "kept", "text"]
        with pytest.raises(UsageError, match="no cell 4"):
            await rt.diff(since=4)


async def test_files_are_put_back_and_names_stay(store: str, tmp_path: Path) -> None:
    async with Runtime(store=store, session="s1") as rt:
        await value(rt, "x = 1\n" + write("f", "one"))
        await value(rt, "x = 2\nimport os; os.unlink('f')\n" + write("g", "two"))
        undone = await rt.undo_files()
        assert undone == (
            FileChange(path="f", what="added", kind="file"),
            FileChange(path="g", what="removed", kind="file"),
        )
        assert await value(rt, "x, sorted(os.listdir('.'))") == (2, ["f"])
        await rt.restore_files(at=2)
        assert await value(rt, "x, sorted(os.listdir('.'))") == (2, ["g"])
        await rt.restore_files(at=0)
        assert await value(rt, "os.listdir('.')") == []
    assert (await replay("s1", store=store)).same
    async with Runtime.resume("s1", store=store) as rt:
        assert await value(rt, "x, os.listdir('.')") == (2, [])


async def test_what_was_put_back_is_what_another_machine_finds(store: str, tmp_path: Path) -> None:
    async with Runtime(store=store, session="s1") as rt:
        await value(rt, write("f", "one"))
        await value(rt, write("f", "two"))
        await rt.undo_files()
        await rt.files.write("handed in", "later")
    shutil.rmtree(place(tmp_path))
    async with Runtime.resume("s1", store=store, progress=silent) as rt:
        assert await rt.files.read_text("f") == "one"
        assert await rt.files.read_text("handed in") == "later"


async def test_without_a_journal_there_is_nothing_to_put_back() -> None:
    async with Runtime() as rt:
        with pytest.raises(UsageError, match="needs a journal"):
            await rt.undo_files()


async def test_a_workspace_that_is_gone_is_put_back_with_a_word_of_it(store: str, tmp_path: Path) -> None:
    async with Runtime(store=store, session="s1") as rt:
        await value(rt, "import os; os.mkdir('d')\n" + write("d/f", "kept"))
    shutil.rmtree(place(tmp_path))
    said: list[str] = []
    async with Runtime.resume("s1", store=store, progress=said.append) as rt:
        assert await value(rt, "open('d/f').read()") == "kept"
    assert said == ["cellwright: session s1: its workspace was not here; 2 files put back in a new one"]
    assert place(tmp_path).is_dir()


async def test_a_store_that_is_no_file_brings_the_files_along() -> None:
    store = MemoryStore()
    async with Runtime(store=store, session="s1") as rt:
        await value(rt, write("f", "kept"))
    async with Runtime.resume("s1", store=store, progress=silent) as rt:
        assert await value(rt, "open('f').read()") == "kept"


async def test_a_workspace_that_cannot_be_put_back_is_told_and_nothing_is_made(store: str, tmp_path: Path) -> None:
    big = "import os; open('big', 'wb').write(os.urandom(2 << 20)); None"
    async with Runtime(store=store, session="s1") as rt:
        await value(rt, write("small", "small"))
        await value(rt, big)
    shutil.rmtree(place(tmp_path))
    kept = tmp_path / "agents.db.blobs"
    kept.rename(tmp_path / "elsewhere")
    with pytest.raises(JournalFailed, match="put that directory back"):
        async with Runtime.resume("s1", store=store):
            pass
    assert os.listdir(place(tmp_path).parent) == []
    (tmp_path / "elsewhere").rename(kept)
    async with Runtime.resume("s1", store=store, progress=silent) as rt:
        assert len(await rt.files.read("big")) == 2 << 20


async def test_a_session_sees_no_files_of_another_nor_of_its_fork(store: str, tmp_path: Path) -> None:
    look = "import os; sorted(os.listdir('.')), sorted(os.listdir('..'))"
    async with Runtime(store=store, session="a") as one, Runtime(store=store, session="b") as other:
        await value(one, write("secret", "a"))
        seen = await value(other, look)
        assert seen[0] == []
        async with await one.fork(session="c") as fork:
            await value(fork, write("forked", "c"))
            assert (await value(one, look))[0] == ["secret"]
            assert (await value(fork, look))[0] == ["forked", "secret"]
        for path in (place(tmp_path, "a"), place(tmp_path, "a") / "secret"):
            found = await run(other, f"import os; os.listdir({str(path.parent)!r}), open({str(path)!r})")
            assert found.error is not None
    async with Runtime.resume("b", store=store) as other:
        assert await value(other, look) == seen
        escape = "open('../a/secret').read()"
        assert "FileNotFoundError" in str((await run(other, escape)).error)


async def test_the_quota_holds_across_cells_and_resumes(store: str) -> None:
    limits = Limits(workspace_mb=4)
    fill = "import os; open({name!r}, 'wb').write(os.urandom({mb} << 20)); None"
    async with Runtime(store=store, session="s1", limits=limits) as rt:
        await value(rt, fill.format(name="a", mb=3))
        with pytest.raises(UsageError, match="delete some"):
            await rt.files.write("b", b"x" * (2 << 20))
    async with Runtime.resume("s1", store=store, limits=limits) as rt:
        outcome = await run(rt, fill.format(name="c", mb=3))
        assert isinstance(outcome.error, WorkspaceLimit)
        assert "workspace_mb=4" in str(outcome.error)
        assert await value(rt, "import os; os.unlink('c'); os.path.getsize('a')") == 3 << 20


async def test_files_beyond_the_quota_are_not_put_back_in_part(store: str, tmp_path: Path) -> None:
    async with Runtime(store=store, session="s1") as rt:
        await value(rt, "import os; open('a', 'wb').write(os.urandom(3 << 20)); None")
    shutil.rmtree(place(tmp_path))
    with pytest.raises(PlatformError, match="workspace_mb=2; give more"):
        async with Runtime.resume("s1", store=store, limits=Limits(workspace_mb=2)):
            pass
    assert not place(tmp_path).exists()


async def test_large_files_are_kept_beside_the_store_and_go_with_their_session(store: str, tmp_path: Path) -> None:
    async with Runtime(store=store, session="s1") as rt:
        await value(rt, "import os; open('a', 'wb').write(os.urandom(3 << 20)); None")
        content = await rt.files.read("a")
        await value(rt, "os.unlink('a')")
        await rt.restore_files(at=1)
        assert await rt.files.read("a") == content
    (kept,) = (tmp_path / "agents.db.blobs").iterdir()
    assert kept.read_bytes() == content
    assert (tmp_path / "agents.db").stat().st_size < 1 << 20
    journal = SqliteStore(tmp_path / "agents.db")
    assert journal.forget("s1").bytes > 3 << 20
    journal.close()
    assert list((tmp_path / "agents.db.blobs").iterdir()) == []
