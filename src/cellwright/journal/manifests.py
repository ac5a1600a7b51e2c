"""A tree of a workspace as bytes: `encoded`, and `Manifest`, what is read of one.

A manifest tells all entries, or what is otherwise than in its `parts`: manifests before it, of which only what they
tell themselves counts, one after the other. So a tree costs as much as changed in it, and is read from a bounded number
of blobs. What the digests name is not known here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cellwright.errors import JournalFailed
from cellwright.sandboxes import MODE, WorkspaceEntry, WorkspaceListing
from cellwright_guest.wire import type_of

MOST_PARTS = 64  # sizes double from one part to the next, so there are about as many as the number of entries has bits


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """What one blob tells. Without `parts` it is a whole tree."""

    entries: tuple[WorkspaceEntry, ...] = ()
    gone: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


def encoded(
    entries: Iterable[WorkspaceEntry], left: Sequence[str], gone: Sequence[str] = (), parts: Sequence[str] = ()
) -> bytes:
    # In ASCII, names that are no text too: what could not be decoded is a lone surrogate, which JSON can escape.
    rows = [[e.path, e.kind, e.mode, e.mtime_ns, e.size, e.content] for e in entries]
    told: dict[str, object] = {"entries": rows, "left": list(left)}
    if parts:
        told |= {"gone": list(gone), "parts": list(parts)}
    return json.dumps(told, separators=(",", ":")).encode()


def listing(name: str, content: Callable[[str], bytes]) -> WorkspaceListing:
    """The whole tree of that name."""
    last = decoded(name, content(name))
    if not last.parts:
        return WorkspaceListing(entries=last.entries, left=last.left)
    entries: dict[str, WorkspaceEntry] = {}
    parts = [decoded(part, content(part)) for part in last.parts]
    if parts[0].parts:
        raise JournalFailed(f"{name} is no tree of a workspace: its first part is not whole")
    for part in (*parts, last):
        for path in part.gone:
            entries.pop(path, None)
        entries.update((entry.path, entry) for entry in part.entries)
    return WorkspaceListing(entries=tuple(entries[path] for path in sorted(entries)), left=last.left)


def decoded(name: str, text: bytes) -> Manifest:
    """Whoever can write to the journal may have made this up: it is taken only where `encoded` could have made it."""
    try:
        found = json.loads(text)
        manifest = Manifest(
            entries=tuple(_entry(*row) for row in found["entries"]),
            left=_texts(found["left"]),
            gone=_texts(found.get("gone", ())),
            parts=_texts(found.get("parts", ())),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise JournalFailed(f"{name} is no tree of a workspace ({type(error).__name__})") from None
    if any({"", ".", ".."} & set(entry.path.split("/")) for entry in manifest.entries):
        raise JournalFailed(f"{name} is no tree of a workspace: it leads out of it")
    if len(manifest.parts) > MOST_PARTS:
        raise JournalFailed(f"{name} is no tree of a workspace: it has {len(manifest.parts)} parts")
    return manifest


def _entry(path: Any, kind: Any, mode: Any, mtime_ns: Any, size: Any, content: Any) -> WorkspaceEntry:
    numbers = (mode, mtime_ns, size)
    if kind not in ("file", "dir", "link") or any(type_of(n) is not int or abs(n) >= 1 << 63 for n in numbers):
        raise ValueError
    if size < 0 or (kind != "file" and size):
        raise ValueError
    return WorkspaceEntry(
        path=_text(path), kind=kind, mode=mode & MODE, mtime_ns=mtime_ns, size=size, content=_text(content)
    )


def _texts(told: Any) -> tuple[str, ...]:
    if type_of(told) is str:
        raise ValueError
    return tuple(map(_text, told))


def _text(told: Any) -> str:
    if type_of(told) is not str or "\0" in told:
        raise ValueError
    os.fsencode(told)
    return told
