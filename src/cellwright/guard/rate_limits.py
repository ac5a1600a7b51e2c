"""`RateLimits`: how many calls the limits of a policy leave. It counts what it is asked about, and knows no calls.

The window slides. A count has at most `SLICES` parts, whatever its limit: calls of one part stay counted until the last
of them is old enough, so there are never more calls in a window than the limit says.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, cast, get_args

from cellwright.errors import UsageError
from cellwright.guard.operation_globs import covers_name

Per = Literal["session", "user", "all"]
SLICES = 100
COUNTS = 10_000  # of sessions and users, and of paths: that of the longest ago is forgotten
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


@dataclass(frozen=True, kw_only=True)
class RateLimit:
    """At most `most` calls of the operations that a glob covers, in any time as long as `within` ("60s", "1h")."""

    operation: str = "*"
    most: int
    within: str
    per: Per = "session"

    def __post_init__(self) -> None:
        if type(self.most) is not int or self.most < 0:
            raise UsageError(f"most is {self.most!r:.50}; write a number of calls")
        if self.per not in get_args(Per):
            raise UsageError(f"per is {self.per!r:.50}; it may be {', '.join(get_args(Per))}")
        glob = cast("Any", self.operation)
        if not isinstance(glob, str) or not glob:
            raise UsageError(f"operation is {glob!r:.50}; write a glob, such as mail.*")
        _ = self.within_s

    @cached_property
    def within_s(self) -> float:
        given = cast("Any", self.within)
        found = re.fullmatch(r"\s*(\d{1,6})\s*([smhd])\s*", given) if isinstance(given, str) else None
        if found is None or not int(found[1]):
            raise UsageError(f"within is {self.within!r:.50}; write a time, such as 60s, 10m, 1h or 1d")
        return int(found[1]) * _SECONDS[found[2]]


class RateLimits:
    """The counts of one process. Any thread may ask."""

    def __init__(self, limits: Collection[RateLimit], clock: Callable[[], float]) -> None:
        self._limits = tuple(dict.fromkeys(limits))
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: dict[Hashable, _Count] = {}
        self._places = {limit: place for place, limit in enumerate(self._limits)}
        self._covering = lru_cache(maxsize=4096)(self._limits_of)
        self._paths: dict[tuple[str, str], None] = {}  # of calls that were counted

    def refused(self, names: Collection[str], session: str, user: str, path: str = "") -> str:
        """ "" if a call may be made, which is then counted; else one line that says when it may.

        `names` are those of the operation, and the noted patterns that cover it. `path` is the call's, in a kept
        session: its cell may be run again, after a wait for a person.
        """
        covering = self._covering(frozenset(names)) if self._limits else ()
        if not covering or (session, path) in self._paths:
            return ""
        with self._lock:
            now = self._clock()
            counts = [(limit, self._count(limit, session, user)) for limit in covering]
            for limit, count in counts:
                wait_s = count.wait_s(now)
                if wait_s is not None:
                    return _line(limit, wait_s)
            for _, count in counts:
                count.add(now)
            if path:
                self._paths[session, path] = None
            if len(self._paths) > COUNTS:
                del self._paths[next(iter(self._paths))]
        return ""

    def _limits_of(self, names: frozenset[str]) -> tuple[RateLimit, ...]:
        return tuple(one for one in self._limits if one.operation in names or covers_name(one.operation, names))

    def _count(self, limit: RateLimit, session: str, user: str) -> _Count:
        of_whom = {"session": session, "user": user, "all": ""}[limit.per]
        key = (self._places[limit], of_whom)
        count = self._counts.pop(key, None) or _Count(limit.most, limit.within_s)
        self._counts[key] = count  # the dict has the last used at its end
        if len(self._counts) > COUNTS:
            del self._counts[next(iter(self._counts))]
        return count


class _Count:
    """The calls of one window: parts with the times of their first and last call, and how many there were."""

    def __init__(self, most: int, within_s: float) -> None:
        self._most = most
        self._within_s = within_s
        self._total = 0
        self._parts: deque[list[Any]] = deque()

    def wait_s(self, now: float) -> float | None:
        """None if there is room for a call; else the seconds until there is, infinite for a limit of no calls."""
        while self._parts and self._parts[0][1] + self._within_s <= now:
            self._total -= self._parts.popleft()[2]
        if self._total < self._most:
            return None
        return self._parts[0][1] + self._within_s - now if self._parts else float("inf")

    def add(self, now: float) -> None:
        if self._parts and now - self._parts[-1][0] < self._within_s / SLICES:
            self._parts[-1][1:] = [now, self._parts[-1][2] + 1]
        else:
            self._parts.append([now, now, 1])
        self._total += 1


def _line(limit: RateLimit, wait_s: float) -> str:
    whose = {"session": "of this session", "user": "of this user", "all": "of all sessions"}[limit.per]
    said = f"the limit of {limit.most} calls of {limit.operation} in {limit.within} {whose} is reached"
    return f"{said}; no call is allowed" if wait_s == float("inf") else f"{said}; the next is free in {_time(wait_s)}"


def _time(seconds: float) -> str:
    whole = int(seconds) + (seconds > int(seconds))
    for unit, size in (("h", 3600), ("min", 60)):
        if whole >= 2 * size:
            return f"{-(-whole // size)} {unit}"
    return f"{whole} s"
