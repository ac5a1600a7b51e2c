"""`cellwright run`: one task for an agent. Its answer goes to stdout, what happens on the way to stderr."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import stat
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli import wishes
from cellwright.cli.asking import YesOption
from cellwright.cli.exec import PackagesOption, ScopeOption, TakeOverOption
from cellwright.cli.given import CANCELLED, PIPE_CLOSED, ended, in_options
from cellwright.cli.wishes import AGENTS_DB, NONE, ModeName, Wish, code_of, offer_to_pull, waiting_words

if TYPE_CHECKING:
    from cellwright.agent import Result, Session
    from cellwright.cli.page import Outlet
    from cellwright.cli.showing import Showing
    from cellwright.errors import CellwrightError
    from cellwright.events import Event

_OUT = "What is printed"
StoreOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help=f"Where the session is kept: a file, or sqlite:///file.db. With --session or --resume {AGENTS_DB}.",
        rich_help_panel="Sessions",
    ),
]


@dataclass(kw_only=True, slots=True)
class _Run:
    """One run: what is asked for, and what is known of it so far."""

    wish: Wish
    task: str | None
    as_json: bool = False
    trace: bool = False
    events: bool = False
    quiet: bool = False
    recover: bool = True
    began: float = field(default_factory=time.monotonic)
    session: str = ""
    showing: Showing | None = None


def run(
    task: Annotated[
        str | None,
        typer.Argument(help="The task; - or nothing reads it from stdin. What is piped in besides stands below it."),
    ] = None,
    model: wishes.ModelOption = None,
    scope: ScopeOption = None,
    packages: PackagesOption = None,
    returns: wishes.ReturnsOption = None,
    instructions: wishes.InstructionsOption = "",
    mode: wishes.ModeOption = ModeName.auto,
    plan: wishes.PlanOption = False,
    yes: YesOption = False,
    steps: wishes.StepsOption = None,
    tokens: wishes.TokensOption = None,
    cost: wishes.CostOption = None,
    seconds: wishes.SecondsOption = None,
    store: StoreOption = None,
    session: wishes.SessionOption = None,
    resume: wishes.ResumeOption = None,
    take_over: TakeOverOption = False,
    no_recover: wishes.NoRecoverOption = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object in place of the bare answer.", rich_help_panel=_OUT)
    ] = False,
    trace: Annotated[bool, typer.Option("--trace", help="With --json: all events.", rich_help_panel=_OUT)] = False,
    events: Annotated[
        bool, typer.Option("--events", help="Each event as a JSON line, as it happens.", rich_help_panel=_OUT)
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Nothing on stderr but errors.", rich_help_panel=_OUT)
    ] = False,
) -> None:
    """Set an agent to work on a task. The answer goes to stdout: text as it is, other values as JSON.

    Exit codes: 0 there is an answer, 1 the turn failed, 2 wrong usage, 3 the budget was spent, 4 the model or this
    machine did not do its part, 5 it waits for a person's yes, 130 cancelled with Ctrl-C.
    """
    kept = store or (AGENTS_DB if session or resume else None)
    wish = Wish(
        model=model, scope=tuple(scope or ()), packages=tuple(packages or ()), returns=returns, mode=mode, plan=plan,
        instructions=instructions, steps=steps, tokens=tokens, cost=cost, seconds=seconds,
        store=None if kept == NONE else kept, session=session, resume=resume, take_over=take_over, yes=yes,
        command="run",
    )  # fmt: skip
    recover = not no_recover
    _carry_out(_Run(wish=wish, task=task, as_json=as_json, trace=trace, events=events, quiet=quiet, recover=recover))


def _carry_out(one: _Run) -> None:
    from cellwright.errors import CellwrightError, UsageError

    wish = one.wish
    try:
        if one.events and (one.as_json or one.trace):
            raise UsageError("--events, or --json with --trace: give one of them")
        one.task = _task(one.task, wish.resume)
        offer_to_pull(wish.model)
        asyncio.run(_main(one))
    except CellwrightError as error:
        raise _failed(one, error) from None
    except KeyboardInterrupt:
        again = f"; `{wish.again('run', one.session, resume=True)}` carries on" if wish.store and one.session else ""
        raise ended(CANCELLED, f"cancelled{again}") from None
    except (BrokenPipeError, asyncio.CancelledError):  # whoever read us has left
        raise typer.Exit(PIPE_CLOSED) from None


def _task(task: str | None, resume: str | None) -> str | None:
    """The task; None where a turn is carried on."""
    from cellwright.errors import UsageError

    if resume is not None:
        if task is not None:
            raise UsageError("a TASK and --resume: --resume carries on the task that was set; --session takes another")
        return None
    if task is None and sys.stdin.isatty():
        raise UsageError("give a TASK, or - to read it from stdin")
    given = "" if task in (None, "-") else str(task)
    try:
        text = sys.stdin.read() if not given or _is_piped() else ""
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read stdin: {error}") from None
    whole = "\n\n".join(part.strip() for part in (given, text) if part.strip())
    if not whole:
        raise UsageError("the task is empty")
    return whole


def _is_piped() -> bool:
    """Whether stdin is a file or a pipe: whatever else it is may never come to its end."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISFIFO(mode)


