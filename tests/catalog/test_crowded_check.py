"""Checks at once, and a checker that fails: a wrong cell is refused, or its outcome says that nobody checked it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cellwright import Runtime
from cellwright.catalog import TypeChecker, ty_server
from cellwright.errors import NotChecked, TypeMistake
from cellwright.scope import Scope

AT_ONCE = 8
FAKE = """\
#!{python}
import json, os, sys

def send(message):
    body = json.dumps(message).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
    sys.stdout.buffer.flush()

while True:
    size = 0
    while (line := sys.stdin.buffer.readline()).strip():
        size = int(line.partition(b":")[2])
    if not line:
        break
    message = json.loads(sys.stdin.buffer.read(size))
    number, method = message.get("id"), message["method"]
    if method == "initialize":
        send({{"id": number, "result": {{}}}})
    elif number is not None:
        {answer}
"""


class Desk:
    def order(self, item: str, count: int = 1) -> int:
        return count


class Other:
    def order(self, item: str) -> int:
        return 1


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], TypeChecker]:
    """A checker whose server answers each request with this line of Python."""

    def make(answer: str) -> TypeChecker:
        program = tmp_path / "ty"
        program.write_text(FAKE.format(python=sys.executable, answer=answer))
        program.chmod(0o755)
        monkeypatch.setattr(ty_server, "find_ty", lambda: str(program))
        monkeypatch.setattr(ty_server, "LINGER_S", 0.0)
        monkeypatch.setattr(ty_server, "_SERVERS", {})
        return TypeChecker(Scope({"desk": Desk()}), site=[tmp_path], timeout_s=1.0)

    return make


async def test_wrong_cells_of_eight_sessions_at_once_are_all_refused() -> None:
    async def session(number: int) -> list[bool]:
        async with Runtime({"desk": Desk()}, check="strict") as rt:
            refused: list[bool] = []
            for turn in range(3):
                (await rt.execute(f"kept{turn} = desk.order('tea', {number})")).unwrap()
                wrong = await rt.execute(f"desk.order('tea', amount={number + turn})")
                refused.append(isinstance(wrong.error, TypeMistake))
            return refused

    found = await asyncio.gather(*(session(number) for number in range(AT_ONCE)))
    assert found == [[True] * 3] * AT_ONCE


async def test_a_cell_that_is_clean_in_many_sessions_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[str] = []
    ask = ty_server.TyServer.ask

    async def asked(self: ty_server.TyServer, method: str, params: dict[str, Any]) -> Any:
        judged.append(method)
        return await ask(self, method, params)

    async def session() -> None:
        async with Runtime({"desk": Desk()}, check="strict") as rt:
            for cell in (
                "ordered = desk.order('tea')",
                "ordered.bit_length()",
                "def twice(n: int): return 2 * n",
                "twice(3)",
            ):
                (await rt.execute(cell)).unwrap()

    monkeypatch.setattr(ty_server, "_SERVERS", {})
    monkeypatch.setattr(ty_server.TyServer, "ask", asked)
    await asyncio.gather(*(session() for _ in range(AT_ONCE)))
    assert judged == ["textDocument/diagnostic"] * 4


@pytest.mark.parametrize(
    ("scope", "before"),
    [
        ({"desk": Other()}, ["1"]),
        ({"desk": Desk()}, ["def twice(n: int, *, often: int): return n * often"]),
        ({"desk": Desk()}, ["import math as twice"]),
        ({"desk": Desk()}, ["twice = 2"]),
    ],
)
async def test_a_cell_that_is_clean_elsewhere_is_refused_where_it_is_wrong(
    scope: dict[str, Any], before: list[str]
) -> None:
    cell = "twice(desk.order('tea', count=2), 2)"
    first, second = TypeChecker(Scope({"desk": Desk()})), TypeChecker(Scope(scope))
    assert not await first.check(cell, before=["def twice(n: int, often: int): return n * often"])
    assert not await first.check(cell, before=["def twice(n: int, often: int): return n * often"])
    assert await second.check(cell, before=before)
    for checker in (first, second):
        await checker.close()


async def test_checkers_of_several_event_loops_do_not_disturb_each_other() -> None:
    async def judge(number: int) -> int:
        checker = TypeChecker(Scope({"desk": Desk()}))
        found = [await checker.check(f"desk.nope{number}_{turn}") for turn in range(5)]
        await checker.close()
        return sum(map(len, found))

    threads = (asyncio.to_thread(asyncio.run, judge(number)) for number in range(4))
    assert await asyncio.gather(*threads) == [5] * 4


def test_wrong_cells_of_two_processes_at_once_are_all_refused() -> None:
    program = """
        import asyncio
        from cellwright.catalog import TypeChecker
        from cellwright.scope import Scope

        async def judge(number):
            checker = TypeChecker(Scope({"count": number}))
            found = [await checker.check(f"count.nope{turn}") for turn in range(3)]
            await checker.close()
            return sum(map(len, found))

        async def main():
            print(sum(await asyncio.gather(*map(judge, range(8)))))

        asyncio.run(main())
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=60)[0] for process in both] == ["24\n", "24\n"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("send({'id': number, 'error': {'code': -32801, 'message': 'content modified'}})", "content modified"),
        ("send({'id': number, 'error': {'code': -32603, 'message': 'it panicked'}})", "it panicked"),
        ("send({'id': number, 'result': None})", "without a verdict"),
        ("send({'id': number, 'result': {'kind': 'unchanged'}})", "without a verdict"),
        ("os._exit(1)", "process ended"),
        ("sys.stdout.buffer.write(b'Content-Length: 3\\r\\n\\r\\n{{{'); sys.stdout.flush()", "process ended"),
        ("pass", "no verdict within 1 s"),
    ],
    ids=["changed", "error", "nothing", "unchanged", "dies", "babbles", "hangs"],
)
async def test_a_server_that_gives_no_verdict_is_told(
    fake: Callable[[str], TypeChecker], answer: str, why: str
) -> None:
    checker = fake(answer)
    with pytest.raises(NotChecked, match=why):
        await checker.check("desk.nope")
    await checker.close()


