"""APIs described by OpenAPI, as scope.

Importing this loads nothing else; each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cellwright.openapi.compiled import Compiled
    from cellwright.openapi.compiling import compile_openapi
    from cellwright.openapi.connector import OpenAPI

__all__ = ["Compiled", "OpenAPI", "compile_openapi"]

_HOME = {"Compiled": "compiled", "OpenAPI": "connector", "compile_openapi": "compiling"}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'cellwright.openapi' has no attribute {name!r}")
    return getattr(import_module(f"cellwright.openapi.{home}"), name)
