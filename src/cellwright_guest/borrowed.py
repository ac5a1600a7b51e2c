"""cloudpickle, borrowed from the host's install: a guest need not have it, and one among its packages is another.

One file, loaded under a name of this package; pickles then name that, in every guest alike.
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
    # Its ids for classes serve who reads two pickles in one process, and are drawn from the session's randomness.
    module.__dict__["_get_or_create_tracker_id"] = _no_id
    return module


def module() -> Any:
    return sys.modules.get(NAME) or load(file())


def file() -> str:
    """Where it is installed."""
    found = importlib.util.find_spec("cloudpickle")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("cloudpickle, which cellwright needs, is not installed; install cellwright again")
    return os.path.join(os.path.dirname(found.origin), "cloudpickle.py")


def _no_id(_: Any) -> None:
    return None
