"""`@agent.function`: a function whose signature and docstring say what it does, and which the agent carries out."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from cellwright.agent.names import RESERVED
from cellwright.errors import UsageError
from cellwright.scope import signature_text

if TYPE_CHECKING:
    from cellwright.agent.agent import Agent

P = ParamSpec("P")
T = TypeVar("T")
_WISH = "Do what this function says, and give what it returns."


def carried_out(agent: Agent, stub: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """The function that runs the agent when it is called. Its arguments are names of the code; it returns what it says.

    A wrong stub is told here, where it is written, and wrong arguments where it is called, before a model is asked.
    """
    name = getattr(stub, "__name__", "function")
    if not inspect.iscoroutinefunction(stub):
        raise UsageError(f"@agent.function needs an `async def`, and {name} is none")
    if not (doc := inspect.getdoc(stub)):
        raise UsageError(f"@agent.function needs a docstring, and {name} has none: it is what the agent is told to do")
    signature = inspect.signature(stub)
    head = f"async def {name}{signature_text(stub)}"
    taken = {bound for bound, _ in agent.scope.names()} | set(RESERVED)
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UsageError(f"@agent.function takes no *{parameter.name}: name the parameters of {name}")
        if parameter.name in taken:
            raise UsageError(f"{name}({parameter.name}=…): the name is taken in the agent's scope; choose another")

    @functools.wraps(stub)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        returns = typing.get_type_hints(stub).get("return")
        names = ", ".join(f"`{each}`" for each in given.arguments)
        there = f" Its arguments are in scope: {names}." if names else ""
        worker = agent.with_scope(agent.scope.extended(given.arguments, own=False))
        worker.name = f"{agent.name}@{name}"  # whoever called it is gone with its process: `recover` leaves it alone
        wanted: Any = None if returns in (None, type(None)) else returns
        value = (await worker.run(f"{_WISH}{there}\n\n{head}\n{doc}", returns=wanted)).value
        return value if wanted is not None else typing.cast(T, None)

    return call
