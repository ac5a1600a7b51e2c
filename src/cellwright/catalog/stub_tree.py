"""A scope as a tree of files that can be listed, read and searched: `servers/github/issues/create.pyi`, one a function.

Each has the docs and the classes that it needs; `servers/github/_index.txt` lists them. For agents, people and editors.
"""

from __future__ import annotations

import itertools
import keyword
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cellwright.catalog.catalog import Catalog
from cellwright.catalog.stub_text import fitted_stub, qualified_signature, sentence
from cellwright.catalog.upstream_text import class_text, operation_text, shapes_for
from cellwright.sandboxes import Files

BUDGET = 6_000  # characters of one file
FOLDER = "servers"
INDEX = "_index.txt"
HEADER = "from collections.abc import Iterable, Iterator\nfrom typing import Any, Literal, NotRequired, TypedDict\n\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeFile:
    """One file: its path below the directory, its text, and the name of its function, "" for an index."""

    path: str
    text: str
    name: str = ""


def stub_tree(catalog: Catalog, budget: int = BUDGET) -> Iterator[TreeFile]:
    """All files of a catalog's scope, name by name: the functions of each, then their index."""
    offer = catalog.offer
    for name in offer.names:
        files = (
            _upstream_files(catalog, name, budget) if name in offer.upstreams else _live_files(catalog, name, budget)
        )
        listed: list[str] = []
        for file, line in files:
            listed.append(f"{file.path.removeprefix(f'{FOLDER}/{name}/')}  {line}")
            yield file
        if listed:
            count = f"{len(listed):,} function{'' if len(listed) == 1 else 's'}"
            text = "\n".join([f"# {name}: {count}", *listed]) + "\n"
            yield TreeFile(path=f"{FOLDER}/{name}/{INDEX}", text=text)


def _upstream_files(catalog: Catalog, name: str, budget: int) -> Iterator[tuple[TreeFile, str]]:
    upstream = catalog.offer.upstreams[name]
    for offered in upstream.listed():
        whole = f"{name}.{offered.path}"
        text = fitted_stub(
            operation_text(upstream, offered), shapes_for(upstream, offered.line), class_text, budget, whole
        )
        before = whole.rpartition(".")[0]
        line = f"{before}.{qualified_signature(offered.line, limit=80)}  # {sentence(offered.line.doc, 80)}"
        yield TreeFile(path=_path(whole), text=HEADER + text, name=whole), line


def _live_files(catalog: Catalog, name: str, budget: int) -> Iterator[tuple[TreeFile, str]]:
    for entry in catalog.functions(name):
        text = catalog.show(entry.name, budget)
        words = f"  # {entry.summary}" if entry.summary else ""
        file = TreeFile(path=_path(entry.name), text=HEADER + text, name=entry.name)
        yield file, f"{entry.fitted(100)}{words}"


def _path(name: str) -> str:
    parts = [part if not keyword.iskeyword(part) else f"{part}_" for part in name.split(".")]
    inside = parts if len(parts) > 1 else [parts[0], parts[0]]  # a bound function
    return f"{FOLDER}/{'/'.join(inside)}.pyi"


async def write_tree(catalog: Catalog, files: Files, budget: int = BUDGET) -> int:
    """Writes the tree into a session's workspace, for an agent that lists, reads and greps. Returns how many files."""
    count = 0
    for file in stub_tree(catalog, budget):
        await files.write(file.path, file.text)
        count += 1
    return count


def save_tree(catalog: Catalog, directory: Path, budget: int = BUDGET) -> Iterator[TreeFile]:
    """Writes the tree into a directory and yields each file. Files that only an earlier tree had are removed."""
    old = {path for index in directory.glob(f"{FOLDER}/*/{INDEX}") for path in _listed(index)}
    for file in stub_tree(catalog, budget):
        path = directory / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
        old.discard(path)
        yield file
    for path in old:
        path.unlink(missing_ok=True)


def _listed(index: Path) -> Iterator[Path]:
    """The files that an index names, if they are below its directory."""
    for line in itertools.islice(index.read_text(encoding="utf-8", errors="replace").splitlines(), 1, None):
        path = index.parent / line.partition("  ")[0]
        if path.suffix == ".pyi" and ".." not in path.parts and path.is_relative_to(index.parent):
            yield path
