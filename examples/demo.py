"""`make demo`: an agent with a real model does three small jobs on live objects, and its answers are checked.

python examples/demo.py              in a terminal
python examples/demo.py --model X    with another model than the one there is a key for, or the embedded one
python examples/demo.py --svg FILE   also keep a picture of it
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from dataclasses import dataclass, field

import cells
import firm
from rich.box import ROUNDED
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from cellwright import Agent, Budget, Event
from cellwright.errors import CellwrightError, ModelMissing
from cellwright.events import CallFinished, CellFinished, CodePiece, CodeReady, Printed, Used
from cellwright.messages import Usage
from cellwright.models import default_model
from cellwright.models.engine import load_package
from cellwright.settings import Settings

WIDTH = 96


@dataclass
class Screen:
    """Shows a turn as it happens: code line by line as it is written, calls as they end."""

    console: Console
    began: float = field(default_factory=time.perf_counter)
    first: float = 0.0  # seconds to the first piece of code
    line: str = ""
    usage: Usage = field(default_factory=Usage)

    def hear(self, event: Event) -> None:
        match event:
            case CodePiece(text=text):
                self.first = self.first or time.perf_counter() - self.began
                *lines, self.line = (self.line + text).split("\n")
                for line in lines:
                    self.code(line)
            case CodeReady():
                self.code(self.line)
                self.line = ""
            case CallFinished(name=name, duration_s=took, error=error) if name != "done":
                words = Text.assemble("    → ", (name, "cyan"), (f"  {took * 1e3:.1f} ms", "dim"))
                self.console.print(words.append(f"  {error}" if error else "", "yellow"))
            case Printed(text=text):
                self.console.print(Text(f"    {text.rstrip()}", "dim"))
            case CellFinished(ok=False, observation=told):
                self.console.print(Text("    ✗ " + told.strip().splitlines()[-1], "yellow"))
            case Used(usage=usage):
                self.usage = usage
            case _:
                pass

    def code(self, line: str) -> None:
        if line.strip():
            shown = Syntax(line, "python", theme="ansi_dark", background_color="default", word_wrap=True)
            table = Table.grid(padding=(0, 1))
            table.add_row(Text("  │", "blue"), shown)
            self.console.print(table)


@dataclass(frozen=True, kw_only=True)
class Played:
    """How one task went."""

    task: firm.Task
    wrong: str
    answer: str
    steps: int
    usage: Usage
    took_s: float


async def play(agent: Agent, sent: list[str], task: firm.Task, console: Console) -> Played:
    console.print()
    console.print(Panel(Text(task.words), title="[bold]task", title_align="left", border_style="blue", width=WIDTH))
    sent.clear()
    screen = Screen(console)
    began = time.perf_counter()
    try:
        result = await agent.run(task.words, returns=task.returns, on_event=screen.hear)
        answer, wrong, steps = repr(result.value), task.check(result.value, sent), result.steps
    except CellwrightError as error:
        answer, wrong, steps = "", str(error).splitlines()[0], 0
    took = time.perf_counter() - began
    words = Text.assemble("  = ", answer) if answer else Text("  no answer")
    console.print(words.append(f"   {wrong or 'right'}", "red" if wrong else "green"))
    return Played(task=task, wrong=wrong, answer=answer, steps=steps, usage=screen.usage, took_s=took)


def summary(name: str, played: list[Played]) -> Table:
    table = Table(box=ROUNDED, width=WIDTH, border_style="blue", header_style="bold", title=escape(name))
    for column, justify in (("task", "left"), ("replies", "right"), ("tokens in", "right"), ("out", "right")):
        table.add_column(column, justify="right" if justify == "right" else "left")
    table.add_column("time", justify="right")
    table.add_column("answer")
    for one in played:
        table.add_row(
            one.task.words,
            str(one.usage.requests),
            f"{one.usage.input_tokens:,}",
            f"{one.usage.output_tokens:,}",
            f"{one.took_s:.1f} s",
            Text("wrong" if one.wrong else "right", "red" if one.wrong else "green"),
        )
    return table


async def ready(name: str | None, console: Console) -> str:
    """The name of the model that will be asked; the embedded one is fetched if it is not here yet."""
    settings = Settings.from_environment()
    chosen = default_model(settings)
    if name is None:
        console.print(f"[bold]{escape(chosen.why)}[/bold]")
    name = name or chosen.name
    if name == "local":
        await asyncio.to_thread(load_package)  # told before a gigabyte is fetched
        # says what it will fetch, and does nothing where that is here already
        pull = [sys.executable, "-m", "cellwright", "models", "pull"]
        if await asyncio.to_thread(subprocess.call, pull):
            raise ModelMissing("the embedded model could not be fetched; see above")
    return name


async def main(console: Console, model: str | None) -> bool:
    console.print("[bold]Cellwright[/bold]: a model writes Python, the Python runs in a jail, and calls these objects:")
    console.print("  firm.customers(city)  firm.find(name)  firm.invoices(customer_id, paid)  mail.send(to, …)\n")
    name = await ready(model, console)
    sent: list[str] = []
    scope = {"firm": firm.Firm(), "mail": firm.Mail(sent)}
    # "best": a machine without namespaces, as a plain container is, gets the landlock sandbox, and a line says so.
    agent = Agent(name, scope=scope, sandbox="best", budget=Budget(steps=8, seconds=600))
    try:
        played = [await play(agent, sent, task, console) for task in firm.TASKS]
    finally:
        await agent.close()
    console.print()
    console.print(summary(name, played))
    return not any(one.wrong for one in played)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="An agent does three small jobs on live objects.")
    parser.add_argument("--model", help='as in "anthropic:…", "local"; what there is a key for when left out')
    parser.add_argument("--svg", help="keep a picture of it in this file")
    given = parser.parse_args()
    wide = WIDTH + 2 if given.svg or not sys.stdout.isatty() else None
    shown = Console(record=given.svg is not None, width=wide, highlight=False)
    try:
        held = asyncio.run(main(shown, given.model))
    except CellwrightError as error:
        sys.exit(f"cellwright: {error}")
    if given.svg:
        cells.keep(shown, given.svg, "make demo")
    sys.exit(0 if held else 1)
