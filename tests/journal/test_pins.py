"""What a session was recorded with, and is not found when it is opened again, is told."""

from __future__ import annotations

from pathlib import Path

from cellwright import Runtime, replay
from cellwright.sandboxes import ProcessSandbox, environment
from cellwright.store import SqliteStore


class Elsewhere(ProcessSandbox):
    """A machine with another Python, as far as it says."""

    async def pins(self) -> dict[str, str]:
        return await super().pins() | {"python": "3.99.0"}


async def test_another_python_is_told_when_a_session_is_resumed_or_replayed(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "agents.db")
    async with Runtime(store=store, session="s1") as rt:
        (await rt.execute("x = 1")).unwrap()
    sandbox = Elsewhere(await environment(None, cache=tmp_path))
    try:
        async with Runtime.resume("s1", store=store, sandbox=sandbox) as rt:
            assert rt.restored is not None
            assert any("python was" in note and "3.99.0" in note for note in rt.restored.notes)
            assert (await rt.execute("x")).unwrap() == 1
        found = await replay("s1", store=store, sandbox=sandbox)
        assert found.same
        assert any("3.99.0" in words for words in found.changed)
        assert not (await replay("s1", store=store)).changed
    finally:
        await sandbox.close()
        store.close()
