"""Types learned from results, where a description has none: kept beside the compiled file, shown the next time.

It knows operations by their paths, and results by their kinds and keys: no value of a result is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from cellwright.atomic import write_atomic
from cellwright.schemas import LearnedSchema, Reading, RecordPlan, Types, class_name, local_resolve, parsed_object
from cellwright.scope import Declaration, Shape, Surface, UpstreamOperation

MOST = 2000  # operations of one API
LARGEST = 16 * 1024 * 1024
UNKNOWN = frozenset(("Any", "None", "Any | None", ""))  # what a surface says of a result that nobody describes
TELLING = frozenset((1, 2, 3, 5, 10, 20, 50))  # samples after which it is worth writing


class ResultSamples:
    """The types learned for the operations of one API. With `file` None they last as long as the process."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._known = _loaded(file)
        self._changed = False

    def __iter__(self) -> Iterator[tuple[str, LearnedSchema]]:
        return iter(sorted(self._known.items()))

    def add(self, path: str, sample: Any) -> bool:
        """Learn from one result. True where it is worth saving now."""
        if not isinstance(sample, dict | list) or (path not in self._known and len(self._known) >= MOST):
            return False
        known = self._known.setdefault(path, LearnedSchema())
        before = known.count
        known.add(sample)
        self._changed = self._changed or known.count != before
        return known.count != before and known.count in TELLING

    def save(self) -> None:
        """Write the file, whole or not at all. Where it cannot be written, only the learned types are lost."""
        if self._file is None or not self._changed:
            return
        text = json.dumps({path: known.to_plain() for path, known in list(self._known.items())})
        self._changed = False
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomic(self._file, text)


def _loaded(file: Path | None) -> dict[str, LearnedSchema]:
    try:
        kept = parsed_object(file.read_bytes()) if file is not None and file.stat().st_size <= LARGEST else {}
    except OSError:
        return {}
    learned = {path: LearnedSchema.from_plain(plain) for path, plain in list(kept.items())[:MOST]}
    return {path: schema for path, schema in learned.items() if schema.count}


class LearnedSurface:
    """A surface with learned types instead of unknown ones, each marked so. See `Surface`."""

    def __init__(self, inner: Surface, samples: ResultSamples) -> None:
        self._inner = inner
        self._offered: dict[str, UpstreamOperation] = {}
        self._shapes: dict[str, Shape] = {}
        self._readings: dict[str, Reading] = {}
        self._records: dict[str, RecordPlan] = {}
        self._key = inner.key
        known = [(offered, learned) for path, learned in samples if (offered := inner.find(path)) is not None]
        known = [(offered, learned) for offered, learned in known if offered.line.gives in UNKNOWN]
        if known:
            self._learn(known)

    def _learn(self, known: list[tuple[UpstreamOperation, LearnedSchema]]) -> None:
        types = Types(local_resolve({}), taken=self._inner.shapes())
        digest = hashlib.sha256(self._inner.key.encode())
        for offered, learned in known:
            schema = learned.schema()
            text, reading = types.given(schema, class_name(offered.path.replace(".", " ")) + "Result")
            digest.update(json.dumps([offered.path, schema], sort_keys=True).encode())
            self._readings[offered.path] = reading
            self._offered[offered.path] = replace(offered, line=_told(offered.line, text, schema["description"]))
        self._shapes, self._records = types.shapes(), types.records()
        self._key = digest.hexdigest()

    @property
    def key(self) -> str:
        return self._key

    def listed(self) -> Iterator[UpstreamOperation]:
        for offered in self._inner.listed():
            yield self._offered.get(offered.path, offered)

    def find(self, path: str) -> UpstreamOperation | None:
        return self._offered.get(path) or self._inner.find(path)

    def below(self, path: str) -> tuple[str, ...]:
        return self._inner.below(path)

    def about(self, path: str) -> str:
        return self._inner.about(path)

    def shape(self, name: str) -> Shape | None:
        return self._shapes.get(name) or self._inner.shape(name)

    def shapes(self) -> Iterator[str]:
        yield from self._inner.shapes()
        yield from self._shapes

    def methods(self, name: str) -> dict[str, Any]:
        known: Any = getattr(self._inner, "methods", None)  # a surface may have none
        return {} if known is None else known(name)

    def reading(self, path: str) -> Reading:
        """How the results of an operation with a learned type are read; None for every other operation."""
        return self._readings.get(path)

    def record(self, name: str) -> RecordPlan | None:
        return self._records.get(name)


def _told(line: Declaration, text: str, learned: str) -> Declaration:
    signatures = tuple(replace(one, returns=text) for one in line.signatures)
    mark = f"The type of the result is {learned}; the description has none."
    return replace(line, signatures=signatures, doc=f"{line.doc}\n\n{mark}" if line.doc else mark)
