"""What `run` and `chat` are asked for: their options, and the agent and session that come of them."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.asking import Person
from cellwright.cli.given import (
    CANCELLED,
    FAILED,
    LIMIT,
    PLATFORM,
    USAGE,
    WAITING,
    bound,
    found,
    in_options,
    known_session,
    limited,
    look_here,
    packages_in,
)

if TYPE_CHECKING:
    from cellwright.agent import Agent, Session
    from cellwright.errors import CellwrightError

_WORK = "What the agent gets"
_BUDGET = "What one turn may use"
_LASTS = "Sessions"
AGENTS_DB = "sqlite:///agents.db"
NONE = "none"
_OBJECT = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class ModeName(StrEnum):
    """How the agent works."""

    code = "code"
    direct = "direct"
    auto = "auto"


ModelOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help='"anthropic:…", "openai:…", "ollama:…", a URL, "local"; or MODULE:OBJECT, a Model of your own. '
        "Left out: what a key is set for, else the embedded one.",
        rich_help_panel=_WORK,
    ),
]
ReturnsOption = Annotated[
    str | None,
    typer.Option(
        metavar="TYPE", help="The type of the answer: int, list[str], …, or MODULE:CLASS.", rich_help_panel=_WORK
    ),
]
InstructionsOption = Annotated[
    str, typer.Option(metavar="TEXT", help="What the agent should know of its job.", rich_help_panel=_WORK)
]
ModeOption = Annotated[
    ModeName,
    typer.Option(
        help="Write code, call functions marked direct one by one, or what is cheaper.", rich_help_panel=_WORK
    ),
]
PlanOption = Annotated[bool, typer.Option("--plan", help="Write a plan first.", rich_help_panel=_WORK)]
StepsOption = Annotated[
    int | None, typer.Option(help="Replies of the model; 25 when left out.", rich_help_panel=_BUDGET)
]
TokensOption = Annotated[int | None, typer.Option(help="Tokens, in and out.", rich_help_panel=_BUDGET)]
CostOption = Annotated[float | None, typer.Option(help="US dollars.", rich_help_panel=_BUDGET)]
SecondsOption = Annotated[float | None, typer.Option(help="Seconds on the clock.", rich_help_panel=_BUDGET)]
SessionOption = Annotated[
    str | None,
    typer.Option(
        metavar="ID", help="Keep it in this session: a new one, or one to go on with.", rich_help_panel=_LASTS
    ),
]
ResumeOption = Annotated[
    str | None,
    typer.Option(metavar="ID", help="Carry on the last turn of a session that was cut off.", rich_help_panel=_LASTS),
]
NoRecoverOption = Annotated[
    bool,
    typer.Option(
        "--no-recover", help="Leave turns alone whose process died here; else they are carried on.",
        rich_help_panel=_LASTS,
    ),
]  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """The options that both commands have, as they were given. `store` is None where nothing is kept."""

    model: str | None = None
    scope: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    returns: str | None = None
    mode: ModeName = ModeName.auto
    plan: bool = False
    instructions: str = ""
    steps: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    store: str | None = None
    session: str | None = None
    resume: str | None = None
    take_over: bool = False
    yes: bool = False
    command: str = ""  # whose options these are

    def agent(self, say: Callable[[str], None], person: Person | None = None) -> Agent:
        from cellwright.agent import Agent
        from cellwright.models import Budget

        asked = {name: getattr(self, name) for name in ("steps", "tokens", "cost", "seconds")}
        return Agent(
            _model(self.model),
            scope=dict(bound(name) for name in self.scope),
            instructions=self.instructions,
            mode=self.mode.value,
            budget=limited(Budget, asked),
            plan=self.plan,
            packages=packages_in(list(self.packages)),
            store=self.store,
            approve=(person or Person(yes=self.yes)).approve,
            say=say,
        )

    def open(self, agent: Agent) -> Session:
        """The session that was asked for: to be entered. One that the store has is gone on with."""
        from cellwright.cli.returns import read_type
        from cellwright.errors import UsageError
        from cellwright.sessions import Sessions

        returns = None if self.returns is None else read_type(self.returns)
        if self.session is not None and self.resume is not None:
            raise UsageError("--session and --resume: give one of them")
        named = self.resume or self.session
        if named is not None and self.store is None:
            raise UsageError(f"session {named} needs a store to be kept in, and --store none keeps nothing")
        if self.resume is not None and self.store is not None:
            with Sessions(self.store) as sessions:
                known = sessions.resolve(self.resume)
        else:
            known = known_session(self.store, named) if named and self.store else None
        if known is not None:
            made = agent.resume(known, returns=returns, take_over=self.take_over)
        else:
            made = agent.session(named, returns=returns)
        made.opened = self.opened()
        return made

    def opened(self) -> str:
        """These options as text, for whoever carries on a turn that was opened with them; "" where one is a secret."""
        if self.model is not None and _WITH_KEY.search(self.model):
            return ""
        kept = {name: getattr(self, name) for name in _KEPT}
        return json.dumps({"command": self.command, "directory": os.getcwd(), **kept}, ensure_ascii=False)

    @property
    def place(self) -> str:
        """The store, for people to read: without a password."""
        from cellwright.store import shown_url

        return shown_url(self.store or "")

    def again(self, command: str, session: str, *, resume: bool = False, store: bool = True) -> str:
        """The command that goes on with the session. `store`: it has to be named."""
        words = ["cellwright", command, "--resume" if resume else "--session", session]
        for option, value in (
            ("--model", self.model),
            ("--store", self.place if store else None),
            ("--returns", self.returns),
        ):
            words += [option, value] if value else []
        for option, values in (("--scope", self.scope), ("--packages", self.packages)):
            words += [word for value in values for word in (option, value)]
        return shlex.join(words)


# all but where the session is, and what only the first command could want
_KEPT = tuple(f.name for f in fields(Wish) if f.name not in ("store", "session", "resume", "take_over", "command"))
_WITH_KEY = re.compile(r"://[^/]*@|[?&][^=&]*(key|token|secret)[^=&]*=", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """How a command opened a session, read from the row of its turn."""

    command: str
    directory: str
    options: dict[str, Any]

    @classmethod
    def read(cls, text: str) -> Opened | None:
        """None where no command did, or none that is known here."""
        try:
            told: Any = json.loads(text or "null")
            command, directory = told.pop("command"), told.pop("directory")
            if not all(type(one) is str for one in (command, directory)) or not told.keys() <= set(_KEPT):
                return None
            made = cls(command=command, directory=directory, options=told)
            made.wish("")
        except (ValueError, TypeError, LookupError, AttributeError):
            return None
        return made

    def wish(self, store: str) -> Wish:
        """The same options again."""
        made: dict[str, Any] = {**self.options, "store": store, "command": self.command}
        made |= {name: tuple(self.options.get(name) or ()) for name in ("scope", "packages")}
        made["mode"] = ModeName(self.options.get("mode", ModeName.auto))
        return Wish(**made)


def _model(text: str | None) -> Any:
    """A name for `Agent`, or the developer's own model where `MODULE:OBJECT` names one."""
    from cellwright.errors import UsageError

    if text is None or not _OBJECT.fullmatch(text) or not _is_module(text.partition(":")[0]):
        return text
    made = found(f"--model {text}", text)
    if not all(hasattr(made, name) for name in ("name", "traits", "request", "close")):
        raise UsageError(f"--model {text}: it is a {type(made).__name__} and no Model: name, traits, request, close")
    return made


