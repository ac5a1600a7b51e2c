"""Types of the results of tools that declare no output schema: learned from results and kept in a file.

A tool that returned plain text once has the type `str`. It knows no server and no connection.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from cellwright.atomic import write_atomic
from cellwright.mcp.tool_names import identifier
from cellwright.schemas import LearnedSchema
from cellwright.settings import Settings

ENOUGH = 20  # results of one tool
_MOST_TOOLS = 2000
_FORMAT = 1


@dataclass(slots=True)
class _Samples:
    texts: int = 0
    mixed: bool = False  # it also returned pictures, or several parts: then it has no type
    learned: LearnedSchema = field(default_factory=LearnedSchema)


class LearnedResults:
    """Types by tool and input schema: a tool that changed begins anew. `path` None: nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._kept = _read(path) if path is not None else {}
        self._new = False

    @classmethod
    def of_server(cls, name: str) -> LearnedResults:
        """Those of the server of that name, in the cache directory."""
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        return cls(Settings.from_environment().cache_dir / "mcp" / f"{identifier(name)[:40]}-{digest}.json")

    def before(self) -> LearnedResults:
        """What earlier connections learned: a surface does not change while it is used."""
        return LearnedResults(self._path)

    @staticmethod
    def key(tool: str, schema: Any) -> str:
        told = json.dumps(schema, sort_keys=True, default=repr)
        return f"{tool}#{hashlib.sha256(told.encode(errors='replace')).hexdigest()[:16]}"

    def only_text(self, key: str) -> bool:
        return key in self._kept and self._kept[key].texts > 0

    def mixed(self, key: str) -> bool:
        return key in self._kept and self._kept[key].mixed

    def schema(self, key: str) -> dict[str, Any] | None:
        samples = self._kept.get(key)
        if samples is None or samples.texts or samples.mixed or not samples.learned.count:
            return None
        return samples.learned.schema()

    def note(self, key: str) -> str:
        samples = self._kept.get(key)
        if samples is None or samples.mixed or not (samples.texts or samples.learned.count):
            return "What it gives is not declared: text, or the JSON that a text is."
        count = samples.texts + samples.learned.count
        return f"Its type is learned from {count} result{'s' if count > 1 else ''}, not declared."

    def add(self, key: str, sample: Any) -> None:
        """Learn from a result. A `str` is plain text."""
        samples = self._kept.setdefault(key, _Samples())
        if samples.texts + samples.learned.count >= ENOUGH:
            return
        self._new = True
        if isinstance(sample, str):
            samples.texts += 1
        else:
            samples.learned.add(sample)

    def add_mixed(self, key: str) -> None:
        """Learn from a result of several parts, or of none."""
        samples = self._kept.setdefault(key, _Samples())
        self._new = self._new or not samples.mixed
        samples.mixed = True

    def save(self) -> None:
        """Write the file if something is new. A cache that cannot be written is no error."""
        if self._path is None or not self._new:
            return
        kept = dict(list(self._kept.items())[-_MOST_TOOLS:])
        tools = {key: {"texts": s.texts, "mixed": s.mixed, "learned": s.learned.to_plain()} for key, s in kept.items()}
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomic(self._path, json.dumps({"format": _FORMAT, "tools": tools}))
            self._new = False


def _read(path: Path) -> dict[str, _Samples]:
    try:
        plain: Any = json.loads(path.read_text(encoding="utf-8"))
        if plain["format"] != _FORMAT:
            return {}
        listed = cast("dict[str, Any]", plain["tools"]).items()
        return {
            key: _Samples(
                texts=int(one["texts"]), mixed=bool(one["mixed"]), learned=LearnedSchema.from_plain(one["learned"])
            )
            for key, one in listed
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # no file yet, or one that we did not write
        return {}
