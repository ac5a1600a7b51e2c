"""The guest keeps the lines of a cell as long as code of the cell can run."""

from __future__ import annotations

from cellwright import Runtime

COUNT = "import linecache\nsum(name.startswith('<cell ') for name in linecache.cache)"
RIGHT = "def work(n):\n    return [n + i for i in range(3)]\nwork(1)"


async def test_the_lines_of_cells_that_nothing_refers_to_are_dropped() -> None:
    async with Runtime() as rt:
        for _ in range(10):
            (await rt.execute(RIGHT)).unwrap()
        early = (await rt.execute(COUNT)).unwrap()
        for number in range(40):
            (await rt.execute(RIGHT)).unwrap()
            await rt.execute(f"wrong{number} = 1 / 0")
            await rt.execute(f"wrong {number} (")
            (await rt.execute(f"import asyncio\nawait asyncio.sleep(0)\nlast = {number}")).unwrap()
        assert (await rt.execute(COUNT)).unwrap() == early


async def test_a_function_of_an_early_cell_still_shows_its_lines() -> None:
    async with Runtime() as rt:
        (await rt.execute("def make():\n    def inner():\n        return 1 / 0  # the line\n    return inner")).unwrap()
        (await rt.execute("kept = make()\ndel make")).unwrap()
        (await rt.execute("class Box:\n    def open(self):\n        raise KeyError('none')  # of the box")).unwrap()
        (await rt.execute("def drops(): yield 1 / 0  # in time\nlater = drops()\ndel drops")).unwrap()
        for number in range(20):
            (await rt.execute(f"number = {number}")).unwrap()
        assert "# the line" in str((await rt.execute("kept()")).error)
        assert "# of the box" in str((await rt.execute("Box().open()")).error)
        assert "# in time" in str((await rt.execute("next(later)")).error)


async def test_an_error_that_is_kept_keeps_the_lines_of_its_cell() -> None:
    async with Runtime() as rt:
        (await rt.execute("try:\n    1 / 0  # kept\nexcept ZeroDivisionError as error:\n    caught = error")).unwrap()
        (await rt.execute("number = 1")).unwrap()
        shown = await rt.execute("import traceback\n''.join(traceback.format_exception(caught))")
        assert "1 / 0  # kept" in shown.unwrap()