# the turn


async def _main(one: _Run) -> None:
    """One turn, cancelled when nobody reads what it prints; then those that other runs left behind."""
    turn = asyncio.current_task()
    assert turn is not None
    loop = asyncio.get_running_loop()
    hear, say = _listeners(one, lambda: loop.call_soon_threadsafe(turn.cancel))
    agent = one.wish.agent(say)
    try:
        async with one.wish.open(agent) as session:
            one.session = session.id
            if one.wish.store and sys.stderr.isatty():
                where = "" if one.wish.store == AGENTS_DB else f" --store {shlex.quote(one.wish.place)}"
                say(f"cellwright: session {session.id}; to say something to it: cellwright tell {session.id} …{where}")
            if one.wish.session and session.runtime.cells:
                say(f"cellwright: going on in session {session.id}")
            one.began = time.monotonic()
            result = await _turn(one, session, hear)
    finally:
        if one.showing is not None:
            one.showing.end()
        await agent.close()
    _print(one, result)
    if one.recover and one.wish.store:
        await _recover(one, one.wish.store, say)


async def _recover(one: _Run, store: str, say: Callable[[str], None]) -> None:
    """Turns of this command whose process died are carried on here, after its own."""
    from cellwright.cli.cut_off import answered, carry_on, find, told

    one.session = ""  # it is over: Ctrl-C from here on is for another
    for found in find(store, one.wish.command):
        say(f"cellwright: carrying on session {found.session}, which was cut off: {told(found)}")
        showing = one.showing if not one.quiet and not one.events else None
        done = await carry_on(store, found, None if showing is None else showing.hear, say)
        if showing is not None:
            showing.end()
        if done is not None:
            say(f"cellwright: session {found.session}: {answered(done)}")


async def _turn(one: _Run, session: Session, hear: Callable[[Event], None]) -> Result[Any]:
    if one.task is None:
        return await session.carry_on(on_event=hear)
    return await session.run(one.task, on_event=hear)


def _listeners(one: _Run, leave: Callable[[], object]) -> tuple[Callable[[Event], None], Callable[[str], None]]:
    """Who hears events, and who hears lines for people."""
    from cellwright.cli.answers import described
    from cellwright.cli.page import Outlet, Page
    from cellwright.cli.showing import Showing

    page = Page(sys.stderr)
    page.outlet.on_close = leave
    showing = one.showing = Showing(page, text=False)
    out = Outlet(sys.stdout, leave)

    def tell(event: Event) -> None:
        _write(out, json.dumps(described(event), ensure_ascii=False))

    def say(line: str) -> None:
        if not one.quiet:
            page.line(line, "dim")

    if one.events:
        return tell, say
    return (_count(showing) if one.quiet else showing.hear), say


def _count(showing: Showing) -> Callable[[Event], None]:
    """Hears what was used, and nothing else."""
    from cellwright.events import Used

    return lambda event: showing.spent.hear(event) if isinstance(event, Used) else None


# what came of it


def _print(one: _Run, result: Result[Any]) -> None:
    from cellwright.cli.answers import answer_text
    from cellwright.cli.page import Outlet

    out = Outlet(sys.stdout)
    if one.as_json:
        _write(out, json.dumps(_object(one, result, None), ensure_ascii=False))
    elif not one.events:
        text = answer_text(result.value, width=shutil.get_terminal_size().columns if sys.stdout.isatty() else None)
        if text:
            _write(out, text)
    if one.wish.store and not one.quiet and not one.events:
        print(f"cellwright: session {one.session} in {one.wish.place}", file=sys.stderr)
    if out.closed_early:
        raise BrokenPipeError


def _write(out: Outlet, text: str) -> None:
    out.write(text if text.endswith("\n") else f"{text}\n")
    out.flush()


def _failed(one: _Run, error: CellwrightError) -> typer.Exit:
    """The one line, and with --json the object."""
    from cellwright.cli.page import Outlet
    from cellwright.errors import UsageError

    if one.as_json and not isinstance(error, UsageError):
        _write(Outlet(sys.stdout), json.dumps(_object(one, getattr(error, "result", None), error), ensure_ascii=False))
    return ended(code_of(error), waiting_words(error, f"`cellwright recover {one.session}`") or in_options(str(error)))


def _object(one: _Run, result: Result[Any] | None, error: CellwrightError | None) -> dict[str, Any]:
    from cellwright.cli.answers import described, told
    from cellwright.messages import Usage

    spent = one.showing.spent.turn if one.showing is not None else Usage()
    made: dict[str, Any] = {
        "value": told(result.value) if result is not None else None,
        "error": None if error is None else {"type": type(error).__name__, "text": str(error)},
        "usage": asdict(spent),
        "steps": 0 if result is None else result.steps,
        "session": one.session if one.wish.store else None,
        "seconds": round(time.monotonic() - one.began, 3),
    }
    if one.trace:
        made["trace"] = [] if result is None else [described(event) for event in result.trace]
    return made
