"""`mismatch`: the first thing of a value that does not fit its schema, in one line.

Lenient where descriptions of APIs are often wrong: a value that cannot be checked fits. It knows no Python types.
"""

from __future__ import annotations

import difflib
from typing import Any, cast

from cellwright.errors import WrongArguments
from cellwright.schemas.constraints import called, equals, kind_fits, limits_of, shown
from cellwright.schemas.flat_schema import Resolve, is_null, kinds_of
from cellwright.schemas.json_values import as_list, as_object, jsonlike

STEPS = 100_000  # schemas that one value is checked against; the rest is not checked
DEPTH = 150  # of schemas; a value is never as deep
_NAMED = 8  # keys, values or kinds that a message lists
_COMBINED = frozenset(("allOf", "oneOf", "anyOf", "$ref", "not"))  # keys beside them may be theirs
_SURE = frozenset(("type", "enum", "const", "required", "description", "title"))


def mismatch(value: Any, schema: Any, resolve: Resolve, base: str = "", where: str = "body") -> str | None:
    """The first error in a value, as `body.labels[0]: 3 is no string`; None where the value fits."""
    try:
        plain = jsonlike(value)
    except WrongArguments as error:
        return f"{where}: {error}"
    found = _Check(resolve).check(plain, schema, base, 0)
    return None if found is None else f"{where}{found.path}: {found.text}"


class _Wrong:
    """One error: its path below the value, and its text."""

    __slots__ = ("depth", "path", "text")

    def __init__(self, text: str, path: str = "", depth: int = 0) -> None:
        self.text, self.path, self.depth = text, path, depth

    def below(self, step: str) -> _Wrong:
        return _Wrong(self.text, step + self.path, self.depth + 1)


