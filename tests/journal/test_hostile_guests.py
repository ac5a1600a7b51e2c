"""Journaled guests that lie: in the paths and numbers of their calls, in how much they send, in what they call a state.

Each was a hole once. Attacks that need no look at the journal are in `tests/attacks`.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cellwright import Limits, Outcome, Runtime, current_call, operation
from cellwright.errors import CallLimit, CodeError, ProtocolError, RollbackRefused
from cellwright.events import CallStarted, Event
from cellwright.journal import History, replay, snapshots
from cellwright.store import MemoryStore, Row

RAW = (Path(__file__).parent.parent / "attacks" / "raw.py").read_text(encoding="utf-8")
LIMITS = Limits(wall_s=10, host_calls=200)


class Vault:
    """The name that `raw.py` looks for."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.keys: list[str] = []

    @operation(reads=True)
    def echo(self, x: Any) -> Any:
        return x

    @operation(reads=True)
    def size(self, x: Any) -> int:
        return len(x)

    def pay(self, amount: int) -> int:
        self.paid.append(amount)
        self.keys.append(current_call().idempotency_key)
        return amount

    def call(self, f: Any) -> Any:
        return f()


class Session:
    """A journaled session whose first cell is `raw.py`."""

    def __init__(self, limits: Limits = LIMITS, id: str = "s1") -> None:
        self.journal = MemoryStore()
        self.vault = Vault()
        self.asked = asyncio.Event()  # a transaction has begun
        self.runtime = Runtime(self.scope(), store=self.journal, session=id, limits=limits, progress=quiet)

    def scope(self) -> dict[str, Any]:
        return {"vault": self.vault, "books": Vault()}

    async def __aenter__(self) -> Session:
        await self.runtime.__aenter__()
        (await self.runtime.execute(RAW)).unwrap()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.runtime.close()

    async def run(self, code: str) -> Outcome:
        return await self.runtime.execute(code)

    def interpreter(self) -> Any:
        runtime: Any = self.runtime
        return runtime._open.session.guest.interpreter

    def hear(self, event: Event) -> None:
        if isinstance(event, CallStarted) and event.name == "transaction.begin":
            self.asked.set()

    def rows(self) -> list[Row]:
        return [row for row in self.journal.rows("s1") if row.title == "vault.pay"]

    async def resumed(self) -> Any:
        """What another process finds: the value of a plain cell."""
        again = Runtime.resume("s1", scope=self.scope(), store=self.journal, limits=LIMITS, progress=quiet)
        async with again:
            return (await again.execute("1 + 1")).unwrap()


def quiet(line: str) -> None:
    return None


@pytest.mark.parametrize("cell", [1, 3, 0, -1, 10**30])
async def test_a_call_that_says_it_is_of_another_cell_is_of_the_one_that_runs(cell: int) -> None:
    async with Session() as session:
        told = await session.run(
            f"send(journaled('call', VAULT, 'pay', {{'t': [5]}}, '2#50', cell={cell}))\nvault.echo(1)"
        )
        assert told.value == 1
        assert [(row.cell, row.path) for row in session.rows()] == [(2, "2#50")]
        with pytest.raises(RollbackRefused, match=r"vault\.pay\(5\) in cell 2"):
            await session.runtime.rollback(1)
    assert await session.resumed() == 2


async def test_a_call_does_not_take_the_row_of_a_cell_that_was_ended() -> None:
    async with Session() as session:
        ended = await session.run("vault.pay(1)\nimport os\nos._exit(1)")
        assert ended.error is not None
        again = await session.run("send(journaled('call', VAULT, 'echo', {'t': [5]}, '2#1', cell=2)); vault.echo(1)")
        assert isinstance(again.error, ProtocolError)
        assert [(row.cell, row.path) for row in session.rows()] == [(2, "2#1")]
        with pytest.raises(RollbackRefused, match=r"vault\.pay\(1\) in cell 2"):
            await session.runtime.rollback(1)


