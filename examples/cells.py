"""`make cells`: cells against live objects, with everything that happens shown as it happens.

python examples/cells.py              in a terminal
python examples/cells.py --svg FILE   also keep a picture of it
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from dataclasses import dataclass, field

import outlive
from rich.box import ROUNDED
from rich.console import Console, Group
from rich.markup import escape
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from shop import everything

from cellwright import CallFinished, CallStarted, Event, Limits, Outcome, Printed, Runtime

WIDTH = 96
SESSIONS = 30


@dataclass(frozen=True, kw_only=True)
class Step:
    """One cell of the demo. `attack`: a refusal is what is wanted. `pictured`: it is in the picture of `--svg`."""

    title: str
    about: str
    code: str
    attack: bool = False
    pictured: bool = False


STEPS = (
    Step(
        title="Ordinary Python over live objects",
        about="`crm` is an object of this process, `db` its sqlite3 connection. Their methods run here.",
        code="""
import time
unpaid = db.execute("select customer, sum(amount) from invoices where not paid group by 1")
owed = dict(unpaid.fetchall())
for c in crm.customers(city="Oslo"):
    print(f"{c.name:<7} owes {owed.get(c.id, 0):7.2f}")
    time.sleep(0.15)
""",
        pictured=True,
    ),
    Step(
        title="Names stay, functions travel",
        about="The lambda is called back from `sorted` on the host; the host's own exception is caught in the jail.",
        code="""
print("owes most:", crm.ranked(key=lambda c: -owed.get(c.id, 0))[0])
try:
    crm.find("Nobody")
except LookupError as error:
    print(type(error).__name__, "-", error)
""",
    ),
    Step(
        title="Gathered calls overlap",
        about="Five calls to an API that takes its time, awaited together.",
        code="""
import asyncio
names = ["USD", "GBP", "NOK", "JPY", "CHF"]
dict(zip(names, await asyncio.gather(*(rates.euro(n) for n in names))))
""",
        pictured=True,
    ),
    Step(
        title="A cell that never ends",
        about="Limits(wall_s=1.5). Such a guest is killed; the host and other sessions do not notice.",
        code="while True:\n    pass",
    ),
    Step(
        title="A cell that wants everything",
        about="Limits(memory_mb=128). The next cell works as if nothing had been.",
        code='print("a fresh interpreter,", len(crm.customers()), "customers still there")\nhoard = bytearray(10**9)',
    ),
    Step(
        title="Attack: a file of the host's",
        about="The root directory in there holds the interpreter, its packages and the workspace.",
        code='open("/etc/shadow").read()',
        attack=True,
    ),
    Step(
        title="Attack: the network",
        about="No socket can be made, of any family.",
        code='import socket\nsocket.create_connection(("127.0.0.1", 22))',
        attack=True,
    ),
    Step(
        title="Attack: the secret of a bound object",
        about="`vault.sign` may be called. Going round the proxy, straight to the host, meets the same rules there.",
        code="""
print(vault.sign("invoice 7"))
world = type(vault)._cellwright_world
world.call("get", vault._grip.handle, "_secret")
""",
        attack=True,
        pictured=True,
    ),
)


@dataclass
class Timeline:
    """Prints each event with the time since the cell began, and keeps the calls for a chart."""

    console: Console
    began: float = field(default_factory=time.perf_counter)
    open: dict[int, float] = field(default_factory=dict[int, float])
    calls: list[tuple[str, float, float]] = field(default_factory=list[tuple[str, float, float]])
    partial: str = ""

    def hear(self, event: Event) -> None:
        now = time.perf_counter() - self.began
        match event:
            case Printed(text=text):
                *lines, self.partial = (self.partial + text).split("\n")
                for line in lines:
                    self.line(now, Text(line))
            case CallStarted(call=number):
                self.open[number] = now
            case CallFinished(call=number, name=name, duration_s=took, error=error):
                start = self.open.pop(number)
                self.calls.append((name, start, now))
                words = Text.assemble(("→ ", "cyan"), (name, "cyan"), (f"  {took * 1e3:.1f} ms", "dim"))
                if error:
                    words.append(f"  {error.partition(':')[0]}", "yellow")
                self.line(now, words)
            case _:
                pass  # no agent runs here

    def line(self, at: float, words: Text) -> None:
        row(self.console, Text(f"{at:7.3f} s", "dim"), words)


def row(console: Console, left: Text, words: Text) -> None:
    """One line of the timeline; a long one wraps below its own beginning."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=9, no_wrap=True)
    table.add_column()
    table.add_row(left, words)
    console.print(table)


