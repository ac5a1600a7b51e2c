"""JSON as it comes: anything may stand anywhere. These read one kind and take nothing else for it."""

from __future__ import annotations

from typing import Any, cast


def as_object(value: Any) -> dict[str, Any]:
    """A JSON object, {} for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A JSON array, [] for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []
