"""The host's cloudpickle, loaded in guests: a guest need not have it, or may have another version among its packages.

It is one file, loaded under a name of this package, so that pickles name the same module in every guest.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

NAME = "cellwright_guest.cloudpickle"


def load(path: str) -> Any:
    """In the zygote, which alone sees the host's files."""
    spec: Any = importlib.util.spec_from_file_location(NAME, path)
    module = sys.modules[NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # Its class ids serve readers of two pickles in one process, and would draw from the session's randomness.
    module.__dict__["_get_or_create_tracker_id"] = _no_id
    return module


def module() -> Any:
    return sys.modules.get(NAME) or load(file())


def file() -> str:
    """Where it is installed."""
    spec = importlib.util.find_spec("cloudpickle")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("cloudpickle, which cellwright needs, is not installed; install cellwright again")
    return os.path.join(os.path.dirname(spec.origin), "cloudpickle.py")


def _no_id(_: Any) -> None:
    return None
