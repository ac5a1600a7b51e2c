"""What the model is told before the task. It is the same, byte for byte, in every request of a turn.

What is learned later is appended to the conversation, never put in here: a provider's cache then serves the beginning.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from cellwright.agent.answer_types import class_name, classes_in, type_name
from cellwright.agent.steps import EXECUTE
from cellwright.catalog import outline
from cellwright.messages import Tool
from cellwright.scope import Scope

CLASSES_CHARS = 4_000

TOOL = Tool(
    name=EXECUTE,
    description="Run Python in the session's interpreter. Names stay from one call to the next; the last expression's "
    "value and what is printed come back. Top-level await works. `done(value)` ends the task.",
    parameters={
        "type": "object",
        "properties": {"code": {"type": "string", "description": "Python source"}},
        "required": ["code"],
        "additionalProperties": False,
    },
)

_CODE = """\
You solve tasks by writing Python. {how}
The code runs in a sandbox{network}: Python's standard library{packages}, its directory and the names below.
Names stay from one cell to the next. The value of the last expression and what is printed are shown to you.
- `done(value)` ends the task with its answer. Call it in the code as soon as the answer is known.
- `search("words")` finds functions, `show("name")` prints the details of one.
- `await` is written where a function is listed with it. Errors are shown to you: read them, and correct the code.
- Write plain statements, not functions that wait to be called. Loops and several calls fit into one cell.
"""
_SHUT = " without network"
_NETWORK = """\
- HTTP and HTTPS requests, by urllib, requests, httpx or `network.fetch(url)`, reach {hosts} and nothing else.
"""
_FENCED = "Reply with one fenced block of Python and nothing else."
_CALLED = "Run it with the tool `execute`."
_EXAMPLE = """
An example from somewhere else, where `house` was in scope. Task: How many rooms have no window?
```python
rooms = house.rooms(floor=None)
done(len([room for room in rooms if room.windows == 0]))
```
"""
_END = "End with `done(answer)`; with `done(None)` where something was to be done and there is nothing to tell."
_DIRECT = """\
You solve tasks by calling the functions you are given. Call several at once where none needs the answer of another.
"""


def code_instructions(outline: str, *, calls: bool, packages: str = "", network: str = "", own: str = "") -> str:
    """For a model that writes code. `calls`: it takes tools; otherwise its fenced code is read. `network`: the hosts
    that code may reach.
    """
    also = f", {packages}" if packages else ""
    text = _CODE.format(how=_CALLED if calls else _FENCED, packages=also, network="" if network else _SHUT)
    text += _NETWORK.format(hosts=network) if network else ""
    text += "" if calls else _EXAMPLE
    if outline:
        others = "search() finds more" if outline.startswith("# An outline") else "and no others are"
        text += f"\nThese names are there already, {others}:\n```python\n{outline.rstrip()}\n```\n"
    return text + (f"\n{own.strip()}\n" if own.strip() else "")


def direct_instructions(own: str = "") -> str:
    """For a model that calls functions one by one."""
    return _DIRECT + (f"\n{own.strip()}\n" if own.strip() else "")


def task_text(task: str, returns: Any, *, code: bool, calls: bool, bound: Collection[type] | None = None) -> str:
    """The task as the model reads it, with the type of its answer. Its classes are shown here, after all that stays."""
    if returns is None:
        return task if calls else f"{task}\n\n{_END}"
    how = f"`done(value)` with a value of type `{type_name(returns)}`"
    if not code:
        return f"{task}\n\nEnd by calling {how}: the value only, no sentence."
    classes = {class_name(cls): cls for cls in classes_in(returns)}
    shown = f"\n```python\n{outline(Scope(classes), CLASSES_CHARS).rstrip()}\n```" if classes else ""
    absent = [name for name, cls in classes.items() if bound is not None and cls not in bound]
    if absent:
        shown = f" Write a dict with these keys in the place of {', '.join(absent)}, which cannot be built here.{shown}"
    return f"{task}\n\nEnd with {how}.{shown}"


def done_tool(schema: dict[str, Any]) -> Tool:
    """`done` as a function of its own, for a turn without code."""
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    parameters: dict[str, Any] = {"type": "object", "properties": {"value": inner}, "required": ["value"]}
    if "$defs" in schema:
        parameters["$defs"] = schema["$defs"]
    return Tool(name="done", description="End the task with its answer.", parameters=parameters)
