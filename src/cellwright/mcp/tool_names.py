"""Python names for a server's tools, prompts and arguments: `create-issue` is `create_issue`, and no two are alike.

A text that is a Python name already keeps its spelling. Also `mcp__server__tool`, as other clients write it.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable, Mapping, Set

_LONGEST = 80
_ALIAS = re.compile(r"mcp__(.+?)__(.+)", re.DOTALL)


def identifier(text: str, *, empty: str = "unnamed") -> str:
    """A name for guest code: no leading underscore, which the boundary refuses, and no keyword."""
    name = unicodedata.normalize("NFKC", text).replace("'", "")
    name = name.lower() if " " in name.strip() else name  # a phrase, not a name with a spelling of its own
    name = "_".join(re.findall(r"\w+", name)).strip("_")[:_LONGEST]
    name = name if name.isidentifier() or not name else re.sub(r"[^A-Za-z0-9_]", "", name).strip("_")
    name = f"n{name}" if name[:1].isdigit() else name
    name = name if name.isidentifier() else empty
    return f"{name}_" if keyword.iskeyword(name) or name in ("None", "True", "False") else name


def identifiers(texts: Iterable[str], *, taken: Set[str] = frozenset(), other: str = "") -> dict[str, str]:
    """The name of each text. A text that is a name already has precedence over texts that become the same name.

    A name that is in `taken` gets the suffix `other`, or a number.
    """
    listed = list(dict.fromkeys(texts))
    used = set(taken)
    last: dict[str, int] = {}  # the last number behind each name
    names: dict[str, str] = {}
    for text in sorted(listed, key=lambda text: identifier(text) != text):  # stable: the server's order inside
        name = identifier(text)
        if name in taken and other:
            name = f"{name}_{other}"
        number, free = last.get(name, 1), name
        while free in used:
            number += 1
            free = f"{name.rstrip('_')}_{number}"
        last[name] = number
        used.add(free)
        names[text] = free
    return {text: names[text] for text in listed}


def aliased(name: str, server: str, tools: Mapping[str, str]) -> str | None:
    """The path of a tool by the name that other clients give it, `mcp__server__tool`; None for other names.

    `tools` has the path of each tool by its name at the server. Clients replace different characters: all forms match.
    """
    alias = _ALIAS.fullmatch(name)
    if alias is None or _normalized(alias[1]) != _normalized(server):
        return None
    if alias[2] in tools:
        return tools[alias[2]]
    tool = _normalized(alias[2])
    return next((path for name, path in tools.items() if tool in (_normalized(name), _normalized(path))), None)


def _normalized(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
