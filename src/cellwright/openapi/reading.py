"""Descriptions as they come: values that may be of any kind where an object, a list or a text should be."""

from __future__ import annotations

from typing import Any, cast

METHODS = ("get", "put", "post", "delete", "patch", "head", "options", "trace")
# What the code that reads a description raises where a part of it is of a kind that nobody thought of.
MALFORMED = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


def mapping(value: Any) -> dict[str, Any]:
    """A JSON object; empty where it is something else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """A JSON array; empty where it is something else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def text(value: Any) -> str:
    """A text; "" where it is something else."""
    return value if isinstance(value, str) else ""


def texts(value: Any) -> tuple[str, ...]:
    return tuple(one for one in listed(value) if isinstance(one, str))


def said(wrong: BaseException) -> str:
    """What an exception says, in one line."""
    told = wrong.args[0] if isinstance(wrong, KeyError) and wrong.args else wrong
    return " ".join(str(told).split())[:200] or type(wrong).__name__


def is_json(media: str) -> bool:
    kind = media.partition(";")[0].strip().lower()
    return kind in ("application/json", "text/json", "*/*", "application/*") or kind.endswith("+json")