@pytest.mark.parametrize(
    "path",
    [
        *("", "x", "2", "2#", "2#0", "2#01", "02#1", "2#1!1", "names#1", "undo 2#1", "rollback", "!#1", "!0#1"),
        *("3#1", "9.1#1", "!1#1", "!99#1", "-1#1", "2 #1\n", "٢#1", "2#٢"),
    ],
)
async def test_a_path_that_is_not_the_calls_own_ends_the_guest(path: str) -> None:
    async with Session() as session:
        told = await session.run(f"send(journaled('call', VAULT, 'pay', {{'t': [7]}}, {path!r}))\nvault.echo(1)")
        assert isinstance(told.error, ProtocolError), told
        assert session.vault.paid == []
    assert await session.resumed() == 2


async def test_an_effect_is_not_hidden_behind_a_callback() -> None:
    """The row of the callback would have been written over that of the call."""
    async with Session() as session:
        await session.run("send(journaled('call', VAULT, 'pay', {'t': [7]}, '2#1!1'))\nvault.call(lambda: 1)")
        assert len(session.rows()) == len(session.vault.paid)


async def test_a_path_of_any_letters_is_kept_and_told_again() -> None:
    path = "2\ud800\0\x1b[2J" + "a" * 900 + "#1"
    async with Session() as session:
        code = f"path = {path!a}\nsend(journaled('call', VAULT, 'pay', {{'t': [7]}}, path))\nvault.echo(1)"
        assert (await session.run(code)).value == 1
        assert [row.path for row in session.rows()] == [path]
    assert await session.resumed() == 2
    assert session.vault.paid == [7]


@pytest.mark.parametrize("line", ["-1", "10**4000", "-10**4000", "True"])
async def test_a_line_that_no_cell_has_ends_the_guest(line: str) -> None:
    async with Session() as session:
        code = f"send(journaled('call', VAULT, 'pay', {{'t': [7]}}, '2#9', line={line}))\nvault.echo(1)"
        assert isinstance((await session.run(code)).error, ProtocolError)
    assert await session.resumed() == 2


async def test_a_verb_that_is_the_journals_own_binds_no_names() -> None:
    """Refused calls are answered before anybody looks at their verb."""
    async with Session(limits=Limits(wall_s=10, host_calls=5)) as session:
        await session.run(
            "for i in range(20): send(journaled('names', VAULT, 'vault,door', {'t': [7]}, f'2#{i + 100}'))\n"
            "try: vault.echo(1)\nexcept Exception: pass"
        )
        assert History(session.journal, "s1").later_names() == []
    assert await session.resumed() == 2


async def test_a_sleep_brings_no_luggage() -> None:
    """Calls under way are bounded in bytes; sleeps are calls too."""
    async with Session(limits=Limits(wall_s=20)) as session:
        told = await session.run(
            "big = b'x' * (30 << 20)\n"
            "for i in range(30): send(journaled('sleep', 0, '', {'t': [1000]}, f'2#{i + 100}'), big)\n"
            "vault.echo(1)"
        )
        calls = session.interpreter()._calls
        assert calls._bytes <= 300 << 20, told


async def test_the_calls_of_a_cell_fill_only_so_much_of_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "CELL_BYTES", 1 << 20)
    async with Session() as session:
        told = await session.run("import os\nfor i in range(50): vault.size(os.urandom(100_000))")
        assert isinstance(told.error, CodeError | CallLimit)
        assert "journal" in str(told.error)
        kept = sum(len(row.arguments.blobs[0]) for row in session.journal.rows("s1") if row.arguments.blobs)
        assert kept <= 2 << 20
        assert (await session.run("vault.size(os.urandom(100_000))")).value == 100_000
    assert await session.resumed() == 2


async def test_transactions_of_a_cell_keep_only_so_many_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "CELL_BYTES", 1 << 20)
    code = """
import os
told = []
for i in range(30):
    open("f", "wb").write(os.urandom(200_000))
    try:
        with transaction():
            pass
    except Exception as error:
        told.append(str(error))
"""
    async with Session() as session:
        (await session.run(code)).unwrap()
        told: Any = (await session.run("told[:1], len(told)")).value
        assert told[1] > 20
        assert "kept already" in told[0][0]
        assert (await session.run("with transaction(): pass")).error is None


