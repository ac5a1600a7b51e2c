"""`cellwright run`: one task for an agent. Its answer goes to stdout, what happens on the way to stderr."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import stat
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from cellwright.cli.agent_options import NONE, AgentOptions, offer_to_pull, read_text
from cellwright.cli.answers import json_text
from cellwright.cli.arguments import CANCELLED, PIPE_CLOSED, code_of, ended, in_options, store_option, waiting_words
from cellwright.cli.options import AGENTS_DB, SESSIONS, option, with_options
from cellwright.cli.terminal_page import Outlet, TerminalPage, harmless, marked
from cellwright.cli.turn_view import TurnView
from cellwright.errors import CellwrightError, ModelError, UsageError
from cellwright.short_texts import named_error

if TYPE_CHECKING:
    from cellwright.agent import Result
    from cellwright.events import Event

_OUT = "What is printed"
PIPED = "stdin"  # the name of what is piped in besides a task
_STORE = f"Where the session is kept: a file, or sqlite:///file.db. With --session or --resume {AGENTS_DB}."


@dataclass(frozen=True, kw_only=True)
class RunOptions(AgentOptions):
    """Those of `run`."""

    command: ClassVar[str] = "run"

    store: Annotated[str | None, option(_STORE, panel=SESSIONS, metavar="URL")] = None
    as_json: Annotated[bool, option("One JSON object in place of the bare answer.", "--json", panel=_OUT)] = False
    trace: Annotated[bool, option("With --json: all events.", "--trace", panel=_OUT)] = False
    events: Annotated[bool, option("Each event as a JSON line, as it happens.", "--events", panel=_OUT)] = False
    quiet: Annotated[bool, option("Nothing on stderr but errors.", "--quiet", "-q", panel=_OUT)] = False


@dataclass(kw_only=True, slots=True)
class _Run:
    """One run: its options, and what is known of it so far."""

    options: RunOptions
    task: str | None
    data: dict[str, str] = field(default_factory=dict[str, str])
    began: float = field(default_factory=time.monotonic)
    session: str = ""
    view: TurnView | None = None


@with_options
def run(
    task: Annotated[
        str | None,
        typer.Argument(help="The task; - or nothing reads it from stdin. What is piped in besides is its data."),
    ] = None,
    *,
    options: RunOptions,
) -> None:
    """Set an agent to work on a task. The answer goes to stdout: text as it is, other values as JSON.

    Exit codes: 0 there is an answer, 1 the turn failed, 2 wrong usage, 3 the budget was spent, 4 the model or this
    machine did not do its part, 5 it waits for a person's yes, 130 cancelled with Ctrl-C.
    """
    store = options.store or (AGENTS_DB if options.session or options.resume else None)
    _carry_out(_Run(options=replace(options, store=None if store == NONE else store), task=task))


def _carry_out(run: _Run) -> None:
    options = run.options
    try:
        if options.events and (options.as_json or options.trace):
            raise UsageError("--events, or --json with --trace: give one of them")
        run.data = options.handed_over()
        run.task = _task(run)
        offer_to_pull(options.model)
        asyncio.run(_main(run))
    except CellwrightError as error:
        raise _failed(run, error) from None
    except AssertionError as error:  # of a model that is a test's
        raise _failed(run, ModelError(named_error(error))) from None
    except KeyboardInterrupt:
        resume = f"; `{options.again('run', run.session, resume=True)}` carries on"
        again = resume if options.store and run.session else ""
        raise ended(CANCELLED, f"cancelled{again}") from None
    except (BrokenPipeError, asyncio.CancelledError):  # whoever read us has left
        raise typer.Exit(PIPE_CLOSED) from None


def _task(run: _Run) -> str | None:
    """The task; None where a turn is carried on. What is piped in besides is data: nobody knows who wrote it."""
    task, data = run.task, run.data
    if run.options.resume is not None:
        if task is not None or data:
            what = "a TASK" if task is not None else "--data"
            raise UsageError(f"{what} and --resume: --resume carries on the task that was set; --session takes another")
        return None
    if task is None and sys.stdin.isatty():
        raise UsageError("give a TASK, or - to read it from stdin")
    if task in (None, "-"):
        try:
            task = sys.stdin.read()
        except UnicodeDecodeError as error:
            raise UsageError(f"cannot read stdin: {error}") from None
    elif _is_piped() and (text := read_text("stdin", "-")).strip():
        if PIPED in data:
            raise UsageError(f"--data {PIPED}: what is piped in has this name; give another")
        data[PIPED] = text
    if not (task := str(task).strip()):
        raise UsageError("the task is empty")
    return task


def _is_piped() -> bool:
    """Whether stdin is a file or a pipe: whatever else it is may never come to its end."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISFIFO(mode)


