"""The options that `run` and `chat` share, and the agent and the session that they ask for."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from cellwright.cli.approval_prompt import TerminalApprover
from cellwright.cli.arguments import bound_object, known_session, limited, look_here, object_named, packages_in
from cellwright.cli.options import SESSIONS, FlowName, GuardOptions, Packages, Scope, TakeOver, Texts, Yes, option
from cellwright.errors import UsageError
from cellwright.redaction import url_holds_key
from cellwright.settings import Settings

if TYPE_CHECKING:
    from cellwright.agent import Agent, Session

WORK, BUDGET = "What the agent gets", "What one turn may use"
NONE = "none"
_OBJECT = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_MODEL = (
    '"anthropic:…", "openai:…", "ollama:…", a URL, "local"; or MODULE:OBJECT, a Model of your own. '
    "Left out: what a key is set for, else the embedded one."
)
_DATA = (
    "A text that others wrote; -: stdin. The code has it as task_data, and it is no word of yours. Again for another."
)


class ModeName(StrEnum):
    """How the agent works."""

    code = "code"
    direct = "direct"
    auto = "auto"


@dataclass(frozen=True, kw_only=True)
class AgentOptions(GuardOptions):
    """The options of both commands. `store` is None where nothing is kept."""

    command: ClassVar[str] = ""  # whose options these are

    model: Annotated[str | None, option(_MODEL, panel=WORK, metavar="NAME")] = None
    scope: Scope = ()
    packages: Packages = ()
    returns: Annotated[
        str | None,
        option("The type of the answer: int, list[str], …, or MODULE:CLASS.", panel=WORK, metavar="TYPE"),
    ] = None
    data: Annotated[Texts, option(_DATA, panel=WORK, metavar="NAME=FILE")] = ()
    instructions: Annotated[str, option("What the agent should know of its job.", panel=WORK, metavar="TEXT")] = ""
    mode: Annotated[
        ModeName, option("Write code, call functions marked direct one by one, or what is cheaper.", panel=WORK)
    ] = ModeName.auto
    plan: Annotated[bool, option("Write a plan first.", "--plan", panel=WORK)] = False
    yes: Yes = False
    steps: Annotated[int | None, option("Replies of the model; 25 when left out.", panel=BUDGET)] = None
    tokens: Annotated[int | None, option("Tokens, in and out.", panel=BUDGET)] = None
    cost: Annotated[float | None, option("US dollars.", panel=BUDGET)] = None
    seconds: Annotated[float | None, option("Seconds on the clock.", panel=BUDGET)] = None
    store: str | None = None  # each command says in its own words where that is
    session: Annotated[
        str | None,
        option("Keep it in this session: a new one, or one to go on with.", panel=SESSIONS, metavar="ID"),
    ] = None
    resume: Annotated[
        str | None,
        option("Carry on the last turn of a session that was cut off.", panel=SESSIONS, metavar="ID"),
    ] = None
    take_over: TakeOver = False
    no_recover: Annotated[
        bool,
        option("Leave turns alone whose process died here; else they are carried on.", "--no-recover", panel=SESSIONS),
    ] = False

    def agent(self, say: Callable[[str], None], person: TerminalApprover | None = None) -> Agent:
        from cellwright.agent import Agent
        from cellwright.models import Budget

        budget = {name: getattr(self, name) for name in ("steps", "tokens", "cost", "seconds")}
        return Agent(
            _model(self.model),
            scope=dict(map(bound_object, self.scope)),
            instructions=self.instructions,
            mode=self.mode.value,
            budget=limited(Budget, budget),
            plan=self.plan,
            packages=packages_in(self.packages),
            store=self.store,
            approve=(person or TerminalApprover(yes=self.yes)).approve,
            say=say,
            **self.guard,
        )

    def handed_over(self) -> dict[str, str]:
        """The texts of --data, by name."""
        texts: dict[str, str] = {}
        for text in self.data:
            name, sign, file = text.partition("=")
            if not sign or not name or not file:
                raise UsageError(f"--data {text:.60}: give NAME=FILE, such as ticket=ticket.txt")
            if name in texts:
                raise UsageError(f"--data {name}: it is given twice")
            texts[name] = read_text(f"--data {text:.60}", file)
        return texts

    def open(self, agent: Agent) -> Session:
        """The session that the options name, not yet entered. One that the store has is resumed."""
        from cellwright.cli.return_type import read_type
        from cellwright.sessions import Sessions

        returns = None if self.returns is None else read_type(self.returns)
        if self.session is not None and self.resume is not None:
            raise UsageError("--session and --resume: give one of them")
        named = self.resume or self.session
        if named is not None and self.store is None:
            raise UsageError(f"session {named} needs a store to be kept in, and --store none keeps nothing")
        if self.resume is not None and self.store is not None:
            with Sessions(self.store) as sessions:
                id = sessions.resolve(self.resume)
        else:
            id = known_session(self.store, named) if named and self.store else None
        if id is not None:
            session = agent.resume(id, returns=returns, take_over=self.take_over)
        else:
            session = agent.session(named, returns=returns)
        session.opened = self.opened()
        return session

    def opened(self) -> str:
        """These options as text, for whoever carries on a turn that was opened with them; "" where one is a secret."""
        if self.model is not None and url_holds_key(self.model):
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
        given = [("--model", self.model), ("--store", self.place if store else None), ("--returns", self.returns)]
        given += [(f"--{name}", value) for name, value in self.guard.items()]
        given += [("--scope", text) for text in self.scope] + [("--packages", text) for text in self.packages]
        words += [word for name, value in given if value for word in (name, value)]
        return shlex.join(words)


# all but where the session is, and what only the first command could want
_KEPT = tuple(
    f.name
    for f in fields(AgentOptions)
    if f.name not in ("store", "session", "resume", "take_over", "no_recover", "data")  # the turn's row has the data
)


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnOrigin:
    """The command that opened a session, with its directory and options, read from the row of its turn."""

    command: str
    directory: str
    kept: dict[str, Any]

    @classmethod
    def read(cls, text: str) -> TurnOrigin | None:
        """None where a program opened it, or a command with options that are not known here."""
        try:
            kept: Any = json.loads(text or "null")
            command, directory = kept.pop("command"), kept.pop("directory")
            if type(command) is not str or type(directory) is not str or not kept.keys() <= set(_KEPT):
                return None
            origin = cls(command=command, directory=directory, kept=kept)
            origin.options("")
        except (ValueError, TypeError, LookupError, AttributeError):
            return None
        return origin

    def options(self, store: str) -> AgentOptions:
        """The same options again."""
        given: dict[str, Any] = {**self.kept, "mode": ModeName(self.kept.get("mode", ModeName.auto)), "store": store}
        given |= {name: tuple(self.kept.get(name) or ()) for name in ("scope", "packages")}
        given["flow"] = FlowName(flow) if (flow := self.kept.get("flow")) else None
        return AgentOptions(**given)


def read_text(title: str, file: str) -> str:
    """A text to be handed over with a task. `title` begins the error."""
    from cellwright.agent import LONGEST_DATA

    try:
        with nullcontext(sys.stdin) if file == "-" else open(file, encoding="utf-8") as lines:
            text = lines.read(LONGEST_DATA + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{title}: cannot read it: {getattr(error, 'strerror', None) or error}") from None
    if len(text) > LONGEST_DATA:
        raise UsageError(
            f"{title}: it has more than {LONGEST_DATA:,} characters; bind an object that reads it, by --scope"
        )
    return text


def _model(text: str | None) -> Any:
    """A name for `Agent`, or the developer's own model where `MODULE:OBJECT` names one."""
    if text is None or not _OBJECT.fullmatch(text) or not _is_module(text.partition(":")[0]):
        return text
    model = object_named(f"--model {text}", text)
    if not all(hasattr(model, name) for name in ("name", "traits", "request", "close")):
        raise UsageError(f"--model {text}: it is a {type(model).__name__} and no Model: name, traits, request, close")
    return model


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


def offer_to_pull(model: str | None) -> None:
    """In a terminal: fetch the embedded model if it is what will be used and is not here. Elsewhere nothing."""
    from contextlib import redirect_stdout
    from importlib.util import find_spec

    from cellwright.models import QWEN, default_model, size_text

    if model not in (None, "local") or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    settings = Settings.from_environment()
    chosen = model or default_model(settings).name
    if chosen != "local" or QWEN.path(settings).is_file() or find_spec("xllamacpp") is None:
        return
    words = f"The embedded model is not here yet. Fetch it now ({size_text(QWEN.size)}, once)? [y/N] "
    print(words, end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        from cellwright.cli.models import pull

        with redirect_stdout(sys.stderr):  # stdout is for the answer
            pull(force=False, quiet=False)
