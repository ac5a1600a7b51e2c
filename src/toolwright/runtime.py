"""`Runtime`: scope + sandbox + workspace + journal. What the agent, the gateway and the server all stand on."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

from toolwright.catalog import Catalog, Hit, Mistake, TypeChecker, type_mistake, write_tree
from toolwright.doors import Call, Host
from toolwright.errors import NotInScope, PlatformError, UsageError
from toolwright.guard import Approve, Approved
from toolwright.journal import (
    CellRow,
    Continuity,
    Fork,
    Journal,
    Repeated,
    Restored,
    RolledBack,
    SessionJournal,
    Story,
    Trees,
    Turns,
    check_id,
    open_journal,
    read_key,
    repeat,
    workspace_of,
)
from toolwright.sandboxes import (
    GUEST_UID,
    STANDARD,
    Files,
    Limits,
    OnEvent,
    Outcome,
    Passing,
    ProcessSandbox,
    Sandbox,
    Workspace,
    environment,
)
from toolwright.scope import Scope, ScopeHost, stub, surface_of
from toolwright.settings import Settings

T = TypeVar("T")
# What guest code has besides the scope, for the type checker.
NAMES = {
    "transaction": """
import contextlib as _contextlib
class _Transaction(_contextlib.AbstractContextManager[None, None], _contextlib.AbstractAsyncContextManager[None, None]):
    ...
