"""Arguments for an operation, made from its plan's schemas: the same for the same seed.

Required ones always, optional ones sometimes. Strings hold what must be escaped on its way: spaces, quotes, umlauts.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from random import Random
from typing import Any, cast

from cellwright.openapi.operation_plan import OperationPlan
from cellwright.schemas import Resolve

DEPTH = 4
OFTEN = 0.35
WORDS = "octo cat", "a+b=c&d", "Ærø", 'it\'s "so"', "100% sure", "x?y#z", "plain", "v1.2"
NAMES = "octocat", "hello-world", "v1", "main", "abc123"
FORMATS = {
    "date-time": "2026-07-28T12:30:00Z",
    "date": "2026-07-28",
    "uri": "https://example.com/a?b=c",
    "url": "https://example.com/a",
    "email": "octo@example.com",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "decimal": "12.5",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "example.com",
    "byte": base64.b64encode(b"bytes").decode(),
    "repo.nwo": "octocat/hello-world",
}
PATTERNED = (
    *NAMES,
    base64.b64encode(b"some bytes").decode(),
    f"sha256:{'0' * 64}",
    "https://github.com/octocat",
    "ssh-rsa AAAA",
    "1.2.3",
    "0" * 40,
    "refs/heads/main",
)


class Impossible(Exception):
    """No value for a schema that this generator can make."""


@dataclass(kw_only=True)
class Maker:
    """Values that fit schemas. `resolve` follows `$ref`s."""

    random: Random
    resolve: Resolve
    words: tuple[str, ...] = WORDS

    def value(self, schema: Any, depth: int = 0) -> Any:
        if not isinstance(schema, dict):
            return self.random.choice(self.words)
        known = self._flat(cast("dict[str, Any]", schema))
        if "const" in known:
            return known["const"]
        if choices := [each for each in known.get("enum", ()) if each is not None]:
            return self.random.choice(choices)
        match self._kind(known):
            case "object":
                return self._object(known, depth)
            case "array":
                return self._array(known, depth)
            case "integer":
                return int(self._number(known))
            case "number":
                return self._number(known) + 0.5 if "maximum" not in known else self._number(known)
            case "boolean":
                return self.random.random() < 0.5
            case "null":
                return None
            case _:
                return self._string(known)

    def _flat(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema with its `$ref` followed, one alternative chosen and all parts laid over each other."""
        known = dict(schema)
        for _ in range(20):
            if ref := known.pop("$ref", None):
                _, found, _ = self.resolve(ref, "")
                known = {**found, **known}
            elif parts := known.pop("allOf", None):
                known = self._joined([known, *(self._flat(part) for part in parts)])
            elif options := known.pop("oneOf", None) or known.pop("anyOf", None):
                options = [one for one in options if one.get("type") != "null"] or options
                chosen = self._flat(self.random.choice(options))
                known = self._without_others(known, chosen, options)
                known = self._joined([known, chosen])
            else:
                return known
        raise Impossible("a schema that refers to itself")

    @staticmethod
    def _without_others(known: dict[str, Any], chosen: dict[str, Any], options: list[Any]) -> dict[str, Any]:
        """Where alternatives only say what is required, what the others require would make two of them true."""
        if not all(set(cast("dict[str, Any]", one)) <= {"required"} for one in options) or "properties" not in known:
            return known
        others = {key for one in options for key in one["required"]} - set(chosen["required"])
        return known | {"properties": {key: one for key, one in known["properties"].items() if key not in others}}

    @staticmethod
    def _joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
        joined: dict[str, Any] = {}
        for part in parts:
            for key, value in part.items():
                if key == "properties":
                    joined[key] = {**joined.get(key, {}), **value}
                elif key == "required" and isinstance(value, list):
                    joined[key] = [*joined.get(key, ()), *cast("list[str]", value)]
                else:
                    joined[key] = value
        return joined

    @staticmethod
    def _kind(known: dict[str, Any]) -> str:
        kind = known.get("type")
        if isinstance(kind, list):
            kind = next((each for each in cast("list[str]", kind) if each != "null"), "null")
        if kind is None and ("properties" in known or "additionalProperties" in known):
            return "object"
        if kind is None and "items" in known:
            return "array"
        return str(kind or "string")

    def _object(self, known: dict[str, Any], depth: int) -> dict[str, Any]:
        required = set(known.get("required", ()))
        made: dict[str, Any] = {}
        for key, schema in known.get("properties", {}).items():
            wanted = depth < DEPTH and self.random.random() < OFTEN
            if isinstance(schema, dict) and cast("dict[str, Any]", schema).get("readOnly"):
                continue
            if key in required or wanted:
                made[key] = self.value(schema, depth + 1)
        if lacking := required - made.keys():
            raise Impossible(f"required and not described: {', '.join(sorted(lacking))}")
        extra = known.get("additionalProperties")
        if not made and extra not in (None, False) and depth < DEPTH:
            made["key"] = self.value(extra, depth + 1)
        if depth > 3 * DEPTH:
            raise Impossible("required objects in each other without end")
        return made

    def _array(self, known: dict[str, Any], depth: int) -> list[Any]:
        least = int(known.get("minItems", 1 if depth < DEPTH else 0))
        most = min(int(known.get("maxItems", 3)), max(least, 2))
        made = [self.value(known.get("items"), depth + 1) for _ in range(self.random.randint(least, max(least, most)))]
        if known.get("uniqueItems"):
            made = [each for at, each in enumerate(made) if each not in made[:at]]
        return made

    def _number(self, known: dict[str, Any]) -> float:
        low = known.get("minimum", known.get("exclusiveMinimum", 1))
        low = 1 if isinstance(low, bool) else low
        high = known.get("maximum", max(low, 1) + 98)
        step = known.get("multipleOf", 1)
        first = -(-low // step)
        return self.random.randint(int(first), max(int(first), int(high // step))) * step

    def _string(self, known: dict[str, Any]) -> Any:
        if known.get("format") == "binary":
            return b"\x00\x01binary\xff"
        if pattern := known.get("pattern"):
            fitting = [each for each in PATTERNED if re.search(pattern, each)]
            if not fitting:
                raise Impossible(f"no string for {pattern}")
            return self.random.choice(fitting)
        made = FORMATS.get(known.get("format", "")) or self.random.choice(self.words)
        made = made.ljust(int(known.get("minLength", 0)), "x")
        return made[: int(known["maxLength"])] if "maxLength" in known else made


def arguments(plan: OperationPlan, resolve: Resolve, random: Random) -> dict[str, Any]:
    """What to call an operation with: names as code gives them."""
    for _ in range(10):
        try:
            return _made(plan, resolve, random)
        except Impossible:  # in the alternatives that chance took
            continue
    raise Impossible(f"{plan.path}: ten tries, no arguments")


def _made(plan: OperationPlan, resolve: Resolve, random: Random) -> dict[str, Any]:
    maker = Maker(random=random, resolve=resolve)
    names = Maker(random=random, resolve=resolve, words=NAMES)
    given: dict[str, Any] = {}
    for parameter in plan.parameters:
        if parameter.required or parameter.place == "path":
            given[parameter.name] = (names if parameter.place == "path" else maker).value(parameter.schema)
        elif random.random() < OFTEN:
            given[parameter.name] = maker.value(parameter.schema)
    body = plan.body
    if body is None:
        return given
    if body.whole:
        if body.required or random.random() < OFTEN:
            given[body.whole] = maker.value(body.schema) if body.schema else b"bytes"
        return given
    made: dict[str, Any] = maker.value(body.schema)
    return given | {name: made[key] for name, key in body.fields.items() if key in made}
