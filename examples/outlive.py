"""A scene of `make cells`: a process is killed in the middle of a cell, and another one goes on from there.

python examples/outlive.py DIRECTORY    the process that is to be killed
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console, Group
from rich.markup import escape
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

import cellwright

CITIES = ("Oslo", "Bergen", "Narvik", "Tromsø")
CELL = f"""
import asyncio, random
posted = []
for city in {CITIES}:
    posted.append(post(city, random.randint(100, 999)))
    await asyncio.sleep(0.4)
posted
"""
ABOUT = "`post` writes a line that cannot be taken back. kill -9 falls after the second; the journal knows both."


def scope(place: Path) -> dict[str, object]:
    def post(city: str, number: int) -> str:
        with (place / "posted").open("a") as lines:
            lines.write(f"{city} {number}\n")
        return f"{city} {number}"

    return {"post": post}


def posted(place: Path) -> list[str]:
    return (place / "posted").read_text().splitlines() if (place / "posted").exists() else []


async def first(place: Path) -> None:
    async with cellwright.Runtime(scope(place), sandbox="best", store=place / "agents.db", session="letters") as rt:
        await rt.execute(CELL)


async def play(console: Console, width: int) -> bool:
    """Whether each line was written once, and the numbers are those that the first process drew."""
    code = Syntax(CELL.strip(), "python", theme="ansi_dark", background_color="default")
    console.print()
    title = f"[bold]{escape('A process that dies in the middle')}"
    shown = Group(Text(ABOUT, "dim italic"), Text(), code)
    console.print(Panel(shown, title=title, title_align="left", border_style="blue", width=width))
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        child = await asyncio.create_subprocess_exec(sys.executable, __file__, directory)
        async with asyncio.timeout(60):
            while len(posted(place)) < 2 and child.returncode is None:  # noqa: ASYNC110  another process writes it
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)  # into its sleep
        child.kill()
        await child.wait()
        before = posted(place)
        console.print(f"   [dim]process {child.pid}[/dim]  [cyan]→ post[/cyan]  {before}  [red]killed[/red]")
        async with cellwright.Runtime.resume(
            "letters", scope=scope(place), sandbox="best", store=place / "agents.db"
        ) as rt:
            outcome = await rt.outcome()
        after = posted(place)[len(before) :]
        console.print(f"   [dim]process {os.getpid()}[/dim]  [cyan]→ post[/cyan]  {after}")
        console.print(f"   [green]= {outcome.value}[/green]")
        return outcome.value == posted(place) and len(posted(place)) == len(CITIES)


if __name__ == "__main__":
    cellwright.run(first(Path(sys.argv[1])))
