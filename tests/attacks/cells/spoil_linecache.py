"""Spoils what the guest's error reports are made of: linecache, traceback, the names of cells, builtins.

Layer: wire
Escape: the host fails, or shows text that is not the guest's
Control: an error of its own can be formatted
Limits: wall_s=4
"""

# control
import traceback

"ZeroDivisionError" in "".join(traceback.format_exception_only(ZeroDivisionError("x")))

# attack
import builtins
import linecache
import sys


class Hostile:
    def __getattr__(self, name):
        raise RecursionError

    def __str__(self):
        raise MemoryError

    __len__ = __iter__ = __repr__ = __str__


linecache.cache.clear()
linecache.cache["<cell 2>"] = Hostile()
linecache.getlines = linecache.checkcache = Hostile()
traceback.TracebackException = Hostile()
sys.excepthook = Hostile()
builtins.str = builtins.type = builtins.isinstance = builtins.repr = Hostile()
raise KeyError("x" * 10_000_000)
