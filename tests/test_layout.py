"""Holds the layout of docs/design.md: who imports whom, how large things are, and what they are called.

Each rule is a function from a source tree to the places that break it. It is run on `src`, where it must find nothing,
and on small trees that break it, where it must.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parent.parent / "src"

# A package imports only from those before it, and from `cellwright_guest`.
ORDER = (
    "errors short_texts model_texts key_formats redaction request_headers atomic messages events settings doors scope "
    "sandboxes store journal ladder guard schemas connectors openapi mcp catalog models sessions memory skills runtime "
    "agent plans evals telemetry durable gateway server cli testing"
).split()

# Where `except Exception` may stand, and why: "path:function" -> reason. Each is a place where somebody else's code
# runs, and where what it raises has one who must hear of it.
OUTER_EDGES: dict[str, str] = {
    # the developer's modules
    "cellwright/cli/arguments.py:object_named": "importing the developer's module may raise anything",
    "cellwright_guest/zygote.py:_preload": "what a package raises while it is imported is a warning to the operator",
    "cellwright/sandboxes/guest_calls.py:GuestCalls._serve": "a door that raises ends its session; the loop is told",
    "cellwright/events.py:tell": "a listener's error must not stop the turn or the cell; the loop is told",
    # host objects
    "cellwright/scope/host.py:ScopeHost._serve": "whatever a host object raises is the guest's answer",
    "cellwright/scope/executor.py:CallExecutor._on.answer": "the same edge on the worker's side",
    "cellwright/scope/worker.py:_Job.do": "whatever the work raises, on its thread, is raised to the one who awaits it",
    "cellwright/scope/call_contents.py:CallContents.of": "what cannot be read cannot be shown; nobody is asked",
    "cellwright/scope/faults.py:_text": "an exception whose __str__ fails still crosses, with that as its text",
    "cellwright/scope/value_text.py:_own": "an object whose __repr__ fails is named; that ends no turn",
    "cellwright/agent/finish.py:Finish._checked": "a validator may raise anything; the answer is refused",
    "cellwright/scope/frames.py:pack": "pyarrow and polars raise kinds of their own, and are not imported to name them",
    "cellwright/sandboxes/interpreter.py:ProcessInterpreter._value": "a record's class checks the guest's fields as it "
    "likes; what it refuses is told and not built",
    "cellwright/journal/effects.py:Undoer._one": "what an undo of the developer's raises is what the report tells",
    "cellwright/guard/hooks.py:run_before": "a hook of the developer that fails is no leave; the loop is told",
    "cellwright/guard/hooks.py:run_after": "the same, after the call",
    "cellwright/guard/approver.py:decision_by": "an approver that fails gives no yes; the loop is told",
    "cellwright/models/foreign_errors.py:ModelErrorsOnly.request": "a developer's model may raise anything",
    "cellwright/models/provider.py:ProviderModel._attempt": "packages raise anything over a reply not of its form",
    # guest code, caught in the guest
    "cellwright_guest/interpreter.py:GuestInterpreter._run": "whatever a cell raises, SystemExit too, is its outcome",
    "cellwright_guest/interpreter.py:_repr": "a value's __repr__ is guest code; where it fails, that is its text",
    "cellwright_guest/interpreter.py:_flush": "the cell may have put any object in the place of sys.stdout",
    "cellwright_guest/cells.py:error_report": "an exception whose own formatting raises is still the cell's error",
    "cellwright_guest/cells.py:_text_of": "an exception's __str__ is guest code, and may be hostile",
    "cellwright_guest/checkpoints.py:_tried": "values are pickled and read by their own code; what it raises is told",
    "cellwright_guest/faults.py:pack": "an exception's __str__ is guest code, and may be hostile",
    "cellwright_guest/world.py:World.serve": "whatever a guest function raises is the answer to the host code",
    "cellwright_guest/world.py:World._reply": "a result that cannot be packed is the guest function's failure",
}

# What guest code may import beside the standard library, inside a function and where the guest has it: name -> reason.
GUEST_OPTIONAL: dict[str, str] = {
    **dict.fromkeys(("numpy", "polars", "pyarrow"), "a frame or an array of theirs crosses as bytes"),
    "pandas": "its options are part of a session's state",
}

MODULE_LINES = 399
FUNCTION_LINES = 60
DRAWERS = {"util", "utils", "common", "helper", "helpers", "core"}
CLASS_NAME = re.compile(r"_*(Base([A-Z]\w*)?|\w*(Manager|Helper|Handler|Service|Impl))$")
BROAD = {"Exception", "BaseException"}


@dataclass(frozen=True)
class Module:
    """One source file: `name` is its dotted name, without `__init__`."""

    path: Path
    root: Path

    @cached_property
    def relative(self) -> Path:
        return self.path.relative_to(self.root)

    @cached_property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @cached_property
    def name(self) -> str:
        parts = self.relative.with_suffix("").parts
        return ".".join(parts[:-1] if self.is_package else parts)

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, str(self.path))

    @cached_property
    def place(self) -> str:
        """The name in the list that this file belongs to; "" for the package's own `__init__` and `__main__`."""
        parts = self.name.split(".")
        return "" if len(parts) == 1 or parts[1] == "__main__" else parts[1]

    @property
    def in_guest(self) -> bool:
        return self.relative.parts[0] == "cellwright_guest"

    def at(self, node: ast.AST) -> str:
        return f"{self.relative.as_posix()}:{getattr(node, 'lineno', 1)}"


