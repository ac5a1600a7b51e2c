"""`scope_of`: the tools of a suite as objects for guest code, one for each part of its environment, and labelled."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from cellwright import operation
from evals.agentdojo.labels import FACTS
from evals.agentdojo.suite_client import Suite, Tool, Trial


class Channel:
    """A channel of the workspace."""

    def __init__(self, name: str) -> None:
        self.name = name


def scope_of(suite: Suite, trial: Trial) -> dict[str, Any]:
    """Objects by name: `inbox.send_email(…)`."""
    places = dict.fromkeys(tool.object for tool in suite.tools)
    return {place: _object(place, [tool for tool in suite.tools if tool.object == place], trial) for place in places}


def _object(place: str, tools: Sequence[Tool], trial: Trial) -> Any:
    name = "".join(word.title() for word in place.split("_"))
    return type(name, (), {tool.name: _method(tool, trial) for tool in tools})()


def _method(tool: Tool, trial: Trial) -> Any:
    signature = inspect.Signature(
        [
            inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
            *(
                inspect.Parameter(
                    name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=inspect.Parameter.empty if needed else default,
                )
                for name, needed, default in tool.parameters
            ),
        ]
    )

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(self, *args, **kwargs).arguments
        plain = {name: _plain(value) for name, value in given.items() if name != "self"}
        answer = trial.call(tool.name, plain)
        return [Channel(name) for name in answer] if tool.name == "get_channels" else answer

    method.__name__ = method.__qualname__ = tool.name
    method.__doc__ = tool.description
    method.__dict__["__signature__"] = signature
    return operation(**FACTS[tool.name], shown=_plain)(method)


def _plain(value: Any) -> Any:
    return value.name if isinstance(value, Channel) else value
