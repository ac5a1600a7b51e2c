"""APIs described by OpenAPI, as scope.

Importing this loads nothing else; each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cellwright.openapi.compiled_api import CompiledApi
    from cellwright.openapi.compiler import compile_openapi
    from cellwright.openapi.connector import OpenAPI

__all__ = ["CompiledApi", "OpenAPI", "compile_openapi"]

_HOME = {"CompiledApi": "compiled_api", "OpenAPI": "connector", "compile_openapi": "compiler"}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'cellwright.openapi' has no attribute {name!r}")
    return getattr(import_module(f"cellwright.openapi.{home}"), name)
