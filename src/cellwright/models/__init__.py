"""Language models: providers through pydantic-ai, the embedded one, and wrappers of their door.

Importing this loads none of them: each is loaded when it is named.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cellwright.models.model_names import DEFAULTS, default_model, open_model

if TYPE_CHECKING:
    from cellwright.models.budget import Budget, Budgeted, Spending
    from cellwright.models.call_ids import OwnCallIds
    from cellwright.models.embedded_model import EmbeddedModel
    from cellwright.models.foreign_errors import ModelErrorsOnly
    from cellwright.models.model_retries import Fallback, Retrying
    from cellwright.models.model_weights import QWEN, size_text
    from cellwright.models.names_model import pull_names
    from cellwright.models.provider import ProviderModel
    from cellwright.models.pull import pull_weights, remove_weights
    from cellwright.models.reply_cache import Cached, FileCache, MemoryCache

__all__ = [
    "DEFAULTS",
    "QWEN",
    "Budget",
    "Budgeted",
    "Cached",
    "EmbeddedModel",
    "Fallback",
    "FileCache",
    "MemoryCache",
    "ModelErrorsOnly",
    "OwnCallIds",
    "ProviderModel",
    "Retrying",
    "Spending",
    "default_model",
    "open_model",
    "pull_names",
    "pull_weights",
    "remove_weights",
    "size_text",
]

# the module of this package that has a name
LATER = {
    name: module
    for module, names in {
        "budget": "Budget Budgeted Spending",
        "call_ids": "OwnCallIds",
        "embedded_model": "EmbeddedModel",
        "foreign_errors": "ModelErrorsOnly",
        "model_retries": "Fallback Retrying",
        "model_weights": "QWEN size_text",
        "names_model": "pull_names",
        "provider": "ProviderModel",
        "pull": "pull_weights remove_weights",
        "reply_cache": "Cached FileCache MemoryCache",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{LATER[name]}"), name)
