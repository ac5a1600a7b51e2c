"""`CleanCells`: cells in which a type checker found no mistake, so that the same cell in many sessions is judged once.

A key is made of everything that the checker saw of a session, never of the session itself. Cells with mistakes are not
kept: what is said of those names the files of a session.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping

from cellwright.catalog.cell_names import CellModule

MOST = 2_000


class CleanCells:
    """The types of the names of clean cells at their end, by key; those that were used last. From any thread."""

    def __init__(self) -> None:
        self._types: OrderedDict[bytes, Mapping[str, str]] = OrderedDict()
        self._lock = threading.Lock()

    def types(self, key: bytes) -> Mapping[str, str] | None:
        with self._lock:
            if (found := self._types.get(key)) is not None:
                self._types.move_to_end(key)
            return found

    def add(self, key: bytes, types: Mapping[str, str]) -> None:
        with self._lock:
            self._types[key] = types
            if len(self._types) > MOST:
                self._types.popitem(last=False)


def cell_key(stub: bytes, code: str, header: str, uses: Iterable[CellModule], *facts: object) -> bytes:
    """The key of a cell: the stubs' digest, the cell, its header, the modules that it leads to, and further facts."""
    modules: dict[str, tuple[str, str]] = {}
    pending = list(uses)
    while pending:
        module = pending.pop()
        if module.name not in modules:
            modules[module.name] = module.header, module.code
            pending += module.uses
    seen = repr((stub, code, header, sorted(modules.items()), facts))
    return hashlib.sha256(seen.encode("utf-8", "surrogatepass")).digest()
