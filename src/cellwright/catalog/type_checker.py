"""`TypeChecker`: checks a cell against the scope's stubs and the earlier cells, before any of its code runs.

It reads code and never runs any. A cell that it cannot judge is `NotChecked`, never a cell without mistakes.
"""

from __future__ import annotations

import ast
import asyncio
import hashlib
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cellwright.catalog.cell_names import (
    PACKAGE,
    CellModule,
    SessionNames,
    makes_names_by_text,
    mentioned,
    names_left,
    shared,
    stored,
    unwritten,
)
from cellwright.catalog.cell_types import MOST, answers, lines_of, questions
from cellwright.catalog.checker_signatures import Signatures
from cellwright.catalog.clean_cells import cell_key
from cellwright.catalog.coroutine_functions import annotated, coroutine_functions, in_code
from cellwright.catalog.diagnostics import CheckedCell, Diagnostic, certain
from cellwright.catalog.hovers import Hovers, called, is_none, unawaited
from cellwright.catalog.mistakes import Mistake, diagnostic, mistake, syntax
from cellwright.catalog.stub_files import StubFiles
from cellwright.catalog.ty_server import CheckerError, TyServer, borrow, give_back
from cellwright.catalog.upstreams import upstreams
from cellwright.errors import NotChecked, PlatformError, UsageError
from cellwright.scope import AddedName, Scope, StubModule, parse, surface_of

LONGEST_CELL = 200_000  # characters of a cell of a model or a client: more is refused
LONGEST_READ = 50_000  # of a cell that is read here: while Python reads source, no other thread runs
SHORT = 4_000  # characters of new cells that are read on the event loop: a thread takes longer
STARTS = 3  # of the process for one cell: another checker's cell may have ended it
_UNREADABLE = (RecursionError, MemoryError, ValueError, UnicodeError)
_NOTHING: tuple[str, str, Mapping[str, str]] = ("", "", {})


def too_long(code: str) -> str:
    """Why a cell of a model or of a client is not run; "" where it is short enough."""
    if len(code) <= LONGEST_CELL:
        return ""
    most = f"a cell may have at most {LONGEST_CELL:,} characters, and this one has {len(code):,}"
    return f"{most}; nothing of it was run. Compute long data, or write it to a file in parts."


@dataclass(frozen=True, kw_only=True, slots=True)
class _View:
    """What the server says of a cell: mistakes, each with the function it is about; the types of names at its end."""

    wrong: list[tuple[Diagnostic, str]]
    types: dict[str, str]
    functions: list[ast.FunctionDef]