def _is_module(name: str) -> bool:
    """A name with a dot is a module, and one without where no provider is called so."""
    from importlib.util import find_spec

    look_here()
    if "." in name:
        return True
    try:
        if find_spec(name) is None:
            return False
        from pydantic_ai.providers import infer_provider_class
    except (ImportError, ValueError):  # without pydantic-ai there are no providers; `__main__` has no spec
        return True
    try:
        infer_provider_class(name)
    except ValueError:
        return True
    except ImportError:  # a provider whose own package is missing
        pass
    return False


def code_of(error: CellwrightError) -> int:
    """What a command exits with."""
    from cellwright.errors import BudgetSpent, PlatformError, TurnCancelled, TurnWaiting, UsageError

    if isinstance(error, UsageError):
        return USAGE
    if isinstance(error, TurnWaiting):
        return WAITING
    if isinstance(error, TurnCancelled):
        return CANCELLED
    if isinstance(error, BudgetSpent):
        return LIMIT
    return PLATFORM if isinstance(error, PlatformError) else FAILED


def waiting_words(error: CellwrightError, then: str) -> str:
    """What to do about a turn that waits for a person, and how it goes on `then`; "" for any other error."""
    from cellwright.errors import TurnWaiting

    if not isinstance(error, TurnWaiting):
        return ""
    decide = "".join(f" `cellwright approve {id}`" for id in error.questions[:1]) or " `cellwright approve`"
    more = f" ({len(error.questions)} questions)" if len(error.questions) > 1 else ""
    return in_options(f"{str(error).partition('. ')[0]}. Decide it with{decide}{more}; then {then} goes on")


def offer_to_pull(model: str | None) -> None:
    """In a terminal: fetch the embedded model if it is what will be used and is not here. Elsewhere nothing."""
    from contextlib import redirect_stdout
    from importlib.util import find_spec

    from cellwright.models import QWEN, default_model, in_words
    from cellwright.settings import Settings

    if model not in (None, "local") or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    settings = Settings.from_environment()
    chosen = model or default_model(settings).name
    if chosen != "local" or QWEN.path(settings).is_file() or find_spec("xllamacpp") is None:
        return
    words = f"The embedded model is not here yet. Fetch it now ({in_words(QWEN.size)}, once)? [y/N] "
    print(words, end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        from cellwright.cli.models import pull

        with redirect_stdout(sys.stderr):  # stdout is for the answer
            pull(force=False, quiet=False)
