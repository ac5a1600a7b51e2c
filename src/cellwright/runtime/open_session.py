"""`OpenSession`: what a `Runtime` holds while it is open: sandbox, store, workspace and the session on them.

It knows nothing of what is done with the session then.
"""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cellwright.doors import Host
from cellwright.errors import PlatformError, UsageError
from cellwright.guard import (
    ApprovalDesk,
    Approvals,
    Approve,
    Approved,
    Audited,
    AuditTrail,
    FlowGuard,
    FlowMode,
    FlowPolicy,
    GuardRules,
    NetworkSandbox,
    Private,
    PrivateNotes,
    PrivateSandbox,
    SessionNetwork,
    SessionPrivacy,
    StoredApproval,
    WorkspaceLabels,
    has_private_notes,
    revealing,
    telling,
    unkept_session,
)
from cellwright.journal import (
    CallQuestions,
    ForkPoint,
    History,
    KeptSession,
    PauseWatch,
    SessionJournal,
    SessionOwner,
    lost_tree,
    read_key,
    workspace_from_tree,
    workspace_of,
)
from cellwright.sandboxes import (
    GUEST_UID,
    MOST_FILES,
    SANDBOXES,
    DiskUsage,
    Files,
    Limits,
    Sandbox,
    SandboxName,
    UnkeptSession,
    Workspace,
    choose,
    environment,
)
from cellwright.scope import KEYWORD_ONLY, AddedName, Declaration, Parameter, Scope, ScopeHost, Signature
from cellwright.settings import Settings
from cellwright.short_texts import counted
from cellwright.store import Store, close_store, off_loop, opened_store

# What guest code has besides the scope, for the type checker.
GUEST_NAMES = {
    "transaction": AddedName(
        line=Declaration(
            name="transaction",
            signatures=(
                Signature(
                    parameters=(Parameter(name="anyway", type="bool", default="False", kind=KEYWORD_ONLY),),
                    returns="_Transaction",
                ),
            ),
        ),
        before="""
import contextlib as _contextlib
class _Transaction(_contextlib.AbstractContextManager[None, None], _contextlib.AbstractAsyncContextManager[None, None]):
    ...
""",
    )
}


