"""What a `Runtime` is made of: opened in order, and closed. It knows nothing of what is done with it then."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from cellwright.catalog import Catalog, TypeChecker
from cellwright.doors import Host
from cellwright.errors import PlatformError, UsageError
from cellwright.guard import Approvals, Approve, Approved, Desk, Lasting
from cellwright.journal import (
    Asking,
    Continuity,
    Fork,
    SessionJournal,
    Story,
    Whose,
    bring_back,
    check_id,
    counted,
    lost_tree,
    read_key,
    workspace_of,
)
from cellwright.sandboxes import (
    GUEST_UID,
    MOST_FILES,
    STANDARD,
    Files,
    Limits,
    Passing,
    ProcessSandbox,
    Sandbox,
    Usage,
    Workspace,
    environment,
)
from cellwright.scope import Scope, ScopeHost, surface_of
from cellwright.settings import Settings
from cellwright.store import Store, open_store

# What guest code has besides the scope, for the type checker.
NAMES = {
    "transaction": """
import contextlib as _contextlib
class _Transaction(_contextlib.AbstractContextManager[None, None], _contextlib.AbstractAsyncContextManager[None, None]):
    ...
def transaction(*, anyway: bool = False) -> _Transaction: ...
"""
}


class Opening:
    """See `Runtime`."""

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
        store: str | Path | Store | None = None,
        session: str | None = None,
        check: Literal["off", "warn", "strict"] = "off",
        approve: Approve | None = None,
        approvals: Approvals | None = None,
        whose: Whose | None = None,
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
        self._approvals = approvals or Approvals()
        self._check: Literal["off", "warn", "strict"] = check
        self._checker: TypeChecker | None = None
        self._warming: asyncio.Future[None] | None = None
        self._indexing: asyncio.Future[None] | None = None
        self.catalog = Catalog(self.scope)
        self._site: tuple[Path, ...] | None = None  # where the guest's packages are, if that is known
        self._whose = whose or Whose()
        self._beginning: Literal["new", "resume"] | Story = "new"
        self._take_over = False
        self._tree = ""  # what a fork's workspace begins with
        self._journal: Store | None = None
        self._workspace: Workspace | None = None
        self._course: Passing | Continuity | None = None
        self._turn = asyncio.Lock()

    async def _open(self) -> None:
        if self._sandbox is None:
            self._sandbox = await self._process_sandbox()
        if self._store is not None:
            known, place = self._beginning == "resume", self._store
            self._journal = open_store(str(place), make=not known) if isinstance(place, str | Path) else place
            if known:
                self._journal.facts(self.session or "")  # told before anything is made that would be left over
                if self._where is None:
                    self._tree = await asyncio.to_thread(lost_tree, self._journal, self.session or "")
        self._workspace = await asyncio.to_thread(self._find_workspace)
        if self._tree and self._beginning == "resume" and self._journal is not None:
            await self._tell_put_back(self._journal, self._workspace)
        self.files = Files(self._workspace, quota=Usage(bytes=self.limits.workspace_mb << 20, files=MOST_FILES))
        self._warm_checker()
        if any(surface_of(value) is not None for _, value in self.scope.names()):
            self._indexing = asyncio.ensure_future(asyncio.to_thread(self.catalog.warm))
        await self._begin(self._sandbox, self._workspace)

    async def _tell_put_back(self, journal: Store, workspace: Workspace) -> None:
        files = (await asyncio.to_thread(workspace.size)).files
        if files and journal.summary(self.session or "").cells:  # none of its own: a fork that was never opened
            words = f"its workspace was not here; {counted(files, 'file')} put back in a new one"
            self._progress(f"cellwright: session {self.session}: {words}")

    async def _begin(self, sandbox: Sandbox, workspace: Workspace) -> None:
        if self._journal is None:
            self._course = Passing(Approved(self._host, self._approve), sandbox, workspace, self.limits)
            await self._course.begin()
            return
        parent = self._beginning if isinstance(self._beginning, Story) else None
        fork = None if parent is None else Fork(parent=parent.branching[0], cell=parent.last, entry=parent.branching[1])
        pins, key = await sandbox.pins(), await asyncio.to_thread(self._checkpoint_key)
        session = self.session or ""

        desk = Desk(self._journal, self._approve, self._approvals)

        def guard(inner: Host, asking: Asking) -> Host:
            return Lasting(inner, asking, desk, self._approvals)

        whose = self._whose
        journal = SessionJournal(self._journal, session, pins=pins, fork=fork, key=key, guard=guard, whose=whose)
        self._host.secret = journal.secret
        self._course = Continuity(journal, self._host, sandbox, workspace, self.limits, self._progress, asker=desk)
        if parent is not None:
            await self._course.fork(parent)
        elif self._beginning == "resume":
            await self._course.resume(take_over=self._take_over)
        else:
            await self._course.begin()

    def _checkpoint_key(self) -> bytes | None:
        try:
            return read_key(Settings.from_environment().state_dir)
        except PlatformError as error:
            self._progress(f"cellwright: {error}; sessions are resumed without checkpoints, which takes longer")
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
        session = self.session or ""
        if self._journal is not None and self._tree:
            return bring_back(self._journal, session, self._tree, self.limits)
        kept = workspace_of(self._journal, session) if self._journal is not None else None
        return kept or Workspace.create(None, GUEST_UID)

    def _type_checker(self) -> TypeChecker:
        if self._checker is None:
            self._checker = TypeChecker(self.scope, names=NAMES, site=self._site)
        return self._checker

    def _warm_checker(self) -> None:
        """Start the type checker while nobody waits for it; a model takes its time before the first cell."""
        if self._check != "off" and find_spec("ty") is not None:
            self._warming = asyncio.ensure_future(self._type_checker().warm())

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


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
