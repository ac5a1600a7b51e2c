"""The scope's signatures, looked up by where they stand in its stub module or by what a message calls them."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Callable, Iterator, Mapping

from cellwright.scope import parse

_ALIASES = re.compile(r"\b_as_|\b_(?:builtins|typing|abc|[a-z_]+)\.(?=\w)")
_CONTAINERS = re.compile(r"\b_(list|dict|set)\[")
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
    return _CONTAINERS.sub(r"\1[", _ALIASES.sub("", _METHOD.sub(r"`\1` cannot", text)))


class Signatures:
    """What a stub module says of functions. `further` knows the members of classes that stand in other modules."""

    def __init__(self, stub: str, further: Callable[[str], Mapping[str, str]] | None = None) -> None:
        self._further = further or _nothing
        self._lines: dict[int, str] = {}
        self._named: dict[str, str] = {}
        self._members: dict[str, dict[str, str]] = {}
        self._exported: dict[str, str] = {}
        tree = parse(stub)
        exported: set[str] = set()
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
                exported = {str(e.value) for e in node.value.elts if isinstance(e, ast.Constant)}
            elif isinstance(node, ast.ClassDef):
                self._read_class(node)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._keep(node, node.name, node.name)
            elif isinstance(node, ast.AnnAssign):
                self._named[ast.unparse(node.target)] = readable(ast.unparse(node))
        self._exported = {name: self._named.get(name, name) for name in exported}

    def _read_class(self, node: ast.ClassDef) -> None:
        members = self._members.setdefault(node.name, {})
        for base in node.bases:
            members |= self._members.get(ast.unparse(base), {})
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                title = node.name if inner.name == "__init__" else inner.name
                members[inner.name] = self._keep(inner, f"{node.name}.{inner.name}", title)
                if inner.name == "__init__":
                    self._named[node.name] = members[inner.name]
            elif isinstance(inner, ast.AnnAssign | ast.Assign):
                target = inner.target if isinstance(inner, ast.AnnAssign) else inner.targets[0]
                members[ast.unparse(target)] = readable(ast.unparse(inner)).removesuffix(" = ...")

    def _keep(self, node: ast.FunctionDef | ast.AsyncFunctionDef, key: str, title: str) -> str:
        text = readable(_signature(node, title))
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            self._lines[line] = text
        self._named[key] = text
        return text

    def at(self, place: tuple[str, int] | None) -> str:
        """Of the function that stands there: on a line of this module, counted from 1."""
        return self._lines.get(place[1], "") if place is not None and place[0].endswith("/scope.pyi") else ""

    def named(self, name: str) -> str:
        """Of a function by its name, with that of its class: `Contacts.get`."""
        owner, _, member = name.partition(".")
        return self._named.get(name) or self._further(owner).get(member, "")

    def meant(self, message: str) -> str:
        """Of the function that a message names, or of what comes nearest to a name that is not there."""
        called = _CALLED.search(message)
        if called and self.named(called[1]):
            return self.named(called[1])
        attribute, owner = _ATTRIBUTE.search(message), _MISSING.search(message)
        if attribute and owner:
            members = self._members.get(owner[1]) or self._further(owner[1])
            return next((members[name] for name in _near(attribute[1], members)), _all_of(owner[1], members))
        name = _NAME.search(message)
        if name:
            near = next(_near(name[1], self._exported), "")
            return _there(near, self._exported[near]) if near else _elsewhere(name[1], self._exported)
        return ""


def _nothing(owner: str) -> Mapping[str, str]:
    return {}


def _there(name: str, text: str) -> str:
    """How a name in scope is to be used. An object is there already: nobody has to build it."""
    return text if "(" in text else f"{name} (it is there already: use it as it is)"


def _elsewhere(name: str, known: dict[str, str]) -> str:
    """Where a name that is not in scope comes from; or what there is."""
    if name in STANDARD:
        return f"from {STANDARD[name]} import {name}"
    if name in sys.stdlib_module_names:
        return f"import {name}"
    names = [other for other in known if not other.startswith("_")]
    more = ", …" if len(names) > MEMBERS else ""
    return f"one of {', '.join(names[:MEMBERS])}{more}" if names else ""


def _all_of(owner: str, members: Mapping[str, str]) -> str:
    """What there is, where nothing comes near to what was written."""
    names = [name for name in members if not name.startswith("_")]
    more = ", …" if len(names) > MEMBERS else ""
    return f"{readable(owner)} has {', '.join(names[:MEMBERS])}{more}" if names else ""


def _near(name: str, known: Mapping[str, str]) -> Iterator[str]:
    lowered = {other.lower(): other for other in known if not other.startswith("_")}
    for close in difflib.get_close_matches(name.lower(), lowered, 1, NEAR):
        yield lowered[close]


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, title: str) -> str:
    args = node.args
    first = args.posonlyargs or args.args
    if first and first[0].arg in ("self", "cls") and first[0].annotation is None:
        del first[0]
    gives = "" if node.returns is None or node.name == "__init__" else f" -> {ast.unparse(node.returns)}"
    head = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    text = f"{head}{title}({', '.join(_parameters(args))}){gives}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _parameters(args: ast.arguments) -> Iterator[str]:
    placed = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [None] * (len(placed) - len(args.defaults)) + list(args.defaults)
    for number, (arg, default) in enumerate(zip(placed, defaults, strict=True), start=1):
        yield _parameter(arg, default)
        if number == len(args.posonlyargs):
            yield "/"
    if args.vararg:
        yield f"*{_parameter(args.vararg, None)}"
    elif args.kwonlyargs:
        yield "*"
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield _parameter(arg, default)
    if args.kwarg:
        yield f"**{_parameter(args.kwarg, None)}"


def _parameter(arg: ast.arg, default: ast.expr | None) -> str:
    text = arg.arg if arg.annotation is None else f"{arg.arg}: {ast.unparse(arg.annotation)}"
    return text if default is None else f"{text} = {ast.unparse(default)}"
