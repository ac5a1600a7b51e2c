"""What tools without an output schema gave: types that nobody wrote, learned from results and kept for the next time.

A tool that ever gave plain text gives text. It knows no server and no connection.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from cellwright.schemas import Learned

ENOUGH = 20  # results of one tool
_MOST_TOOLS = 2000
_FORMAT = 1


@dataclass(slots=True)
class _Lesson:
    texts: int = 0
    mixed: bool = False  # it also gave pictures, or several parts: then no type is told
    learned: Learned = field(default_factory=Learned)


class Lessons:
    """By tool and input schema: a tool that changed begins anew. `path` None: nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._kept = _read(path) if path is not None else {}
        self._new = False

    def known(self) -> Lessons:
        """What was known before: a surface does not change by being used."""
        return Lessons(self._path)

    @staticmethod
    def key(tool: str, schema: Any) -> str:
        told = json.dumps(schema, sort_keys=True, default=repr)
        return f"{tool}#{hashlib.sha256(told.encode(errors='replace')).hexdigest()[:16]}"

    def only_text(self, key: str) -> bool:
        return key in self._kept and self._kept[key].texts > 0

    def mixed(self, key: str) -> bool:
        return key in self._kept and self._kept[key].mixed

    def schema(self, key: str) -> dict[str, Any] | None:
        lesson = self._kept.get(key)
        if lesson is None or lesson.texts or lesson.mixed or not lesson.learned.count:
            return None
        return lesson.learned.schema()

    def note(self, key: str) -> str:
        lesson = self._kept.get(key)
        if lesson is None or lesson.mixed or not (lesson.texts or lesson.learned.count):
            return "What it gives is not declared: text, or the JSON that a text is."
        count = lesson.texts + lesson.learned.count
        return f"Its type is learned from {count} result{'s' if count > 1 else ''}, not declared."

    def add(self, key: str, sample: Any) -> None:
        """A result. A `str` is plain text."""
        lesson = self._kept.setdefault(key, _Lesson())
        if lesson.texts + lesson.learned.count >= ENOUGH:
            return
        self._new = True
        if isinstance(sample, str):
            lesson.texts += 1
        else:
            lesson.learned.add(sample)

    def add_mixed(self, key: str) -> None:
        """A result that was more than one text, or none."""
        lesson = self._kept.setdefault(key, _Lesson())
        self._new = self._new or not lesson.mixed
        lesson.mixed = True

    def save(self) -> None:
        """Write what is new, if that can be done: a cache that cannot be written costs nothing but its use."""
        if self._path is None or not self._new:
            return
        kept = dict(list(self._kept.items())[-_MOST_TOOLS:])
        plain = {
            key: {"texts": one.texts, "mixed": one.mixed, "learned": one.learned.to_plain()}
            for key, one in kept.items()
        }
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft = self._path.with_suffix(f".{os.getpid()}")
            draft.write_text(json.dumps({"format": _FORMAT, "tools": plain}), encoding="utf-8")
            draft.replace(self._path)
        except OSError:
            return
        self._new = False


def _read(path: Path) -> dict[str, _Lesson]:
    try:
        plain: Any = json.loads(path.read_text(encoding="utf-8"))
        if plain["format"] != _FORMAT:
            return {}
        listed = cast("dict[str, Any]", plain["tools"]).items()
        return {
            key: _Lesson(texts=int(one["texts"]), mixed=bool(one["mixed"]), learned=Learned.from_plain(one["learned"]))
            for key, one in listed
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # none yet, or none that we wrote
        return {}
