"""Holds the public names. Adding or removing one is a decision: change the list, and CHANGELOG.md with it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from importlib.metadata import version
from types import ModuleType, UnionType
from typing import Any, get_args

import pytest

import cellwright

PUBLIC = {
    "Agent",
    "Approvals",
    "Budget",
    "CallFinished",
    "CallRecord",
    "CallStarted",
    "Command",
    "CurrentCall",
    "Decision",
    "Divergence",
    "Event",
    "GuestFunction",
    "GuestValue",
    "Limits",
    "LostObject",
    "MCP",
    "Network",
    "OpenAPI",
    "Operation",
    "Outcome",
    "Policy",
    "PolicyRule",
    "Privacy",
    "Printed",
    "Question",
    "Recovered",
    "Repeated",
    "Restored",
    "Result",
    "Revivable",
    "RolledBack",
    "Runtime",
    "Scope",
    "Secret",
    "Session",
    "Sessions",
    "Undoing",
    "allow_hosts",
    "current_call",
    "decide",
    "open_questions",
    "operation",
    "replay",
    "run",
}


def documented(value: Any) -> bool:
    """It has words of its own: not inherited ones, nor the signature that `dataclass` writes where there are none."""
    if isinstance(value, UnionType):
        return all(documented(member) for member in get_args(value))
    if isinstance(value, type):
        text = vars(value).get("__doc__") or ""
        return bool(text.strip()) and not text.startswith(f"{value.__name__}(")
    return isinstance(value, ModuleType) | inspect.isroutine(value) and bool((value.__doc__ or "").strip())


def test_the_public_names_are_these() -> None:
    listed = list(cellwright.__all__)
    assert sorted(listed) == sorted(PUBLIC), f"added {set(listed) - PUBLIC}, removed {PUBLIC - set(listed)}"


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_public_name_can_be_imported_and_has_a_docstring(name: str) -> None:
    assert documented(getattr(cellwright, name)), f"cellwright.{name} says nothing about itself"


def test_a_public_name_shows_in_dir() -> None:
    assert set(dir(cellwright)) >= PUBLIC


def test_the_version_is_the_one_of_the_installed_package() -> None:
    assert cellwright.__version__ == version("cellwright")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(cellwright, "no_such_name")  # noqa: B009  written out, the type checker refuses it


def test_a_generated_or_inherited_docstring_does_not_count() -> None:
    @dataclass
    class Generated:
        x: int

    class Inherited(ValueError): ...

    def silent() -> None: ...

    class Spoken:
        """Words."""

    assert not documented(Generated)
    assert not documented(Inherited)
    assert not documented(silent)
    assert not documented(Spoken | Inherited)
    assert not documented(3)
    assert documented(Spoken)
    assert documented(Spoken | Spoken)
    assert documented(inspect)