async def test_a_request_that_the_server_gives_up_once_is_made_again(fake: Callable[[str], TypeChecker]) -> None:
    at = "{'line': 1, 'character': 0}"
    message = "'Object of type `Desk` has no attribute `nope`'"
    item = f"{{'code': 'missing-attribute', 'message': {message}, 'range': {{'start': {at}, 'end': {at}}}}}"
    gives_up = "{'id': number, 'error': {'code': -32802, 'message': 'server cancelled'}}"
    checker = fake(f"send({gives_up} if number == 2 else {{'id': number, 'result': {{'items': [{item}]}}}})")
    assert [mistake.rule for mistake in await checker.check("desk.nope")] == ["missing-attribute"]
    await checker.close()


@pytest.mark.parametrize("code", ["x = 1\n" * 40_000, "x = " + "-" * 20_000 + "1"], ids=["long", "deep"])
async def test_code_that_cannot_be_judged_runs_with_a_note(code: str) -> None:
    async with Runtime(check="strict") as rt:
        outcome = await rt.execute(code)
    assert outcome.mistakes[0].startswith("not checked: ")


async def test_strict_runs_a_cell_that_nobody_could_check_and_says_so(fake: Callable[[str], TypeChecker]) -> None:
    fake("send({'id': number, 'error': {'code': -32603, 'message': 'it panicked'}})")
    async with Runtime({"desk": Desk()}, check="strict") as rt:
        outcome = await rt.execute("desk.order('tea', 3)")
    assert outcome.unwrap() == 3
    assert outcome.mistakes == ("not checked: the type checker answered with an error: it panicked",)


async def test_a_session_that_never_ends_its_turn_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event loop that stopped in the middle of a check: the others go on with another process."""
    monkeypatch.setattr(ty_server, "WAIT_S", 0.2)
    monkeypatch.setattr(ty_server, "LINGER_S", 0.0)
    stuck = ty_server.borrow([tmp_path])
    async with stuck.turn():
        checker = TypeChecker(Scope({"desk": Desk()}), site=[tmp_path])
        assert len(await checker.check("desk.nope")) == 1
        await checker.close()
    assert not stuck.alive
    ty_server.give_back(stuck)
