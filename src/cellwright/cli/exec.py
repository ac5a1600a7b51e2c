"""`cellwright exec`: one cell from a file, the command line or stdin, run against objects named on the command line."""

from __future__ import annotations

import json
import os
import sys
import tokenize
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.asking import Person, YesOption
from cellwright.cli.given import (
    CANCELLED,
    FAILED,
    LIMIT,
    PIPE_CLOSED,
    PLATFORM,
    USAGE,
    WAITING,
    bound,
    ended,
    in_options,
    known_session,
    limited,
    packages_in,
)

if TYPE_CHECKING:
    from cellwright.errors import GuestError
    from cellwright.events import Event
    from cellwright.runtime import Runtime
    from cellwright.sandboxes import Outcome

_LIMITS = "Limits"
_PLACES = "What the code gets"
_LASTS = "Sessions"


class Check(StrEnum):
    """What mistakes that the type checker finds do."""

    off = "off"
    warn = "warn"
    strict = "strict"


ScopeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]MODULE:OBJECT",
        help="An object of yours that the code may use. Give it again for another.",
        rich_help_panel=_PLACES,
    ),
]
PackagesOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME|DIR",
        help="A package to install for the code (give it again for another), or the path of a virtual environment.",
        rich_help_panel=_PLACES,
    ),
]
WorkspaceOption = Annotated[
    str | None, typer.Option(metavar="DIR", help="A directory to share with the code.", rich_help_panel=_PLACES)
]
SessionOption = Annotated[
    str | None,
    typer.Option(
        metavar="ID",
        help="Journal the cell in this session: a new one, or one that is resumed.",
        rich_help_panel=_LASTS,
    ),
]
CarryOnOption = Annotated[
    bool,
    typer.Option(
        "--carry-on",
        help="In place of code: carry on the session's cell that was cut off, or that waited for a yes.",
        rich_help_panel=_LASTS,
    ),
]
StoreOption = Annotated[
    str, typer.Option(metavar="URL", help="Where sessions are: a file, or sqlite:///file.db.", rich_help_panel=_LASTS)
]
TakeOverOption = Annotated[
    bool,
    typer.Option("--take-over", help="Take the session from another process that has it open.", rich_help_panel=_LASTS),
]
CheckOption = Annotated[
    Check, typer.Option(help="What mistakes that the type checker finds do: nothing, tell, or refuse the cell.")
]


def execute(
    file: Annotated[str | None, typer.Argument(help="A file with Python code; - reads it from stdin.")] = None,
    code: Annotated[str | None, typer.Option("-c", metavar="CODE", help="The code itself.")] = None,
    scope: ScopeOption = None,
    packages: PackagesOption = None,
    workspace: WorkspaceOption = None,
    session: SessionOption = None,
    carry_on: CarryOnOption = False,
    store: StoreOption = "sqlite:///agents.db",
    take_over: TakeOverOption = False,
    check: CheckOption = Check.off,
    yes: YesOption = False,
    wall_s: Annotated[float, typer.Option(help="Seconds on the clock.", rich_help_panel=_LIMITS)] = 30.0,
    cpu_s: Annotated[float, typer.Option(help="Seconds of processor time.", rich_help_panel=_LIMITS)] = 30.0,
    memory_mb: Annotated[int, typer.Option(help="Memory.", rich_help_panel=_LIMITS)] = 256,
    processes: Annotated[int, typer.Option(help="Child processes at once.", rich_help_panel=_LIMITS)] = 0,
    threads: Annotated[int, typer.Option(help="Threads at once.", rich_help_panel=_LIMITS)] = 64,
    open_files: Annotated[int, typer.Option(help="Open files.", rich_help_panel=_LIMITS)] = 256,
    file_mb: Annotated[int, typer.Option(help="Size of one file.", rich_help_panel=_LIMITS)] = 64,
    workspace_mb: Annotated[int, typer.Option(help="Size of the workspace.", rich_help_panel=_LIMITS)] = 256,
    output_kb: Annotated[int, typer.Option(help="Printed output.", rich_help_panel=_LIMITS)] = 8192,
    host_calls: Annotated[int, typer.Option(help="Calls to your objects.", rich_help_panel=_LIMITS)] = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object in place of all else.")] = False,
) -> None:
    """Run one cell in the sandbox. Prints stream; the value of the last line is printed at the end.

    Exit codes: 0 it ran, 1 it raised, 2 wrong usage, 3 a limit ended it, 4 it crashed or this machine cannot run it,
    5 it waits for a person's yes, 130 cancelled with Ctrl-C.
    """
    from cellwright.errors import PlatformError, UsageError
    from cellwright.sandboxes import Limits

    asked = {name: value for name, value in locals().items() if name in Limits.__dataclass_fields__}
    person = Person(yes=yes)
    try:
        text = _code(file, code) if not carry_on else _no_code(file, code, session)
        runtime = _runtime(
            session,
            store,
            take_over,
            scope=dict(bound(name) for name in scope or ()),
            packages=packages_in(packages),
            limits=limited(Limits, asked),
            workspace=workspace,
            check=check.value,
            approve=person.approve,
        )
        outcome = _run(runtime, text, None if as_json else _Out(person))
    except UsageError as error:
        raise ended(USAGE, in_options(str(error))) from None
    except PlatformError as error:
        raise ended(PLATFORM, str(error)) from None
    except KeyboardInterrupt:
        raise ended(CANCELLED, "cancelled") from None
    except BrokenPipeError:
        raise typer.Exit(PIPE_CLOSED) from None
    raise typer.Exit(_tell(outcome, as_json))


