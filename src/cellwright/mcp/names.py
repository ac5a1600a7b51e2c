"""Names of a server's things as code writes them: `create-issue` is `create_issue`, and no two are alike.

A name that is one already keeps its spelling. Also `mcp__server__tool`, as other clients write it.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable, Mapping, Set

_LONGEST = 80
_ALIAS = re.compile(r"mcp__(.+?)__(.+)", re.DOTALL)


def identifier(text: str, *, empty: str = "unnamed") -> str:
    """A name that code can write and the boundary lets through: no leading underscore, no keyword."""
    name = unicodedata.normalize("NFKC", text).replace("'", "")
    name = name.lower() if " " in name.strip() else name  # words for people, not a name with a spelling of its own
    name = "_".join(re.findall(r"\w+", name)).strip("_")[:_LONGEST]
    name = name if name.isidentifier() or not name else re.sub(r"[^A-Za-z0-9_]", "", name).strip("_")
    name = f"n{name}" if name[:1].isdigit() else name
    name = name if name.isidentifier() else empty
    return f"{name}_" if keyword.iskeyword(name) or name in ("None", "True", "False") else name


def identifiers(texts: Iterable[str], *, taken: Set[str] = frozenset(), other: str = "") -> dict[str, str]:
    """Each text's name. One that is a name itself goes before others that would be called so.

    What would have a name of `taken` gets `other` behind it, or a number.
    """
    listed = list(dict.fromkeys(texts))
    used = set(taken)
    last: dict[str, int] = {}  # the number that a name was given last
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
    """The path of a tool by the name that other clients give it: `mcp__server__tool`; None where it is none of these.

    `tools` has each tool's name at the server with its path. Clients replace different characters: all forms are known.
    """
    found = _ALIAS.fullmatch(name)
    if found is None or _same(found[1]) != _same(server):
        return None
    if found[2] in tools:
        return tools[found[2]]
    return next((path for tool, path in tools.items() if _same(found[2]) in (_same(tool), _same(path))), None)


def _same(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
