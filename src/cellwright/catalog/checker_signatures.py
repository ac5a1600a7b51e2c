"""The scope's signatures, looked up by where they stand in its stub module or by what a message calls them."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from cellwright.scope import CONVERTED_NAMES, HIDDEN, PlacedFunction, StubModule

_ALIASES = re.compile(r"\b_as_|\b_(?:builtins|typing|abc|[a-z_]+)\.(?=\w)")
_CONTAINERS = re.compile(rf"\b_((?:list|dict|set)\[|(?:str|bytes)\b)|\b__(?=(?:{'|'.join(CONVERTED_NAMES)})\b)")
_METHOD = re.compile(r"Method `(\w+)` of type `[^`]+` cannot")
_CALLED = re.compile(r"(?:bound method|function|constructor|parameter \S+ of|of) `([\w.]+)`")
_MISSING = re.compile(r"(?:Object of type|Class|Attribute `\w+` is not defined on) `(?:type\[)?(\w+)")
_ATTRIBUTE = re.compile(r"has no attribute `(\w+)`")
LONGEST = 500
MEMBERS = 20
NEAR = 0.7  # of 1: a hint that is far off leads astray
STANDARD = {
    **dict.fromkeys(("date", "datetime", "time", "timedelta", "timezone"), "datetime"),
    **dict.fromkeys(("Counter", "OrderedDict", "defaultdict", "deque"), "collections"),
    **dict.fromkeys(("Any", "Literal", "NamedTuple", "Optional", "TypedDict"), "typing"),
    **dict.fromkeys(("dataclass", "field"), "dataclasses"),
    "Decimal": "decimal",
    "Enum": "enum",
    "Path": "pathlib",
    "UUID": "uuid",
    "ZoneInfo": "zoneinfo",
}
_NAME = re.compile(r"Name `(\w+)` used when not defined")


def readable(text: str) -> str:
    """Stub text, or a message about it, as a person would write it."""
    return _CONTAINERS.sub(r"\1", _ALIASES.sub("", _METHOD.sub(r"`\1` cannot", text)))


class Signatures:
    """What a stub module says of functions. `further` knows the members of classes that stand in other modules."""

    def __init__(
        self, module: StubModule | None = None, further: Callable[[str], Mapping[str, str]] | None = None
    ) -> None:
        self._further = further or _nothing
        self._lines: dict[int, str] = {}
        self._named: dict[str, str] = {}
        self._members: dict[str, dict[str, str]] = {}
        self._exported: dict[str, str] = {}
        if module is not None:
            self._read(module)

    def _read(self, module: StubModule) -> None:
        for shape in module.shapes.values():
            members = self._members.setdefault(shape.name, {})
            for base in shape.bases:
                members |= self._members.get(base, {})
            shown = (line for line in shape.lines if line.type != HIDDEN)
            members |= {line.name: readable(replace(line, default="").declared) for line in shown}
        for number, function in module.functions.items():
            owner, name = function.owner, function.line.name
            text = _signature(function)
            self._lines[number] = text
            self._named[f"{owner}.{name}" if owner else name] = text
            if owner:
                self._members[owner][name] = text
            if name == "__init__":
                self._named[owner] = text
        self._named |= {n: readable(line.declared) for n, line in module.names.items() if line.type and not line.text}
        self._exported = {name: self._named.get(name, name) for name in module.bound}

    def at(self, place: tuple[str, int] | None) -> str:
        """Of the function that stands there: on a line of this module, counted from 1."""
        return self._lines.get(place[1], "") if place is not None and place[0].endswith("/scope.pyi") else ""

    def named(self, name: str) -> str:
        """Of a function by its name, with that of its class: `Contacts.get`."""
        owner, _, member = name.partition(".")
        return self._named.get(name) or self._further(owner).get(member, "")

    def meant(self, message: str, own: Iterable[str] = ()) -> str:
        """Of the function that a message names, or of what comes nearest to a name that is not there.

        `own` are names that code made.
        """
        called = _CALLED.search(message)
        if called and self.named(called[1]):
            return self.named(called[1])
        attribute, owner = _ATTRIBUTE.search(message), _MISSING.search(message)
        if attribute and owner:
            members = self._members.get(owner[1]) or self._further(owner[1])
            return next((members[name] for name in _near(attribute[1], members)), _all_of(owner[1], members))
        name = _NAME.search(message)
        if name:
            near = next(_near(name[1], {**dict.fromkeys(own, ""), **self._exported}), "")
            if near and near not in self._exported:
                return near
            return _there(near, self._exported[near]) if near else _elsewhere(name[1], self._exported)
        return ""


def _nothing(owner: str) -> Mapping[str, str]:
    return {}


def _there(name: str, text: str) -> str:
    """How a name in scope is used. An object exists already: code need not build it."""
    return text if "(" in text else f"{name} (it is there already: use it as it is)"


def _elsewhere(name: str, known: dict[str, str]) -> str:
    """How to import a name that is not in scope; for an unknown name the names that are in scope."""
    if name in STANDARD:
        return f"from {STANDARD[name]} import {name}"
    if name in sys.stdlib_module_names:
        return f"import {name}"
    names = [other for other in known if not other.startswith("_")]
    more = ", …" if len(names) > MEMBERS else ""
    return f"one of {', '.join(names[:MEMBERS])}{more}" if names else ""


def _all_of(owner: str, members: Mapping[str, str]) -> str:
    """The members of a class, where none is similar to the name that was written."""
    names = [name for name in members if not name.startswith("_")]
    more = ", …" if len(names) > MEMBERS else ""
    return f"{readable(owner)} has {', '.join(names[:MEMBERS])}{more}" if names else ""


def _near(name: str, known: Mapping[str, str]) -> Iterator[str]:
    lowered = {other.lower(): other for other in known if not other.startswith("_")}
    for close in difflib.get_close_matches(name.lower(), lowered, 1, NEAR):
        yield lowered[close]


def _signature(function: PlacedFunction) -> str:
    """`async fetch(number: int) -> Contact`; of a constructor `Contact(name: str)`."""
    line, signature = function.line, function.signature
    if line.name == "__init__":
        text = function.owner + replace(signature, returns="").text()
    else:
        text = f"{'async ' if signature.is_async else ''}{line.name}{signature.text()}"
    return readable(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")
