"""The names that cells leave for the next cells, and how these are declared to a type checker.

They are read from syntax trees, which are never run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cellwright.catalog.cell_types import ANYTHING, TOOLS, declaration

PACKAGE = "_cw_package"
DEEPEST = 30  # modules that lead to a name; what is made from them is not known any more
# code that defines names by text: the tree does not show which
_BY_TEXT = frozenset(("globals", "locals", "vars", "exec", "eval"))
LONGEST = 60  # characters of a key that could be a name
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(kw_only=True, slots=True, eq=False)
class CellModule:
    """A cell that is kept whole, as a module, for names that have no shorter declaration: functions, classes."""

    number: int
    header: str
    code: str
    uses: tuple[CellModule, ...]
    depth: int  # of modules that lead to it
    users: int = 0  # names, and later modules
    is_written: bool = False

    @property
    def name(self) -> str:
        return f"c_{self.number}"


class SessionNames:
    """The names that the cells so far left. It holds what the living names need, and not the cells.

    A name is declared by its import or its type, where these can be written; otherwise the module of its cell is kept,
    until no name and no kept module refers to it. Module numbers are used again.
    """

    def __init__(self) -> None:
        self.by_text = False
        self.is_async = False  # a cell has asynchronous code
        self.own_paths = False  # a cell touches `sys.path`
        self.stored: frozenset[str] = frozenset()  # attributes that a cell assigns
        self.shared: frozenset[str] = frozenset()  # names that a function assigns by `global` or `nonlocal`
        self._lines: dict[str, str] = {}
        self._homes: dict[str, CellModule] = {}
        self._stars: dict[str, None] = {}
        self._free: list[int] = []
        self._modules = 0

    def names(self) -> list[str]:
        return [*self._lines, *self._homes]

    @property
    def modules(self) -> int:
        """How many modules are kept."""
        return self._modules - len(self._free)

    def header(self, tree: ast.Module) -> tuple[str, tuple[CellModule, ...]]:
        """The first line for a cell: the scope's names, and those names of earlier cells that it mentions.

        Gives also the modules that it imports from. `PACKAGE` stands for the package of the modules.
        """
        used = _needed(tree)
        by_home: dict[CellModule, list[str]] = {}
        for name in sorted(used & self._homes.keys()):
            by_home.setdefault(self._homes[name], []).append(name)
        imports = [f"from {PACKAGE}.{home.name} import {', '.join(names)}" for home, names in by_home.items()]
        lines = dict.fromkeys(self._lines[name] for name in sorted(used & self._lines.keys()))
        return "; ".join([f"from {PACKAGE}.scope import *", TOOLS, *self._stars, *imports, *lines]), tuple(by_home)

    def add(self, code: str, tree: ast.Module, types: Mapping[str, str]) -> None:
        """A cell has run. `types` are the types of its names at its end, as far as they can be written."""
        header, uses = self.header(tree)
        self.by_text = self.by_text or makes_names_by_text(tree)
        self.is_async = self.is_async or "async" in code
        self.own_paths = self.own_paths or "sys.path" in code
        self.stored |= stored(tree)
        self.shared |= shared(tree)
        self._stars |= dict.fromkeys(ast.unparse(n) for n in tree.body if _is_star(n))
        depth = 1 + max((home.depth for home in uses), default=0)
        module: CellModule | None = None
        for name, statement in _left(tree).items():
            line = "" if statement is None else _import_line(statement, name, self._lines.get(name, ""))
            if statement is not None and not line:
                spelled = types.get(name, "") or (ANYTHING if depth > DEEPEST else "")
                line = declaration(name, spelled) if spelled else ""
                if not line:
                    module = module or self._kept(header, code, uses, depth)
                    module.users += 1
            self._forget(name)
            if line:
                self._lines[name] = line
            elif statement is not None and module is not None:
                self._homes[name] = module

    def rewrite(self) -> None:
        """The modules have to be written anew: the server that had them is gone."""
        pending = list(self._homes.values())
        while pending:
            module = pending.pop()
            if module.is_written:
                module.is_written = False
                pending += module.uses

    def _kept(self, header: str, code: str, uses: tuple[CellModule, ...], depth: int) -> CellModule:
        if not self._free:
            self._modules += 1
            self._free.append(self._modules)
        for used in uses:
            used.users += 1
        return CellModule(number=self._free.pop(), header=header, code=code, uses=uses, depth=depth)

    def _forget(self, name: str) -> None:
        self._lines.pop(name, None)
        pending = [home] if (home := self._homes.pop(name, None)) is not None else []
        while pending:
            module = pending.pop()
            module.users -= 1
            if module.users == 0:
                self._free.append(module.number)
                pending += module.uses


def unwritten(uses: Iterable[CellModule]) -> Iterator[CellModule]:
    """The modules that have to be written before a cell can import from these. They count as written then."""
    pending = list(uses)
    while pending:
        module = pending.pop()
        if not module.is_written:
            module.is_written = True
            yield module
            pending += module.uses


def _needed(tree: ast.Module) -> set[str]:
    """The names that a cell may read from earlier cells: not those that it binds for sure before."""
    needed: set[str] = set()
    settled: set[str] = set()
    for statement in tree.body:
        binds: set[str] = set()
        match statement:
            case ast.Assign(targets=targets):
                binds = {target.id for target in _flat(targets) if isinstance(target, ast.Name)}
                rest = [target for target in _flat(targets) if not isinstance(target, ast.Name)]
                read = _names(statement.value, *rest)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                binds, read = {name}, _names(value, statement.annotation)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                binds, read = {name}, _free(statement) - {name}
                read |= _names(*statement.decorator_list, *statement.args.defaults)
            case _:
                binds = {statement.name} if isinstance(statement, ast.ClassDef) else set()
                read = _names(statement)
        needed |= read - settled
        settled |= binds
    return needed


def _flat(targets: Iterable[ast.expr]) -> Iterator[ast.expr]:
    for target in targets:
        if isinstance(target, ast.Tuple | ast.List):
            yield from _flat(target.elts)
        else:
            yield target.value if isinstance(target, ast.Starred) else target


def _names(*nodes: ast.AST) -> set[str]:
    """All names in a piece of code; of a function those that are not its own."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.Name(id=name):
                found.add(name)
            case ast.Global(names=names):
                found |= set(names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                found |= _free(node)
            case _:
                found |= _names(*ast.iter_child_nodes(node))
    return found


def _free(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """The names that a function reads, less its parameters, unless something else in it may mean a session's name."""
    args = function.args
    listed = (*args.posonlyargs, *args.args, *args.kwonlyargs, *(a for a in (args.vararg, args.kwarg) if a))
    body = function.body if isinstance(function.body, list) else [function.body]
    outside = _names(*(child for child in ast.iter_child_nodes(function) if child not in body))
    inside = _names(*body)
    return outside | (inside - {arg.arg for arg in listed})


def _left(tree: ast.Module) -> dict[str, ast.stmt | None]:
    """The names that a cell binds or deletes, each with the last statement that binds it; None: it is deleted."""
    found: dict[str, ast.stmt | None] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Delete):
            found |= {target.id: None for target in statement.targets if isinstance(target, ast.Name)}
        found |= dict.fromkeys(bound(statement), statement)
    return found


def names_left(tree: ast.Module) -> list[str]:
    """The names that a cell leaves by other statements than definitions and imports."""
    own = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    return [name for name, statement in _left(tree).items() if statement is not None and not isinstance(statement, own)]


def _import_line(statement: ast.stmt, name: str, known: str) -> str:
    """The import that gives this name; "" where the statement is none. Imports of several submodules add up."""
    if not isinstance(statement, ast.Import | ast.ImportFrom):
        return ""
    aliases = [a for a in statement.names if (a.asname or a.name.partition(".")[0]) == name]
    if isinstance(statement, ast.ImportFrom):
        return ast.unparse(ast.ImportFrom(module=statement.module, names=aliases[-1:], level=statement.level))
    lines = [ast.unparse(ast.Import(names=[alias])) for alias in aliases]
    if any("." in alias.name and alias.asname is None for alias in aliases) and known.startswith("import "):
        lines = [*known.split("; "), *lines]
    return "; ".join(dict.fromkeys(lines))


def _is_star(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*" and bool(statement.module)


def stored(tree: ast.Module) -> frozenset[str]:
    """The attributes that a cell assigns."""
    stores = (n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load))
    by_name = (
        str(n.args[1].value)
        for n in ast.walk(tree)
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Name)
        and n.func.id == "setattr"
        and len(n.args) > 1
        and isinstance(n.args[1], ast.Constant)
    )
    return frozenset((*stores, *by_name))


