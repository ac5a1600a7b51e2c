"""`show`: a session turn by turn."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agent.worlds import agent_with
from tests.sessions.worlds import begun, ended

from cellwright.sessions import Sessions, ShownCell, ShownNote
from cellwright.store import SqliteStore
from cellwright.testing import code

pytestmark = pytest.mark.usefixtures("warm")


async def test_a_turn_has_its_task_its_cells_its_calls_and_its_answer(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    agent, _ = agent_with(
        code("print(crm.write('Ada', 'hello'))\nopen('f.txt', 'w').write('x')\nNone"),
        code("crm.fail(3)"),
        "It is written.",
        "Nothing to do.",
        store=store,
    )
    async with agent.session("s1") as session:
        await session.run("Write to Ada")
        await session.run("And now?")
        await session.runtime.rewind(1)
    history = Sessions(store).show("s1")
    first, second = history.turns
    assert (first.task, first.status, first.answer) == ("Write to Ada", "done", "It is written.")
    assert first.entry == begun(store, "s1", 1)
    wrote, failed = [step for step in first.steps if isinstance(step, ShownCell)]
    assert (wrote.entry, wrote.stdout, wrote.undone) == (ended(store, "s1", 1), "1\n", False)
    assert [call.text for call in wrote.calls] == ["crm.write('Ada', 'hello')"]
    assert "there is no letter 3" in failed.error
    assert failed.undone
    assert wrote.files == ("f.txt",)
    assert history.files == ("f.txt",)
    assert [step.text for step in second.steps if isinstance(step, ShownNote)] == ["to cell 1"]
    then = Sessions(store).show("s1", upto=wrote.entry)
    assert [cell.number for cell in then.cells] == [1]
    assert then.turns[0].status == "running"
