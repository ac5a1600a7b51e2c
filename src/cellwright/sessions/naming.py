"""Which session a person means: by its id, the beginning of one, or the name of its branch. Reads only."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from cellwright.errors import NoSession, UsageError
from cellwright.journal import printable
from cellwright.store import Reading, Summary

SHORTEST = 4  # of the beginning of an id
LONGEST = 64  # of a name
LISTED = 5


def resolve(store: Reading, text: str) -> str:
    """The id of the session that `text` stands for. `NoSession` where there is none, `UsageError` where several."""
    try:
        return store.facts(text).id
    except NoSession:
        pass
    known = store.summaries()
    named = [one for one in known if text and one.name == text]
    if not named and len(text) >= SHORTEST:
        named = [one for one in known if one.id.startswith(text)]
    if not named:
        short = "" if len(text) >= SHORTEST else f"; the beginning of an id has {SHORTEST} letters at least"
        raise NoSession(f"there is no session {printable(text)!r}, by id or by name{short}")
    if len(named) > 1:
        raise UsageError(f"{printable(text)!r} may be any of these; give one of the ids: {_listed(named)}")
    return named[0].id


def _listed(found: Sequence[Summary]) -> str:
    more = f", and {len(found) - LISTED} more" if len(found) > LISTED else ""
    return ", ".join(f"{one.id} ({printable(one.title)})" for one in found[:LISTED]) + more


def check_name(store: Reading, name: str, session: str = "") -> str:
    """A name that may be given to `session`: short, printable, and of no other."""
    name = unicodedata.normalize("NFC", name.strip())
    if not name or len(name) > LONGEST or not name.isprintable():
        raise UsageError(f"a session's name is one line of 1 to {LONGEST} printable letters; it was {name!r:.80}")
    for other in store.summaries():
        if other.id != session and name in (other.id, other.name):
            raise UsageError(f"{name!r} is the name of session {other.id} already; choose another")
    return name
