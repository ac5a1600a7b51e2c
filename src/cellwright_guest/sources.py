"""The lines of cells, which tracebacks show and `inspect.getsource` reads: kept as long as code of the cell can run."""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Iterator
from types import CodeType

_watched: dict[str, dict[int, weakref.ref[CodeType]]] = {}
_unwatched: list[str] = []  # of a cell that is no program: its error has been reported when the next one comes


def keep(name: str, code: str) -> None:
    """Show these lines for the file `name`."""
    while _unwatched:
        linecache.cache.pop(_unwatched.pop(), None)
    _unwatched.append(name)
    linecache.cache[name] = (len(code), None, (code + "\n").splitlines(keepends=True), name)


def watch(name: str, program: CodeType) -> None:
    """Drop the lines with the last code object of the program: functions, generators and tracebacks hold theirs."""
    codes: dict[int, weakref.ref[CodeType]] = {}

    def ended(code: weakref.ref[CodeType]) -> None:
        codes.pop(id(code), None)
        if not codes and _watched.get(name) is codes:
            del _watched[name]
            linecache.cache.pop(name, None)

    for code in _codes(program):
        reference = weakref.ref(code, ended)
        codes[id(reference)] = reference
    _watched[name] = codes
    _unwatched.clear()


def _codes(program: CodeType) -> Iterator[CodeType]:
    yield program
    for constant in program.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
