"""`TypeChecker`: a cell against the scope's stubs and the cells before it, before anything of it runs.

It reads code and never runs any. A cell that cannot be judged in time, or at all, has no mistakes here: running it will
tell.
"""

from __future__ import annotations

import ast
import asyncio
import hashlib
import itertools
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from toolwright.catalog import awaits
from toolwright.catalog.diagnostics import Cell, Diagnostic, certain, nodes_at, split
from toolwright.catalog.mistakes import Mistake
from toolwright.catalog.names import Known, makes_names_by_text
from toolwright.catalog.server import Server, borrow, give_back
from toolwright.catalog.signatures import Signatures, readable
from toolwright.errors import PlatformError, UsageError
from toolwright.scope import Scope, scope_stubs

PATIENCE_S = 10.0
LONGEST = 200_000  # characters of a cell
_UNREADABLE = (RecursionError, MemoryError, ValueError, UnicodeError)
_AWAIT = "; is an `await` missing?"
_PACKAGES = itertools.count(1)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Earlier:
    """A cell that ran: the names after it, and the marks that its code leaves on what can be known for sure."""

    known: Known
    stored: frozenset[str]
    shared: frozenset[str]


_FIRST = _Earlier(known=Known(), stored=frozenset(), shared=frozenset())


class TypeChecker:
    """Checks cells against one scope.

    scope   what the cells may use; its stubs are made at the first check, and again when it changes
    rules   "default": what goes wrong for sure. "all": everything that ty says of its own accord
    names   further names of the session, each with its stub's lines
    site    the guest's packages, where they are known: a package that is not there is then a mistake

    Close it: the process behind it is shared, and ends with its last user.
    """

    def __init__(
        self,
        scope: Scope,
        *,
        rules: Literal["default", "all"] = "default",
        names: Mapping[str, str] | None = None,
        site: Sequence[Path] | None = None,
    ) -> None:
        if rules not in ("default", "all"):
            raise UsageError(f'rules={rules!r}: give "default" or "all"')
        self._scope = scope
        self._rules = rules
        self._names = dict(names or {})
        self._site = site
        self._server: Server | None = None
        self._package = ""
        self._version: Any = None
        self._signatures = Signatures("")
        self._cells: dict[str, _Earlier] = {}
        self._turn = asyncio.Lock()

    async def check(self, code: str, *, before: Sequence[str] = ()) -> tuple[Mistake, ...]:
        """What is wrong with a cell that would run after those `before`, in the order of its lines."""
        if code.lstrip("\n")[:1].isspace():
            code = textwrap.dedent(code)  # as the guest does
        try:
            tree = ast.parse(code)
        except SyntaxError as error:
            return (_syntax(error, code),)
        except _UNREADABLE:
            return ()
        if not tree.body or len(code) > LONGEST:
            return ()
        async with self._turn:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    return await self._check(code, tree, before)
            except (TimeoutError, PlatformError):
                await self._lose()
                return ()
            except RecursionError:  # a tree deeper than Python can walk
                return ()

    async def close(self) -> None:
        """Let go of the process behind it."""
        async with self._turn:
            server, self._server = self._server, None
            self._version = None
            if server is not None:
                await asyncio.to_thread(give_back, server)

    async def _lose(self) -> None:
        """A process that is dead or does not answer is of no use to anybody."""
        server, self._server = self._server, None
        self._version = None
        if server is not None:
            await asyncio.to_thread(server.close)
            await asyncio.to_thread(give_back, server)

    async def _check(self, code: str, tree: ast.Module, before: Sequence[str]) -> tuple[Mistake, ...]:
        server = await self._ready()
        earlier, key = await asyncio.to_thread(self._go_through, server, before)
        cell = Cell(
            tree=tree,
            by_text=earlier.known.by_text or makes_names_by_text(tree),
            stored=earlier.stored | _stored(tree),
            shared=earlier.shared | _shared(tree),
            site=self._site,
        )
        file = (server.root / self._package / f"{_module(key, code)}.py").as_uri()
        text = earlier.known.header(tree, self._package) + code
        server.tell(
            "textDocument/didOpen",
            {"textDocument": {"uri": file, "languageId": "python", "version": 1, "text": text}},
        )
        try:
            answer = await asyncio.wrap_future(server.ask("textDocument/diagnostic", {"textDocument": {"uri": file}}))
            found = [_diagnostic(item) for item in (answer or {}).get("items", ()) if "code" in item]
            asking = _Asking(server, file)
            told = [d for d in found if d.line > 0 and await self._is_told(d, cell, asking)]
            told += [d for d in await _pending(cell, asking) if d.line not in {other.line for other in told}]
            called = {d: await _called(d, cell, asking) for d in told if d.rule == "unused-awaitable"}
        finally:
            server.tell("textDocument/didClose", {"textDocument": {"uri": file}})
        told.sort(key=lambda d: (d.line, d.column))
        return tuple(_mistake(d, code, self._signatures, called.get(d, "")) for d in told)

    async def _is_told(self, found: Diagnostic, cell: Cell, asking: _Asking) -> bool:
        if self._rules == "all":
            return found.rule != "invalid-syntax" or certain(found, cell)
        if not certain(found, cell):
            return False
        if found.rule in ("not-subscriptable", "call-non-callable", "not-iterable") and "type `None`" in found.message:
            return await _is_none(found, cell, asking)  # it names one type of several
        return True

    async def _ready(self) -> Server:
        """The server, with the scope's stubs as they are now."""
        version = (self._scope.rules.version, tuple((name, id(value)) for name, value in self._scope.names()))
        if self._server is not None and self._server.alive and version == self._version:
            return self._server
        if self._server is None or not self._server.alive:
            await self._lose()
            self._server = await asyncio.to_thread(borrow, self._site or ())
        stub = await asyncio.to_thread(scope_stubs, self._scope, self._names)
        self._signatures = Signatures(stub)
        self._package = f"_tw{next(_PACKAGES)}"
        self._cells.clear()
        self._server.write(f"{self._package}/scope.pyi", stub)
        self._version = version
        return self._server

    def _go_through(self, server: Server, before: Sequence[str]) -> tuple[_Earlier, str]:
        """The cells that ran, each as a module of its own: a name is what the last of them made it."""
        earlier, key = _FIRST, ""
        for code in before:
            key, previous = _module(key, code), key
            if key not in self._cells:
                self._cells[key] = self._keep(server, earlier, key, code) or self._cells.get(previous, _FIRST)
            earlier = self._cells[key]
        return earlier, key

    def _keep(self, server: Server, earlier: _Earlier, key: str, code: str) -> _Earlier | None:
        if code.lstrip("\n")[:1].isspace():
            code = textwrap.dedent(code)
        try:
            tree = ast.parse(code)
            header = earlier.known.header(tree, self._package)
            kept = _Earlier(
                known=earlier.known.after(tree, key),
                stored=earlier.stored | _stored(tree),
                shared=earlier.shared | _shared(tree),
            )
        except (SyntaxError, *_UNREADABLE):
            return None
        server.write(f"{self._package}/{key}.py", header + code)
        return kept