def say(line: str) -> None:
    """Tell a person, where the developer has not said how."""
    print(line, file=sys.stderr, flush=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class NewStart:
    """The session is new."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResumedStart:
    """The store has the session; with `take_over` it is taken from the process that has it open."""

    take_over: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ForkedStart:
    """The session is a fork: it begins where `parent`, read up to there, ends, with the files of `tree`."""

    parent: History
    tree: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RuntimeOptions:
    """What the developer chose: see `Runtime`. `session` is "" where there is no store."""

    sandbox: SandboxName | Sandbox
    packages: Path | str | Sequence[str] | None
    limits: Limits
    workspace: Path | None
    require: frozenset[str] | None
    progress: Callable[[str], None]
    store: str | Path | Store | None
    session: str
    check: Literal["off", "warn", "strict"]
    approve: Approve | None
    approvals: Approvals
    owner: SessionOwner
    audit: str | Path | AuditTrail | None = None
    guard: GuardRules = field(default_factory=GuardRules)
    flow: FlowMode | None = None
    network: SessionNetwork | None = None
    start: NewStart | ResumedStart | ForkedStart = NewStart()

    def __post_init__(self) -> None:
        if self.check not in ("off", "warn", "strict"):
            raise UsageError(f'check={self.check!r}: give "off", "warn" or "strict"')
        if isinstance(self.sandbox, str) and self.sandbox not in SANDBOXES:
            raise UsageError(f'sandbox={self.sandbox!r}: give "auto", "process", "landlock", "best", or a Sandbox')


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenSession:
    """`site` is where the guest's packages are, if that is known. `close` ends the guest and lets go of everything.

    The guest is opened by `begin`, when the rest is there: a call that was under way may be made again while a session
    is resumed, and its host code uses the runtime.
    """

    session: KeptSession | UnkeptSession
    store: Store | None
    files: Files
    site: tuple[Path, ...] | None
    stack: AsyncExitStack

    async def begin(self, start: NewStart | ResumedStart | ForkedStart) -> None:
        """Open the guest."""
        if isinstance(self.session, UnkeptSession):
            return await self.session.begin()
        match start:
            case ForkedStart(parent=parent):
                await self.session.fork(parent)
            case ResumedStart(take_over=take_over):
                await self.session.resume(take_over=take_over)
            case NewStart():
                await self.session.begin()

    async def close(self) -> None:
        await self.stack.aclose()


def flow_guard(options: RuntimeOptions, host: ScopeHost, scope: Scope) -> FlowGuard:
    """The guard of the data flow. Patterns of policy and hooks are noted in the scope, timeouts for the host."""
    guard, policy = options.guard, options.guard.policy
    scope.rules.note(guard.patterns)
    if not guard.is_empty:
        host.lent, host.denies = guard.lent, guard.denies
    if policy is not None:
        host.timeout_of = lambda about: policy.timeout_of(about.names)
    rules = FlowPolicy() if policy is None else policy.flow
    return FlowGuard(options.flow or rules.mode, host, rules, options.progress)


async def open_session(
    options: RuntimeOptions, host: ScopeHost, flow: FlowGuard, privacy: SessionPrivacy | None = None
) -> OpenSession:
    """Open all but the guest, in order; where a part fails, those before it are closed."""
    async with AsyncExitStack() as stack:
        sandbox, site = await _sandbox(options, stack)
        if options.network is not None:
            sandbox = NetworkSandbox(sandbox, options.network)
            stack.callback(options.network.close)
        store = await _store(options, stack)
        workspace = await _workspace(options, store)
        stack.push_async_callback(asyncio.to_thread, workspace.remove if workspace.fresh else workspace.close)
        if options.workspace is not None:
            labels = WorkspaceLabels(workspace, Settings.from_environment().state_dir)
            await asyncio.to_thread(flow.share, labels)
        files = Files(workspace, quota=DiskUsage(bytes=options.limits.workspace_mb << 20, files=MOST_FILES))
        session: KeptSession | UnkeptSession
        if store is None:
            name = unkept_session()
            audit = await _audit(options, workspace, host, name, imported=False)
            shows: ScopeHost | Private = host
            approve = options.approve
            if privacy is not None:
                shows, approve = Private(host, privacy, options.progress), revealing(approve, privacy)
                sandbox = PrivateSandbox(sandbox, host, privacy)
            inner = shows if audit is None else audit(shows)
            approved, family = Approved(inner, approve, shows), options.owner.family
            guarded = options.guard.around(approved, flow, host, name, family)
            session = UnkeptSession(guarded, sandbox, workspace, options.limits)
        else:
            session = await _kept(options, host, sandbox, store, workspace, flow, privacy)
        stack.push_async_callback(session.close)
        return OpenSession(session=session, store=store, files=files, site=site, stack=stack.pop_all())


async def _sandbox(options: RuntimeOptions, stack: AsyncExitStack) -> tuple[Sandbox, tuple[Path, ...] | None]:
    if not isinstance(options.sandbox, str):
        return options.sandbox, None
    if not sys.platform.startswith("linux"):
        raise PlatformError(f"the process sandbox needs Linux, and this is {sys.platform}; run it on Linux")
    sandbox, site = await named_sandbox(options.sandbox, options.packages, options.require, options.progress)
    stack.push_async_callback(sandbox.close)
    return sandbox, site


async def named_sandbox(
    name: SandboxName,
    packages: Path | str | Sequence[str] | None,
    required: frozenset[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[Sandbox, tuple[Path, ...]]:
    """The sandbox that a name stands for here, and where its packages are."""
    settings = Settings.from_environment()
    found = await environment(packages, cache=settings.cache_dir, progress=progress)
    chosen = await choose(name, found, setting=settings.sandbox, required=required, progress=progress)
    return chosen, found.site


async def _store(options: RuntimeOptions, stack: AsyncExitStack) -> Store | None:
    place, resumed = options.store, isinstance(options.start, ResumedStart)
    if place is None:
        return None
    if isinstance(place, str | Path):
        store = await opened_store(str(place), make=not resumed)
        stack.push_async_callback(close_store, store)
    else:
        store = place
    if resumed:  # raises `NoSession` before anything is made that would be left over
        await off_loop(store, store.facts, options.session)
    return store


async def _workspace(options: RuntimeOptions, store: Store | None) -> Workspace:
    if options.workspace is not None:
        return await asyncio.to_thread(Workspace.at, options.workspace, GUEST_UID)
    if store is None:
        return await asyncio.to_thread(Workspace.create, None, GUEST_UID)
    match options.start:
        case ForkedStart(tree=tree):
            lost = ""
        case ResumedStart():
            lost = tree = await off_loop(store, lost_tree, store, options.session)
        case NewStart():
            lost = tree = ""
    if not tree:
        kept = await off_loop(store, workspace_of, store, options.session)
        return kept or await asyncio.to_thread(Workspace.create, None, GUEST_UID)
    workspace = await off_loop(store, workspace_from_tree, store, options.session, tree, options.limits)
    files = (await asyncio.to_thread(workspace.size)).files if lost else 0
    # none of its own: a fork that was never opened
    if files and (await off_loop(store, store.summary, options.session)).cells:
        words = f"its workspace was not here; {counted(files, 'file')} put back in a new one"
        options.progress(f"cellwright: session {options.session}: {words}")
    return workspace


async def _kept(
    options: RuntimeOptions,
    host: ScopeHost,
    sandbox: Sandbox,
    store: Store,
    workspace: Workspace,
    flow: FlowGuard,
    privacy: SessionPrivacy | None,
) -> KeptSession:
    pins, key = await sandbox.pins(), await asyncio.to_thread(_checkpoint_key, options.progress)
    fork = None
    if isinstance(options.start, ForkedStart):
        parent = options.start.parent
        above, entry = await off_loop(store, lambda: parent.branching)
        fork = ForkPoint(parent=above, cell=parent.last, entry=entry)
    journal = SessionJournal(store, options.session, pins=pins, fork=fork, key=key, owner=options.owner)
    host.secret = await journal.secret()
    door: ScopeHost | Private = host
    approve, notes = options.approve, None
    if privacy is not None:
        notes = PrivateNotes(options.session, key)
        privacy.begin(notes.secret(host.secret))
        privacy.keep = functools.partial(notes.keep, privacy, journal.writer)
        door, approve = Private(host, privacy, options.progress), revealing(approve, privacy)
        sandbox = PrivateSandbox(sandbox, host, privacy)
    desk = ApprovalDesk(store, approve, options.approvals)
    known = isinstance(options.start, ResumedStart)
    imported = known and (await off_loop(store, store.facts, options.session)).imported
    audit = await _audit(options, workspace, host, options.session, imported=imported)

    def guard(inner: Host, questions: CallQuestions, pause: PauseWatch) -> Host:
        if audit is not None:
            inner = audited = audit(inner)
            host.tell_undo = telling(door, audited.undo) if isinstance(door, Private) else audited.undo
        approval = StoredApproval(inner, door, questions, pause, desk, options.approvals)
        host.ask_undo = telling(door, approval.undo_denied) if isinstance(door, Private) else approval.undo_denied
        flow.keep(questions.labelled)
        return options.guard.around(approval, flow, host, options.session, options.owner.family)

    def recall(history: History) -> None:
        flow.recall(store, history)
        if notes is not None and privacy is not None:
            notes.recall(privacy.restore, store, history)
        elif has_private_notes(store, history):
            why = "has private values, and private= is off: its code has those of new calls as they are"
            options.progress(f"cellwright: session {options.session} {why}")

    return KeptSession(
        journal, door, sandbox, workspace, options.limits, options.progress, asker=desk, guard=guard, recall=recall
    )


async def _audit(
    options: RuntimeOptions, workspace: Workspace, host: ScopeHost, session: str, *, imported: bool
) -> Callable[[Host], Audited] | None:
    """What wraps each host of the session, once the audit has been told of it; None where there is no audit."""
    if options.audit is None:
        return None
    trail = AuditTrail.of(options.audit)
    shared = await asyncio.to_thread(workspace.path.resolve)
    place = await asyncio.to_thread(trail.directory.resolve)
    if place.is_relative_to(shared):
        raise UsageError(f"audit={str(trail.directory)!r} is in the workspace, where guest code writes; give another")
    start = {NewStart: "new", ResumedStart: "resumed", ForkedStart: "forked"}[type(options.start)]
    user = options.guard.user
    await asyncio.to_thread(trail.session, session, user=user, start=start, imported=imported)
    return lambda inner: Audited(inner, trail, session=session, user=user, parameters=host.parameters)


def _checkpoint_key(progress: Callable[[str], None]) -> bytes | None:
    try:
        return read_key(Settings.from_environment().state_dir)
    except PlatformError as error:
        progress(f"cellwright: {error}; sessions are resumed without checkpoints, which takes longer")
        return None
