"""`Runtime` itself: opening, closing, what it refuses, and `run`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.cells import eventually

import cellwright
from cellwright import Limits, Outcome, Runtime, Scope
from cellwright.errors import CodeError, IsolationMissing, NotInScope, UsageError
from cellwright.sandboxes import Environment, Interpreter, Opening, ProcessSandbox

pytestmark = pytest.mark.usefixtures("warm")


async def test_a_cell_runs_against_live_objects() -> None:
    class Counter:
        n = 0

        def up(self) -> int:
            self.n += 1
            return self.n

    counter = Counter()
    async with Runtime(scope={"counter": counter}) as rt:
        out = await rt.execute("counter.up(); counter.up()")
    assert (out.value, out.ok, out.cell) == (2, True, 1)
    assert counter.n == 2


async def test_unwrap_gives_the_value_or_raises_the_error() -> None:
    async with Runtime() as rt:
        assert (await rt.execute("3")).unwrap() == 3
        with pytest.raises(CodeError, match="division by zero"):
            (await rt.execute("1 / 0")).unwrap()


async def test_a_scope_with_rules_and_a_mapping_are_both_taken() -> None:
    scope = Scope({"x": 1})
    for given in (scope, {"x": 1}):
        async with Runtime(given) as rt:
            assert (await rt.execute("x")).unwrap() == 1
    async with Runtime() as rt:
        assert (await rt.execute("1")).unwrap() == 1


async def test_a_runtime_that_is_not_open_says_how_to_open_it() -> None:
    with pytest.raises(UsageError, match="async with"):
        await Runtime().execute("1")


async def test_a_closed_runtime_runs_nothing() -> None:
    async with Runtime() as rt:
        pass
    with pytest.raises(UsageError):
        await rt.execute("1")


async def test_closing_twice_is_fine() -> None:
    async with Runtime() as rt:
        await rt.close()
    await rt.close()


@pytest.mark.parametrize("wrong", ["docker", ""])
def test_an_unknown_sandbox_is_refused_with_the_choices(wrong: Any) -> None:
    with pytest.raises(UsageError, match='"auto"'):
        Runtime(sandbox=wrong)


async def test_a_layer_that_no_machine_gives_is_named_before_anything_runs() -> None:
    with pytest.raises((IsolationMissing, UsageError), match="no_such_layer"):
        async with Runtime(require=["no_such_layer"]):
            pass


async def test_a_workspace_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(cellwright.errors.CellwrightError):
        async with Runtime(workspace=tmp_path / "file"):
            pass


async def test_a_fresh_workspace_is_removed_at_the_end_also_after_an_error() -> None:
    seen: list[Path] = []

    class Spy:
        """A sandbox of one's own: the process sandbox, watched."""

        rung = "spy"

        def __init__(self) -> None:
            self.inside = ProcessSandbox(Environment(python=Path("/proc/self/exe").resolve()))

        async def open(self, opening: Opening) -> Interpreter:
            seen.append(opening.workspace.path)
            return await self.inside.open(opening)

        async def pins(self) -> dict[str, str]:
            return {}

        async def close(self) -> None:
            await self.inside.close()

    async def use(spy: Spy) -> None:
        async with Runtime(sandbox=spy) as rt:
            assert (await rt.execute("1 + 1")).unwrap() == 2
            assert seen[0].is_dir()
            raise RuntimeError("mine")

    spy = Spy()
    with pytest.raises(RuntimeError, match="mine"):
        await use(spy)
    assert not seen[0].exists()
    await spy.close()


async def test_cells_given_at_once_run_one_after_the_other() -> None:
    async with Runtime(limits=Limits(wall_s=20)) as rt:
        await rt.execute("seen = []")
        await asyncio.gather(*(rt.execute(f"seen.append(({i}, len(seen)))") for i in range(10)))
        seen = (await rt.execute("seen")).unwrap()
    assert sorted(i for i, _ in seen) == list(range(10))
    assert [n for _, n in seen] == list(range(10))


async def test_many_runtimes_run_at_once() -> None:
    async def one(n: int) -> Any:
        async with Runtime({"double": lambda x: 2 * x}) as rt:  # pyright: ignore[reportUnknownLambdaType]
            return (await rt.execute(f"double({n})")).unwrap()

    assert await asyncio.gather(*(one(n) for n in range(20))) == [2 * n for n in range(20)]


async def test_a_guest_that_died_between_cells_is_told_once_and_then_replaced() -> None:
    async with Runtime(limits=Limits(wall_s=20)) as rt:
        await rt.execute("x = 1\nimport threading, os\nthreading.Timer(0.05, os._exit, (1,)).start()")
        errors: list[str] = []

        async def told() -> bool:
            out = await rt.execute("x")
            errors.append(str(out.error))
            return not out.ok

        await eventually(told)
        assert "names" in errors[-1]
        assert (await rt.execute("'x' in globals()")).unwrap() is False


async def test_show_needs_no_open_session_and_names_what_is_in_scope() -> None:
    def find(city: str) -> list[str]:
        """Find people."""
        return [city]

    rt = Runtime({"find": find})
    assert "def find(city: str) -> list[str]:" in await rt.show("find")
    with pytest.raises(NotInScope, match="in scope: find"):
        await rt.show("nope")


def test_run_is_the_one_sync_door() -> None:
    async def main() -> Outcome:
        async with Runtime({"x": 2}) as rt:
            return await rt.execute("x + 1")

    assert cellwright.run(main()).value == 3


async def test_runtimes_work_on_loops_in_other_threads() -> None:
    async def main() -> Any:
        async with Runtime({"x": 2}) as rt:
            return (await rt.execute("x + 1")).unwrap()

    assert await asyncio.gather(*(asyncio.to_thread(asyncio.run, main()) for _ in range(3))) == [3, 3, 3]
