"""Language models: providers through pydantic-ai, the embedded one, and wrappers of their door.

Importing this loads none of them: each is loaded when it is named.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cellwright.models.naming import DEFAULTS, Choice, default_model, open_model

if TYPE_CHECKING:
    from cellwright.models.budgeted import Budget, Budgeted, Spending
    from cellwright.models.cached import Cached, FileCache, MemoryCache
    from cellwright.models.embedded import EmbeddedModel
    from cellwright.models.fallback import Fallback
    from cellwright.models.provider import ProviderModel
    from cellwright.models.pull import Progress, pull_weights, remove_weights
    from cellwright.models.retrying import Retrying
    from cellwright.models.weights import QWEN, Held, Weights, in_words

__all__ = [
    "DEFAULTS",
    "QWEN",
    "Budget",
    "Budgeted",
    "Cached",
    "Choice",
    "EmbeddedModel",
    "Fallback",
    "FileCache",
    "Held",
    "MemoryCache",
    "Progress",
    "ProviderModel",
    "Retrying",
    "Spending",
    "Weights",
    "default_model",
    "in_words",
    "open_model",
    "pull_weights",
    "remove_weights",
]

# name -> the module of this package that has it
LATER = {
    "QWEN": "weights",
    "Budget": "budgeted",
    "Budgeted": "budgeted",
    "Cached": "cached",
    "EmbeddedModel": "embedded",
    "Fallback": "fallback",
    "FileCache": "cached",
    "Held": "weights",
    "MemoryCache": "cached",
    "Progress": "pull",
    "ProviderModel": "provider",
    "Retrying": "retrying",
    "Spending": "budgeted",
    "Weights": "weights",
    "in_words": "weights",
    "pull_weights": "pull",
    "remove_weights": "pull",
}


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{LATER[name]}"), name)
