"""Sessions that are kept in PostgreSQL: the process dies, another goes on; an agent's too; and those made elsewhere."""

from __future__ import annotations

import asyncio
import io
from contextlib import closing
from pathlib import Path

import pytest
from tests.agent.worlds import Crm, agent_with
from tests.guard.test_flow_deaths import check_killed
from tests.journal.elsewhere import killed_after
from tests.journal.lasting import PATIENT, SESSION, value

from cellwright import Runtime
from cellwright.errors import UsageError
from cellwright.sessions import Sessions
from cellwright.store import BoundedFiles, open_store
from cellwright.testing import code

pytestmark = pytest.mark.usefixtures("warm", "state")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where workspaces are: a database has no directory beside it."""
    monkeypatch.setenv("CELLWRIGHT_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


class Post:
    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, what: str) -> int:
        self.sent.append(what)
        return len(self.sent)


def post() -> dict[str, object]:
    return {"post": Post()}


def names_below(place: Path, pattern: str) -> list[str]:
    return [path.name for path in place.glob(pattern)]


async def test_a_session_goes_on_after_its_process_was_killed(database: str, state: Path) -> None:
    cells = "x = post.send('one')", "open('kept.txt', 'w').write(f'file {x}')\nx += 1"
    await asyncio.to_thread(killed_after, database, "tests.store.test_postgres_sessions:post", *cells)
    mine = Post()
    async with Runtime.resume(SESSION, scope={"post": mine}, store=database, limits=PATIENT) as rt:
        assert await value(rt, "x, open('kept.txt').read()") == (2, "file 1")
        assert await value(rt, "post.send('two')") == 1
    assert mine.sent == ["two"]
    assert names_below(state, f"workspaces/*/{SESSION}/*") == ["kept.txt"]


async def test_on_another_machine_a_session_has_its_files_again(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime(post(), store=database, session=SESSION, limits=PATIENT) as rt:
        await value(rt, "open('kept.txt', 'w').write('kept')")
        await value(rt, "open('last.txt', 'w').write('last')")
    monkeypatch.setenv("CELLWRIGHT_STATE", str(tmp_path / "elsewhere"))
    async with Runtime.resume(SESSION, scope=post(), store=database, limits=PATIENT) as rt:
        assert await value(rt, "import os; sorted(os.listdir())") == ["kept.txt", "last.txt"]


async def test_old_files_are_dropped_and_the_session_goes_on_elsewhere(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{database}&snapshots_mb=1"
    async with Runtime(store=url, session=SESSION, limits=PATIENT) as rt:
        for n in range(20):
            await value(rt, f"open('large', 'wb').write(bytes([{n}]) * 300_000); None")
    with closing(open_store(url)) as store:
        assert isinstance(store, BoundedFiles)
        assert store.held(SESSION) <= 1 << 20
        with pytest.raises(UsageError, match="after cell 2 are no longer kept"):
            Sessions(store).rewind(SESSION, to=2)
    monkeypatch.setenv("CELLWRIGHT_STATE", str(tmp_path / "elsewhere"))  # where no checkpoint can be used
    async with Runtime.resume(SESSION, store=url, limits=PATIENT) as rt:
        assert await value(rt, "open('large', 'rb').read(1)") == bytes([19])
        assert rt.restored is not None
        assert len(rt.restored.cells) == 20


class Died(BaseException):
    """The process is gone. No layer may answer to it."""


def dies(_: object) -> str:
    raise Died


async def test_a_turn_is_carried_on_where_its_process_left_it(database: str) -> None:
    crm = Crm()
    steps = code("crm.write('Bo', 'hello')"), code("done('written')")
    with closing(open_store(database)) as store:
        first, _ = agent_with(steps[0], dies, scope={"crm": crm}, store=store)
        with pytest.raises(Died):
            async with first.session("s1") as session:
                await session.run("Write to Bo.")
        again, rest = agent_with(steps[1], scope={"crm": crm}, store=store)
        async with again.resume("s1") as session:
            result = await session.carry_on()
        assert (result.value, crm.letters, rest.left) == ("written", ["Bo: hello"], 0)
        assert [turn.status for turn in store.turns("s1")] == ["done"]
        assert [hit.session for hit in store.search("write to bo", kinds=("prompt",))] == ["s1"]


async def test_a_session_of_a_file_is_taken_to_a_database(database: str, tmp_path: Path) -> None:
    file = str(tmp_path / "sessions.db")
    async with Runtime(post(), store=file, session="moved", limits=PATIENT) as rt:
        await value(rt, "x = post.send('one') + 40")
    line = io.BytesIO()
    with closing(open_store(file)) as source, closing(open_store(database)) as target:
        Sessions(source).export("moved", line)
        line.seek(0)
        Sessions(target).import_(line)
        assert [cell.code for cell in target.cells("moved")] == ["x = post.send('one') + 40"]
    async with Runtime.resume("moved", scope=post(), store=database, limits=PATIENT) as rt:
        assert await value(rt, "x + 1") == 42


@pytest.mark.crash
def test_an_agent_that_is_killed_between_reading_and_sending_asks_when_it_is_resumed(
    database: str, tmp_path: Path
) -> None:
    check_killed(database, tmp_path / "sent")