def transaction(*, anyway: bool = False) -> _Transaction: ...
"""
}


class Runtime:
    """Runs untrusted Python that calls your live objects. An async context manager.

    >>> async with Runtime(scope={"crm": crm}) as rt:
    ...     outcome = await rt.execute("crm.contacts.list(city='Oslo')")

    scope      names for guest code: a mapping, or a `Scope` with rules
    sandbox    "auto" and "process" are the kernel jail; or a `Sandbox` of your own
    packages   what guest code may import besides the standard library: a venv's path, or a list to be installed
    limits     what a cell may use
    workspace  a directory to share with guest code; a fresh one, removed at the end, when left out
    require    the operator's minimum: layers without which nothing runs
    progress   is told of long work, such as installing packages, line by line
    store      where sessions are journaled: "sqlite:///agents.db", "memory:", or a `Journal`
    session    the id of a new session in the store; `Runtime.resume` opens one that is there
    approve    who says yes to operations that ask for it, by True; False or a reason is no. Without it none is made
    check      what the type checker's mistakes do: "strict" refuses the cell, "warn" tells them, "off" asks nobody
    """

    def __init__(
        self,
        scope: Scope | Mapping[str, Any] | None = None,
        *,
        sandbox: Literal["auto", "process"] | Sandbox = "auto",
        packages: Path | str | Sequence[str] | None = None,
        limits: Limits | None = None,
        workspace: Path | str | None = None,
        require: Iterable[str] = STANDARD,
        progress: Callable[[str], None] | None = None,
        store: str | Path | Journal | None = None,
        session: str | None = None,
        check: Literal["off", "warn", "strict"] = "off",
        approve: Approve | None = None,
    ) -> None:
        if check not in ("off", "warn", "strict"):
            raise UsageError(f'check={check!r}: give "off", "warn" or "strict"')
        if isinstance(sandbox, str) and sandbox not in ("auto", "process"):
            raise UsageError(f'sandbox={sandbox!r}: give "auto", "process", or a Sandbox')
        if session is not None and store is None:
            raise UsageError(f'session={session!r} needs a store to be kept in, as in store="sqlite:///agents.db"')
        self.scope = Scope.of(scope)
        self.limits = limits or Limits()
        self.session = None if store is None else check_id(session or uuid.uuid4().hex[:12])
        self._host = ScopeHost(self.scope, session=self.session or "")
        self._sandbox: Sandbox | None = None if isinstance(sandbox, str) else sandbox
        self._wanted: Literal["auto", "process"] | Sandbox = sandbox
        self._packages = packages
        self._where = Path(workspace) if workspace is not None else None
        self._required = frozenset(require)
        self._progress = progress or _say
        self._store = store
        self._approve = approve
        self._check: Literal["off", "warn", "strict"] = check
        self._checker: TypeChecker | None = None
        self._warming: asyncio.Future[None] | None = None
        self._indexing: asyncio.Future[None] | None = None
        self.catalog = Catalog(self.scope)
        self._site: tuple[Path, ...] | None = None  # where the guest's packages are, if that is known
        self._beginning: Literal["new", "resume"] | Story = "new"
        self._tree = ""  # what a fork's workspace begins with
        self._journal: Journal | None = None
        self._workspace: Workspace | None = None
        self._course: Passing | Continuity | None = None
        self._turn = asyncio.Lock()

    @classmethod
    def resume(cls, session: str, *, store: str | Path | Journal, **options: Any) -> Runtime:
        """A session of the store, in this process: its names, its files, its journal. Takes what `Runtime` takes.

        >>> async with Runtime.resume("s1", scope=scope, store="sqlite:///agents.db") as rt:
        ...     outcome = await rt.outcome()
        """
        made = cls(store=store, session=session, **options)
        made._beginning = "resume"
        return made

    async def __aenter__(self) -> Runtime:
        if self._course is not None:  # a fork, which is open when it is given
            return self
        try:
            await self._open()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _open(self) -> None:
        if self._sandbox is None:
            self._sandbox = await self._process_sandbox()
        if self._store is not None:
            known, place = self._beginning == "resume", self._store
            self._journal = open_journal(str(place), make=not known) if isinstance(place, str | Path) else place
            if known:
                self._journal.facts(self.session or "")  # told before anything is made that would be left over
        self._workspace = await asyncio.to_thread(self._find_workspace)
        if self._tree and self._journal is not None:
            await asyncio.to_thread(Trees(self._journal, self.session or "").restore, self._tree, self._workspace)
        self.files = Files(self._workspace)
        self._warm_checker()
        if any(surface_of(value) is not None for _, value in self.scope.names()):
            self._indexing = asyncio.ensure_future(asyncio.to_thread(self.catalog.warm))
        await self._begin(self._sandbox, self._workspace)

    async def _begin(self, sandbox: Sandbox, workspace: Workspace) -> None:
        if self._journal is None:
            self._course = Passing(Approved(self._host, self._approve), sandbox, workspace, self.limits)
            await self._course.begin()
            return
        parent = self._beginning if isinstance(self._beginning, Story) else None
        fork = Fork(parent=parent.facts.id, cell=parent.last) if parent is not None else None
        pins, key = await sandbox.pins(), await asyncio.to_thread(self._checkpoint_key)
        session = self.session or ""

        def guard(inner: Host, began: Callable[[Call], bool]) -> Host:
            return Approved(inner, self._approve, session=session, began=began)

        journal = SessionJournal(self._journal, session, pins=pins, fork=fork, key=key, guard=guard)
        self._host.secret = journal.secret
        self._course = Continuity(journal, self._host, sandbox, workspace, self.limits, self._progress)
        if parent is not None:
            await self._course.fork(parent)
        elif self._beginning == "resume":
            await self._course.resume()
        else:
            await self._course.begin()

    def _checkpoint_key(self) -> bytes | None:
        try:
            return read_key(Settings.from_environment().state_dir)
        except PlatformError as error:
            self._progress(f"toolwright: {error}; sessions are resumed without checkpoints, which takes longer")
            return None

    async def _process_sandbox(self) -> Sandbox:
        if not sys.platform.startswith("linux"):
            raise PlatformError(f"the process sandbox needs Linux, and this is {sys.platform}; run it on Linux")
        found = await environment(self._packages, cache=Settings.from_environment().cache_dir, progress=self._progress)
        self._site = found.site
        return ProcessSandbox(found, required=self._required)

    def _find_workspace(self) -> Workspace:
        if self._where is not None:
            return Workspace.at(self._where, GUEST_UID)
        if self._journal is not None:
            kept = workspace_of(self._journal, self.session or "")
            if kept is not None:
                return kept
        return Workspace.create(None, GUEST_UID)

    async def execute(
        self, code: str, *, on_event: OnEvent | None = None, check: Literal["off", "warn", "strict"] | None = None
    ) -> Outcome:
        """Run one cell. Names stay for the next one; what guest code does wrong is in the outcome, never raised.

        After a limit, a crash or a cancelled cell the names of a journaled session are as they were before it. Without
        a journal they are gone, and the next cell starts in a fresh interpreter. `check` is for this cell alone.
        """
        check = check or self._check
        async with self._turn:
            if self._course is None:
                raise UsageError("this Runtime is not open: use `async with Runtime(…) as rt:`")
            mistakes = await self._mistakes(code, self._course) if check != "off" else ()
            if mistakes and check == "strict":
                return Outcome(cell=0, error=type_mistake(mistakes))
            outcome = await self._course.run(code, on_event)
            return replace(outcome, mistakes=tuple(map(str, mistakes))) if mistakes else outcome

    async def _mistakes(self, code: str, course: Passing | Continuity) -> tuple[Mistake, ...]:
        return await self._type_checker().check(code, before=course.ran())

    def _type_checker(self) -> TypeChecker:
        if self._checker is None:
            self._checker = TypeChecker(self.scope, names=NAMES, site=self._site)
        return self._checker

    def _warm_checker(self) -> None:
        """Start the type checker while nobody waits for it; a model takes its time before the first cell."""
        if self._check != "off" and find_spec("ty") is not None:
            self._warming = asyncio.ensure_future(self._type_checker().warm())

    @property
    def cells(self) -> int:
        """The number of the last cell."""
        return 0 if self._course is None else self._course.last

    @property
    def host(self) -> ScopeHost:
        """What holds the live objects of this session's guest, and knows where each stands in the scope."""
        return self._host

    @property
    def journal(self) -> Journal | None:
        """Where this session is kept, while it is open; None where it is not kept."""
        return self._journal

    @property
    def turns(self) -> Turns | None:
        """What the journal has of an agent's turns; None where there is no journal."""
        return Turns(self._course.session, self._host) if isinstance(self._course, Continuity) else None

    async def outcome(self, *, on_event: OnEvent | None = None) -> Outcome:
        """What came of the session's last cell, carried on to its end if its process died under it."""
        async with self._turn:
            return await self._continuity("outcome").outcome(on_event)

    @property
    def restored(self) -> Restored | None:
        """How the session's guest was brought back, the last time that it was."""
        return self._course.restored if isinstance(self._course, Continuity) else None

    async def fork(self, *, at: int | None = None, session: str | None = None, scope: Scope | None = None) -> Runtime:
        """A new session that begins as this one was after cell `at`, or is now: `async with await rt.fork(…)`.

        `scope` has the same names for it, where the objects behind them are to be others.
        """
        async with self._turn:
            course = self._continuity("fork")
            story = course.session.story(at)
            tree = await course.tree_after(story.last if at is None else at)
        branch = Runtime(
            scope or self.scope,
            sandbox=self._wanted,
            packages=self._packages,
            limits=self.limits,
            require=self._required,
            progress=self._progress,
            store=self._store if isinstance(self._store, str | Path) and self._store != "memory:" else self._journal,
            session=session,
            check=self._check,
            approve=self._approve,
        )
        branch._beginning, branch._tree = story, tree
        await branch.__aenter__()
        return branch

    async def rollback(self, to: int, *, yes: bool = False) -> RolledBack:
        """Undo what the cells after cell `to` did, the last first; 0 is the beginning.

        Operations declared with an `undo=` are undone, the workspace is as it was, and the session goes on as after
        `to`. What cannot be undone is listed in a `RollbackRefused` before anything is done; `yes=True` undoes the
        rest. When an undo fails, `RollbackFailed` says what is undone and what is not; call it again to go on.
        """
        async with self._turn:
            return await self._continuity("rollback").rollback(to, yes=yes)

    def _continuity(self, what: str) -> Continuity:
        if self._course is None:
            raise UsageError("this Runtime is not open: use `async with Runtime(…) as rt:`")
        if not isinstance(self._course, Continuity):
            raise UsageError(f'{what}() needs a journal; open it with store="sqlite:///agents.db"')
        return self._course

    async def search(self, query: str, limit: int = 8) -> tuple[Hit, ...]:
        """What in scope fits the words of `query`, the best first: names, signatures, one sentence each."""
        return await asyncio.to_thread(self.catalog.search, query, limit)

    async def show(self, name: str, *, budget: int | None = None) -> str:
        """The stub of a name in scope: its signatures, annotations and docs, as `.pyi` text.

        With a `budget` in characters, the classes that it needs too, as many as fit, and also names that only calls
        lead to (`Contact.save`).
        """
        if budget is not None:
            return await asyncio.to_thread(self.catalog.show, name, budget)
        try:
            return stub(self.scope, name)
        except KeyError:
            raise NotInScope(self.catalog.missing(name)) from None

    async def write_stubs(self) -> int:
        """What is in scope as files of the workspace, to be listed and read: `servers/crm/contacts/create.pyi`.

        One file a function, with its docs and the types it needs. Gives the number of files.
        """
        return await write_tree(self.catalog, self.files)

    async def close(self) -> None:
        """End the guest, remove a workspace that was made here for no longer."""
        checker, self._checker = self._checker, None
        for work in (self._warming, self._indexing):
            if work is not None:
                await asyncio.wait([work])
                work.exception()  # what went wrong is for the first search, or the first cell, to meet
        if checker is not None:
            await checker.close()
        course, self._course = self._course, None
        if course is not None:
            await course.close()
        if self._sandbox is not None and isinstance(self._wanted, str):
            await self._sandbox.close()
            self._sandbox = None
        self._host.close()
        workspace, self._workspace = self._workspace, None
        if workspace is not None:
            await asyncio.to_thread(workspace.remove if workspace.fresh else workspace.close)
        journal, self._journal = self._journal, None
        if journal is not None and isinstance(self._store, str | Path):
            journal.close()


async def replay(
    session: str,
    *,
    store: str | Path | Journal,
    sandbox: Sandbox | None = None,
    packages: Path | str | Sequence[str] | None = None,
    limits: Limits | None = None,
    on_cell: Callable[[CellRow], None] | None = None,
) -> Repeated:
    """Run a session's cells again, in a jail, each call answered from the journal; nothing is written to it.

    Gives `same`, or the first difference: the cell, the line, what is recorded, and what came instead.
    """
    journal = open_journal(str(store), make=False) if isinstance(store, str | Path) else store
    host = ScopeHost(Scope())
    chosen = sandbox
    try:
        journal.facts(session)  # told before anything is started
        if chosen is None:
            found = await environment(packages, cache=Settings.from_environment().cache_dir, progress=lambda line: None)
            chosen = ProcessSandbox(found, required=STANDARD)
        return await repeat(journal, session, chosen, host, limits, on_cell)
    finally:
        host.close()
        if sandbox is None and chosen is not None:
            await chosen.close()
        if isinstance(store, str | Path):
            journal.close()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run(main: Coroutine[Any, Any, T]) -> T:
    """The one sync door: run a coroutine to its end, as `asyncio.run` does."""
    return asyncio.run(main)
