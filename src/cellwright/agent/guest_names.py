"""The names that an agent's code has besides its scope: `search`, `show`, `done`."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from cellwright.agent.answer_types import buildable, class_name
from cellwright.agent.finish import Finish, done_function
from cellwright.agent.observation import CellOutputs
from cellwright.catalog import Catalog, catalog_functions
from cellwright.errors import UsageError
from cellwright.scope import Scope, operation

RESERVED = ("search", "show", "done", "spawn")


def check_names(scope: Scope, *more: str) -> None:
    """`UsageError` if the developer's scope has a name of the agent."""
    own = (*RESERVED, *more)
    taken = [name for name, _ in scope.names() if name in own]
    if taken:
        raise UsageError(f"{taken[0]!r} is a name of the agent's own ({', '.join(own)}); bind it under another")


def own_names(
    scope: Scope, catalog: Catalog, outputs: CellOutputs, finish: Callable[[], Finish], returns: Any
) -> dict[str, Any]:
    """The names that a session binds besides the scope: `search`, `show`, `done`, classes of the answer, and enums.

    An enum that a function of the scope takes is shown in its stub, so code writes its members by name.
    """
    functions = catalog_functions(catalog)

    @operation(reads=True, own=True, thread="task")
    async def show(name: str, start: int = 0) -> str:
        """The signature, docs and types of a name; or an earlier output ("output:3"), from a character on."""
        kept = outputs.page(name, start)
        return await functions["show"](name) if kept is None else kept

    names: dict[str, Any] = {"search": functions["search"], "show": show, "done": done_function(finish, returns)}
    bound = {value for _, value in scope.names() if isinstance(value, type)}
    taken = {name for name, _ in scope.names()} | names.keys()
    answers = () if scope.is_child else buildable(returns)  # a child names those that its parent could build
    there = scope.classes(declared=not scope.is_child)  # nor does it know of what was declared for others
    enums = (cls for _, cls in there if issubclass(cls, enum.Enum) and _is_plain(cls))
    for cls in (*answers, *enums):
        name = class_name(cls)
        if cls not in bound and name not in taken | names.keys():
            names[name] = cls
    return names


def _is_plain(cls: type[enum.Enum]) -> bool:
    """Whether an enum has a name that code can write, and nothing but members: code could call its functions."""
    own = (vars(base) for base in cls.__mro__ if base.__module__ not in ("enum", "builtins"))
    more = (name for names in own for name in names if not name.startswith("_") and name not in cls.__members__)
    return cls.__name__.isidentifier() and not cls.__name__.startswith("_") and not any(more)
