"""What a command line names, found: objects of modules, packages, limits; and how a command ends. Knows no command."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import typer

T = TypeVar("T")
LONGEST = 500
FAILED, USAGE, LIMIT, PLATFORM, WAITING, CANCELLED, PIPE_CLOSED = 1, 2, 3, 4, 5, 130, 141


def ended(code: int, words: str) -> typer.Exit:
    """The end of a command: one line on stderr, and the code to raise."""
    print(f"cellwright: {words}", file=sys.stderr)
    return typer.Exit(code)


def found(option: str, target: str, shape: str = "MODULE:OBJECT") -> Any:
    """The object that `MODULE:OBJECT` stands for. `option` is what the person gave, for when it does not."""
    from importlib import import_module

    from cellwright.errors import UsageError

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


def bound(text: str) -> tuple[str, Any]:
    """A name for guest code, and the object that `[NAME=]MODULE:OBJECT` stands for."""
    name, has_name, target = text.rpartition("=")
    shape = "[NAME=]MODULE:OBJECT, such as crm=shop.live:crm"
    value = found(f"--scope {text}", target if name or not has_name else "", shape)
    return name or target.rpartition(":")[2].rpartition(".")[2], value


def packages_in(given: list[str] | None) -> Path | list[str] | None:
    if given and len(given) == 1 and (os.sep in given[0] or Path(given[0]).is_dir()):
        return Path(given[0])
    return given or None


def limited(make: Callable[..., T], asked: Mapping[str, Any]) -> T:
    """`Limits` or a `Budget` of these values; what it refuses is told by the name of the option."""
    from cellwright.errors import UsageError

    for name, value in asked.items():
        try:
            make(**{name: value})
        except UsageError as error:
            option = name.replace("_", "-")
            raise UsageError(f"--{option} {value:g}: {str(error).partition(': ')[2]}") from None
    return make(**asked)


def in_options(text: str) -> str:
    """A message for developers, as one line that names options in the place of arguments."""
    text = re.sub(r"Budget\((\w+)=…\)", r"--\1", text.replace('model="local"', "--model local"))
    text = re.sub(r'Agent\(store="[^"]*"\)', "--store", text)
    text = text.replace("take_over=True", "--take-over").replace("whole=True", "--whole")
    line = re.sub(r"\s*\n\s*", " ", text.strip())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} …"


def known_session(store: str, session: str) -> str | None:
    """The session of that id or name, None where the store has none. A store that is not there yet is made."""
    from cellwright.errors import NoSession
    from cellwright.sessions import Sessions
    from cellwright.store import open_store

    journal = open_store(store)
    try:
        found = Sessions(journal).resolve(session)
        # the beginning of an id may be all of a new one
        return found if session in (found, journal.summary(found).name) else None
    except NoSession:
        return None
    finally:
        journal.close()
