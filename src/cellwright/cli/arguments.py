"""What a command line names: objects, packages, limits, sessions; and how a command ends. Knows no command."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from cellwright.cli.options import AGENTS_DB
from cellwright.errors import (
    BudgetSpent,
    CellwrightError,
    NoSession,
    PlatformError,
    TurnCancelled,
    TurnWaiting,
    UsageError,
)
from cellwright.settings import Settings
from cellwright.short_texts import printable

if TYPE_CHECKING:
    from cellwright.sessions import Sessions

T = TypeVar("T")
LONGEST = 500
FAILED, USAGE, LIMIT, PLATFORM, WAITING, CANCELLED, PIPE_CLOSED = 1, 2, 3, 4, 5, 130, 141
_CODES = {
    UsageError: USAGE,
    TurnWaiting: WAITING,
    TurnCancelled: CANCELLED,
    BudgetSpent: LIMIT,
    PlatformError: PLATFORM,
}


def say(line: str) -> None:
    """A line for people, on stderr."""
    print(f"cellwright: {line}", file=sys.stderr, flush=True)


def ended(code: int, line: str) -> typer.Exit:
    """The end of a command: one line on stderr, and the code to raise."""
    say(line)
    return typer.Exit(code)


@contextmanager
def exit_on_error(cancelled: str = "cancelled", *, one_line: bool = True) -> Generator[None]:
    """An error is one line on stderr, in the words of options, and an exit code. `one_line=False`: as it is."""
    try:
        yield
    except CellwrightError as error:
        text = printable(str(error))
        raise ended(code_of(error), in_options(text) if one_line else text) from None
    except KeyboardInterrupt:
        raise ended(CANCELLED, cancelled) from None
    except BrokenPipeError:  # whoever read us has left
        raise typer.Exit(PIPE_CLOSED) from None


def code_of(error: CellwrightError) -> int:
    """The exit code of a command that ends with this error."""
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), FAILED)


def waiting_words(error: CellwrightError, store: str | None, then: str) -> str:
    """How to decide what a turn waits for, and what goes on with it `then`; "" for an error that is no wait."""
    if not isinstance(error, TurnWaiting):
        return ""
    decide = f" `cellwright approve{''.join(f' {id}' for id in error.questions[:1])}{store_option(store)}`"
    more = f" ({len(error.questions)} questions)" if len(error.questions) > 1 else ""
    return in_options(f"{str(error).partition('. ')[0]}. Decide it with{decide}{more}; then {then} goes on")


def object_named(option: str, target: str, shape: str = "MODULE:OBJECT") -> Any:
    """The object that `MODULE:OBJECT` names. `option` is what the person gave, for the message where there is none."""
    from importlib import import_module

    module, _, path = target.partition(":")
    if not module or not path:
        raise UsageError(f"{option}: give {shape}")
    look_here()
    try:
        value: Any = import_module(module)
        for part in path.split("."):
            value = getattr(value, part)
    except (Exception, SystemExit) as error:  # importing runs the developer's own module, which may raise anything
        raise UsageError(f"{option}: {type(error).__name__}: {error}") from None
    return value


def look_here() -> None:
    """Modules in the directory that the command was started in can be imported."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def bound_object(text: str) -> tuple[str, Any]:
    """A name for guest code, and the object that `[NAME=]MODULE:OBJECT` names."""
    name, has_name, target = text.rpartition("=")
    shape = "[NAME=]MODULE:OBJECT, such as crm=shop.live:crm"
    value = object_named(f"--scope {text}", target if name or not has_name else "", shape)
    return name or target.rpartition(":")[2].rpartition(".")[2], value


def packages_in(given: tuple[str, ...]) -> Path | list[str] | None:
    if len(given) == 1 and (os.sep in given[0] or Path(given[0]).is_dir()):
        return Path(given[0])
    return list(given) or None


def limited(make: Callable[..., T], asked: Mapping[str, Any]) -> T:
    """`Limits` or a `Budget` of these values. The error for a value that it refuses names the option."""
    for name, value in asked.items():
        try:
            make(**{name: value})
        except UsageError as error:
            option = name.replace("_", "-")
            raise UsageError(f"--{option} {value:g}: {str(error).partition(': ')[2]}") from None
    return make(**asked)


def in_options(text: str) -> str:
    """A message for developers as one line, with options in place of arguments."""
    text = re.sub(r"Budget\((\w+)=…\)", r"--\1", text.replace('model="local"', "--model local"))
    text = re.sub(r'Agent\(store="[^"]*"\)', "--store", text)
    text = re.sub(r"\A(audit|data)=", r"--\1 ", text)
    text = text.replace("take_over=True", "--take-over").replace("whole=True", "--whole")
    line = re.sub(r"\s*\n\s*", " ", text.strip())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} …"


def known_session(store: str, session: str) -> str | None:
    """The id of the session with that id or name; None where the store has none. An absent store is made."""
    from cellwright.sessions import Sessions
    from cellwright.store import open_store

    with closing(open_store(store)) as journal:
        try:
            id = Sessions(journal).resolve(session)
        except NoSession:
            return None
        return id if session in (id, journal.summary(id).name) else None  # the start of an id may be all of a new one


def stores(given: str | None) -> list[str]:
    """The store that was given; else those of `chat` and of this directory, as far as they exist."""
    if given is not None:
        return [given]
    chats = Settings.from_environment().state_dir / "sessions.db"
    return [url for url in (f"sqlite:///{chats}", AGENTS_DB) if Path(url.removeprefix("sqlite:///")).is_file()]


def store_option(url: str | None) -> str:
    """The option with which another command finds this store; "" where it looks there anyway."""
    from cellwright.store import shown_url

    return "" if url is None or url in stores(None) else f" --store {shlex.quote(printable(shown_url(url)))}"


def stores_or_default(given: str | None) -> list[str]:
    return stores(given) or [AGENTS_DB]


def opened(store: str) -> Sessions:
    from cellwright.sessions import Sessions

    return Sessions(store)


def in_store(store: str | None, session: str, work: Callable[[Sessions, str], Any]) -> Any:
    """Do the work with the session of that id or name, in the first store that has it."""
    *others, last = stores_or_default(store)
    for url in others:
        with opened(url) as sessions:
            try:
                id = sessions.resolve(session)
            except NoSession:
                continue
            return work(sessions, id)
    with opened(last) as sessions:
        return work(sessions, sessions.resolve(session))
