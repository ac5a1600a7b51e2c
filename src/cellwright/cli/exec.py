"""`cellwright exec`: one cell from a file, the command line or stdin, run against objects named on the command line."""

from __future__ import annotations

import json
import sys
import tokenize
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.answers import json_text
from cellwright.cli.approval_prompt import TerminalApprover
from cellwright.cli.arguments import (
    FAILED,
    LIMIT,
    PLATFORM,
    WAITING,
    bound_object,
    exit_on_error,
    known_session,
    limited,
    packages_in,
    say,
    store_option,
)
from cellwright.cli.options import (
    AGENTS_DB,
    CODE,
    LIMITS,
    SESSIONS,
    CheckMode,
    GuardOptions,
    Packages,
    Scope,
    TakeOver,
    Yes,
    option,
    with_options,
)
from cellwright.cli.terminal_page import Outlet, harmless
from cellwright.errors import CodeError, Diverged, GuestError, LimitExceeded, TypeMistake, UsageError, Waiting
from cellwright.events import Event, Printed

if TYPE_CHECKING:
    from cellwright.runtime import Runtime
    from cellwright.sandboxes import Outcome

_SESSION = "Journal the cell in this session: a new one, or one that is resumed."
_CARRY_ON = "In place of code: carry on the session's cell that was cut off, or that waited for a yes."
_STORE = "Where sessions are: a file, or sqlite:///file.db."
_CHECK = "What mistakes that the type checker finds do: nothing, tell, or refuse the cell."


@dataclass(frozen=True, kw_only=True)
class ExecOptions(GuardOptions):
    """What the code gets, and the session that it runs in."""

    scope: Scope = ()
    packages: Packages = ()
    workspace: Annotated[str | None, option("A directory to share with the code.", panel=CODE, metavar="DIR")] = None
    session: Annotated[str | None, option(_SESSION, panel=SESSIONS, metavar="ID")] = None
    carry_on: Annotated[bool, option(_CARRY_ON, "--carry-on", panel=SESSIONS)] = False
    store: Annotated[str, option(_STORE, panel=SESSIONS, metavar="URL")] = AGENTS_DB
    take_over: TakeOver = False
    check: Annotated[CheckMode, option(_CHECK)] = CheckMode.off
    yes: Yes = False


@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """The fields of `Limits`."""

    wall_s: Annotated[float, option("Seconds on the clock.", panel=LIMITS)] = 30.0
    cpu_s: Annotated[float, option("Seconds of processor time.", panel=LIMITS)] = 30.0
    memory_mb: Annotated[int, option("Memory.", panel=LIMITS)] = 256
    processes: Annotated[int, option("Child processes at once.", panel=LIMITS)] = 0
    threads: Annotated[int, option("Threads at once.", panel=LIMITS)] = 64
    open_files: Annotated[int, option("Open files.", panel=LIMITS)] = 256
    file_mb: Annotated[int, option("Size of one file.", panel=LIMITS)] = 64
    workspace_mb: Annotated[int, option("Size of the workspace.", panel=LIMITS)] = 256
    output_kb: Annotated[int, option("Printed output.", panel=LIMITS)] = 8192
    host_calls: Annotated[int, option("Calls to your objects.", panel=LIMITS)] = 10_000


@with_options
def execute(
    file: Annotated[str | None, typer.Argument(help="A file with Python code; - reads it from stdin.")] = None,
    code: Annotated[str | None, typer.Option("-c", metavar="CODE", help="The code itself.")] = None,
    *,
    options: ExecOptions,
    limits: LimitOptions,
    as_json: Annotated[bool, option("Print one JSON object in place of all else.", "--json")] = False,
) -> None:
    """Run one cell in the sandbox. Prints stream; the value of the last line is printed at the end.

    Exit codes: 0 it ran, 1 it raised, 2 wrong usage, 3 a limit ended it, 4 it crashed or this machine cannot run it,
    5 it waits for a person's yes, 130 cancelled with Ctrl-C.
    """
    from cellwright.sandboxes import Limits

    approver = TerminalApprover(yes=options.yes)
    with exit_on_error():
        text = _code(file, code) if not options.carry_on else _no_code(file, code, options.session)
        runtime = _runtime(
            options,
            scope=dict(map(bound_object, options.scope)),
            packages=packages_in(options.packages),
            limits=limited(Limits, asdict(limits)),
            workspace=options.workspace,
            check=options.check.value,
            approve=approver.approve,
            **options.guard,
        )
        outcome = _run(runtime, text, None if as_json else _Out(approver))
    raise typer.Exit(_tell(outcome, options.store, as_json))


def _code(file: str | None, code: str | None) -> str:
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
    if file is not None or code is not None or session is None:
        raise UsageError("--carry-on goes with --session ID, and without code")


def _runtime(options: ExecOptions, **more: Any) -> Runtime:
    """Without a session nothing is kept; a session that the store has is resumed."""
    from cellwright.runtime import Runtime

    if options.session is None:
        return Runtime(**more)
    id = known_session(options.store, options.session)
    if id is None:
        return Runtime(session=options.session, store=options.store, **more)
    return Runtime.resume(id, store=options.store, take_over=options.take_over, **more)


class _Out:
    """Passes on what the cell prints as it comes; while a question to the person is open, after the answer."""

    def __init__(self, approver: TerminalApprover) -> None:
        self.last = "\n"
        self._outlet = Outlet(sys.stdout)
        self._approver = approver
        self._held: list[str] = []
        approver.answered = self._pass_on

    @property
    def closed(self) -> bool:
        """Whether whoever read us has left, as `head` does: the cell has no reader either."""
        return self._outlet.closed_early

    def hear(self, event: Event) -> None:
        if isinstance(event, Printed):
            self._held.append(event.text)
            if not self._approver.asked:
                self._pass_on()

    def _pass_on(self) -> None:
        held, self._held = self._held, []
        for text in held:
            self.write(text)

    def write(self, text: str) -> None:
        self._outlet.write(harmless(text) if self._outlet.isatty() else text)
        self._outlet.flush()
        self.last = text[-1:]


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
    if out is not None and out.closed:
        raise BrokenPipeError
    return outcome


def _tell(outcome: Outcome, store: str, as_json: bool) -> int:
    """The JSON object, or the error on stderr; gives the exit code."""
    error = outcome.error
    for mistake in outcome.mistakes if not as_json else ():
        say(mistake)
    if as_json:
        print(json_text(_described(outcome), ensure_ascii=False))
    elif error is not None:
        from rich.console import Console
        from rich.text import Text

        where = Console(stderr=True, highlight=False)
        words = str(error) if _type(error) in str(error) else f"{_type(error)}: {error}"
        where.print(Text(harmless(words) if where.is_terminal else words, style="red"), soft_wrap=True)
        for id in outcome.waiting:
            say(f"decide it with `cellwright approve {id} --yes{store_option(store)}`, or --no")
        if outcome.waiting:
            say("then carry it on with --session ID --carry-on")
    return 0 if error is None else _exit_code(error)


def _shown(value: object) -> str:
    from cellwright.sandboxes import GuestValue
    from cellwright.scope import shown

    return value.text if isinstance(value, GuestValue) else shown(value)


def _described(outcome: Outcome) -> dict[str, Any]:
    error = outcome.error
    try:
        value = json.loads(json_text(outcome.value))
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
    if isinstance(error, LimitExceeded):
        return LIMIT
    if isinstance(error, Waiting):
        return WAITING
    return FAILED if isinstance(error, CodeError | TypeMistake | Diverged) else PLATFORM
