"""What `run` and `chat` are asked for: their options, and the agent and session that come of them."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolwright.cli.asking import Person
from toolwright.cli.given import (
    FAILED,
    LIMIT,
    PLATFORM,
    USAGE,
    bound,
    found,
    has_session,
    limited,
    look_here,
    packages_in,
)

if TYPE_CHECKING:
    from toolwright.agent import Agent, Session
    from toolwright.errors import ToolwrightError

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
    yes: bool = False

    def agent(self, say: Callable[[str], None]) -> Agent:
        from toolwright.agent import Agent
        from toolwright.models import Budget

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
            approve=Person(yes=self.yes).approve,
            say=say,
        )

    def open(self, agent: Agent) -> Session:
        """The session that was asked for: to be entered. One that the store has is gone on with."""
        from toolwright.cli.returns import read_type
        from toolwright.errors import UsageError

        returns = None if self.returns is None else read_type(self.returns)
        if self.session is not None and self.resume is not None:
            raise UsageError("--session and --resume: give one of them")
        named = self.resume or self.session
        if named is not None and self.store is None:
            raise UsageError(f"session {named} needs a store to be kept in, and --store none keeps nothing")
        if self.resume is not None or (named and self.store and has_session(self.store, named)):
            return agent.resume(str(named), returns=returns)
        return agent.session(named, returns=returns)

    def again(self, command: str, session: str, *, resume: bool = False, store: bool = True) -> str:
        """The command that goes on with the session. `store`: it has to be named."""
        words = ["toolwright", command, "--resume" if resume else "--session", session]
        for option, value in (
            ("--model", self.model),
            ("--store", self.store if store else None),
            ("--returns", self.returns),
        ):
            words += [option, value] if value else []
        for option, values in (("--scope", self.scope), ("--packages", self.packages)):
            words += [word for value in values for word in (option, value)]
        return shlex.join(words)


def _model(text: str | None) -> Any:
    """A name for `Agent`, or the developer's own model where `MODULE:OBJECT` names one."""
    from toolwright.errors import UsageError

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


def code_of(error: ToolwrightError) -> int:
    """What a command exits with."""
    from toolwright.errors import BudgetSpent, PlatformError, UsageError

    if isinstance(error, UsageError):
        return USAGE
    if isinstance(error, BudgetSpent):
        return LIMIT
    return PLATFORM if isinstance(error, PlatformError) else FAILED


def offer_to_pull(model: str | None) -> None:
    """In a terminal: fetch the embedded model if it is what will be used and is not here. Elsewhere nothing."""
    from contextlib import redirect_stdout
    from importlib.util import find_spec

    from toolwright.models import QWEN, default_model, in_words
    from toolwright.settings import Settings

    if model not in (None, "local") or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    settings = Settings.from_environment()
    chosen = model or default_model(settings).name
    if chosen != "local" or QWEN.path(settings).is_file() or find_spec("xllamacpp") is None:
        return
    words = f"The embedded model is not here yet. Fetch it now ({in_words(QWEN.size)}, once)? [y/N] "
    print(words, end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        from toolwright.cli.models import pull

        with redirect_stdout(sys.stderr):  # stdout is for the answer
            pull(force=False, quiet=False)
