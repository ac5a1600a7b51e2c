"""The two tools as clients see them: names, descriptions, schemas. At most 1,000 tokens, for any number of sources.

Plain values; it knows neither the SDK nor sessions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cellwright.catalog import too_long

NAMES = 600  # characters for the names of sources: at most 400 tokens
SEARCH = (
    "Find operations of the connected sources by what they do, e.g. 'create an issue'. Each hit has the call's "
    "signature, what it does and what it returns. A dotted name (`github.issues.create`, `github.issues`, or a type "
    "such as `Issue`) gives its full stub; an empty query lists what there is. Sources: {sources}."
)
EXECUTE = (
    "Run Python in a sandbox in which the sources are objects: "
    "`for i in github.issues.list_for_repo('o', 'r'): print(i.title)`. `search` first: use the signatures it gives. "
    "Calls are plain, without await unless the signature says async; results have typed attributes. Do many calls in "
    "one go with loops and conditions, keep big results in variables, and print or end with only what you need: prints "
    "and the value of the last expression come back. Variables, functions and imports stay for the next call. No "
    "network, no keys; the standard library is there, and `search(…)` and `show(name)` as functions. Errors come back "
    "with their line."
)
SESSION = "Keeps its own variables apart from other sessions."
_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}


def definitions(sources: Mapping[str, int], *, sessions: bool = False) -> tuple[dict[str, Any], ...]:
    """Both tools. `sources` have the number of their operations; `sessions`: clients may name a session."""
    code = {"code": {"type": "string", "description": "Python code"}}
    named = {"session": {"type": "string", "description": SESSION}} if sessions else {}
    search = {
        "name": "search",
        "title": "Search operations",
        "description": SEARCH.format(sources=listed(sources)),
        "inputSchema": {
            "type": "object",
            "properties": {"query": _TEXT, "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 8}},
            "required": ["query"],
        },
        "outputSchema": _answer({"found": {"type": "array", "items": {"type": "object"}}, "text": _TEXT}, ["text"]),
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }
    execute = {
        "name": "execute",
        "title": "Run Python",
        "description": EXECUTE,
        "inputSchema": {"type": "object", "properties": {**code, **named}, "required": ["code"]},
        "outputSchema": _answer(
            {
                "ok": _FLAG,
                "value": {},
                "stdout": _TEXT,
                "error": {"type": ["string", "null"]},
                "calls": {"type": "array", "items": _answer({"name": _TEXT, "ok": _FLAG}, [])},
                "truncated": _FLAG,
                "source": _TEXT,
            },
            ["ok"],
        ),
        "annotations": {"readOnlyHint": False, "openWorldHint": True},
    }
    return search, execute


def _answer(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), **({"required": list(required)} if required else {})}


def listed(sources: Mapping[str, int], room: int = NAMES) -> str:
    """ "github (1,223 operations), stripe (452) and 4 more", in so many characters."""
    told: list[str] = []
    for number, (name, count) in enumerate(sources.items()):
        word = f"{name} ({count:,} operations)" if not told and count else f"{name} ({count:,})" if count else name
        room -= len(word) + 2
        if room < 0:
            more = len(sources) - number
            return f"{', '.join(told)} and {more} more" if told else f"{more} of them"
        told.append(word)
    return ", ".join(told) or "none"


def wrong_arguments(name: str, arguments: Mapping[str, Any]) -> str:
    """What is wrong with the arguments of a call, in one line; "" if they are right."""
    taken = {"search": ("query", "limit"), "execute": ("code", "session")}.get(name)
    if taken is None:
        return f"there is no tool {name!r:.100}; there are search and execute"
    unknown = [key for key in arguments if key not in taken]
    if unknown:
        return f"{name} takes no {unknown[0]!r:.100}; it takes {' and '.join(taken)}"
    if type(arguments.get(taken[0])) is not str:
        return f"{name} needs {taken[0]!r}, a text"
    if any(type(one) is str and not _is_whole(one) for one in arguments.values()):
        return f"the text of {name} has half a character (a lone surrogate), which is no text"
    if name == "execute" and (why := too_long(arguments["code"])):
        return why
    limit = arguments.get("limit", 8)
    if type(limit) is not int or not 1 <= limit <= 50:
        return f"limit is {limit!r:.50}; give a whole number from 1 to 50"
    if type(arguments.get("session", "")) is not str or len(arguments.get("session", "")) > 200:
        return "session is a name of at most 200 characters"
    return ""


def _is_whole(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
