"""Which of ty's diagnostics are reported: those about code that fails when it runs, whatever the values are.

A type that *may* not fit (`Contact | None`) is no mistake in a cell: the agent knows its data. `DEFAULT` has the names
of the rules of ty that count; `certain` decides about one diagnostic of these rules.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

DEFAULT = frozenset(
    "missing-attribute unresolved-reference missing-argument unknown-argument too-many-positional-arguments "
    "positional-only-parameter-as-kwarg parameter-already-assigned invalid-argument-type no-matching-overload "
    "call-non-callable not-iterable not-subscriptable unsupported-operator unused-awaitable invalid-await "
    "invalid-context-manager invalid-assignment import-not-found index-out-of-bounds invalid-raise "
    "invalid-exception-caught redundant-condition invalid-syntax".split()
)
_QUOTED = re.compile(r"`([^`]+)`")
_FOUND = re.compile(r"Expected `([^`]+)`, found `([^`]+)`")
_LITERAL = re.compile(r"Literal\[([^\]]*)\]")
_ITEMS = re.compile(r"(?:list|set|dict|tuple|frozenset)\[(.*)\]")
_KEY = re.compile(r"key of type `([^`]+)` on object of type `([^`]+)`")
_BY_KEY = frozenset(("dict", "defaultdict", "Counter", "OrderedDict", "Mapping"))
_CONTAINERS = frozenset(("list", "dict", "set", "frozenset", "tuple", "defaultdict", "Counter", "deque"))
_ATOMS = frozenset(("Literal", "int", "str", "float", "bytes", "bool", "list", "dict", "set", "tuple"))
_AWAITABLE = re.compile(r"\b(?:CoroutineType|Coroutine|Awaitable|Future|Task)\[")
# declared types of objects whose real type is more special
_WIDE = frozenset(
    "object type Iterator Iterable Generator AsyncIterator AsyncIterable AsyncGenerator Sequence Mapping Collection "
    "Awaitable IO TextIO BinaryIO tzinfo".split()
)
_OF_CACHES = frozenset(("cache_info", "cache_clear", "cache_parameters"))
_FILLING = re.compile(r"bound method `(?:list|dict|set|deque|defaultdict|Counter)\.")
_CAUGHT = {
    "import-not-found": frozenset(("ImportError", "ModuleNotFoundError", "Exception")),
    "missing-attribute": frozenset(("AttributeError",)),
    "unresolved-reference": frozenset(("NameError",)),
    **dict.fromkeys(
        "missing-argument unknown-argument too-many-positional-arguments invalid-argument-type call-non-callable "
        "not-iterable not-subscriptable unsupported-operator".split(),
        frozenset(("TypeError",)),
    ),
}
_FAILS = ("read-only", "values to unpack", "Cannot assign to a subscript")
_IN_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ASYNC = (ast.Await, ast.AsyncFor, ast.AsyncWith)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnostic:
    """A diagnostic of ty, in the lines and characters of the cell. `related` is (file, line from 1, text)."""

    rule: str
    message: str
    line: int
    column: int
    end_line: int
    end_column: int
    related: tuple[tuple[str, int, str], ...] = ()

    @property
    def of_host(self) -> tuple[str, int] | None:
        """The file and the line of the scope's stubs that it is about; None if it is about something else."""
        stubs = ((file, line) for file, line, _ in self.related if file.endswith("/scope.pyi") or "/up_" in file)
        return next(stubs, None)


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedCell:
    """The code that is checked, and what it and the earlier cells make uncertain."""

    tree: ast.Module
    by_text: bool  # it, or an earlier cell, makes names by text
    stored: frozenset[str]  # attributes that it or an earlier cell assigns
    shared: frozenset[str]  # names that a function assigns by `global` or `nonlocal`: their type at a line is a guess
    site: Sequence[Path] | None
    own_paths: bool = False  # it, or an earlier cell, touches `sys.path`


def certain(found: Diagnostic, cell: CheckedCell) -> bool:
    """Whether the code fails for sure."""
    if found.rule not in DEFAULT or "may not be" in found.message or _is_shared(found, cell):
        return False
    if _is_expected(found, cell.tree):
        return False
    quoted = _QUOTED.findall(found.message)
    match found.rule:
        case "invalid-syntax":
            return not _is_for_notebooks(found, cell.tree)
        case "unresolved-reference":
            return not cell.by_text and not cell.shared & set(quoted)
        case "missing-attribute":
            return _wrong_attribute(found, quoted, cell)
        case "invalid-argument-type":
            return _wrong_argument(found)
        case "no-matching-overload":
            return bool(found.of_host)
        case "unsupported-operator":
            return _wrong_operands(found)
        case "invalid-assignment":
            return any(words in found.message for words in _FAILS) and not any(len(split(t)) > 1 for t in quoted)
        case "redundant-condition":
            return "`CoroutineType[" in found.message
        case "import-not-found":
            return _wrong_import(quoted[-2:], None if cell.own_paths else cell.site)
        case "invalid-await":
            return not any(map(_AWAITABLE.search, quoted))
        case _:
            return True


def split(text: str, by: str = " | ") -> list[str]:
    """The parts of a type on its outermost level."""
    parts, depth, begin = list[str](), 0, 0
    for i, char in enumerate(text):
        depth += (char in "[(") - (char in "])")
        if depth == 0 and text.startswith(by, i):
            parts.append(text[begin:i])
            begin = i + len(by)
    return [*parts, text[begin:]]


