"""`Types`: Python types for the schemas of one source, and the classes that they name.

A class is named when the first schema leads to it; its fields are read later, one class after another, so circles and
depth cost nothing. It knows neither OpenAPI's documents nor how anything is called.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Literal

from cellwright.schemas.flat_schema import (
    DEPTH,
    FlatSchema,
    Flattener,
    Placed,
    Resolve,
    guessed_kind,
    is_null,
    kinds_of,
    name_in,
    sole_ref,
)
from cellwright.schemas.json_values import as_list, as_object
from cellwright.schemas.names import ClassNames, class_candidates, class_name, item_name
from cellwright.schemas.object_classes import dict_shape, discriminator, is_field, record_shape, union_reading
from cellwright.schemas.readings import Reading, RecordPlan
from cellwright.schemas.type_text import ANY, Parts, literal, text, union
from cellwright.scope import Shape

MEMBERS = 8  # of a union; one that has more is Any
TEXT = 4000  # characters of a type; a longer one is Any, for texts in texts double at each step
Way = Literal["taken", "given"]
Hint = tuple[str, ...]  # what a class may be called, best first; made a name where one is needed
Spelled = tuple[Parts, Reading]
_ANY: Spelled = ((ANY,), None)
_INPUT = "Input"
_INPUT_WORDS = ("Input", "Body", "Params", "Args", "Arguments", "Payload")  # no result is called so
_OWN_CLASS = frozenset(("properties", "allOf", "oneOf", "anyOf"))
_BASE64 = ("byte", "base64")


class Types:
    """One for a source. Not for several threads at once. `taken` are names that its classes must not have."""

    def __init__(self, resolve: Resolve, *, taken: Iterable[str] = ()) -> None:
        self.missing: dict[str, str] = {}  # each `$ref` that led nowhere, with the reason
        self._resolve = resolve
        self._flattener = Flattener(self._resolved)
        self._names = ClassNames(taken)
        self._refs: dict[tuple[str, str], tuple[str, Any, str]] = {}
        self._by_id: dict[tuple[str, Way], Spelled] = {}
        self._by_node: dict[tuple[int, str, Way], tuple[Any, Spelled]] = {}  # holds the node: its id must stay its own
        self._open: set[tuple[str, Way]] = set()
        self._pending: deque[tuple[str, str, FlatSchema, Way]] = deque()
        self._shapes: dict[str, Shape] = {}
        self._records: dict[str, RecordPlan] = {}

    def taken(self, schema: Any, hint: str, base: str = "") -> str:
        """The type of an argument. `hint` names its class where the schema has no name."""
        return text(self._spell(schema, (hint,), base, "taken", 0)[0])

    def given(self, schema: Any, hint: str, base: str = "") -> tuple[str, Reading]:
        """The type of a result, and how its JSON is read."""
        parts, reading = self._spell(schema, (hint,), base, "given", 0)
        return text(parts), reading

    def shapes(self) -> dict[str, Shape]:
        """Every class that a type text has named so far, and the classes that those refer to."""
        self._drain()
        return self._shapes

    def records(self) -> dict[str, RecordPlan]:
        self._drain()
        return self._records

    # from a schema to its text

    def _spell(self, schema: Any, hint: Hint, base: str, way: Way, depth: int) -> Spelled:
        node = as_object(schema)
        if not node or depth > DEPTH:
            return _ANY
        ref = sole_ref(node)
        if ref is not None:
            parts, reading = self._referred(ref, hint, base, way, depth)
            return (union([parts, ("None",)]), reading) if kinds_of(node)[1] else (parts, reading)
        key = (id(node), base, way)
        known = self._by_node.get(key)
        if known is None:
            found = self._flat(self._flattener.flat(node, base), hint, way, depth)
            known = self._by_node[key] = (node, found if sum(map(len, found[0])) <= TEXT else _ANY)
        return known[1]

    def _referred(self, ref: str, hint: Hint, base: str, way: Way, depth: int) -> Spelled:
        try:
            identity, node, there = self._resolved(ref, base)
        except LookupError:
            return _ANY
        key = (identity, way)
        known = self._by_id.get(key)
        if known is not None:
            return known
        if key in self._open:  # it contains itself, with no class in between
            return _ANY
        self._open.add(key)
        name = name_in(identity)
        found = self._spell(node, class_candidates(name) if name else hint, there, way, depth + 1)
        self._open.discard(key)
        self._by_id[key] = found
        return found

    def _resolved(self, ref: str, base: str) -> tuple[str, Any, str]:
        key = (ref, base)
        known = self._refs.get(key)
        if known is None:
            try:
                known = self._refs[key] = self._resolve(ref, base)
            except LookupError as error:
                self.missing.setdefault(ref, str(error.args[0] if error.args else error))
                raise
        return known

    def _flat(self, flat: FlatSchema, hint: Hint, way: Way, depth: int) -> Spelled:
        kinds, nullable = kinds_of(flat.words)
        none: Parts = ("None",) if nullable else ()
        values = [flat.words["const"]] if "const" in flat.words else as_list(flat.words.get("enum"))
        if values:
            return union([literal(values, kinds), none]), None
        if flat.choices and not flat.properties:
            parts, reading = self._choice(flat, hint, way, depth)
            if parts != (ANY,):
                return union([parts, none]), reading
            if len(flat.choices[0]) > 1 and not kinds:
                return _ANY
        if flat.words.get("type") in ("null", ["null"]):
            return ("None",), None
        found = [self._kind(kind, flat, hint, way, depth) for kind in kinds or [guessed_kind(flat)]]
        return union([*(parts for parts, _ in found), none]), union_reading([how for _, how in found], None)

    def _kind(self, kind: str, flat: FlatSchema, hint: Hint, way: Way, depth: int) -> Spelled:
        match kind:
            case "string":
                return self._string(flat.words, way), None
            case "integer":
                return ("int",), None
            case "number":
                return ("float",), None
            case "boolean":
                return ("bool",), None
            case "file":
                return ("bytes",), None
            case "array":
                return self._array(flat, hint, way, depth)
            case "object":
                return self._object(flat, hint, way, depth)
            case _:
                return _ANY

    def _string(self, words: dict[str, Any], way: Way) -> Parts:
        form, encoding = words.get("format"), words.get("contentEncoding")
        if form in _BASE64 or encoding in _BASE64:
            return ("str", "bytes") if way == "taken" else ("str",)
        media = words.get("contentMediaType")
        return ("bytes",) if form == "binary" or (media == "application/octet-stream" and not encoding) else ("str",)

    def _array(self, flat: FlatSchema, hint: Hint, way: Way, depth: int) -> Spelled:
        placed = [*flat.prefix, *([flat.items] if flat.items else [])]
        if not placed or len(placed) > MEMBERS:
            return ("list[Any]",), None
        one = (item_name(hint[0]),)
        found = [self._spell(schema, one, base, way, depth + 1) for schema, base in placed]
        reading = union_reading([how for _, how in found], None)
        return (f"list[{text(union([parts for parts, _ in found]))}]",), reading and ["list", reading]

    def _object(self, flat: FlatSchema, hint: Hint, way: Way, depth: int) -> Spelled:
        if flat.properties:
            return self._class(flat, hint, way)
        placed = [*flat.patterns, *([flat.additional] if flat.additional and flat.additional[0] else [])]
        one = (item_name(hint[0]),)
        found = [self._spell(schema, one, base, way, depth + 1) for schema, base in placed[:MEMBERS]]
        parts = union([parts for parts, _ in found]) if found else (ANY,)
        reading = union_reading([how for _, how in found], None)
        return (f"dict[str, {text(parts)}]",), reading and ["map", reading]

    def _class(self, flat: FlatSchema, hint: Hint, way: Way) -> Spelled:
        wanted = tuple(map(class_name, hint))
        suffix = _INPUT if way == "taken" and not wanted[0].endswith(_INPUT_WORDS) else ""
        name = self._names.free(wanted, suffix)
        self._pending.append((name, name.removesuffix(suffix), flat, way))
        if way == "given":
            return (name,), ["record", name]
        loose = flat.additional is not None and flat.additional[0] is not False
        loose = loose or any(not is_field(key) for key in flat.properties)
        if not any(map(is_field, flat.properties)):
            return ("dict[str, Any]",), None
        return ((name, "dict[str, Any]") if loose else (name,)), None

    def _choice(self, flat: FlatSchema, hint: Hint, way: Way, depth: int) -> Spelled:
        """One of several schemas: the group with the most members that say anything."""
        group = max(flat.choices, key=lambda members: sum(bool(as_object(schema)) for schema, _ in members))
        telling = [placed for placed in group if as_object(placed[0]).keys() - {"required", "not", "description"}]
        if not telling:
            return _ANY
        if len(telling) > 1 and any(is_null(schema) for schema, _ in telling):
            parts, reading = self._members([p for p in telling if not is_null(p[0])], flat, hint, way, depth)
            return union([parts, ("None",)]), reading
        return self._members(telling, flat, hint, way, depth)

    def _members(self, telling: list[Placed], flat: FlatSchema, hint: Hint, way: Way, depth: int) -> Spelled:
        hints = [self._member(schema, hint, number, telling) for number, (schema, _) in enumerate(telling)]
        found = [self._spell(s, one, base, way, depth + 1) for one, (s, base) in zip(hints, telling, strict=True)]
        parts = union([parts for parts, _ in found])
        if len(parts) > MEMBERS + 1:
            return _ANY
        readings = [how for _, how in found]
        by = discriminator(flat, telling, self._resolved, self._flattener) if way == "given" else None
        return parts, union_reading(readings, by)

    def _member(self, schema: Any, hint: Hint, number: int, group: list[Placed]) -> Hint:
        """A name for a member that has none: the union's own if no other member needs it."""
        if sum(bool(as_object(member).keys() & _OWN_CLASS) for member, _ in group) < 2:
            return hint
        title = as_object(schema).get("title")
        if isinstance(title, str) and 0 < len(title) <= 40:
            return (f"{hint[0]} {title}",)
        return (f"{hint[0]} variant {number + 1}",)

    # the classes that texts named

    def _drain(self) -> None:
        while self._pending:
            name, stem, flat, way = self._pending.popleft()

            def spell(key: str, placed: Placed, stem: str = stem, way: Way = way) -> Spelled:
                return self._spell(placed[0], (f"{stem} {key}",), placed[1], way, 0)

            if way == "taken":
                self._shapes[name] = dict_shape(name, flat, spell)
            else:
                self._shapes[name], self._records[name] = record_shape(name, flat, spell)
