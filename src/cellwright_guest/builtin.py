"""Functions of ours instead of builtin ones: they do not become methods, and are pickled by their name."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any


class Builtin(functools.partial[Any]):
    """`logging.Formatter.converter = time.localtime` is how builtin functions are used: as no method."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self

    def __reduce__(self) -> Any:
        return self.__dict__["__name__"]

    def __repr__(self) -> str:
        return f"<built-in function {self.__dict__['__name__']}>"


def put(module: ModuleType, name: str, function: Any) -> None:
    """Make `function` what `module` has under `name`."""
    real = getattr(module, name)
    made = Builtin(function)
    made.__dict__.update(__name__=name, __qualname__=name, __module__=module.__name__, __doc__=real.__doc__)
    setattr(module, name, made)
