"""Language models: providers through pydantic-ai, the embedded one, and wrappers of their door.

Importing this loads none of them: each is loaded when it is named.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from toolwright.models.naming import DEFAULTS, Choice, default_model, open_model

if TYPE_CHECKING:
    from toolwright.models.provider import ProviderModel

__all__ = ["DEFAULTS", "Choice", "ProviderModel", "default_model", "open_model"]

LATER = {"ProviderModel": "provider"}  # name -> the module of this package that has it


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{LATER[name]}"), name)
