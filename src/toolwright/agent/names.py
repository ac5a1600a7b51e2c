"""The names that an agent's code has besides its scope: `search`, `show`, `done`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolwright.agent.finish import Finish, classes_in, done_function
from toolwright.agent.observing import Outputs
from toolwright.errors import UsageError
from toolwright.scope import Scope, operation

if TYPE_CHECKING:
    from toolwright.agent.session import Session

RESERVED = ("search", "show", "done", "spawn")


def check_names(scope: Scope) -> None:
    """The agent's own names are not to be taken by the developer's."""
    taken = [name for name, _ in scope.names() if name in RESERVED]
    if taken:
        raise UsageError(f"{taken[0]!r} is a name of the agent's own ({', '.join(RESERVED)}); bind it under another")


def own_names(session: Session, outputs: Outputs, finish: Callable[[], Finish], returns: Any) -> dict[str, Any]:
    """What is bound into the session's guest besides the developer's scope."""

    @operation(reads=True, thread="loop")
    async def search(query: str, limit: int = 8) -> str:
        """Find functions by what they do."""
        hits = await session.runtime.search(query, limit=limit)
        return "\n".join(map(str, hits)) or f"nothing is found for {query!r}"

    @operation(reads=True, thread="loop")
    async def show(name: str, start: int = 0) -> str:
        """The signature and docs of a name in scope; or an earlier output ("output:3"), from a character on."""
        kept = outputs.page(name, start)
        return await session.runtime.show(name) if kept is None else kept

    names: dict[str, Any] = {"search": search, "show": show, "done": done_function(finish, returns)}
    bound = {value for _, value in session.agent.scope.names() if isinstance(value, type)}
    taken = {name for name, _ in session.agent.scope.names()} | names.keys()
    for cls in classes_in(returns):
        if cls not in bound and cls.__name__ not in taken:
            names[cls.__name__] = cls
    return names