async def test_transactions_by_the_hundred_keep_no_thread_of_others_busy() -> None:
    code = """
import asyncio, os
for i in range(200): open(f"f{i}", "wb").write(os.urandom(10_000))
for i in range(150): send(journaled("begin", 0, f"2+{i + 1}", {"t": [False]}, f"2+{i + 1}#1"))
vault.echo("sent")
"""
    async with Session(limits=Limits(wall_s=30, host_calls=1000)) as session:
        running = asyncio.ensure_future(session.runtime.execute(code, on_event=session.hear))
        await session.asked.wait()
        assert await asyncio.wait_for(asyncio.to_thread(lambda: 1), 10) == 1
        assert (await running).error is None


async def test_a_state_that_is_too_large_ends_the_guest() -> None:
    code = """
chunk = bytes(1 << 20)
def answer(size):
    text = b'[["p",[]],[%d]]' % (size << 20)
    door.conn.sendall(struct.pack("<II", len(text), size << 20) + text)
    for _ in range(size): door.conn.sendall(chunk)
class Late:
    def __reduce__(self):
        answer(200)
        return (int, ())
late = Late()
"""
    async with Session() as session:
        (await session.run(code)).unwrap()
        interpreter = session.interpreter()
        assert await interpreter.save() is None
        assert isinstance(interpreter.reason, ProtocolError)
        assert not session.journal.checkpoints("s1")
        assert (await session.run("1 + 1")).value == 2


async def test_two_journals_with_a_session_of_one_name_have_keys_of_their_own() -> None:
    keys: list[str] = []
    for _ in range(2):
        async with Session() as session:
            await session.run("vault.pay(1)")
            keys += session.vault.keys
    assert len(set(keys)) == 2


async def test_a_session_that_takes_the_name_of_a_forgotten_one_has_keys_of_its_own() -> None:
    journal, keys = MemoryStore(), list[str]()
    for _ in range(2):
        vault = Vault()
        async with Runtime({"vault": vault}, store=journal, session="s1", limits=LIMITS) as rt:
            await rt.execute("vault.pay(1)")
        keys += vault.keys
        journal.forget("s1")
    assert len(set(keys)) == 2


async def test_what_a_guest_writes_into_its_calls_moves_no_cursor() -> None:
    code = (
        "send(journaled('call', VAULT, 'pay', {'t': [{'t': [1]}, {'m': {'\\x1b[2J\\u202e': 1}}]}, '2#9'))\n"
        "vault.echo(1)\nvault.pay('\\x1b]0;x\\x07')"
    )
    async with Session() as session:
        await session.run(code)
        with pytest.raises(RollbackRefused) as refused:
            await session.runtime.rollback(1)
    assert all(letter.isprintable() or letter == "\n" for letter in str(refused.value))


async def test_a_cell_that_ends_its_guest_each_time_is_given_up_and_the_session_goes_on() -> None:
    code = "send(['d', door.cell, 'value', [], 5])\ntime.sleep(0.1)\nsend(['nonsense'])\ntime.sleep(5)"
    async with Session() as session:
        assert (await session.run("kept = 7")).error is None
        assert (await session.run(code)).value == 5
        # its guest may end before the next cell begins, or under it
        assert 7 in [(await session.run("kept")).value for _ in range(3)]
    assert await session.resumed() == 2


async def test_a_function_that_comes_straight_back_is_itself() -> None:
    """The host lets go of it with the answer that names it."""
    code = "f = lambda: 1\n[vault.echo(f) is f for _ in range(3)], vault.call(f)"
    async with Session() as session:
        assert (await session.run(code)).value == ([True] * 3, 1)
        loop = "async def main():\n    return [vault.echo(f) is f for _ in range(3)]\nawait main()"
        assert (await session.run(loop)).value == [True] * 3
    assert await session.resumed() == 2


async def test_undoing_without_end_ends_with_its_cell() -> None:
    """The limit ends the guest; what it asked to be undone and was not begun is undone at once."""
    code = """
for i in range(800): send(journaled("begin", 0, f"2+{i + 1}", {"t": [True]}, f"2+{i + 1}#1"))
for i in range(800): send(journaled("undo", 0, f"2+{i + 1}", {"t": []}, f"2+{i + 1}#2"))
while True: pass
"""
    async with Session(limits=Limits(wall_s=2, cpu_s=30, host_calls=5000)) as session:
        told = await asyncio.wait_for(session.run(code), 30)
        assert told.error is not None
        assert (await session.run("1 + 1")).value == 2
