"""Where a journal is, as text, and the journal that it names."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl

from toolwright.errors import NoSession, UsageError
from toolwright.journal.memory import MemoryJournal
from toolwright.journal.rows import Journal
from toolwright.journal.sqlite import SqliteJournal

KNOWN = 'known are "sqlite:///file.db" (four slashes for an absolute path), the path of a file, and "memory:"'
_YES_OR_NO = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def open_journal(url: str, *, make: bool = True) -> Journal:
    """The journal at `url`: "sqlite:///relative.db", "sqlite:////absolute.db", a path, or "memory:" for a new one.

    A file is made where there is none; with `make=False` that is `NoSession`. `?power_safe=1` after it makes each write
    wait for the disk.
    """
    place, _, query = url.partition("?")
    # Two letters at least: `C:` is a drive.
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", place)
    if scheme is None:
        path = place
    elif scheme[1].lower() == "memory" and place[scheme.end() :] == "" and not query:
        return MemoryJournal()
    elif scheme[1].lower() == "sqlite" and place[scheme.end() :].startswith("///"):
        path = place[scheme.end() + 3 :]
    else:
        raise UsageError(f"no journal can be opened at {url!r}; {KNOWN}")
    if not path or path.endswith("/") or path == ":memory:":
        raise UsageError(f"{url!r} names no file; {KNOWN}")
    if not make and not Path(path).exists():
        raise NoSession(f"there is no journal {path}; name the file that the session was recorded in")
    return SqliteJournal(path, power_safe=_power_safe(url, query))


def _power_safe(url: str, query: str) -> bool:
    chosen = dict(parse_qsl(query, keep_blank_values=True))
    text = chosen.pop("power_safe", "0")
    if chosen or text not in _YES_OR_NO:
        raise UsageError(f'{url!r}: the one option of a journal is "power_safe", as in "?power_safe=1"')
    return _YES_OR_NO[text]
