"""A description compiled: what it offers, how each operation is called, how results are read."""

from __future__ import annotations

from typing import Any

from cellwright.openapi.compiled_file import CompiledFile
from cellwright.openapi.plans import Api, Plan, Skipped
from cellwright.openapi.surface import OpenAPISurface
from cellwright.schemas import RecordPlan


class Compiled:
    """Reads from its file what is asked for, and nothing else. Any thread may ask."""

    def __init__(self, file: CompiledFile) -> None:
        self._file = file
        self._api: Api | None = None
        self.surface = OpenAPISurface(file)

    @property
    def key(self) -> str:
        return self._file.key

    @property
    def api(self) -> Api:
        if self._api is None:
            self._api = self._file.api()
        return self._api

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What could not be taken, or only in part."""
        return self._file.skipped()

    def __len__(self) -> int:
        """How many operations it has."""
        return self._file.count()

    def plan(self, path: str) -> Plan | None:
        """How the operation at a path of the surface is called."""
        return self._file.plan(path)

    def record(self, name: str) -> RecordPlan | None:
        return self._file.record(name)

    def methods(self, name: str) -> dict[str, Any]:
        """The methods of a record: {method: {"path": of the operation, "fill": {argument: source}}}.

        A source is ["field", key, key …], what the record has there, or ["via", name], an argument of the call that the
        record came from.
        """
        return self._file.methods(name)

    def schema(self, name: str) -> Any:
        """The schema that a `$ref` in a plan names. LookupError where there is none."""
        return self._file.schema(name)

    def resolve(self, ref: str, base: str = "") -> tuple[str, Any, str]:
        """`schemas.Resolve` for the schemas of plans: a `$ref` there is the schema's own name, whatever the base."""
        return ref, self._file.schema(ref), ""

    def close(self) -> None:
        self._file.close()