# the turn


async def _main(run: _Run) -> None:
    """One turn, cancelled when nobody reads what it prints; then those that other runs left behind."""
    this = asyncio.current_task()
    assert this is not None
    loop = asyncio.get_running_loop()
    hear, say = _listeners(run, lambda: loop.call_soon_threadsafe(this.cancel))
    agent = run.options.agent(say)
    try:
        async with run.options.open(agent) as session:
            run.session = session.id
            if run.options.store and sys.stderr.isatty():
                where = "" if run.options.store == AGENTS_DB else f" --store {shlex.quote(run.options.place)}"
                say(f"cellwright: session {session.id}; to say something to it: cellwright tell {session.id} …{where}")
            if run.options.session and session.runtime.cells:
                say(f"cellwright: going on in session {session.id}")
            run.began = time.monotonic()
            if run.task is None:
                result = await session.carry_on(on_event=hear)
            else:
                result = await session.run(run.task, data=run.data, on_event=hear)
    finally:
        if run.view is not None:
            run.view.end()
        await agent.close()
    _print(run, result)
    if not run.options.no_recover and run.options.store:
        await _recover(run, run.options.store, say)


async def _recover(run: _Run, store: str, say: Callable[[str], None]) -> None:
    """Turns of this command whose process died are carried on here, after its own."""
    from cellwright.cli.recover import answered, carry_on, recoverable_turns, short_task

    run.session = ""  # it is over: Ctrl-C from here on is for another
    for turn in recoverable_turns(store, run.options.command):
        say(f"cellwright: carrying on session {turn.session}, which was cut off: {short_task(turn)}")
        view = run.view if not run.options.quiet and not run.options.events else None
        done = await carry_on(store, turn, None if view is None else view.hear, say)
        if view is not None:
            view.end()
        if done is not None:
            say(f"cellwright: session {turn.session}: {answered(done)}")


def _listeners(run: _Run, leave: Callable[[], object]) -> tuple[Callable[[Event], None], Callable[[str], None]]:
    """Who hears events, and who hears lines for people."""
    from cellwright.cli.answers import event_json

    page = TerminalPage(sys.stderr)
    page.outlet.on_close = leave
    view = run.view = TurnView(page, text=False)
    out = Outlet(sys.stdout, leave)

    def tell(event: Event) -> None:
        _write(out, json_text(event_json(event), ensure_ascii=False))

    def say(line: str) -> None:
        if not run.options.quiet:
            page.line(line, "dim")

    if run.options.events:
        return tell, say
    return (view.tally.hear if run.options.quiet else view.hear), say


# its outcome


def _print(run: _Run, result: Result[Any]) -> None:
    from cellwright.cli.answers import answer_text

    out = Outlet(sys.stdout)
    if run.options.as_json:
        _write(out, json_text(_object(run, result, None), ensure_ascii=False))
    elif not run.options.events:
        terminal = sys.stdout.isatty()
        text = answer_text(result.value, width=shutil.get_terminal_size().columns if terminal else None)
        if text and terminal:
            TerminalPage(sys.stdout).line(marked(text.removesuffix("\n")))
        elif text:
            _write(out, text)
    if run.options.store and not run.options.quiet and not run.options.events:
        print(f"cellwright: session {run.session} in {run.options.place}", file=sys.stderr)
    if out.closed_early:
        raise BrokenPipeError


def _write(out: Outlet, text: str) -> None:
    text = harmless(text) if out.isatty() else text
    out.write(text if text.endswith("\n") else f"{text}\n")
    out.flush()


def _failed(run: _Run, error: CellwrightError) -> typer.Exit:
    """The one line, and with --json the object."""
    if run.options.as_json and not isinstance(error, UsageError):
        _write(Outlet(sys.stdout), json_text(_object(run, getattr(error, "result", None), error), ensure_ascii=False))
    store = run.options.store
    again = f"`cellwright recover {run.session}{store_option(store)}`"
    return ended(code_of(error), waiting_words(error, store, again) or in_options(str(error)))


def _object(run: _Run, result: Result[Any] | None, error: CellwrightError | None) -> dict[str, Any]:
    from cellwright.cli.answers import event_json, json_value
    from cellwright.messages import Usage

    spent = run.view.tally.turn if run.view is not None else Usage()
    row: dict[str, Any] = {
        "value": json_value(result.value) if result is not None else None,
        "error": None if error is None else {"type": type(error).__name__, "text": str(error)},
        "usage": asdict(spent),
        "steps": 0 if result is None else result.steps,
        "session": run.session if run.options.store else None,
        "seconds": round(time.monotonic() - run.began, 3),
    }
    if run.options.trace:
        row["trace"] = [] if result is None else [event_json(event) for event in result.trace]
    return row