def chart(calls: list[tuple[str, float, float]]) -> Table:
    """The calls as bars on one axis."""
    end = max(finish for _, _, finish in calls)
    table = Table.grid(padding=(0, 2))
    for name, start, finish in calls:
        left, length = int(40 * start / end), max(1, round(40 * (finish - start) / end))
        table.add_row(Text(f"           {name}", "cyan"), Text(" " * left + "━" * length, "cyan"))
    return table


def verdict(step: Step, outcome: Outcome) -> tuple[str, str]:
    """How a cell ended, in a word, and its colour."""
    if outcome.error is None:
        return ("ESCAPED", "bold red") if step.attack else ("ran", "green")
    kind = getattr(outcome.error, "type", type(outcome.error).__name__)
    return (f"refused: {kind}", "green") if step.attack else (kind, "yellow")


async def play(step: Step, rt: Runtime, console: Console) -> Outcome:
    code = Syntax(step.code.strip(), "python", theme="ansi_dark", background_color="default")
    console.print()
    shown = Group(Text(step.about, "dim italic"), Text(), code)
    title = f"[bold]{escape(step.title)}"
    console.print(Panel(shown, title=title, title_align="left", border_style="blue", width=WIDTH))
    timeline = Timeline(console)
    outcome = await rt.execute(step.code.strip(), on_event=timeline.hear)
    if len(timeline.calls) > 3:
        console.print(chart(timeline.calls))
    if outcome.error is not None:
        last = str(outcome.error).strip().splitlines()
        said = last[0] if "Limit" in type(outcome.error).__name__ else last[-1]
        row(console, Text("✗", "red", justify="right"), Text(said, "red"))
    elif outcome.value is not None:
        row(console, Text("=", "green", justify="right"), Text(repr(outcome.value), "green"))
    return outcome


async def start_s() -> float:
    """Seconds to the first result in a new session, when the zygote is there."""
    took: list[float] = []
    async with Runtime(sandbox="best"):  # keeps the zygote, so that the next sessions share it
        for _ in range(SESSIONS):
            began = time.perf_counter()
            async with Runtime(sandbox="best") as rt:
                (await rt.execute("1 + 1")).unwrap()
                took.append(time.perf_counter() - began)
    return statistics.median(took)


def summary(played: list[tuple[Step, Outcome]], first_s: float, next_s: float) -> Table:
    table = Table(box=ROUNDED, width=WIDTH, border_style="blue", header_style="bold")
    table.add_column("cell")
    table.add_column("host calls", justify="right")
    table.add_column("time", justify="right")
    table.add_column("outcome")
    for step, outcome in played:
        word, colour = verdict(step, outcome)
        table.add_row(step.title, str(len(outcome.calls)), f"{outcome.duration_s * 1e3:,.0f} ms", Text(word, colour))
    table.add_section()
    table.add_row("First session, to its first result", "", f"{first_s * 1e3:,.0f} ms", "starts the zygote")
    table.add_row("Next sessions, to their first result", "", f"{next_s * 1e3:,.1f} ms", f"median of {SESSIONS}")
    return table


async def main(console: Console) -> bool:
    console.print("[bold]Cellwright[/bold]: code from outside, objects from inside, and a kernel jail between them.")
    played: list[tuple[Step, Outcome]] = []
    began = time.perf_counter()
    # "best": a machine without namespaces, as a plain container is, gets the landlock sandbox, and a line says so.
    async with Runtime(everything(), sandbox="best", limits=Limits(wall_s=1.5, memory_mb=128)) as rt:
        first = (await rt.execute("1 + 1")).value == 2
        first_s = time.perf_counter() - began
        recorded = console.record
        for step in STEPS:
            console.record = recorded and step.pictured
            played.append((step, await play(step, rt, console)))
        console.record = recorded
    outlived = await outlive.play(console, WIDTH)
    console.print()
    console.print(summary(played, first_s, await start_s()))
    escaped = [step.title for step, outcome in played if step.attack and outcome.ok]
    return first and outlived and not escaped


def keep(console: Console, path: str, title: str = "make cells") -> None:
    """The recorded terminal as SVG, with the fonts of whoever looks at it."""
    from rich._export_format import CONSOLE_SVG_FORMAT as whole

    head, _, rest = whole.partition("@font-face")
    _, _, tail = rest.rpartition("@font-face")
    plain = head + tail.partition("}}")[2]
    console.save_svg(path, title=title, code_format=plain.replace("Fira Code", "DejaVu Sans Mono, Menlo, Consolas"))


if __name__ == "__main__":
    svg = sys.argv[2] if sys.argv[1:2] == ["--svg"] and len(sys.argv) == 3 else None
    screen = Console(
        record=svg is not None, width=WIDTH + 2 if svg or not sys.stdout.isatty() else None, highlight=False
    )
    held = asyncio.run(main(screen))
    if svg:
        keep(screen, svg)
    sys.exit(0 if held else 1)
