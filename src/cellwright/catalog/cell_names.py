"""The names that a cell defines for the next cells, read from its syntax tree, which is never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

# code that defines names by text: the tree does not show which
_BY_TEXT = frozenset(("globals", "locals", "vars", "exec", "eval"))
LONGEST = 60  # characters of a key that could be a name
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, kw_only=True, slots=True)
class CellNames:
    """The names that the cells so far defined, each with the module that has it."""

    homes: dict[str, str] = field(default_factory=dict[str, str])
    starred: tuple[str, ...] = ()  # modules with a `from … import *`
    by_text: bool = False

    def after(self, tree: ast.Module, home: str) -> CellNames:
        """The names after the cell whose module is `home`."""
        homes = dict(self.homes)
        for statement in tree.body:
            if isinstance(statement, ast.Delete):
                for target in statement.targets:
                    homes.pop(target.id if isinstance(target, ast.Name) else "", None)
            for name in bound(statement):
                homes[name] = home
        has_star = any(isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in tree.body)
        return CellNames(
            homes=homes,
            starred=(*self.starred, home) if has_star else self.starred,
            by_text=self.by_text or makes_names_by_text(tree),
        )

    def header(self, tree: ast.Module, package: str, others: Mapping[str, str] | None = None) -> str:
        """The line of imports for a cell: the scope's names, and those names of earlier cells that it mentions.

        `others` are further names, each with its module in the package.
        """
        used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        used |= {name for n in ast.walk(tree) if isinstance(n, ast.Global) for name in n.names}
        parts = [f"from {package}.scope import *"]
        parts += [f"from {package}.{home} import {name}" for name, home in (others or {}).items()]
        parts += [f"from {package}.{home} import *" for home in self.starred]
        by_home: dict[str, list[str]] = {}
        for name in sorted(used & self.homes.keys()):
            by_home.setdefault(self.homes[name], []).append(name)
        parts += [f"from {package}.{home} import {', '.join(names)}" for home, names in by_home.items()]
        return "; ".join(parts) + "\n"


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