def shared(tree: ast.Module) -> frozenset[str]:
    """The names that functions of a cell assign by `global` or `nonlocal`."""
    return frozenset(name for n in ast.walk(tree) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names)


def makes_names_by_text(tree: ast.Module) -> bool:
    return any(isinstance(n, ast.Name) and n.id in _BY_TEXT for n in ast.walk(tree))


def mentioned(tree: ast.Module) -> set[str]:
    """Every name in a cell: of variables, attributes and arguments, and keys that could be a name."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                found.add(name)
            case ast.Constant(value=str(text)) if len(text) <= LONGEST and text.isidentifier():
                found.add(text)
            case ast.ImportFrom() | ast.MatchClass():
                found |= {alias.name for alias in getattr(node, "names", ())} | set(getattr(node, "kwd_attrs", ()))
            case _:
                pass
    return found


def bound(node: ast.AST) -> Iterator[str]:
    """The names that a statement binds in the session: not those inside functions and classes, unless `global`."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
            for inner in ast.walk(node):
                if isinstance(inner, ast.Global):
                    yield from inner.names
            return
        case ast.Lambda():
            return
        case ast.Import() | ast.ImportFrom():
            for alias in node.names:
                if alias.name != "*":
                    yield alias.asname or alias.name.partition(".")[0]
            return
        case ast.Name(ctx=ast.Store()):
            yield node.id
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name
        case _ if isinstance(node, _COMPREHENSIONS):
            for inner in ast.walk(node):  # its own names stay inside; `:=` binds outside
                if isinstance(inner, ast.NamedExpr):
                    yield inner.target.id
            return
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        yield from bound(child)