class _Asking:
    """Asks what is known of the expression at a place of one file."""

    def __init__(self, server: Server, file: str) -> None:
        self._server = server
        self._file = file

    async def about(self, node: ast.expr) -> str:
        at = awaits.spot(node)
        if at is None:
            return ""
        position = {"line": at[0], "character": at[1]}  # our header is line 0
        asked = {"textDocument": {"uri": self._file}, "position": position}
        answer = await asyncio.wrap_future(self._server.ask("textDocument/hover", asked))
        return str((answer or {}).get("contents", {}).get("value", ""))


async def _pending(cell: Cell, asking: _Asking) -> list[Diagnostic]:
    """Coroutines that are read as if they were their results."""
    found: list[Diagnostic] = []
    for place in itertools.islice(awaits.places(cell.tree), awaits.PLACES):
        told = await asking.about(place.node)
        if told and awaits.is_pending(place, told):
            node = place.node
            what = ast.unparse(node)
            about = f" of `{_title(told)}`" if isinstance(node, ast.Call) else ""
            found.append(
                Diagnostic(
                    rule="missing-await",
                    message=f"`{what[:60]}` is read before it is awaited: write `await`{about}",
                    line=node.lineno,
                    column=node.col_offset,
                    end_line=node.end_lineno or node.lineno,
                    end_column=node.end_col_offset or node.col_offset,
                )
            )
    return found


