"""`CallPaths`: the paths of calls, by which the journal knows them. A guest names its calls; this says which it may."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

from cellwright_guest.wire import WireError

# Of a cell, or of a callback that host code made on its own. What the host writes down itself has other names, and the
# path of a callback ends otherwise: so no call of a guest is written down in the row of something else.
_PATH = re.compile(r"(?:(0|[1-9][0-9]{0,17})|!([1-9][0-9]{0,17}))(?![0-9]).*#[1-9][0-9]{0,17}\Z", re.DOTALL)
_ROOT = re.compile(r"(?:undo )?(?:([0-9]+)|!([0-9]+))")  # of what the host writes down itself, too
_LONG_PATH = 64  # characters of a path that is kept as it is
_UNTIMELY = frozenset("~!*")  # in a path: of a thread, of a finalizer or callback, or too long to tell


class CallPaths:
    """The paths that the calls of one guest have had, and may have.

    A hostile guest names its calls as it likes: a path that would put a call instead of another call's row is
    refused. `delivered` is the last delivery before this guest; `taken` are paths that earlier guests used.
    """

    def __init__(self, delivered: int, taken: Iterable[str] = ()) -> None:
        self._paths = {_path_key(path) for path in taken}
        self._cells = {"0"}
        self._delivered = delivered

    def begin(self, cell: int) -> None:
        """The guest is given this cell: its calls, and those of what it leaves running, have its number."""
        self._cells.add(str(cell))

    def has(self, path: str) -> bool:
        return _path_key(path) in self._paths

    def add(self, path: str, last: int, *, recorded: bool) -> None:
        """A call has this path; the last delivery was number `last`. `WireError` where it is not its own."""
        match, kept = _PATH.match(path), _path_key(path)
        if match is None or kept in self._paths:
            raise WireError("a call without a path of its own")
        if not recorded:
            cell, callback = match.groups()
            if cell not in self._cells if callback is None else not self._delivered < int(callback) <= last:
                raise WireError("a call with a path of another guest")
        self._paths.add(kept)


def is_timely(path: str) -> bool:
    """Whether its call comes at a point that is the same each time: not of a thread, finalizer or callback."""
    return not _UNTIMELY & set(path)


def is_of_cell(path: str, cell: int) -> bool:
    """Whether the code of this cell makes the call, at a point that is the same each time."""
    match = _PATH.match(path)
    return match is not None and match[1] == str(cell) and is_timely(path)


def is_of_request(path: str) -> bool:
    """Whether a request over the guest's network is the call."""
    return ":net:" in path


def is_of_timer(path: str) -> bool:
    """Whether a loop of the guest waits by the call, for the next of its timers."""
    return ":timer#" in path


def origin_of(path: str) -> tuple[int, int]:
    """The cell, or the callback that host code made on its own, that a call, a block or an undo of that path is of."""
    match = _ROOT.match(path)
    return (0, 0) if match is None else (int(match[1] or 0), int(match[2] or 0))


def _path_key(path: str) -> str:
    """A long one by its hash: as many are kept as a session makes calls."""
    if len(path) <= _LONG_PATH:
        return path
    return blake2b(path.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