@cache  # a tree is read once, whatever the number of rules
def modules(root: Path) -> list[Module]:
    return [Module(path, root) for path in sorted(root.rglob("*.py"))]


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function with its dotted name, methods and nested ones too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
        inner = (
            prefix + node.name + "."
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            else prefix
        )
        yield from functions(node, inner)


def enclosing(module: Module, node: ast.AST) -> str:
    """The innermost function that holds this node, or "<module>"."""
    found = "<module>"
    for name, function in functions(module.tree):
        if any(child is node for child in ast.walk(function)):
            found = name
    return found


def called(node: ast.AST) -> str:
    """`f` of `f(…)` and of `x.f(…)`; "" for anything else."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    return ""


def last_name(node: ast.AST | None) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def imports(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """Every module that this one names in an import, wherever it stands: in a function, under TYPE_CHECKING, by string.

    `from a import b` gives `a.b` where that can only be a module: `a` is the root package, or `b` is one of its files.
    """
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = absolute(module, node)
            for alias in node.names:
                whole = f"{source}.{alias.name}"
                yield node, whole if source == "cellwright" or is_module(module.root, whole) else source
        elif called(node) in ("import_module", "__import__"):
            arguments = node.args if isinstance(node, ast.Call) else []
            if arguments and isinstance(arguments[0], ast.Constant) and isinstance(arguments[0].value, str):
                yield node, arguments[0].value


def absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    up = node.level - 1 if module.is_package else node.level
    return ".".join(parts[: len(parts) - up] + ([node.module] if node.module else []))


def is_module(root: Path, name: str) -> bool:
    path = root.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


# --- the rules ---


def import_order(root: Path) -> Iterator[str]:
    """A package imports only from those above it."""
    for module in modules(root):
        if module.in_guest:
            continue
        if module.place and module.place not in ORDER:
            yield f"{module.relative.as_posix()}: `{module.place}` is not in the layout"
            continue
        for node, name in imports(module):
            top, _, rest = name.partition(".")
            target = rest.partition(".")[0]
            if top != "cellwright" or target == module.place:
                continue
            if target not in ORDER:
                yield f"{module.at(node)}: imports `{name}` through the public face; name the package that has it"
            elif target == "testing":
                yield f"{module.at(node)}: imports `testing`, which is for tests"
            elif module.place and ORDER.index(target) > ORDER.index(module.place):
                yield f"{module.at(node)}: `{module.place}` stands above `{target}` and may not import it"


def front_doors(root: Path) -> Iterator[str]:
    """From outside, a package is imported through its `__init__`."""
    for module in modules(root):
        if module.in_guest:
            continue
        for node, name in imports(module):
            parts = name.split(".")
            if parts[0] == "cellwright" and len(parts) > 2 and parts[1] != module.place:
                yield f"{module.at(node)}: imports `{name}`; import from `cellwright.{parts[1]}`"


def guest_alone(root: Path) -> Iterator[str]:
    """`cellwright_guest` imports itself and the standard library; a few others, inside a function."""
    allowed = sys.stdlib_module_names | {"cellwright_guest"}
    for module in modules(root):
        if not module.in_guest:
            continue
        for node, name in imports(module):
            top = name.partition(".")[0]
            if top not in allowed and not (top in GUEST_OPTIONAL and enclosing(module, node) != "<module>"):
                yield f"{module.at(node)}: the guest imports `{name}`"


def sizes(root: Path) -> Iterator[str]:
    """A module has fewer than 400 lines, a function at most 60."""
    for module in modules(root):
        length = len(module.text.splitlines())
        if length > MODULE_LINES:
            yield f"{module.relative.as_posix()}: {length} lines; split it by noun"
        for name, function in functions(module.tree):
            length = (function.end_lineno or function.lineno) - function.lineno + 1
            if length > FUNCTION_LINES:
                yield f"{module.at(function)}: `{name}` has {length} lines, at most {FUNCTION_LINES}"


def names(root: Path) -> Iterator[str]:
    """No drawers for leftovers, no names that say nothing."""
    for module in modules(root):
        for part in module.name.split("."):
            if DRAWERS & set(part.split("_")):
                yield f"{module.relative.as_posix()}: `{part}` is a drawer; name what is in it"
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and CLASS_NAME.match(node.name):
                yield f"{module.at(node)}: class `{node.name}`; name what it is"


def one_class_a_name(root: Path) -> Iterator[str]:
    """A public class name is defined once. The guest may have its own twin of a host class."""
    places: dict[str, list[tuple[bool, str]]] = {}
    for module in modules(root):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append((module.in_guest, module.at(node)))
    yield from (f"{again}: class `{name}` is also at {first}" for name, first, again in repeated(places))


def one_module_a_name(root: Path) -> Iterator[str]:
    """A module name is used once. Commands are named for what they act on, and the guest may have a twin."""
    places: dict[str, list[tuple[bool, str]]] = {}
    for module in modules(root):
        if not module.is_package and module.place != "cli" and module.path.stem != "__main__":
            places.setdefault(module.path.stem, []).append((module.in_guest, module.relative.as_posix()))
    yield from (f"{again}: a module `{name}` is also at {first}" for name, first, again in repeated(places))


def repeated(places: dict[str, list[tuple[bool, str]]]) -> Iterator[tuple[str, str, str]]:
    """Name, first place and later place of what one side, host or guest, has more than once."""
    for name, found in places.items():
        for side in (False, True):
            here = [place for in_guest, place in found if in_guest is side]
            yield from ((name, here[0], again) for again in here[1:])


def depth(root: Path) -> Iterator[str]:
    """Two levels: package, then module. Every directory with code is a package."""
    for module in modules(root):
        if len(module.relative.parts) > 3:
            yield f"{module.relative.as_posix()}: deeper than two levels"
        if not (module.path.parent / "__init__.py").is_file():
            yield f"{module.relative.as_posix()}: no `__init__.py` beside it"


def docstrings(root: Path) -> Iterator[str]:
    """A module opens with what it is."""
    for module in modules(root):
        if not ast.get_docstring(module.tree):
            yield f"{module.relative.as_posix()}: no docstring"


def broad_catches(root: Path) -> Iterator[str]:
    """`except Exception` only at the outer edges. A handler that ends in a bare `raise` lets everything through."""
    unused = dict(OUTER_EDGES)
    for module in modules(root):
        for node in ast.walk(module.tree):
            if not catches_all(node):
                continue
            edge = f"{module.relative.as_posix()}:{enclosing(module, node)}"
            unused.pop(edge, None)
            if edge not in OUTER_EDGES:
                yield f'{module.at(node)}: catches everything; "{edge}" is not an outer edge'
    if root == SRC:
        yield from (f"OUTER_EDGES names {edge}, which catches nothing broad" for edge in unused)


def catches_all(node: ast.AST) -> bool:
    if isinstance(node, ast.ExceptHandler):
        last = node.body[-1]
        if isinstance(last, ast.Raise) and last.exc is None:
            return False
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        return any(kind is None or last_name(kind) in BROAD for kind in kinds)
    return isinstance(node, ast.Call) and called(node) == "suppress" and any(last_name(a) in BROAD for a in node.args)


def environment(root: Path) -> Iterator[str]:
    """Only `settings` reads the environment."""
    for module in modules(root):
        if module.in_guest or module.place == "settings":
            continue
        for node in ast.walk(module.tree):
            if reads_environment(node):
                yield f"{module.at(node)}: reads the environment; `settings` does that"


def reads_environment(node: ast.AST) -> bool:
    names = {"environ", "environb", "getenv", "getenvb"}
    if isinstance(node, ast.ImportFrom):
        return node.module == "os" and bool(names & {alias.name for alias in node.names})
    return isinstance(node, ast.Attribute) and node.attr in names and last_name(node.value) == "os"


Rule = Callable[[Path], Iterator[str]]
RULES: list[Rule] = [
    import_order, front_doors, guest_alone, sizes, names, one_class_a_name, one_module_a_name, depth, docstrings,
    broad_catches, environment,
]  # fmt: skip


@pytest.mark.parametrize(
    "rule", [r for r in RULES if not r.__name__.startswith("one_")], ids=lambda rule: rule.__name__
)
def test_the_source_keeps_the_rule(rule: Rule) -> None:
    found = list(rule(SRC))
    assert not found, "\n".join([rule.__doc__ or "", *found])


def test_the_source_is_where_this_test_looks() -> None:
    assert {"cellwright.errors", "cellwright_guest"} <= {module.name for module in modules(SRC)}


# --- the rules can fail ---


def lines(count: int, indent: str = "") -> str:
    return f"\n{indent}".join(["x = 1"] * count)


SOUND = {
    "cellwright/__init__.py": "if TYPE_CHECKING:\n    from cellwright.scope import Scope",
    "cellwright/__main__.py": "from cellwright.cli import main",
    "cellwright/errors.py": lines(MODULE_LINES - 1),
    "cellwright/events.py": "def f():\n    " + lines(FUNCTION_LINES - 1, "    "),
    "cellwright/settings.py": "import os\ndef read(): return os.environ['X']",
    "cellwright/doors.py": "from cellwright_guest.wire import Packed\nfrom cellwright.errors import E",
    "cellwright/scope/__init__.py": "from cellwright.scope.handles import Scope\nfrom . import handles",
    "cellwright/scope/handles.py": "from cellwright import errors\nfrom ..doors import Host\nfrom . import stubs",
    "cellwright/scope/stubs.py": "try: ...\nexcept ValueError: ...\ntry: ...\nexcept BaseException:\n    raise",
    "cellwright/cli/__init__.py": "import cellwright.scope\ndef main(): ...",
    "cellwright/testing/__init__.py": "from cellwright.cli import main\nfrom cellwright.testing.models import M",
    "cellwright/testing/models.py": "class Manage: ...\nclass Baseline: ...",
    "cellwright/cli/stubs.py": "class _Baseline: ...",
    "cellwright_guest/__init__.py": "",
    "cellwright_guest/stubs.py": "class Baseline: ...",
    "cellwright_guest/wire.py": "import struct\nfrom cellwright_guest import loop\nfrom . import loop",
    "cellwright_guest/loop.py": "import asyncio, collections.abc\ndef f():\n    import numpy.linalg",
}

LONG_FUNCTION = "def f():\n    " + lines(FUNCTION_LINES, "    ")
LONG_METHOD = "class C:\n    async def m(self):\n        " + lines(FUNCTION_LINES, "        ")

BROKEN: list[tuple[Rule, str, str, str]] = [
    (import_order, "cellwright/errors.py", "import cellwright.scope", "`errors` stands above `scope`"),
    (import_order, "cellwright/doors.py", "from cellwright.scope import Scope", "`doors` stands above `scope`"),
    (import_order, "cellwright/doors.py", "from .scope import Scope", "`doors` stands above `scope`"),
    (import_order, "cellwright/doors.py", "from . import scope", "`doors` stands above `scope`"),
    (import_order, "cellwright/scope/stubs.py", "from ..cli import main", "`scope` stands above `cli`"),
    (import_order, "cellwright/scope/stubs.py", "def f():\n    import cellwright.cli", "stands above `cli`"),
    (import_order, "cellwright/scope/stubs.py", "if TYPE_CHECKING:\n    from cellwright import cli", "above `cli`"),
    (import_order, "cellwright/scope/stubs.py", "importlib.import_module('cellwright.cli')", "above `cli`"),
    (import_order, "cellwright/scope/stubs.py", "from cellwright import Runtime", "through the public face"),
    (import_order, "cellwright/scope/stubs.py", "import cellwright", "through the public face"),
    (import_order, "cellwright/cli/run.py", "from cellwright.testing import M", "which is for tests"),
    (import_order, "cellwright/__init__.py", "from cellwright.testing import M", "which is for tests"),
    (import_order, "cellwright/extras.py", "", "`extras` is not in the layout"),
    (import_order, "cellwright/extras/__init__.py", "", "`extras` is not in the layout"),
    (front_doors, "cellwright/cli/run.py", "from cellwright.scope.handles import H", "from `cellwright.scope`"),
    (front_doors, "cellwright/cli/run.py", "from cellwright.scope import handles", "from `cellwright.scope`"),
    (front_doors, "cellwright/cli/run.py", "import cellwright.scope.handles as h", "from `cellwright.scope`"),
    (front_doors, "cellwright/__init__.py", "from .scope.handles import H", "from `cellwright.scope`"),
    (guest_alone, "cellwright_guest/loop.py", "from cellwright.errors import E", "imports `cellwright.errors`"),
    (guest_alone, "cellwright_guest/loop.py", "def f():\n    import requests", "the guest imports `requests`"),
    (guest_alone, "cellwright_guest/loop.py", "import numpy", "the guest imports `numpy`"),
    (guest_alone, "cellwright_guest/loop.py", "from pydantic import BaseModel", "the guest imports `pydantic`"),
    (sizes, "cellwright/doors.py", lines(MODULE_LINES), "400 lines"),
    (sizes, "cellwright/doors.py", LONG_FUNCTION, "`f` has 61 lines"),
    (sizes, "cellwright/doors.py", LONG_METHOD, "`C.m` has 61 lines"),
    (names, "cellwright/scope/utils.py", "", "`utils` is a drawer"),
    (names, "cellwright/scope/_common.py", "", "`_common` is a drawer"),
    (names, "cellwright/core/__init__.py", "", "`core` is a drawer"),
    (names, "cellwright/scope/wire_helpers.py", "", "`wire_helpers` is a drawer"),
    (names, "cellwright_guest/loop.py", "class LoopManager: ...", "class `LoopManager`"),
    *((names, "cellwright/doors.py", f"class {name}: ...", f"class `{name}`")
      for name in ("DoorHelper", "CallHandler", "HostService", "HostImpl", "_HostImpl", "BaseHost", "Base")),
    (one_class_a_name, "cellwright/testing/second.py", "class Baseline: ...", "`Baseline` is also at"),
    (one_class_a_name, "cellwright_guest/loop.py", "class Frame: ...\ndef f():\n    class Frame: ...", "also at"),
    (one_module_a_name, "cellwright/testing/stubs.py", "", "`stubs` is also at cellwright/scope/stubs.py"),
    (depth, "cellwright/scope/deep/__init__.py", "", "deeper than two levels"),
    (depth, "cellwright_guest/a/b/c.py", "", "deeper than two levels"),
    (depth, "cellwright/store/sqlite.py", "", "no `__init__.py` beside it"),
    (docstrings, "cellwright/scope/bare.py", "NO DOCSTRING", "no docstring"),
    (broad_catches, "cellwright/doors.py", "def f():\n  try: ...\n  except Exception: ...", "cellwright/doors.py:f"),
    (broad_catches, "cellwright/doors.py", "try: ...\nexcept: ...", "cellwright/doors.py:<module>"),
    (broad_catches, "cellwright/doors.py", "try: ...\nexcept (OSError, Exception) as e: ...", "catches everything"),
    (broad_catches, "cellwright/doors.py", "try: ...\nexcept builtins.BaseException: ...", "catches everything"),
    (broad_catches, "cellwright/doors.py", "try: ...\nexcept Exception as e:\n  raise E from e", "catches everything"),
    (broad_catches, "cellwright/doors.py", "with contextlib.suppress(Exception): ...", "catches everything"),
    (broad_catches, "cellwright_guest/loop.py", "try: ...\nexcept Exception: ...", "catches everything"),
    (environment, "cellwright/doors.py", "import os\nx = os.environ.get('X')", "reads the environment"),
    (environment, "cellwright/doors.py", "import os\nx = os.getenv('X')", "reads the environment"),
    (environment, "cellwright/doors.py", "from os import environ", "reads the environment"),
]  # fmt: skip


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if text == "NO DOCSTRING" else f'"""A docstring."""\n{text}\n', encoding="utf-8")
    return root


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_sound_tree_passes(rule: Rule, tmp_path: Path) -> None:
    assert list(rule(write(tmp_path, SOUND))) == []


@pytest.mark.parametrize(("rule", "file", "text", "said"), BROKEN)
def test_a_broken_tree_is_reported(rule: Rule, file: str, text: str, said: str, tmp_path: Path) -> None:
    found = list(rule(write(tmp_path, SOUND | {file: text})))
    assert any(said in line and line.startswith(file) for line in found), found


def test_a_stale_outer_edge_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OUTER_EDGES, "cellwright/errors.py:gone", "it was there once")
    assert [line for line in broad_catches(SRC) if "errors.py:gone" in line]


def test_a_listed_outer_edge_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OUTER_EDGES, "cellwright/doors.py:Door.call", "whatever host code raises becomes an answer")
    text = "class Door:\n  def call(self):\n    try: ...\n    except Exception: ..."
    assert list(broad_catches(write(tmp_path, SOUND | {"cellwright/doors.py": text}))) == []
