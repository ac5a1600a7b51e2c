"""The record classes of one server, made when the first object of each comes. Found again by name after a resume."""

from __future__ import annotations

from collections.abc import Mapping

from cellwright.schemas import RecordPlan
from cellwright.scope import Record, find_records_with, record_class


class Records:
    """Classes by name. A plan that changed gives another class under the same name."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._plans: dict[str, RecordPlan] = {}
        self._made: dict[str, tuple[type[Record], RecordPlan]] = {}
        find_records_with(source, self)

    def add(self, plans: Mapping[str, RecordPlan]) -> None:
        self._plans.update(plans)

    def of(self, name: str) -> tuple[type[Record], RecordPlan] | None:
        plan = self._plans.get(name)
        if plan is None:
            return None
        made = self._made.get(name)
        if made is None or made[1] != plan:
            made = (record_class(self._source, name, fields=plan.fields, doc=plan.doc), plan)
            self._made[name] = made
        return made

    def record(self, name: str) -> type[Record] | None:
        found = self.of(name)
        return None if found is None else found[0]
