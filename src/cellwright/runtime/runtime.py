"""`Runtime`: what can be done with a session. How it is opened is `opening`'s business."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from cellwright.catalog import Hit, Mistake, type_mistake, write_tree
from cellwright.errors import NotInScope, UsageError
from cellwright.journal import (
    Continuity,
    FileChange,
    FileDiff,
    Restored,
    Rewound,
    RolledBack,
    Turns,
    Whose,
)
from cellwright.runtime.opening import Opening
from cellwright.sandboxes import (
    OnEvent,
    Outcome,
    Passing,
)
from cellwright.scope import Scope, ScopeHost, current_call, stub
from cellwright.store import Store


class Runtime(Opening):
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
    store      where sessions are journaled: "sqlite:///agents.db", "memory:", or a `Store`
    session    the id of a new session in the store; `Runtime.resume` opens one that is there
    approve    who says yes to operations that ask for it, by True; False or a reason is no. Without it, a cell of a
               session that is kept is paused until somebody decides in the store; of one that is not, none is made
    approvals  how long such questions wait, and when they are too late
    check      what the type checker's mistakes do: "strict" refuses the cell, "warn" tells them, "off" asks nobody
    whose      for which agent a new session is, and below which session
    """

    @classmethod
    def resume(cls, session: str, *, store: str | Path | Store, take_over: bool = False, **options: Any) -> Runtime:
        """A session of the store, in this process: its names, its files, its journal. Takes what `Runtime` takes.

        `SessionBusy` while another process has it open; with `take_over` it is taken from that one.

        >>> async with Runtime.resume("s1", scope=scope, store="sqlite:///agents.db") as rt:
        ...     outcome = await rt.outcome()
        """
        made = cls(store=store, session=session, **options)
        made._beginning, made._take_over = "resume", take_over
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

    @property
    def cells(self) -> int:
        """The number of the last cell."""
        return 0 if self._course is None else self._course.last

    @property
    def host(self) -> ScopeHost:
        """What holds the live objects of this session's guest, and knows where each stands in the scope."""
        return self._host

    @property
    def journal(self) -> Store | None:
        """Where this session is kept, while it is open; None where it is not kept."""
        return self._journal

    @property
    def turns(self) -> Turns | None:
        """What the journal has of an agent's turns; None where there is no journal."""
        return Turns(self._course.session, self._host) if isinstance(self._course, Continuity) else None

    async def outcome(self, *, wait: bool = False, on_event: OnEvent | None = None) -> Outcome:
        """What came of the session's last cell, carried on to its end if its process died under it, or it was paused.

        A cell that waits for a person's yes has a `Waiting` error, and `waiting` names the questions. With `wait` it is
        carried on when they are decided, by whomever.
        """
        async with self._turn:
            return await self._continuity("outcome").outcome(on_event, wait=wait)

    async def require_decided(self) -> None:
        """`UsageError` while a cell of this session waits for a person's yes; the line says what to do."""
        async with self._turn:
            if isinstance(self._course, Continuity):
                await self._course.require_decided()

    async def decided(self, questions: Sequence[str]) -> None:
        """For host code that serves a call: until these questions, of another session, are decided.

        It need not come back: the cell of that call is paused when nothing else of it goes on, and the call is made
        again when the cell is carried on. So it must be idempotent.
        """
        await self._continuity("decided").decided(current_call().path, questions)

    async def give_up(self) -> Outcome:
        """End a cell that waits for a person, or whose process died, where it is. What it did outside is done."""
        async with self._turn:
            return await self._continuity("give_up").give_up()

    @property
    def restored(self) -> Restored | None:
        """How the session's guest was brought back, the last time that it was."""
        return self._course.restored if isinstance(self._course, Continuity) else None

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
            course = self._continuity("fork")
            if at is not None and entry is not None:
                raise UsageError("fork: give a cell (at=…) or an entry, not both")
            story = course.session.story(at) if entry is None else course.session.story_at(entry)
            tree = story.tree if entry is not None else await course.tree_after(story.last if at is None else at)
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
            approvals=self._approvals,
            whose=Whose(agent=self._whose.agent),
        )
        branch._beginning, branch._tree = story, tree
        await branch.__aenter__()
        return branch

    async def diff(self, since: int | None = None) -> tuple[FileDiff, ...]:
        """What the last cell changed in the workspace, and whoever came after it; or all since cell `since` ended.

        By path, each with what changed in its lines where it is a short text. 0 is the beginning.
        """
        async with self._turn:
            return await self._continuity("diff").diff(since)

    async def undo_files(self) -> tuple[FileChange, ...]:
        """Put the files back as they were before the last cell. Its names, and what it did outside, stay."""
        async with self._turn:
            return await self._continuity("undo_files").put_back(None)

    async def restore_files(self, at: int) -> tuple[FileChange, ...]:
        """Put the files back as they were when cell `at` had ended; 0 is the beginning. Names stay as they are."""
        async with self._turn:
            return await self._continuity("restore_files").put_back(at)

    async def rollback(self, to: int, *, yes: bool = False) -> RolledBack:
        """Undo what the cells after cell `to` did, the last first; 0 is the beginning.

        Operations declared with an `undo=` are undone, the workspace is as it was, and the session goes on as after
        `to`. What cannot be undone is listed in a `RollbackRefused` before anything is done; `yes=True` undoes the
        rest. When an undo fails, `RollbackFailed` says what is undone and what is not; call it again to go on.
        """
        async with self._turn:
            return await self._continuity("rollback").rollback(to, yes=yes)

    async def rewind(self, to: int | None = None, *, entry: int | None = None) -> Rewound:
        """Go on from an earlier moment: after cell `to`, or when `entry` was the last entry; 0 is the beginning.

        Names and files are again what they were; what was done outside since then stays done, and what came after stays
        in the history, as a side branch that can be rewound to, or forked. `rollback` undoes what was done outside.
        """
        async with self._turn:
            return await self._continuity("rewind").rewind(to=to, entry=entry)

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
