"""`cellwright chat`: turn after turn with an agent at a terminal, or from a pipe. Sessions are kept."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import typer

from cellwright.cli.agent_options import NONE, AgentOptions, offer_to_pull
from cellwright.cli.approval_prompt import TerminalApprover
from cellwright.cli.arguments import CANCELLED, PIPE_CLOSED, code_of, ended, exit_on_error, in_options, waiting_words
from cellwright.cli.cell_view import time_words
from cellwright.cli.keyboard import PROMPT, Keyboard, TypedLines
from cellwright.cli.options import SESSIONS, option, with_options
from cellwright.cli.slash_commands import SlashCommands, command_in
from cellwright.cli.terminal_page import TerminalPage, harmless, marked
from cellwright.cli.turn_view import TurnView, UsageTally
from cellwright.errors import CellwrightError, Fenced, PlatformError
from cellwright.settings import Settings

if TYPE_CHECKING:
    from cellwright.agent import Result, Session

T = TypeVar("T")
_SHOWN = 1_000  # characters of a task that was typed while a turn ran
_STORE = 'Where sessions are kept: a file, sqlite:///file.db, or "none". Left out: your own state directory.'


@dataclass(frozen=True, kw_only=True)
class ChatOptions(AgentOptions):
    """Those of `chat`."""

    command: ClassVar[str] = "chat"

    store: Annotated[str | None, option(_STORE, panel=SESSIONS, metavar="URL")] = None


@with_options
def chat(*, options: ChatOptions) -> None:
    """Talk with an agent. Code and calls are shown as they happen; /help lists what else can be typed.

    Exit codes: 0 you left; 2 wrong usage, 4 the model or this machine did not do its part, 130 cancelled. From a pipe
    also those of `run`, for the last turn that failed.
    """
    try:
        with exit_on_error():
            default_store = options.store is None
            options = replace(options, store=_store(options.store))
            offer_to_pull(options.model)
            with LoopThread() as loop:  # Ctrl-C reaches this thread, and cancels one step there
                code = _talk(options, loop, default_store=default_store)
    except Interrupted:
        raise ended(CANCELLED, "cancelled") from None
    raise typer.Exit(code)


class Interrupted(Exception):
    """Ctrl-C ended what was running."""


class LoopThread:
    """An event loop on a thread of its own, as a context manager. The main thread keeps the keyboard and gets Ctrl-C.

    `do` runs a coroutine on the loop and waits for it; the loop goes on between two of them.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="cellwright-loop")

    def __enter__(self) -> LoopThread:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result. Ctrl-C cancels the coroutine, waits for its end, and raises `Interrupted`."""
        begun: list[asyncio.Task[T]] = []
        ended = threading.Event()

        def begin() -> None:
            begun.append(self._loop.create_task(work))
            begun[0].add_done_callback(lambda _: ended.set())

        self._loop.call_soon_threadsafe(begin)
        try:
            ended.wait()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(lambda: begun[0].cancel())
            ended.wait()  # a second Ctrl-C does not wait, and is raised as it is
        try:
            return begun[0].result()
        except asyncio.CancelledError:
            raise Interrupted from None

    def cancel_all(self) -> None:
        """Cancel everything on the loop, from any thread."""
        self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(self._loop)])

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_forever()


def _store(given: str | None) -> str | None:
    if given is not None:
        return None if given == NONE else given
    place = Settings.from_environment().state_dir
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise PlatformError(f"cannot make {place}: {error.strerror}; give --store, or --store none") from None
    return f"sqlite:///{place / 'sessions.db'}"


def _talk(options: ChatOptions, loop: LoopThread, *, default_store: bool) -> int:
    page = TerminalPage(sys.stdout)
    page.outlet.on_close = loop.cancel_all
    keyboard = Keyboard(Settings.from_environment().state_dir / "history", command_in)
    talk = Chat(options, loop, page, keyboard)
    try:
        if not options.no_recover:
            talk.recover()
        talk.open()
        talk.turns()
    finally:
        keyboard.close()
        talk.close(default_store=default_store)
    return PIPE_CLOSED if page.outlet.closed_early else talk.code


class Chat:
    """One chat: the session it is in, and what it is shown on."""

    def __init__(self, options: ChatOptions, loop: LoopThread, page: TerminalPage, keyboard: Keyboard) -> None:
        self.page = page
        self.keyboard = keyboard
        self.view = TurnView(page, text=True)
        self.code = 0
        self.too_long: list[str] = []  # to be added to the turn under way
        self._options = options
        self._data = options.handed_over()  # with each task
        self._loop_thread = loop
        self._approver = TerminalApprover(yes=options.yes)
        self._agent = options.agent(self._say, self._approver)
        self._session: Session | None = None
        self._turns = 0
        self._commands = SlashCommands(self)

    @property
    def session(self) -> Session:
        assert self._session is not None, "open() comes first"
        return self._session

    def _say(self, line: str) -> None:
        if self.keyboard.terminal:
            self.page.line(line, "dim")
        else:
            print(line, file=sys.stderr, flush=True)

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop_thread.do(work)

    def recover(self) -> None:
        """Turns of other chats that were opened here and whose process died are carried on; Ctrl-C cancels one."""
        from cellwright.cli.recover import answered, carry_on, recoverable_turns, short_task

        store = self._options.store
        for turn in () if store is None else recoverable_turns(store, self._options.command):
            if turn.session in (self._options.resume, self._options.session):
                continue  # opened in a moment, as this command says
            self._say(f"cellwright: carrying on session {turn.session}, which was cut off: {short_task(turn)}")
            try:
                done = self.do(carry_on(str(store), turn, self.view.hear, self._say))
            except Interrupted:
                self.view.end()
                self._say(f"cellwright: session {turn.session}: cancelled")
                continue
            self.view.end()
            if done is not None:
                self._say(f"cellwright: session {turn.session}: {answered(done)}")

    def open(self) -> None:
        session = self._options.open(self._agent)
        self._session = self.do(session.__aenter__())
        known = session.runtime.turns
        before = self.do(known.read(known.usage)) if known is not None else None
        self.view = TurnView(self.page, text=True, tally=UsageTally(before))
        if self.keyboard.terminal:
            self._greet()
        if self._options.resume is None:
            return
        self.do(session.look_back())
        if session.is_unfinished:
            self.page.line(f"carrying on the last turn of {session.id}", "dim")
            self._turn(session.carry_on(on_event=self.view.hear))
        else:
            self.page.line(f"{session.id} has no turn to carry on", "dim")

    def _greet(self) -> None:
        kept = f"session {self.session.id}" if self._options.store else "a session that is not kept"
        self.page.line(f"{kept}; /help lists what can be typed", "dim")
        restored = self.session.runtime.restored
        if restored is not None and restored.diverged is not None:
            self.page.line(str(restored), "yellow")
        elif restored is not None:
            self.page.line("its names and files are as they were", "dim")

    def go_on_in(self, session: Session) -> None:
        """Leave the session for another that comes of it."""
        before = self.session
        self._session = self.do(session.__aenter__())
        self.do(before.__aexit__(None, None, None))

    def close(self, *, default_store: bool) -> None:
        if self._session is not None:
            self.do(self._session.__aexit__(None, None, None))
            if self._turns and self._options.store and self.keyboard.terminal:
                again = self._options.again("chat", self._session.id, store=not default_store)
                self.page.line(f"to go on: {again}", "dim")
        self.do(self._agent.close())

    # turn after turn

    def turns(self) -> None:
        """Until the person leaves, the pipe ends, or nobody reads."""
        asked_to_leave = False
        while self._is_read():
            try:
                line = self.keyboard.line()
            except KeyboardInterrupt:
                if (asked_to_leave and not self.keyboard.dropped) or not self.keyboard.terminal:
                    break
                asked_to_leave = True
                self.page.line("\nCtrl-C again, or Ctrl-D, leaves", "dim")
                continue
            asked_to_leave = False
            if line is None:
                break
            if line.strip() and not self._take(line):
                return
        if self.keyboard.terminal:
            self.page.line()

    def _is_read(self) -> bool:
        """Whether somebody reads what was written until now."""
        self.page.outlet.flush()
        return not self.page.outlet.closed_early

    def _take(self, line: str) -> bool:
        command = command_in(line)
        try:
            if command is None:
                task = line.strip()
                while task:
                    self._turn(self.session.run(task, data=self._data, on_event=self.view.hear))
                    if task := self._left_over():
                        self.page.line(f"{PROMPT}{harmless(task[:_SHOWN])}{' …' * (len(task) > _SHOWN)}", "dim")
                return True
            return self._commands.carry_out(*command)
        except Fenced:
            raise
        except CellwrightError as error:
            self._tell(error)
        except Interrupted:
            if not self.keyboard.terminal:
                raise
            self.page.line("cancelled", "yellow")
        return True

    def carry_on(self) -> None:
        """Go on with the last turn, which has no answer yet."""
        self._turn(self.session.carry_on(on_event=self.view.hear))

    def _turn(self, work: Coroutine[Any, Any, Result[Any]]) -> None:
        began = time.monotonic()
        self.view.next_turn()
        self._turns += 1
        try:
            result = self.do(self._listening(work))
        except Fenced:
            raise
        except CellwrightError as error:
            self.view.end()
            self._tell(error)
        except Interrupted:
            self.view.end()
            if not self.keyboard.terminal:
                raise
            self._tell_lost()
        else:
            self.view.end()
            self._answer(result, time.monotonic() - began)

    async def _listening(self, work: Coroutine[Any, Any, T]) -> T:
        """The turn; what is typed meanwhile is said to it."""
        if not self.keyboard.terminal:
            return await work
        with TypedLines(self._approver, self.keyboard, self._commands.during_turn):
            return await work

    def _left_over(self) -> str:
        """What was said to the turn too late to be seen: the next task."""
        if not self.keyboard.terminal:
            return ""
        left = [message.text for message in self.do(self.session.inbox.take_all())] + self.too_long
        self.too_long = []
        return "\n\n".join(text for text in left if text.strip())

    def _answer(self, result: Result[Any], seconds: float) -> None:
        from cellwright.cli.answers import answer_text

        text = answer_text(result.value, width=self.page.console.width if self.page.live else None).strip()
        if text and text != self.view.said.strip():
            self.page.line(marked(text, "bold" if self.page.live else ""))
        if self.keyboard.terminal:
            used = self.view.tally.turn
            cost = f" · ${used.cost:.4f}" if used.cost else ""
            steps = f"{result.steps} step{'s' * (result.steps != 1)}"
            self.page.line(f"{steps} · {used.tokens:,} tokens{cost} · {time_words(seconds)}\n", "dim")

    def _tell(self, error: CellwrightError) -> None:
        words = waiting_words(error, self._options.store, "/continue") or in_options(str(error))
        self.page.line(f"cellwright: {words}", "red")
        self.code = code_of(error) if not self.keyboard.terminal else 0

    def _tell_lost(self) -> None:
        """After Ctrl-C: what is no longer there, and what stays done."""
        if not self.view.cell_runs:
            self.page.line("cancelled while the model was replying; names and files are as they were", "yellow")
            return
        if self._options.store:
            self.page.line("cancelled; names are as they were before this cell, files that it wrote stay", "yellow")
        else:
            self.page.line("cancelled; the names of this session are gone with the cell: nothing is kept", "yellow")
        if self.view.calls:
            made = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in self.view.calls.items())
            self.page.line(f"calls that were made stay made: {made}", "yellow")