class _Check:
    """Checks one value. A value and a schema that met once are not checked again: choices inside choices stay cheap."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._met: dict[tuple[int, int, str], _Wrong | None] = {}
        self._kinds: dict[int, tuple[list[str], bool]] = {}
        self._held: list[Any] = []  # values that are known by their id must stay alive
        self._steps = 0

    def check(self, value: Any, schema: Any, base: str, depth: int) -> _Wrong | None:
        if schema is False:
            return _Wrong(f"{shown(value)} may not be given")
        node = as_object(schema)
        self._steps += 1
        if not node or depth > DEPTH or self._steps > STEPS:
            return None
        if type(value) not in (dict, list) and _COMBINED.isdisjoint(node):
            return self._own(value, node, base, depth)
        key = (id(value), id(node), base)
        if key not in self._met:
            self._held += (value, node)
            self._met[key] = None  # a value inside of itself fits if the rest fits
            self._met[key] = self._own(value, node, base, depth)
        return self._met[key]

    def _own(self, value: Any, node: dict[str, Any], base: str, depth: int) -> _Wrong | None:
        known = self._kinds.get(id(node))
        if known is None:
            self._held.append(node)
            known = self._kinds[id(node)] = kinds_of(node)
        kinds, nullable = known
        if value is None and nullable:
            return None
        ref = node.get("$ref")
        if isinstance(ref, str):
            try:
                _, target, there = self._resolve(ref, base)
            except LookupError:
                return None
            wrong = self.check(value, target, there, depth + 1)
            if wrong is not None or len(node) == 1:
                return wrong
        if kinds and not any(kind_fits(value, kind, node) for kind in kinds):
            return _Wrong(_not_a(value, kinds))
        return (
            _not_listed(value, node, kinds)
            or _beyond(value, node)
            or self._inside(value, node, base, depth)
            or self._combined(value, node, base, depth)
        )

    def _inside(self, value: Any, node: dict[str, Any], base: str, depth: int) -> _Wrong | None:
        if isinstance(value, dict):
            return self._object(cast("dict[str, Any]", value), node, base, depth)
        return self._array(cast("list[Any]", value), node, base, depth) if isinstance(value, list) else None

    def _object(self, value: dict[str, Any], node: dict[str, Any], base: str, depth: int) -> _Wrong | None:
        properties = as_object(node.get("properties"))
        for key in as_list(node.get("required")):
            if isinstance(key, str) and key not in value and _is_needed(key, properties.get(key)):
                return _Wrong(f"{shown(key)} is missing")
        for key, inner in value.items():
            if key in properties:
                schema = properties[key]
                if as_object(schema).get("readOnly") is True:
                    continue
            elif as_object(node.get("patternProperties")):
                continue
            else:
                schema = node.get("additionalProperties")
                if schema is False and _COMBINED.isdisjoint(node):
                    return _Wrong(_strange(key, properties))
            wrong = self.check(inner, schema, base, depth + 1) if schema is not False else None
            if wrong is not None:
                return wrong.below(f".{key}" if key.isidentifier() else f"[{shown(key)}]")
        return None

    def _array(self, value: list[Any], node: dict[str, Any], base: str, depth: int) -> _Wrong | None:
        items = node.get("items")
        prefix = as_list(node.get("prefixItems")) or as_list(items)
        for at, inner in enumerate(value):
            schema = prefix[at] if at < len(prefix) else items
            wrong = None if isinstance(schema, list) else self.check(inner, schema, base, depth + 1)
            if wrong is not None:
                return wrong.below(f"[{at}]")
        return None

    def _combined(self, value: Any, node: dict[str, Any], base: str, depth: int) -> _Wrong | None:
        for member in as_list(node.get("allOf")):
            wrong = self.check(value, _without_end(member), base, depth + 1)
            if wrong is not None:
                return wrong
        for word in ("oneOf", "anyOf"):
            members = as_list(node.get(word))
            wrong = self._choice(value, node, members, base, depth) if members else None
            if wrong is not None:
                return wrong
        refused = as_object(node.get("not"))
        if refused and refused.keys() <= _SURE and self.check(value, refused, base, depth + 1) is None:
            return _Wrong(f"{shown(value)} is excluded by `not`")
        return None

    def _choice(self, value: Any, node: dict[str, Any], members: list[Any], base: str, depth: int) -> _Wrong | None:
        """A value must fit one of the members. If it fits none, the error of the nearest member is reported."""
        told: list[_Wrong] = []
        some = members if value is None else [member for member in members if not is_null(member)] or members
        for member in some:
            wrong = self.check(value, member, base, depth + 1)
            if wrong is None:
                return None
            told.append(wrong)
        marked = self._marked(value, node, members, base)
        if marked is not None:
            return self.check(value, marked, base, depth + 1)
        return _nearest(value, told)

    def _marked(self, value: Any, node: dict[str, Any], members: list[Any], base: str) -> Any:
        """The member that the discriminator names."""
        said = node.get("discriminator")
        key = said if isinstance(said, str) else as_object(said).get("propertyName")
        mark = as_object(value).get(key) if isinstance(key, str) else None
        if not isinstance(mark, str):
            return None
        wanted = as_object(as_object(said).get("mapping")).get(mark, mark)
        for member in members:
            ref = as_object(member).get("$ref")
            if isinstance(ref, str) and (ref == wanted or ref.rpartition("/")[2] == wanted):
                return member
        return None


def _is_needed(key: str, schema: Any) -> bool:
    """Whether code must give a required key. The server sets read-only keys and the annotations of OData."""
    return not as_object(schema).get("readOnly") and not key.startswith("@odata.")


def _without_end(member: Any) -> Any:
    """A member of allOf without `additionalProperties`, which would refuse the keys of the other members."""
    node = as_object(member)
    return {k: v for k, v in node.items() if k != "additionalProperties"} if "additionalProperties" in node else member


def _not_a(value: Any, kinds: list[str]) -> str:
    names = [called(kind) for kind in kinds[:_NAMED]]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and no {names[-1]}"
    advice = "; give float(…)" if type(value).__name__ == "Decimal" else ""
    return f"{shown(value)} is no {listed}{advice}"


def _not_listed(value: Any, node: dict[str, Any], kinds: list[str]) -> _Wrong | None:
    values = [node["const"]] if "const" in node else as_list(node.get("enum"))
    if not values or any(equals(value, one, kinds) for one in values):
        return None
    if kinds == ["string"] and any(isinstance(one, bool) for one in values):  # YAML's `yes` and `no`
        return None
    if len(values) == 1:
        return _Wrong(f"{shown(value)} is not {shown(values[0])}")
    near = difflib.get_close_matches(str(value)[:100], [one for one in values if isinstance(one, str)], 1)
    more = f" … ({len(values)} in all)" if len(values) > _NAMED else ""
    hint = f"; did you mean {shown(near[0])}?" if near else ""
    return _Wrong(f"{shown(value)} is none of {', '.join(map(shown, values[:_NAMED]))}{more}{hint}")


def _beyond(value: Any, node: dict[str, Any]) -> _Wrong | None:
    text = limits_of(value, node)
    return _Wrong(text) if text else None


def _strange(key: str, properties: dict[str, Any]) -> str:
    near = difflib.get_close_matches(key[:100], list(properties), 1)
    if near:
        return f"it has no key {shown(key)}; did you mean {shown(near[0])}?"
    keys = ", ".join(list(properties)[:_NAMED])
    more = " …" if len(properties) > _NAMED else ""
    return f"it has no key {shown(key)}; its keys are {keys}{more}" if keys else f"it has no key {shown(key)}"


def _nearest(value: Any, told: list[_Wrong]) -> _Wrong:
    deepest = max(told, key=lambda wrong: wrong.depth)
    texts = list(dict.fromkeys(wrong.text for wrong in told))
    if deepest.depth or len(texts) == 1 or isinstance(value, dict):
        keyed = [wrong for wrong in told if " is no " not in wrong.text or wrong.depth]
        return deepest if deepest.depth or not keyed else keyed[0]
    return _Wrong("; ".join(texts[:3]))