class TypeChecker:
    """Checks cells against one scope.

    scope      what the cells may use; its stubs are made at the first check, and again when it changes
    rules      "default": what goes wrong for sure. "all": everything that ty reports by default
    names      further names of the session, each with its declaration
    site       the guest's packages, if they are known: the import of any other package is then a mistake
    timeout_s  for one cell; a cell that takes longer is not checked

    Close it: its process is shared, and ends when no checker uses it.
    """

    def __init__(
        self,
        scope: Scope,
        *,
        rules: Literal["default", "all"] = "default",
        names: Mapping[str, AddedName] | None = None,
        site: Sequence[Path] | None = None,
        timeout_s: float = 5.0,
    ) -> None:
        if rules not in ("default", "all"):
            raise UsageError(f'rules={rules!r}: give "default" or "all"')
        self._scope = scope
        self._rules = rules
        self._names = dict(names or {})
        self._site = site
        self._timeout_s = timeout_s
        self._server: TyServer | None = None
        self._package = ""
        self._version: Any = None
        self._stub = b""  # the digest of the stubs
        self._keyed: tuple[ast.Module, bytes] | None = None  # the cell that is being checked, and its key
        self._signatures = Signatures()
        self._upstreams: tuple[StubFiles, ...] = ()
        self._asynchronous = False  # nothing of the scope has to be awaited
        self._session = SessionNames()  # after the first `_seen` cells of `_before`
        self._before: Sequence[str] = ()
        self._seen = 0
        self._judged = _NOTHING  # the cell that was checked last, as it is kept, and its names' types
        self._turn = asyncio.Lock()

    async def check(self, code: str, *, before: Sequence[str] = ()) -> tuple[Mistake, ...]:
        """The mistakes of a cell that would run after those `before`, in the order of its lines.

        `NotChecked` where the cell cannot be judged; its text has the reason.
        """
        code = _dedented(code)
        if len(code) > LONGEST_READ:
            raise NotChecked(f"the cell has more than {LONGEST_READ:,} characters")
        try:
            tree = parse(code)
        except SyntaxError as error:
            return (syntax(error, code),)
        except _UNREADABLE as error:
            raise NotChecked(f"the code cannot be read: {type(error).__name__}") from None
        if not tree.body:
            return ()
        async with self._turn:
            if sum(map(len, before[self._seen if self._goes_on(before) else 0 :])) <= SHORT:
                self._run_through(before)
            else:
                await asyncio.to_thread(self._run_through, before)
            return await self._judge(code, tree)

    def _key(self, code: str, tree: ast.Module) -> bytes | None:
        """What a clean cell is known by; None where it is checked each time, because upstreams are known in parts."""
        if self._upstreams:
            return None
        if self._keyed is None or self._keyed[0] is not tree:
            known = self._session
            facts = (self._rules, self._site is None, known.by_text, known.is_async, known.own_paths)
            names = (sorted(known.stored), sorted(known.shared))
            self._keyed = tree, cell_key(self._stub, code, *known.header(tree), facts, names)
        return self._keyed[1]

    def _is_clean(self, server: TyServer, code: str, tree: ast.Module) -> bool:
        """Whether the same cell was clean in another session, or earlier in this one."""
        key = self._key(code, tree)
        types = None if key is None else server.clean.types(key)
        if types is not None:
            self._judged = code, code, types
        return types is not None

    async def _judge(self, code: str, tree: ast.Module) -> tuple[Mistake, ...]:
        reason = ""
        for _ in range(STARTS):
            try:
                server = await self._borrowed()
                if self._version == self._current() and self._is_clean(server, code, tree):
                    return ()
                async with server.turn(), asyncio.timeout(self._timeout_s):
                    return await self._check(server, code, tree)
            except TimeoutError:
                await self._lose()
                raise NotChecked(f"the type checker gave no verdict within {self._timeout_s:g} s") from None
            except RecursionError:
                raise NotChecked("the code is nested too deeply") from None
            except CheckerError as error:
                raise NotChecked(str(error)) from None
            except (PlatformError, OSError) as error:
                reason = str(error)
                await self._lose()
        raise NotChecked(reason)

    async def warm(self) -> None:
        """Get ready before the first cell. A failure is left for the check of that cell to meet."""
        async with self._turn:
            try:
                server = await self._borrowed()
                async with server.turn():
                    await self._ready(server)
            except (PlatformError, OSError):
                await self._lose()

    async def close(self) -> None:
        """Let go of the shared process."""
        async with self._turn:
            server, self._server = self._server, None
            package, self._package, self._version = self._package, "", None
            if server is not None:
                with suppress(CheckerError):
                    async with server.turn():
                        await asyncio.to_thread(server.remove, package)
                await asyncio.to_thread(give_back, server)

    async def _lose(self) -> None:
        """End a process that is dead or does not answer: no checker can use it."""
        server, self._server = self._server, None
        self._package, self._version = "", None
        if server is not None:
            await asyncio.to_thread(server.close)
            await asyncio.to_thread(give_back, server)

    async def _borrowed(self) -> TyServer:
        if self._server is None or not self._server.alive:
            await self._lose()
            self._server = await asyncio.to_thread(borrow, self._site or ())
        return self._server

    async def _check(self, server: TyServer, code: str, tree: ast.Module) -> tuple[Mistake, ...]:
        await self._ready(server)
        if self._is_clean(server, code, tree):  # by now: who had the turn before checked it
            return ()
        view = await self._view(server, code, tree)
        if not view.wrong and not view.functions and (key := self._key(code, tree)) is not None:
            server.clean.add(key, view.types)
        text, places = annotated(code, view.functions)
        if places:
            view = await self._view(server, text, parse(text))
        self._judged = code, text, view.types
        wrong = sorted(((in_code(d, places), name) for d, name in view.wrong), key=lambda w: (w[0].line, w[0].column))
        own = (*self._session.names(), *names_left(tree)) if wrong else ()
        return tuple(mistake(d, code, self._signatures, name, own) for d, name in wrong)

    async def _view(self, server: TyServer, code: str, tree: ast.Module) -> _View:
        """What the server says of a cell that would run now."""
        known, names = self._session, names_left(tree)[:MOST]
        cell = CheckedCell(
            tree=tree,
            by_text=known.by_text or makes_names_by_text(tree),
            stored=known.stored | stored(tree),
            shared=known.shared | shared(tree),
            site=self._site,
            own_paths=known.own_paths or "sys.path" in code,
        )
        file = (server.root / self._package / "c_0.py").as_uri()  # always the same: ty never forgets a path
        header, uses = known.header(tree)
        aliases: dict[str, str] = {}
        if self._upstreams or not all(module.is_written for module in uses):
            aliases = await asyncio.to_thread(self._write, server, uses, tree)
        text = f"{self._placed(header, aliases)}\n{code}\n{questions(names)}"
        server.tell(
            "textDocument/didOpen",
            {"textDocument": {"uri": file, "languageId": "python", "version": 1, "text": text}},
        )
        last, hovers = lines_of(code), Hovers(server, file)
        is_async = self._asynchronous or known.is_async or "async" in code
        pending: list[Diagnostic] = []
        try:
            if is_async:  # both are asked at once: the server does not wait for us in between
                found, pending = await asyncio.gather(self._diagnostics(server, file), unawaited(cell, hovers))
            else:
                found = await self._diagnostics(server, file)
            wrong = [d for d in found if 0 < d.line <= last and await self._is_reported(d, cell, hovers)]
            wrong += [d for d in pending if d.line not in {other.line for other in wrong}]
            plain = await coroutine_functions(tree, hovers) if is_async else []
            functions = {d: await called(d, cell, hovers) for d in wrong if d.rule == "unused-awaitable"}
        finally:
            server.tell("textDocument/didClose", {"textDocument": {"uri": file}})
        types = answers(found, names, last + 1)
        return _View(wrong=[(d, functions.get(d, "")) for d in wrong], types=types, functions=plain)

    async def _diagnostics(self, server: TyServer, file: str) -> list[Diagnostic]:
        answer: dict[str, Any] | None = await server.ask("textDocument/diagnostic", {"textDocument": {"uri": file}})
        items: list[dict[str, Any]] | None = (answer or {}).get("items")
        if items is None:
            raise CheckerError("the type checker answered without a verdict")
        found = [diagnostic(item) for item in items if "code" in item]
        if any(d.line == 0 and f"module `{self._package}" in d.message for d in found):
            raise PlatformError("the type checker does not see the scope")  # then every name would be wrong
        if failed := next((d for d in found if d.rule == "panic"), None):
            raise CheckerError(f"the type checker failed: {failed.message[:200]}")
        return found

    async def _is_reported(self, found: Diagnostic, cell: CheckedCell, hovers: Hovers) -> bool:
        if self._rules == "all":
            return found.rule != "invalid-syntax" or certain(found, cell)
        if not certain(found, cell):
            return False
        if found.rule in ("not-subscriptable", "call-non-callable", "not-iterable") and "type `None`" in found.message:
            return await is_none(found, cell, hovers)  # the message names one type of several
        return True

    async def _ready(self, server: TyServer) -> None:
        """Give the server the scope's stubs as they are now."""
        version = self._current()
        if not server.alive:  # it ended while others had their turn
            raise PlatformError("the type checker's process ended")
        if version == self._version:
            return
        await asyncio.to_thread(server.remove, self._package)
        self._package = server.package()
        self._upstreams = tuple(StubFiles(one) for one in upstreams(self._scope).values())
        stub, files, self._signatures = await asyncio.to_thread(self._stubs)
        self._stub, self._keyed = hashlib.sha256(stub.encode("utf-8", "surrogatepass")).digest(), None
        self._asynchronous = "async def" in stub or "Awaitable" in stub
        self._session.rewrite()
        server.write({f"{self._package}/scope.pyi": stub, **files})
        self._version = version

    def _current(self) -> tuple[Any, ...]:
        """What tells whether the stubs are those of the scope as it is now."""
        names = tuple((name, id(value), _content(value)) for name, value in self._scope.names())
        return self._scope.rules.version, names

    def _stubs(self) -> tuple[str, dict[str, str], Signatures]:
        lines = {one.name: one.line(self._package) for one in self._upstreams}
        module = StubModule(self._scope, self._names, lines)
        stub = module.text()
        files = self._in_package(text for one in self._upstreams for text in one.first().items())
        return stub, files, Signatures(module, self._members)

    def _in_package(self, files: Iterable[tuple[str, str]]) -> dict[str, str]:
        return {f"{self._package}/{name}": text for name, text in files}

    def _members(self, owner: str) -> Mapping[str, str]:
        return next((found for one in self._upstreams if (found := one.members(owner))), dict[str, str]())

    def _reach(self, server: TyServer, tree: ast.Module) -> dict[str, str]:
        """Write the stubs of the upstream operations and classes that a cell may use.

        Returns the modules of names that are aliases of operations, as `mcp__server__tool`.
        """
        if not self._upstreams:
            return {}
        names = mentioned(tree)
        files = dict(text for one in self._upstreams for text in one.more(names).items())
        aliases: dict[str, str] = {}
        for one in self._upstreams:
            for name in names:
                found = one.alias(name)
                files |= found
                if found:
                    aliases[name] = next(iter(found)).removesuffix(".pyi").replace("/", ".")
        server.write(self._in_package(files.items()))
        return aliases

    def _write(self, server: TyServer, uses: Iterable[CellModule], tree: ast.Module) -> dict[str, str]:
        """Write the modules that a cell imports from. Gives what `_reach` gives for the cell."""
        files: dict[str, str] = {}
        for module in unwritten(uses):
            aliases = self._reach(server, parse(module.code)) if self._upstreams else {}
            files[f"{self._package}/{module.name}.py"] = f"{self._placed(module.header, aliases)}\n{module.code}"
        server.write(files)
        return self._reach(server, tree)

    def _placed(self, header: str, aliases: Mapping[str, str]) -> str:
        """A header for the modules of this checker. `aliases` are further names, each with its module."""
        imports = [f"from {PACKAGE}.{home} import {name}" for name, home in aliases.items()]
        return "; ".join([header, *imports]).replace(PACKAGE, self._package)

    def _run_through(self, before: Sequence[str]) -> None:
        """Bring the names to the state after the earlier cells. A list that was given before may only have grown."""
        seen = self._seen
        if not self._goes_on(before):
            self._session, self._judged, seen = SessionNames(), _NOTHING, 0
        for code in map(_dedented, before[seen:]):
            judged, text, types = self._judged
            self._judged = _NOTHING
            self._keep(*((text, types) if code == judged else (code, {})))
        self._before, self._seen = before, len(before)

    def _goes_on(self, before: Sequence[str]) -> bool:
        seen = self._seen
        return len(before) >= seen and (before is self._before or list(before[:seen]) == list(self._before[:seen]))

    def _keep(self, code: str, types: Mapping[str, str]) -> None:
        try:
            self._session.add(code, parse(code), types)
        except (SyntaxError, *_UNREADABLE):
            return


def _dedented(code: str) -> str:
    """As the guest reads it."""
    return textwrap.dedent(code) if code.lstrip("\n")[:1].isspace() else code


def _content(value: Any) -> str:
    """The key of an upstream's content, which may change under its name; "" for any other value."""
    surface = surface_of(value)
    return "" if surface is None else surface.key