def _head(text: str) -> str:
    return text.strip("() ").partition("[")[0].lstrip("_")


def _wrong_attribute(found: Diagnostic, quoted: list[str], cell: CheckedCell) -> bool:
    """Whether the attribute is missing for sure: no cell assigns it, and no class that the object may have does."""
    if found.message.startswith("Unresolved attribute") or len(quoted) < 2 or quoted[-1] in cell.stored | _OF_CACHES:
        return False
    heads = {_head(part) for part in split(quoted[0])}
    return not any(head in _WIDE or _is_error(head) for head in heads)


def _is_error(name: str) -> bool:
    kind: object = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)


def _wrong_argument(found: Diagnostic) -> bool:
    types, key = _FOUND.search(found.message), _KEY.search(found.message)
    if key is not None:  # the keys of a dict that the cell fills are a guess
        return len(split(key[1])) == len(split(key[2])) == 1 and _head(key[2]) not in _BY_KEY
    if types is None or _FILLING.search(found.message):
        return False
    expected, given = types[1], types[2]
    is_function = given.startswith(("(", "def ", "bound method", "Overload", "["))
    if len(split(given)) > 1 or (is_function and " | " in given):
        return False
    heads = {_head(part) for member in split(expected) for part in split(member, " & ")}
    if " | " in given and _head(given) in heads:
        return False
    if found.of_host:
        return not _may_be_listed(expected, given)
    if any("/c_" in file for file, _, _ in found.related):  # a function of a cell: its annotations are only notes
        return False
    return "CoroutineType[" in given or (_head(given) in _ATOMS and not expected.startswith("("))


def _may_be_listed(expected: str, given: str) -> bool:
    """Whether a text or a number that the code computes, or items of a container, may be the expected literals."""
    inner = _ITEMS.fullmatch(given)
    if inner is not None:
        return any(_may_be_listed(expected, kind) for part in split(inner[1], ", ") for kind in split(part))
    literals = _LITERAL.findall(expected)
    if given == "str":
        return any("'" in literal or '"' in literal for literal in literals)
    return given in ("int", "bool") and any(re.search(r"\d|True|False", literal) for literal in literals)


def _wrong_operands(found: Diagnostic) -> bool:
    types = [t for _, _, text in found.related for t in _QUOTED.findall(text)] or _QUOTED.findall(found.message)[1:2]
    if any(len(split(t)) > 1 for t in types):
        return False
    heads = {_head(t) for t in types}
    return not (len(heads) == 1 and heads <= _CONTAINERS)


def _wrong_import(names: list[str], site: Sequence[Path] | None) -> bool:
    """Whether the import fails for sure: it is of the standard library, or of none of the guest's known packages."""
    top = names[0].partition(".")[0] if names else ""
    if top in sys.stdlib_module_names:
        return True
    if site is None or not top:
        return False
    return not any(path.name.partition(".")[0] == top for folder in site for path in folder.glob(f"{top}*"))


def nodes_at(tree: ast.Module, line: int, column: int, end_line: int, end_column: int) -> Iterator[ast.AST]:
    """The nodes inside a range of characters; lines from 1."""
    for node in ast.walk(tree):
        at = getattr(node, "lineno", None)
        if at is not None and (line, column) <= (at, _column(node)) and _end(node) <= (end_line, end_column):
            yield node


def _column(node: ast.AST) -> int:
    return int(getattr(node, "col_offset", 0))


def _end(node: ast.AST) -> tuple[int, int]:
    return int(getattr(node, "end_lineno", 0) or 0), int(getattr(node, "end_col_offset", 0) or 0)


def _is_shared(found: Diagnostic, cell: CheckedCell) -> bool:
    if not cell.shared or found.rule in ("unresolved-reference", "invalid-syntax"):
        return False
    inside = nodes_at(cell.tree, found.line, found.column, found.end_line, found.end_column)
    return any(isinstance(node, ast.Name) and node.id in cell.shared for node in inside)


def _is_expected(found: Diagnostic, tree: ast.Module) -> bool:
    """Whether the code around it catches exactly this error."""
    names = _CAUGHT.get(found.rule, frozenset())
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and node.body[0].lineno <= found.line <= _end(node.body[-1])[0]:
            caught = (handler.type for handler in node.handlers)
            parts = (n.id if isinstance(n, ast.Name) else "" for kind in caught if kind for n in ast.walk(kind))
            if names & set(parts):
                return True
    return False


def _is_for_notebooks(found: Diagnostic, tree: ast.Module) -> bool:
    """Whether only a module may not have this, and a cell may: `await` outside of functions, a late `__future__`."""
    inside = list(nodes_at(tree, found.line, found.column, found.end_line, found.end_column))
    if any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in inside):
        return True
    functions = [n for n in ast.walk(tree) if isinstance(n, _IN_FUNCTIONS)]
    at = (found.line, found.column)
    if any((f.lineno, f.col_offset) <= at < _end(f) for f in functions):
        return False
    if any(isinstance(node, _ASYNC) for outer in inside for node in ast.walk(outer)):
        return True
    around = (n for n in ast.walk(tree) if isinstance(n, _COMPREHENSIONS) and (n.lineno, n.col_offset) <= at < _end(n))
    return any(part.is_async for node in around for part in node.generators)
