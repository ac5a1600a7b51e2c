"""The guest's clock. Where the session is journaled it shows the time of the last message that was taken up.

Each read moves it by a microsecond, so that no two are the same and a loop that waits for a time ends. Nothing here
asks the machine, so the same messages make the same times. Without a journal all of it is the machine's own clock. What
reads the time in C, without asking Python, is not changed; nor are waits for threads, whose time is the machine's.
"""

from __future__ import annotations

import ctypes
import datetime as dt
import gc
import importlib
import operator
import time
import types
from collections.abc import Callable
from typing import Any

from cellwright_guest.builtin import put

LONGEST_S = 9e9  # beyond it the real `sleep` says what is wrong

# These read the clock to wait for threads and programs: imported before it is changed, they keep the machine's.
_waiting = [importlib.import_module(name) for name in ("queue", "subprocess", "threading", "concurrent.futures._base")]

machine_seconds = time.monotonic
_real: dict[str, Any] = {name: value for name, value in vars(time).items() if callable(value)}
_real_now: dict[str, Any] = {}  # also keeps the old descriptors alive, which CPython does not count

# Microseconds: since 1970, now and when the monotonic clock showed nothing. 0: the machine's clock.
_now = _origin = 0
_ask: Callable[[float], Any]


def begin(at: float, ask: Callable[[float], Any]) -> None:
    """From here on the clock is virtual. `ask(seconds)` blocks until the host says that they have passed."""
    global _now, _origin, _ask
    _ask = ask
    _now = _micros(at)
    _origin = _now - 1_000_000


def move(at: float) -> None:
    """The time of a message that is taken up. It never goes back."""
    global _now
    _now = max(_now, _micros(at))


def after(seconds: float) -> int:
    """The moment, in microseconds, that is `seconds` away."""
    return _now + max(1, -int(-(seconds * 1e6 - 1e-3) // 1))  # 1e-3: what floats add to a whole number


def until(moment: int) -> float:
    return (moment - _now) / 1e6


def reach(moment: int) -> None:
    """A wait until `moment` is over, whatever the host's clock says."""
    global _now
    _now = max(_now, moment)


def seconds() -> float:
    """The time of event loops: monotonic, and not moved by reading it."""
    return (_now - _origin) / 1e6


def state() -> tuple[int, int]:
    """What a checkpoint keeps of the clock."""
    return _now, _origin


def restore(kept: tuple[int, int]) -> None:
    global _now, _origin
    _now, _origin = kept


def install() -> None:
    """In the zygote, before packages are imported, which may keep what they find in `time`."""
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        put(time, name, _reader(_real[name], _elapsed))
        put(time, f"{name}_ns", _reader(_real[f"{name}_ns"], _elapsed_ns))
    put(time, "time", _reader(_real["time"], _wall))
    put(time, "time_ns", _reader(_real["time_ns"], _wall_ns))
    for function in (clock_gettime, clock_gettime_ns, localtime, gmtime, ctime, asctime, strftime, sleep):
        put(time, function.__name__, function)
    namespace = gc.get_referents(dt.datetime.__dict__)[0]  # the type itself refuses: it is C's
    for name, function in (("now", _datetime_now), ("utcnow", _datetime_utcnow)):
        _real_now[name] = namespace[name]
        namespace[name] = classmethod(function)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(dt.datetime))
    _waiting[-1].__dict__["time"] = types.SimpleNamespace(monotonic=machine_seconds)  # it asks by the module's name


def _micros(at: float) -> int:
    return round(at * 1e6)


def _tick() -> int:
    global _now
    _now += 1
    return _now


def _wall() -> float:
    return _tick() / 1e6


def _wall_ns() -> int:
    return _tick() * 1000


def _elapsed() -> float:
    return (_tick() - _origin) / 1e6


def _elapsed_ns() -> int:
    return (_tick() - _origin) * 1000


def _reader(real: Callable[[], Any], virtual: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: virtual() if _now else real()


def clock_gettime(clock: int, /) -> float:
    if not _now:
        return _real["clock_gettime"](clock)
    return _wall() if clock in _WALL_CLOCKS else _elapsed()


def clock_gettime_ns(clock: int, /) -> int:
    if not _now:
        return _real["clock_gettime_ns"](clock)
    return _wall_ns() if clock in _WALL_CLOCKS else _elapsed_ns()


_WALL_CLOCKS = {0, 5, 11}  # CLOCK_REALTIME, _REALTIME_COARSE, _TAI


def localtime(*args: Any) -> time.struct_time:
    return _real["localtime"](*_given(args))


def gmtime(*args: Any) -> time.struct_time:
    return _real["gmtime"](*_given(args))


def ctime(*args: Any) -> str:
    return _real["ctime"](*_given(args))


def _given(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return (_wall(),) if _now and (not args or (len(args) == 1 and args[0] is None)) else args


def asctime(*args: Any) -> str:
    return _real["asctime"](*args) if args or not _now else _real["asctime"](localtime())


def strftime(*args: Any) -> str:
    return _real["strftime"](*args, localtime()) if _now and len(args) == 1 else _real["strftime"](*args)


def sleep(seconds: Any, /) -> None:
    """Asks the host to wait. Calls of the host into the guest are served meanwhile."""
    if not _now:
        return _real["sleep"](seconds)
    length = float(seconds) if isinstance(seconds, float) else int(operator.index(seconds))
    if not 0 <= length <= LONGEST_S:
        return _real["sleep"](length)  # which raises
    moment = after(length)
    _ask(length)
    reach(moment)


def _datetime_now(cls: Any, tz: dt.tzinfo | None = None) -> Any:
    if not _now:
        return _real_now["now"].__get__(None, cls)(tz)
    return cls.fromtimestamp(_wall(), tz)


def _datetime_utcnow(cls: Any) -> Any:
    if not _now:
        return _real_now["utcnow"].__get__(None, cls)()
    return cls.fromtimestamp(_wall(), dt.UTC).replace(tzinfo=None)
