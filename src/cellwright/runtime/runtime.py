"""`Runtime`: what can be done with a session."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from cellwright.catalog import Catalog, write_tree
from cellwright.errors import UsageError
from cellwright.guard import (
    SERVED_PRIVACY,
    Approvals,
    Approve,
    AuditTrail,
    FlowMode,
    GuardRules,
    Hook,
    Network,
    Policy,
    Privacy,
    SessionNetwork,
    SessionPrivacy,
    policy_of,
)
from cellwright.journal import (
    FileChange,
    FileDiff,
    KeptSession,
    Restored,
    Rewound,
    RolledBack,
    SessionOwner,
    Turns,
    check_id,
)
from cellwright.runtime.cell_check import CellCheck, CheckMode
from cellwright.runtime.open_session import (
    ForkedStart,
    OpenSession,
    ResumedStart,
    RuntimeOptions,
    flow_guard,
    open_session,
    say,
)
from cellwright.runtime.scope_search import ScopeSearch
from cellwright.sandboxes import Files, Limits, OnEvent, Outcome, Sandbox, SandboxName
from cellwright.scope import Scope, ScopeHost, current_call, surface_of
from cellwright.store import Store

T = TypeVar("T")


class Runtime(ScopeSearch):
    """Runs untrusted Python that calls your live objects. An async context manager.

    >>> async with Runtime(scope={"crm": crm}) as rt:
    ...     outcome = await rt.execute("crm.contacts.list(city='Oslo')")

    scope      names for guest code: a mapping, or a `Scope` with rules
    sandbox    "process" is the kernel jail, "landlock" less, for machines without namespaces, "best" the first of these
               that is there; "auto" is the setting CELLWRIGHT_SANDBOX, else "process"; or a `Sandbox` of your own
    packages   what guest code may import besides the standard library: a venv's path, or a list to be installed
    limits     what a cell may use
    workspace  a directory to share with guest code; a fresh one, removed at the end, when left out
    require    the operator's minimum: layers without which nothing runs; left out, that of the sandbox
    progress   is told of long work, such as installing packages, line by line
    store      where sessions are journaled: "sqlite:///agents.db", "memory:", or a `Store`
    session    the id of a new session in the store; `Runtime.resume` opens one that is there
    approve    who says yes to operations that ask for it, by True; False or a reason is no. Without it, a cell of a
               session that is kept is paused until somebody decides in the store; of one that is not, none is made
    approvals  how long such questions wait, and when they are too late
    check      what the type checker's mistakes do: "strict" refuses the cell, "warn" tells them, "off" asks nobody
    whose      for which agent a new session is, and below which session
    policy     what code may do: a `Policy`, or its file; left out, what is known of each operation decides
    hooks      functions of yours before and after calls, in this order
    user       for whom it works: policy, limits and audit know it
    flow       what is done about calls that untrusted content may have chosen: "ask" a person, "warn", "deny", or "off"
    audit      the directory of the audit, or an `AuditTrail`: each call is told there before its effect, or not made
    network    the hosts that guest code may reach by HTTP, or a `Network`; none when left out
    private    True, kinds of values, or a `Privacy`: the guest, the journal and the audit have tokens of private values
    """

    def __init__(
        self,
        scope: Scope | Mapping[str, Any] | None = None,
        *,
        sandbox: SandboxName | Sandbox = "auto",
        packages: Path | str | Sequence[str] | None = None,
        limits: Limits | None = None,
        workspace: Path | str | None = None,
        require: Iterable[str] | None = None,
        progress: Callable[[str], None] | None = None,
        store: str | Path | Store | None = None,
        session: str | None = None,
        check: CheckMode = "off",
        approve: Approve | None = None,
        approvals: Approvals | None = None,
        whose: SessionOwner | None = None,
        policy: Policy | Path | str | None = None,
        hooks: Sequence[Hook] = (),
        user: str = "",
        flow: FlowMode | None = None,
        audit: str | Path | AuditTrail | None = None,
        private: Privacy | Collection[str] | bool | None = None,
        network: Network | Sequence[str] | None = None,
    ) -> None:
        if session is not None and store is None:
            raise UsageError(f'session={session!r} needs a store to be kept in, as in store="sqlite:///agents.db"')
        policy = policy_of(policy)
        network = policy.network if network is None and policy is not None else network
        opened = SessionNetwork(Network.of(network)) if network else None
        self.scope = Scope.of(scope) if opened is None else opened.in_scope(Scope.of(scope))
        self.limits = limits or Limits()
        private = policy.private if private is None and policy is not None else Privacy.of(private)
        self.privacy = None if private is None else SessionPrivacy(private, SERVED_PRIVACY.get())
        self.session = None if store is None else check_id(session or uuid.uuid4().hex[:12])
        self.catalog = Catalog(self.scope)
        self._options = RuntimeOptions(
            sandbox=sandbox,
            packages=packages,
            limits=self.limits,
            workspace=Path(workspace) if workspace is not None else None,
            require=None if require is None else frozenset(require),
            progress=progress or say,
            store=store,
            session=self.session or "",
            check=check,
            approve=approve,
            approvals=approvals or Approvals(),
            owner=whose or SessionOwner(),
            audit=audit,
            guard=GuardRules(policy=policy, hooks=tuple(hooks), user=user),
            flow=flow,
            network=opened,
        )
        self._host = ScopeHost(self.scope, session=self.session or "")
        self.flow = flow_guard(self._options, self._host, self.scope)
        self._open: OpenSession | None = None
        self._check: CellCheck | None = None  # made when it is first needed
        self._background: list[asyncio.Future[None]] = []
        self._turn = asyncio.Lock()

    @classmethod
    def resume(cls, session: str, *, store: str | Path | Store, take_over: bool = False, **options: Any) -> Runtime:
        """A session of the store, in this process: its names, its files, its journal. Takes what `Runtime` takes.

        `SessionBusy` while another process has it open; with `take_over` it is taken from that one.
        """
        runtime = cls(store=store, session=session, **options)
        runtime._options = replace(runtime._options, start=ResumedStart(take_over=take_over))
        return runtime

    async def __aenter__(self) -> Runtime:
        if self._open is not None:  # a fork, which is open when it is given
            return self
        try:
            self._open = await open_session(self._options, self._host, self.flow, self.privacy)
            self._warm(self._open)
            await self._open.begin(self._options.start)
        except BaseException:
            await self.close()
            raise
        return self

    def _warm(self, opened: OpenSession) -> None:
        """Begin what the first search and the first cell need, while the guest is opened."""
        if self._options.check != "off":
            self._background.append(asyncio.ensure_future(self._cell_check(opened).warm()))
        if any(surface_of(value) is not None for _, value in self.scope.names()):
            self._background.append(asyncio.ensure_future(asyncio.to_thread(self.catalog.warm)))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the guest; remove a workspace that was made only for this session."""
        background, self._background = self._background, []
        for work in background:
            await asyncio.wait([work])
            if not work.cancelled():  # by whoever ended the tasks of the loop
                work.exception()  # what went wrong is for the first search, or the first cell, to meet
        check, self._check = self._check, None
        if check is not None:
            await check.close()
        opened, self._open = self._open, None
        try:
            if opened is not None:
                await opened.close()
        finally:
            self._host.close()

    async def execute(self, code: str, *, on_event: OnEvent | None = None, check: CheckMode | None = None) -> Outcome:
        """Run one cell. Names stay for the next one; what guest code does wrong is in the outcome, never raised.

        After a limit, a crash or a cancelled cell the names of a journaled session are as they were before it. Without
        a journal they are gone, and the next cell starts in a fresh interpreter. `check` is for this cell alone.
        """
        check = check or self._options.check
        async with self._turn:
            opened = self._opened()
            await opened.session.usable()
            notes: tuple[str, ...] = ()
            if check != "off":
                before = await opened.session.ran()
                refused, notes = await self._cell_check(opened).mistakes(code, check, before)
                if refused is not None:
                    return Outcome(cell=0, error=refused)
            if (kept := self._kept_session) is not None and kept.cut_off is not None:
                self.flow.cell_ends(await kept.outcome(on_event))
            self.flow.cell_begins(code)
            outcome = await opened.session.run(code, on_event)
            self.flow.cell_ends(outcome)
            return replace(outcome, mistakes=notes) if notes else outcome

    def _cell_check(self, opened: OpenSession) -> CellCheck:
        self._check = self._check or CellCheck(self.scope, opened.site)
        return self._check

    def _opened(self) -> OpenSession:
        if self._open is None:
            raise UsageError("this Runtime is not open: use `async with Runtime(…) as rt:`")
        return self._open

    def reveal(self, value: Any) -> Any:
        """What came of a cell, with the values of the private tokens in it. For the developer's own eyes."""
        return value if self.privacy is None else self.privacy.reveal_value(value)

    @property
    def files(self) -> Files:
        """The host's way into the workspace."""
        return self._opened().files

    @property
    def cells(self) -> int:
        """The number of the last cell."""
        return 0 if self._open is None else self._open.session.last

    @property
    def host(self) -> ScopeHost:
        """What holds the live objects of this session's guest, and knows where each stands in the scope."""
        return self._host

    @property
    def journal(self) -> Store | None:
        """Where this session is kept, while it is open; None where it is not kept."""
        return None if self._open is None else self._open.store

    @property
    def turns(self) -> Turns | None:
        """What the journal has of an agent's turns; None where there is no journal."""
        return None if (kept := self._kept_session) is None else Turns(kept.session, self._host)

    @property
    def _kept_session(self) -> KeptSession | None:
        session = None if self._open is None else self._open.session
        return session if isinstance(session, KeptSession) else None

    async def outcome(self, *, wait: bool = False, on_event: OnEvent | None = None) -> Outcome:
        """What came of the session's last cell, carried on to its end if its process died under it, or it was paused.

        A cell that waits for a person's yes has a `Waiting` error, and `waiting` names the questions. With `wait` it is
        carried on when they are decided, here or elsewhere.
        """
        async with self._turn:
            outcome = await (await self._kept("outcome")).outcome(on_event, wait=wait)
            self.flow.cell_ends(outcome)
            return outcome

    async def usable(self) -> None:
        """Try again after a `JournalFailed`, as `execute` does."""
        async with self._turn:
            await self._opened().session.usable()

    async def require_decided(self) -> None:
        """`UsageError` while a cell of this session waits for a person's yes; the line says what to do."""
        async with self._turn:
            if self._kept_session is not None:
                await (await self._kept("require_decided")).require_decided()

    async def decided(self, questions: Sequence[str]) -> None:
        """For host code that serves a call: until these questions, of another session, are decided.

        It need not come back: the cell of that call is paused when nothing else of it goes on, and the call is made
        again when the cell is carried on. So it must be idempotent.
        """
        await (await self._kept("decided", under_way=True)).decided(current_call().path, questions)

    async def give_up(self) -> Outcome:
        """End a cell that waits for a person, or whose process died, where it is. What it did outside is done."""
        async with self._turn:
            return await (await self._kept("give_up")).give_up()

    @property
    def restored(self) -> Restored | None:
        """How the session's guest was brought back, the last time that it was."""
        return None if self._kept_session is None else self._kept_session.restored

    async def fork(
        self,
        *,
        at: int | None = None,
        entry: int | None = None,
        session: str | None = None,
        scope: Scope | None = None,
    ) -> Runtime:
        """A new session that begins as this one was after cell `at`, or is now: `async with await rt.fork(…)`.

        With `entry`, as it was when that was the last entry of its journal; what was undone since then is there again.
        `scope` has the same names for it, where the objects behind them are to be others.
        """
        async with self._turn:
            kept = await self._kept("fork")
            if at is not None and entry is not None:
                raise UsageError("fork: give a cell (at=…) or an entry, not both")
            parent, tree = await kept.branch(at, entry)
        options, place = self._options, self._options.store
        same: Any = {"limits": self.limits, "progress": options.progress, "flow": options.flow}
        same |= {"policy": options.guard.policy, "hooks": options.guard.hooks}  # scope and host are told of these
        same |= {"private": False if self.privacy is None else self.privacy.options}
        same |= {"network": [] if options.network is None else options.network.options}
        branch = Runtime(scope or self.scope, store=kept.session.store, session=session, **same)
        branch._options = replace(
            options,
            workspace=None,
            store=kept.session.store if place == "memory:" else place,  # another one that is named so is another store
            session=branch._options.session,
            network=branch._options.network,
            owner=SessionOwner(agent=options.owner.agent),
            start=ForkedStart(parent=parent, tree=tree),
        )
        branch.flow.own_model = self.flow.own_model
        await branch.__aenter__()
        if at is None and entry is None:
            branch.flow.begin_beside(self.flow)
        return branch

    async def diff(self, since: int | None = None) -> tuple[FileDiff, ...]:
        """What the last cell changed in the workspace, and whoever came after it; or all since cell `since` ended.

        By path, each with what changed in its lines where it is a short text. 0 is the beginning.
        """
        async with self._turn:
            return await (await self._kept("diff")).diff(since)

    async def undo_files(self) -> tuple[FileChange, ...]:
        """Put the files back as they were before the last cell. Its names, and what it did outside, stay."""
        async with self._turn:
            return await (await self._kept("undo_files")).put_back(None)

    async def restore_files(self, at: int) -> tuple[FileChange, ...]:
        """Put the files back as they were when cell `at` had ended; 0 is the beginning. Names stay as they are."""
        async with self._turn:
            return await (await self._kept("restore_files")).put_back(at)

    async def rollback(self, to: int, *, yes: bool = False) -> RolledBack:
        """Undo what the cells after cell `to` did, the last first; 0 is the beginning.

        Operations declared with an `undo=` are undone, the workspace is as it was, and the session goes on as after
        `to`. What cannot be undone is listed in a `RollbackRefused` before anything is done; `yes=True` undoes the
        rest. When an undo fails, `RollbackFailed` says what is undone and what is not; call it again to go on.
        """
        async with self._turn:
            return await (await self._kept("rollback")).rollback(to, yes=yes)

    async def rewind(self, to: int | None = None, *, entry: int | None = None) -> Rewound:
        """Go on from an earlier moment: after cell `to`, or when `entry` was the last entry; 0 is the beginning.

        Names and files are again what they were; what was done outside since then stays done, and what came after stays
        in the history, as a side branch that can be rewound to, or forked. `rollback` undoes what was done outside.
        """
        async with self._turn:
            return await (await self._kept("rewind")).rewind(to=to, entry=entry)

    async def _kept(self, what: str, *, under_way: bool = False) -> KeptSession:
        self._opened()
        if (kept := self._kept_session) is None:
            raise UsageError(f'{what}() needs a journal; open it with store="sqlite:///agents.db"')
        if not under_way:
            await kept.usable()
        return kept

    async def write_stubs(self) -> int:
        """What is in scope as files of the workspace, to be listed and read: `servers/crm/contacts/create.pyi`.

        One file a function, with its docs and the types it needs. Gives the number of files.
        """
        return await write_tree(self.catalog, self.files)
