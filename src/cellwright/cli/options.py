"""Command-line options: a dataclass whose annotated fields are the options, expanded into a command's signature.

Options that several commands have are defined here once. Knows no command.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

AGENTS_DB = "sqlite:///agents.db"
Texts = tuple[str, ...]  # of an option that may be given more than once
CODE, SESSIONS, LIMITS, GUARD = "What the code gets", "Sessions", "Limits", "Guard"  # panels of --help


def option(help: str, *names: str, panel: str | None = None, metavar: str | None = None) -> Any:
    """An option; `names` where they do not follow from the field's own."""
    return typer.Option(*names, help=help, rich_help_panel=panel, metavar=metavar)


class CheckMode(StrEnum):
    """What happens when the type checker finds mistakes in a cell."""

    off = "off"
    warn = "warn"
    strict = "strict"


class FlowName(StrEnum):
    """What is done about calls that outsiders' text may have chosen."""

    off = "off"
    warn = "warn"
    ask = "ask"
    deny = "deny"


Scope = Annotated[
    Texts,
    option(
        "An object of yours that the code may use. Give it again for another.",
        panel=CODE,
        metavar="[NAME=]MODULE:OBJECT",
    ),
]
Packages = Annotated[
    Texts,
    option(
        "A package to install for the code (give it again for another), or the path of a virtual environment.",
        panel=CODE,
        metavar="NAME|DIR",
    ),
]
_YES = "Say yes to every call that waits for a person's yes; to no question of the data flow."
Yes = Annotated[bool, option(_YES, "--yes")]
TakeOver = Annotated[
    bool, option("Take the session from another process that has it open.", "--take-over", panel=SESSIONS)
]
Json = Annotated[bool, option("Print JSON in place of words.", "--json")]
JsonObject = Annotated[bool, option("Print one JSON object in place of words.", "--json")]
_POLICY = "Which calls are allowed, asked for, denied; how many, how long."
_FLOW = "What is done about calls that outsiders' text may have chosen. Left out: the policy's, else ask."
_AUDIT = "Tell there what is done, each call before its effect: `cellwright audit` reads it."
PolicyFile = Annotated[str | None, option(_POLICY, panel=GUARD, metavar="FILE")]
Flow = Annotated[FlowName | None, option(_FLOW, panel=GUARD)]
AuditPlace = Annotated[str | None, option(_AUDIT, panel=GUARD, metavar="DIR")]


@dataclass(frozen=True, kw_only=True)
class GuardOptions:
    """What the code may do, for whom, and where that is told."""

    policy: PolicyFile = None
    user: Annotated[
        str, option("For whom it works: policy, limits and audit know it.", panel=GUARD, metavar="NAME")
    ] = ""
    flow: Flow = None
    audit: AuditPlace = None

    @property
    def guard(self) -> dict[str, Any]:
        """As `Runtime` and `Agent` take them."""
        flow = None if self.flow is None else FlowName(self.flow).value
        return {"policy": self.policy, "user": self.user, "flow": flow, "audit": self.audit}


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """In the command's signature each parameter that is a dataclass of options stands for all its fields."""
    hints = typing.get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint) and isinstance(hint, type)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _parameters(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = options_of(group, {f.name: given.pop(f.name) for f in fields(group)})
        command(**given)

    run.__dict__["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {}
    return run


def options_of(group: Any, given: dict[str, Any]) -> Any:
    """The dataclass of these values."""
    return group(**{name: tuple(value or ()) if _is_texts(group, name) else value for name, value in given.items()})


def _parameters(group: Any) -> Iterable[inspect.Parameter]:
    hints = typing.get_type_hints(group, include_extras=True)
    for f in sorted(
        fields(group), key=lambda f: f.name in GuardOptions.__dataclass_fields__
    ):  # stands below the others
        default: Any = f.default
        annotation: Any = hints[f.name]
        if _is_texts(group, f.name):  # the parser knows lists
            default, annotation = None, Annotated[list[str], *typing.get_args(annotation)[1:]]
        yield inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _is_texts(group: Any, name: str) -> bool:
    return group.__dataclass_fields__[name].default == ()