async def _called(found: Diagnostic, cell: Cell, asking: _Asking) -> str:
    """The function whose call a diagnostic is about."""
    inside = nodes_at(cell.tree, found.line, found.column, found.end_line, found.end_column)
    call = next((node for node in inside if isinstance(node, ast.Call)), None)
    return _title(await asking.about(call)) if call is not None else ""


def _title(told: str) -> str:
    """The function's name in what is known of it: `bound method Contacts.get(…) -> …`."""
    return " ".join(told.partition("(")[0].split()[-1:])


async def _is_none(found: Diagnostic, cell: Cell, asking: _Asking) -> bool:
    """Whether the value is None and nothing else."""
    inside = nodes_at(cell.tree, found.line, found.column, found.end_line, found.end_column)
    for node in inside:
        value = node.value if isinstance(node, ast.Subscript) else node.func if isinstance(node, ast.Call) else node
        if isinstance(value, ast.expr):
            told = await asking.about(value)
            gives = told.rpartition(") -> ")[2] if isinstance(value, ast.Call) else told
            return split(" ".join(gives.split())) == ["None"]
    return False


def _module(previous: str, code: str) -> str:
    """The name of a cell's module: that of its code, and of all that ran before it."""
    whole = f"{previous} {code}".encode(errors="replace")
    return f"c_{hashlib.sha256(whole).hexdigest()[:16]}"


def _stored(tree: ast.Module) -> frozenset[str]:
    stores = (n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
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


def _shared(tree: ast.Module) -> frozenset[str]:
    return frozenset(name for n in ast.walk(tree) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names)


def _diagnostic(item: dict[str, Any]) -> Diagnostic:
    start, end = item["range"]["start"], item["range"]["end"]
    related: Iterable[Any] = item.get("relatedInformation") or ()
    return Diagnostic(
        rule=str(item["code"]),
        message=str(item["message"]).partition("\n")[0],
        line=start["line"],  # our header is line 0
        column=start["character"],
        end_line=end["line"],
        end_column=end["character"],
        related=tuple(
            (r["location"]["uri"], r["location"]["range"]["start"]["line"] + 1, str(r["message"])) for r in related
        ),
    )


def _mistake(found: Diagnostic, code: str, signatures: Signatures, called: str) -> Mistake:
    lines = code.splitlines() or [""]
    source = lines[min(found.line, len(lines)) - 1]
    raw = source.encode(errors="replace")
    column = len(raw[: found.column].decode(errors="replace"))
    end = len(raw[: found.end_column].decode(errors="replace")) if found.end_line == found.line else len(source)
    types = [text.removeprefix("Has type ") for _, _, text in found.related if text.startswith("Has type ")]
    message = readable(found.message) + (f" between {readable(' and '.join(types))}" if types else "")
    if ("CoroutineType[" in message or "Future[" in message) and found.rule != "missing-await":
        message += _AWAIT
    return Mistake(
        line=found.line,
        column=column,
        rule=found.rule,
        message=message,
        signature=signatures.at(found.of_host) or signatures.named(called) or signatures.meant(found.message),
        source=source,
        width=max(1, end - column),
    )


def _syntax(error: SyntaxError, code: str) -> Mistake:
    lines = code.splitlines() or [""]
    line = min(max(error.lineno or 1, 1), len(lines))
    column = max((error.offset or 1) - 1, 0)
    return Mistake(
        line=line, column=column, rule="invalid-syntax", message=f"SyntaxError: {error.msg}", source=lines[line - 1]
    )
