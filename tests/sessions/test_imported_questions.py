"""An import brings no yes with it: not of the session that it is a copy of, and none that its file claims."""

from __future__ import annotations

import json
from pathlib import Path

from tests.sessions.worlds import PATIENT

from cellwright import Runtime, decide, open_questions, operation
from cellwright.sessions import Sessions

CODE = "said = [await mail.send(to) for to in ('ann', 'bob')]\nsaid"


class Mail:
    def __init__(self) -> None:
        self.sent: list[str] = []

    @operation(ask=True, idempotent=True)
    async def send(self, to: str) -> str:
        self.sent.append(to)
        return f"sent to {to}"


async def waiting(place: Path) -> tuple[Path, Path]:
    """A session that waits for a yes, and its export."""
    store, file = place / "agents.db", place / "w.jsonl"
    async with Runtime({"mail": Mail()}, store=store, session="w", limits=PATIENT) as rt:
        assert (await rt.execute(CODE)).waiting
    with Sessions(store) as sessions:
        sessions.export("w", file)
    return store, file


async def carried_on(store: Path, session: str, mail: Mail) -> tuple[str, ...]:
    async with Runtime.resume(session, scope={"mail": mail}, store=store, limits=PATIENT) as rt:
        return (await rt.outcome()).waiting


async def test_a_yes_to_a_session_is_none_to_its_copy_in_the_same_store(tmp_path: Path) -> None:
    store, file = await waiting(tmp_path)
    with Sessions(store) as sessions:
        copy = sessions.import_(file).session
    decide(store, open_questions(store, "w")[0].id, yes=True)
    first, second = Mail(), Mail()
    assert await carried_on(store, "w", first)
    assert await carried_on(store, copy, second)  # it asks for itself
    assert (first.sent, second.sent) == (["ann"], [])
    (asked,) = open_questions(store, copy)
    decide(store, asked.id, yes=True)
    assert await carried_on(store, copy, second)
    assert second.sent == ["ann"]


async def test_a_file_that_says_a_call_began_does_not_make_it_without_a_yes(tmp_path: Path) -> None:
    store, file = await waiting(tmp_path)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    (asked,) = (line for line in lines if line.get("status") == "asked")
    asked["status"] = "started"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Sessions(store) as sessions:
        sessions.import_(file, "forged")
    mail = Mail()
    assert await carried_on(store, "forged", mail)
    assert mail.sent == []
    assert [one.operation for one in open_questions(store, "forged")] == ["mail.send"]
