"""The schemas that arguments of a call are checked against: without descriptions, each `$ref` under one name.

It follows the `$ref`s of what it keeps, so that nothing of the description is needed afterwards.
"""

from __future__ import annotations

from typing import Any, cast

from cellwright.openapi.documents import Documents
from cellwright.schemas import as_list, as_object

_PROSE = frozenset("description title example examples externalDocs xml summary $comment deprecated".split())
_ONE = frozenset("items additionalProperties not if then else contains propertyNames unevaluatedProperties".split())
_MANY = frozenset("allOf anyOf oneOf prefixItems".split())
_NAMED = frozenset("properties patternProperties $defs definitions dependentSchemas".split())


class SchemaCollector:
    """Collects the schemas of one description under the names that its copies use in `$ref`s."""

    def __init__(self, documents: Documents) -> None:
        self.schemas: dict[str, Any] = {}
        self._documents = documents
        self._todo: list[tuple[str, Any, str]] = []
        self._seen: set[str] = set()

    def kept(self, schema: Any, base: str) -> Any:
        """A schema as it is kept with an operation."""
        made = self._copied(schema, base)
        while self._todo:
            name, node, there = self._todo.pop()
            self.schemas[name] = self._copied(node, there)
        return made

    def _copied(self, schema: Any, base: str) -> Any:
        if not isinstance(schema, dict):
            return schema if isinstance(schema, bool) else {}
        made: dict[str, Any] = {}
        for key, value in cast("dict[str, Any]", schema).items():
            if key in _PROSE or (key.startswith("x-") and key != "x-nullable"):
                continue
            if key == "$ref" and isinstance(value, str):
                made[key] = self._named(value, base)
            elif key in _ONE and isinstance(value, dict):
                made[key] = self._copied(value, base)
            elif key in _MANY or (key == "items" and isinstance(value, list)):
                made[key] = [self._copied(one, base) for one in as_list(value)]
            elif key in _NAMED:
                made[key] = {name: self._copied(one, base) for name, one in as_object(value).items()}
            elif key == "discriminator":
                made[key] = self._discriminator(value, base)
            else:
                made[key] = value
        return made

    def _named(self, ref: str, base: str) -> str:
        try:
            name, node, there = self._documents.resolve(ref, base)
        except LookupError:
            return ref  # it leads nowhere, so any value is accepted there
        if name not in self._seen:
            self._seen.add(name)
            self._todo.append((name, node, there))
        return name

    def _discriminator(self, value: Any, base: str) -> Any:
        found = as_object(value)
        named = as_object(found.get("mapping"))
        if not named:
            return value
        told = {
            mark: self._named(ref, base) if "#" in str(ref) or "/" in str(ref) else ref for mark, ref in named.items()
        }
        return {**found, "mapping": told}