# what is asked for


def _code(file: str | None, code: str | None) -> str:
    from cellwright.errors import UsageError

    if (file is None) == (code is None):
        raise UsageError("give a FILE, or - for stdin, or -c CODE: one of them")
    if code is not None:
        return code
    try:
        if file == "-":
            return sys.stdin.read()
        with tokenize.open(str(file)) as lines:
            return lines.read()
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from None


def _no_code(file: str | None, code: str | None, session: str | None) -> None:
    from cellwright.errors import UsageError

    if file is not None or code is not None or session is None:
        raise UsageError("--carry-on goes with --session ID, and without code")


def _runtime(session: str | None, store: str, take_over: bool, **options: Any) -> Runtime:
    """One that forgets; or that of a session, which is resumed where the store has it."""
    from cellwright.runtime import Runtime

    if session is None:
        return Runtime(**options)
    known = known_session(store, session)
    if known is None:
        return Runtime(session=session, store=store, **options)
    return Runtime.resume(known, store=store, take_over=take_over, **options)


# running it


class _Out:
    """Prints of the cell, passed on as they come; after the answer where the person is asked something."""

    def __init__(self, person: Person) -> None:
        self.last = "\n"
        self.closed = False
        self._person = person
        self._held: list[str] = []
        person.answered = self._pass_on

    def hear(self, event: Event) -> None:
        from cellwright.events import Printed

        if isinstance(event, Printed):
            self._held.append(event.text)
            if not self._person.asked:
                self._pass_on()

    def _pass_on(self) -> None:
        held, self._held = self._held, []
        for text in held if not self.closed else ():
            self.write(text)

    def write(self, text: str) -> None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
            self.last = text[-1:]
        except BrokenPipeError:  # whoever read us has left, as `head` does: the cell has no reader either
            self.closed = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(runtime: Runtime, code: str | None, out: _Out | None) -> Outcome:
    """Without code, the cell that was cut off is carried on."""
    import asyncio

    async def main() -> Outcome:
        async with runtime:
            hear = None if out is None else out.hear
            running = runtime.outcome(on_event=hear) if code is None else runtime.execute(code, on_event=hear)
            if out is None:
                return await running
            cell = asyncio.ensure_future(running)
            try:
                while not cell.done() and not out.closed:
                    await asyncio.wait([cell], timeout=0.2)
            finally:
                cell.cancel()  # nothing when it is done
            return await cell

    try:
        outcome = asyncio.run(main())
    except asyncio.CancelledError:
        raise BrokenPipeError from None
    if out is not None and outcome.ok and outcome.value is not None:
        out.write(("" if out.last == "\n" else "\n") + _shown(outcome.value) + "\n")
    return outcome


def _tell(outcome: Outcome, as_json: bool) -> int:
    """The JSON object, or the error on stderr; gives the exit code."""
    error = outcome.error
    for mistake in outcome.mistakes if not as_json else ():
        print(f"cellwright: {mistake}", file=sys.stderr)
    if as_json:
        print(json.dumps(_described(outcome), ensure_ascii=False))
    elif error is not None:
        from rich.console import Console
        from rich.text import Text

        where = Console(stderr=True, highlight=False)
        words = str(error) if _type(error) in str(error) else f"{_type(error)}: {error}"
        where.print(Text(words, style="red"), soft_wrap=True)
        for id in outcome.waiting:
            print(f"cellwright: decide it with `cellwright approve {id} --yes`, or --no", file=sys.stderr)
        if outcome.waiting:
            print("cellwright: then carry it on with --session ID --carry-on", file=sys.stderr)
    return 0 if error is None else _exit_code(error)


def _shown(value: object) -> str:
    from cellwright.sandboxes import GuestValue
    from cellwright.scope import shown

    return value.text if isinstance(value, GuestValue) else shown(value)


def _described(outcome: Outcome) -> dict[str, Any]:
    error = outcome.error
    try:
        value = json.loads(json.dumps(outcome.value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        value = _shown(outcome.value)
    return {
        "value": value,
        "stdout": outcome.stdout,
        "error": None if error is None else {"type": _type(error), "text": str(error)},
        "calls": [{"name": c.name, "duration_s": round(c.duration_s, 6), "error": c.error} for c in outcome.calls],
        "mistakes": list(outcome.mistakes),
        "waiting": list(outcome.waiting),
        "rung": outcome.rung,
        "duration_s": round(outcome.duration_s, 6),
    }


def _type(error: GuestError) -> str:
    return getattr(error, "type", "") or type(error).__name__


def _exit_code(error: GuestError) -> int:
    from cellwright.errors import CodeError, Diverged, LimitExceeded, TypeMistake, Waiting

    if isinstance(error, LimitExceeded):
        return LIMIT
    if isinstance(error, Waiting):
        return WAITING
    return FAILED if isinstance(error, CodeError | TypeMistake | Diverged) else PLATFORM
