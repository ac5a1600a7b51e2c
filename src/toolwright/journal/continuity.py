"""`Continuity`: keeps one journaled session going. Runs its cells, and brings its guest back when it is gone.

A guest is brought back by running the session's cells again, on a scratch copy of the workspace, with the recorded
answers. It knows how to open a guest, and nothing of what stands behind the door.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolwright.doors import Host
from toolwright.errors import Diverged, GuestError, UsageError
from toolwright.journal.comparing import divergence, printed_otherwise
from toolwright.journal.life import Divergence, Life
from toolwright.journal.outcomes import outcome_of
from toolwright.journal.rows import CellRow
from toolwright.journal.session import SessionJournal
from toolwright.journal.story import Story
from toolwright.journal.trees import Trees
from toolwright.sandboxes import GONE, GUEST_UID, Interpreter, Limits, OnEvent, Opening, Outcome, Sandbox, Workspace

KEPT = "The names are as they were before the cell; what it did outside is done."


@dataclass(frozen=True, kw_only=True, slots=True)
class Restored:
    """How a guest was brought back: which cells were run again, and what is not as it was."""

    cells: tuple[int, ...] = ()
    diverged: Divergence | None = None
    lost: tuple[str, ...] = ()  # names that are gone, because the cells that made them could not be repeated
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.diverged is None:
            return f"ran {len(self.cells)} cells again"
        names = ", ".join(self.lost) or "none"
        return f"a cell that was run again went another way ({self.diverged}). Names lost: {names}"


class _WentAnotherWay(Exception):
    def __init__(self, divergence: Divergence) -> None:
        self.divergence = divergence


class Continuity:
    """One session's guest. `say` is told what a person should know, a line each."""

    def __init__(
        self,
        session: SessionJournal,
        host: Host,
        sandbox: Sandbox,
        workspace: Workspace,
        limits: Limits,
        say: Callable[[str], None],
    ) -> None:
        self.session = session
        self.restored: Restored | None = None
        self._host = host
        self._sandbox = sandbox
        self._workspace = workspace
        self._limits = limits
        self._say = say
        self._trees = Trees(session.journal, session.id, limits)
        self._interpreter: Interpreter | None = None
        self._scratch: Workspace | None = None
        self._cut_off: CellRow | None = None

    # beginning

    async def begin(self) -> None:
        """A new session."""
        self._interpreter = await self._open(self.session.first_life(self._host))

    async def resume(self) -> None:
        """A session that is there: its guest is brought back; a cell that was cut off waits to be carried on."""
        story = self.session.resume()
        self._cut_off = story.cut_off
        await self._restore(story)

    async def fork(self, parent: Story) -> None:
        """A new session that begins where `parent`, read up to there, ends."""
        self.session.fork(parent)
        await self._restore(self.session.story())

    async def _open(self, host: Host, scratch: Workspace | None = None) -> Interpreter:
        opening = Opening(host=host, limits=self._limits, workspace=self._workspace, scratch=scratch)
        return await self._sandbox.open(opening)

    # cells

    async def run(self, code: str, on_event: OnEvent | None) -> Outcome:
        """Run a new cell, after the one that was cut off, if there is one."""
        if self._cut_off is not None:
            await self.outcome()
        if self._interpreter is None or not self._interpreter.alive:
            await self._restore(self.session.story())
        row = self.session.begin(code, await self._take_tree())
        return await self._run(row, on_event)

    async def outcome(self, on_event: OnEvent | None = None) -> Outcome:
        """What came of the last cell. One that was cut off is carried on to its end first."""
        row, self._cut_off = self._cut_off, None
        if row is not None:
            if self._interpreter is None or not self._interpreter.alive:
                await self._restore(self.session.story())
            await asyncio.to_thread(self._trees.restore, row.tree, self._workspace)
            return await self._run(row, on_event)
        cells = self.session.story().cells
        if not cells:
            raise UsageError(f"session {self.session.id!r} has run no cell yet")
        return outcome_of(cells[-1], self._host)

    async def _run(self, row: CellRow, on_event: OnEvent | None) -> Outcome:
        assert self._interpreter is not None
        interpreter = self._interpreter
        try:
            outcome = await self._watched(interpreter.run(row.number, row.code, on_event, at=row.at, seed=self.session.seed))
        except _WentAnotherWay as other:
            error = Diverged(f"the cell was cut off, and went another way when it was run again: {other.divergence}")
            self.session.cut(row, error)
            return Outcome(cell=row.number, error=error, rung=self._sandbox.rung)
        except asyncio.CancelledError:
            if self.session.writer is not None and self.session.writer.failed is None:
                self.session.cut(row, GuestError(f"the cell was cancelled. {KEPT}"))
            raise
        alive = interpreter.alive
        if outcome.error is not None and GONE in str(outcome.error):
            kind: Any = type(outcome.error)
            outcome = replace(outcome, error=kind(str(outcome.error).replace(GONE, KEPT)))
        self.session.end(row, outcome, alive=alive)
        return outcome

    async def _watched(self, run: Coroutine[Any, Any, Outcome]) -> Outcome:
        """The outcome; or what is wrong with the journal, or with the run that is repeated, as soon as it shows."""
        life, writer = self.session.life, self.session.writer
        assert life is not None
        assert writer is not None
        task = asyncio.ensure_future(run)
        try:
            await asyncio.wait({task, life.diverged, writer.broken}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if writer.failed is not None:
            raise writer.failed
        if life.diverged.done():
            raise _WentAnotherWay(life.diverged.result())
        return task.result()

    async def tree_after(self, cell: int) -> str:
        """The workspace as it was after a cell: before the next one, or as it is now."""
        later = next((c for c in self.session.story().cells if c.number > cell), None)
        return later.tree if later is not None else await self._take_tree()

    async def _take_tree(self) -> str:
        return await asyncio.to_thread(self._trees.take, self._workspace)

    # bringing a guest back

    async def _restore(self, story: Story) -> None:
        cells = story.state
        try:
            await self._repeat(story, cells)
            self.restored = Restored(cells=tuple(c.number for c in cells), notes=self.restored_notes)
        except _WentAnotherWay as other:
            await self._give_up(story, other.divergence)

    async def _repeat(self, story: Story, cells: Sequence[CellRow]) -> None:
        """A guest that has run these cells again, each to the same end."""
        await self._end_guest()
        self.restored_notes: tuple[str, ...] = ()
        pending = [*cells, self._cut_off] if self._cut_off is not None else list(cells)
        doors = self.session.next_life(self._host, story, pending)
        if cells:
            self._scratch = await asyncio.to_thread(self._populated, cells[0].tree)
        self._interpreter = await self._open(doors, self._scratch)
        try:
            for row in cells:
                await self._again(self._interpreter, row, story)
            await self._interpreter.reveal()
        except BaseException:
            await self._end_guest()
            raise
        finally:
            await self._drop_scratch()

    async def _again(self, interpreter: Interpreter, row: CellRow, story: Story) -> None:
        life = self._life
        life.value = None
        outcome = await self._watched(interpreter.run(row.number, row.code, at=row.at, seed=story.seed_of(row)))
        found = divergence(row, outcome, life, story.rows_of([row]))
        if found is not None:
            raise _WentAnotherWay(found)
        otherwise = printed_otherwise(row, outcome)
        if otherwise is not None:
            self.restored_notes += (str(otherwise),)

    @property
    def _life(self) -> Life:
        assert self.session.life is not None
        return self.session.life

    async def _give_up(self, story: Story, found: Divergence) -> None:
        """Go on without the cells that cannot be repeated; say which names are gone with them."""
        assert self.session.writer is not None
        lost = story.state
        if self._cut_off is not None:
            cut, self._cut_off = self._cut_off, None
            self.session.cut(cut, Diverged(f"the cell was cut off, and cannot be carried on: {found}"))
        self.session.writer.now(*(replace(c, undone=True) for c in lost if c.number > story.facts.parent_cell))
        await self._repeat(story, [])
        self.restored = Restored(diverged=found, lost=_names(lost))
        self._say(f"toolwright: session {self.session.id}: {self.restored}")

    def _populated(self, tree: str) -> Workspace:
        scratch = Workspace.create(None, GUEST_UID)
        self._trees.restore(tree, scratch)
        return scratch

    async def _drop_scratch(self) -> None:
        scratch, self._scratch = self._scratch, None
        if scratch is not None:
            await asyncio.to_thread(scratch.remove)

    async def _end_guest(self) -> None:
        interpreter, self._interpreter = self._interpreter, None
        if interpreter is not None:
            await interpreter.close()

    async def close(self) -> None:
        await self._end_guest()
        if self.session.writer is not None and self.session.writer.failed is None:
            self.session.writer.now()


def _names(cells: Sequence[CellRow]) -> tuple[str, ...]:
    """The names that these cells gave to something, in order."""
    found: dict[str, None] = {}
    for cell in cells:
        try:
            tree = ast.parse(cell.code)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found[node.id] = None
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found[node.name] = None
    return tuple(found)
