"""`cellwright chat`: turn after turn with an agent at a terminal, or from a pipe. Sessions are kept.

Turns run on a loop of their own (`background`), so that Ctrl-C reaches this thread and cancels one step.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from cellwright.cli import wishes
from cellwright.cli.asking import Person, YesOption
from cellwright.cli.background import Background, Interrupted
from cellwright.cli.exec import PackagesOption, ScopeOption, TakeOverOption
from cellwright.cli.given import CANCELLED, PIPE_CLOSED, ended, in_options
from cellwright.cli.keyboard import PROMPT
from cellwright.cli.meanwhile import Meanwhile
from cellwright.cli.page import harmless
from cellwright.cli.slash import Commands, command_in
from cellwright.cli.wishes import NONE, ModeName, Wish, code_of, offer_to_pull, waiting_words

if TYPE_CHECKING:
    from cellwright.agent import Result, Session
    from cellwright.cli.keyboard import Keyboard
    from cellwright.cli.page import Page
    from cellwright.errors import CellwrightError

T = TypeVar("T")
StoreOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help='Where sessions are kept: a file, sqlite:///file.db, or "none". Left out: your own state directory.',
        rich_help_panel="Sessions",
    ),
]


def chat(
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
) -> None:
    """Talk with an agent. Code and calls are shown as they happen; /help lists what else can be typed.

    Exit codes: 0 you left; 2 wrong usage, 4 the model or this machine did not do its part, 130 cancelled. From a pipe
    also those of `run`, for the last turn that failed.
    """
    from cellwright.errors import CellwrightError

    try:
        wish = Wish(
            model=model, scope=tuple(scope or ()), packages=tuple(packages or ()), returns=returns, mode=mode,
            plan=plan, instructions=instructions, steps=steps, tokens=tokens, cost=cost, seconds=seconds,
            store=_store(store), session=session, resume=resume, take_over=take_over, yes=yes, command="chat",
        )  # fmt: skip
        offer_to_pull(model)
        with Background() as background:
            code = _talk(wish, background, default_store=store is None, recover=not no_recover)
    except CellwrightError as error:
        raise ended(code_of(error), in_options(str(error))) from None
    except (KeyboardInterrupt, Interrupted):
        raise ended(CANCELLED, "cancelled") from None
    raise typer.Exit(code)


def _store(given: str | None) -> str | None:
    from cellwright.errors import PlatformError
    from cellwright.settings import Settings

    if given is not None:
        return None if given == NONE else given
    place = Settings.from_environment().state_dir
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise PlatformError(f"cannot make {place}: {error.strerror}; give --store, or --store none") from None
    return f"sqlite:///{place / 'sessions.db'}"


def _talk(wish: Wish, background: Background, *, default_store: bool, recover: bool) -> int:
    from cellwright.cli.keyboard import Keyboard
    from cellwright.cli.page import Page
    from cellwright.settings import Settings

    page = Page(sys.stdout)
    page.outlet.on_close = background.cancel_all
    keyboard = Keyboard(Settings.from_environment().state_dir / "history")
    talk = Chat(wish, background, page, keyboard)
    try:
        if recover:
            talk.recover()
        talk.open()
        talk.turns()
    finally:
        keyboard.close()
        talk.close(default_store=default_store)
    return PIPE_CLOSED if page.outlet.closed_early else talk.code


class Chat:
    """One chat: the session it is in, and what it is shown on."""

    def __init__(self, wish: Wish, background: Background, page: Page, keyboard: Keyboard) -> None:
        from cellwright.cli.showing import Showing

        self.page = page
        self.keyboard = keyboard
        self.showing = Showing(page, text=True)
        self.code = 0
        self._wish = wish
        self._background = background
        self._person = Person(yes=wish.yes)
        self._agent = wish.agent(self._say, self._person)
        self._session: Session | None = None
        self._turns = 0
        self._commands = Commands(self)

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
        return self._background.do(work)

    def recover(self) -> None:
        """Turns of other chats that were opened here and whose process died are carried on; Ctrl-C cancels one."""
        from cellwright.cli.cut_off import answered, carry_on, find, told

        store = self._wish.store
        for found in () if store is None else find(store, self._wish.command):
            if found.session in (self._wish.resume, self._wish.session):
                continue  # opened in a moment, as this command says
            self._say(f"cellwright: carrying on session {found.session}, which was cut off: {told(found)}")
            try:
                done = self.do(carry_on(str(store), found, self.showing.hear, self._say))
            except Interrupted:
                self.showing.end()
                self._say(f"cellwright: session {found.session}: cancelled")
                continue
            self.showing.end()
            if done is not None:
                self._say(f"cellwright: session {found.session}: {answered(done)}")

    def open(self) -> None:
        from cellwright.cli.showing import Showing, Spent

        session = self._wish.open(self._agent)
        self._session = self.do(session.__aenter__())
        known = session.runtime.turns
        before = known.usage() if known is not None else None
        self.showing = Showing(self.page, text=True, spent=Spent(before))
        if self.keyboard.terminal:
            self._greet()
        if self._wish.resume is None:
            return
        if session.is_unfinished:
            self.page.line(f"carrying on the last turn of {session.id}", "dim")
            self._turn(session.carry_on(on_event=self.showing.hear))
        else:
            self.page.line(f"{session.id} has no turn to carry on", "dim")

    def _greet(self) -> None:
        kept = f"session {self.session.id}" if self._wish.store else "a session that is not kept"
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
            if self._turns and self._wish.store and self.keyboard.terminal:
                again = self._wish.again("chat", self._session.id, store=not default_store)
                self.page.line(f"to go on: {again}", "dim")
        self.do(self._agent.close())

    # turn after turn

    def turns(self) -> None:
        """Until the person leaves, the pipe ends, or nobody reads."""
        commands = self._commands
        asked_to_leave = False
        while not self.page.outlet.closed_early:
            try:
                line = self.keyboard.line()
            except KeyboardInterrupt:
                if asked_to_leave or not self.keyboard.terminal:
                    break
                asked_to_leave = True
                self.page.line("\nCtrl-C again, or Ctrl-D, leaves", "dim")
                continue
            asked_to_leave = False
            if line is None:
                break
            if line.strip() and not self._take(line, commands):
                return
        if self.keyboard.terminal:
            self.page.line()

    def _take(self, line: str, commands: Commands) -> bool:
        from cellwright.errors import CellwrightError, Fenced

        command = command_in(line)
        try:
            if command is None:
                task = line.strip()
                while task:
                    self._turn(self.session.run(task, on_event=self.showing.hear))
                    if task := self._left_over():
                        self.page.line(f"{PROMPT}{harmless(task)}", "dim")
                return True
            return commands.carry_out(*command)
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
        self._turn(self.session.carry_on(on_event=self.showing.hear))

    def _turn(self, work: Coroutine[Any, Any, Result[Any]]) -> None:
        from cellwright.errors import CellwrightError, Fenced

        began = time.monotonic()
        self.showing.next_turn()
        self._turns += 1
        try:
            result = self.do(self._listening(work))
        except Fenced:
            raise
        except CellwrightError as error:
            self.showing.end()
            self._tell(error)
        except Interrupted:
            self.showing.end()
            if not self.keyboard.terminal:
                raise
            self._tell_lost()
        else:
            self.showing.end()
            self._answer(result, time.monotonic() - began)

    async def _listening(self, work: Coroutine[Any, Any, T]) -> T:
        """The turn; what is typed meanwhile is said to it."""
        if not self.keyboard.terminal:
            return await work
        with Meanwhile(self._person, self._commands.meanwhile):
            return await work

    def _left_over(self) -> str:
        """What was said to the turn too late to be seen: the next task."""
        if not self.keyboard.terminal:
            return ""
        left = self.do(self.session.inbox.take_all())
        return "\n\n".join(message.text for message in left if message.text.strip())

    def _answer(self, result: Result[Any], seconds: float) -> None:
        from cellwright.cli.answers import answer_text
        from cellwright.cli.cells import time_words

        text = answer_text(result.value, width=self.page.console.width if self.page.live else None).strip()
        if text and text != self.showing.said.strip():
            self.page.line(harmless(text), "bold" if self.page.live else "")
        if self.keyboard.terminal:
            used = self.showing.spent.turn
            cost = f" · ${used.cost:.4f}" if used.cost else ""
            steps = f"{result.steps} step{'s' * (result.steps != 1)}"
            self.page.line(f"{steps} · {used.tokens:,} tokens{cost} · {time_words(seconds)}\n", "dim")

    def _tell(self, error: CellwrightError) -> None:
        self.page.line(f"cellwright: {waiting_words(error, '/continue') or in_options(str(error))}", "red")
        self.code = code_of(error) if not self.keyboard.terminal else 0

    def _tell_lost(self) -> None:
        """After Ctrl-C: what is no longer there, and what stays done."""
        if not self.showing.cell_runs:
            self.page.line("cancelled while the model was replying; names and files are as they were", "yellow")
            return
        if self._wish.store:
            self.page.line("cancelled; names are as they were before this cell, files that it wrote stay", "yellow")
        else:
            self.page.line("cancelled; the names of this session are gone with the cell: nothing is kept", "yellow")
        if self.showing.calls:
            made = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in self.showing.calls.items())
            self.page.line(f"calls that were made stay made: {made}", "yellow")
