"""Direct tools: the functions of a scope that a model calls itself, without code."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from cellwright.agent.guest_names import RESERVED
from cellwright.agent.steps import EXECUTE
from cellwright.agent.tool_parameters import NotOffered, ToolParameters, parameters_of
from cellwright.messages import Tool
from cellwright.scope import ReachableFunction, Scope, callables, class_names, signature_text
from cellwright.short_texts import cut, one_line

LONGEST_NAME = 64
DESCRIPTION = 500  # characters
_NAME = re.compile(r"[^a-zA-Z0-9_]")


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectTool:
    """One function as a model calls it. `name` is for the model, `path` what guest code writes."""

    name: str
    path: str
    description: str
    parameters: ToolParameters = field(repr=False)
    classes: Mapping[type, str] = field(repr=False, default_factory=dict[type, str])

    def to_tool(self) -> Tool:
        return Tool(name=self.name, description=self.description, parameters=self.parameters.schema)


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectTools:
    """The tools of a scope, and the marked functions that cannot be tools: path -> why."""

    tools: tuple[DirectTool, ...]
    left_out: Mapping[str, str]


def direct_tools(scope: Scope, *, everything: bool = False) -> DirectTools:
    """The functions of a scope that are marked `direct=True`, or all of them, in the order of the scope."""
    classes = class_names(scope)
    tools: list[DirectTool] = []
    left_out: dict[str, str] = {}
    taken = {EXECUTE, *RESERVED}
    for found in callables(scope):
        if found.path in RESERVED or not (everything or found.operation.direct):
            continue
        try:
            parameters = parameters_of(found, classes)
        except NotOffered as error:
            left_out[found.path] = str(error)
            continue
        name = _name(found.path, taken)
        taken.add(name)
        tools.append(
            DirectTool(
                name=name, path=found.path, description=_description(found), parameters=parameters, classes=classes
            )
        )
    return DirectTools(tools=tuple(tools), left_out=left_out)


def _name(path: str, taken: set[str]) -> str:
    """A name that providers take: letters, digits and underscores, at most 64, and no other tool's."""
    plain = _NAME.sub("_", path.replace(".", "__"))
    mark = hashlib.sha256(path.encode()).hexdigest()[:8]
    if len(plain) > LONGEST_NAME or plain in taken:
        plain = f"{plain[: LONGEST_NAME - 9]}_{mark}"
    return plain


def _description(found: ReachableFunction) -> str:
    """The first paragraph of its docs; its signature where it has none."""
    called = getattr(found.function, "func", found.function)
    text = inspect.cleandoc(getattr(called, "__doc__", None) or "").split("\n\n")[0]
    short = one_line(text)
    if not short:
        short = found.path + signature_text(found.function, bound=found.bound)
    return cut(short, DESCRIPTION)
