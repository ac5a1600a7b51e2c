"""The files of a session: `Snapshots` takes and restores its workspace, `Versions` are the files at its cells.

`LineDiffs` compares texts. The guest chose them, and to find the shortest difference of two can take the square of
their length. So only so much is compared; what is beyond that is told as replaced, which is as true, and longer.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from cellwright.errors import PlatformError, UsageError
from cellwright.journal.history import History
from cellwright.journal.old_files import require_files
from cellwright.journal.trees import FileChange, NotKept, Trees
from cellwright.sandboxes import Workspace, WorkspaceEntry
from cellwright.store import CellRow, StoreReader

T = TypeVar("T")
CELL_BYTES = 1 << 30  # of files that the transactions of one cell may have kept
WORK = 10_000_000  # pairs of lines that are compared, for all texts together: some seconds
CONTEXT = 3
MOST_FILES = 200  # of which a cell's row tells the paths
MORE = "…"
TEXT_BYTES = 256 << 10  # a longer file is not compared by its lines
DIFF_LINES = 2_000  # of one file's text
COMPARED = 500  # files whose texts are compared


@dataclass(frozen=True, kw_only=True, slots=True)
class FileDiff(FileChange):
    """One path that changed. `text` is what changed in its lines, as `diff -u` has it.

    It is "" where it is no short text, or where the one before is no longer kept.
    """

    text: str = ""


class Versions:
    """The files of one session, which are in `workspace` now; without one, trees can be found and no more.

    Everything here blocks; call it in a thread, while no cell runs.
    """

    def __init__(self, store: StoreReader, history: History, trees: Trees, workspace: Workspace | None = None) -> None:
        self._store = store
        self._history = history
        self._trees = trees
        self._workspace = workspace

    def before_last(self) -> str:
        """The tree before the last cell."""
        if not self._history.cells:
            raise UsageError(f"session {self._history.facts.id!r} has run no cell yet")
        return self._taken(self._history.cells[-1].tree, "before its last cell")

    def at(self, cell: int) -> str:
        """The tree after a cell; 0 is before the first."""
        cells = self._history.cells
        last = cells[-1].number if cells else 0
        if not 0 <= cell <= last:
            raise UsageError(f"session {self._history.facts.id!r} has no cell {cell}; its last one is {last}")
        later = next((c for c in cells if c.number > cell), None)
        found = self._as_it_ended(cell) or (later.tree if later is not None else "")
        return self._taken(found, f"after cell {cell}")

    def _as_it_ended(self, cell: int) -> str:
        """What its row said first: the tree after the last cell changes with what comes into the workspace later."""
        facts = self._history.facts
        if not cell or cell <= facts.parent_cell:
            return next((c.tree_after for c in self._history.cells if c.number == cell), "")
        for entry in self._store.entries(facts.id):
            row = entry.change
            if isinstance(row, CellRow) and row.number == cell and row.tree_after:
                return row.tree_after
        return ""

    def _taken(self, tree: str, when: str) -> str:
        if not tree:
            raise UsageError(f"session {self._history.facts.id!r} has no copy of its files as they were {when}")
        return tree

    def diff(self, since: int | None = None, *, texts: bool = True) -> tuple[FileDiff, ...]:
        """What is otherwise in the workspace now than after cell `since`, or before the last one."""
        then = self.before_last() if since is None else self.at(since)
        now = self._now()
        changes = self._trees.difference(then, now)
        if not changes:
            return ()
        none: Mapping[str, WorkspaceEntry] = {}
        old, new = (self._trees.entries(tree) if texts else none for tree in (then, now))
        lines = LineDiffs()
        return tuple(
            FileDiff(
                path=change.path,
                what=change.what,
                kind=change.kind,
                text=self._text(lines, change.path, old, new) if texts and i < COMPARED else "",
            )
            for i, change in enumerate(changes)
        )

    def _text(
        self, diffs: LineDiffs, path: str, old: Mapping[str, WorkspaceEntry], new: Mapping[str, WorkspaceEntry]
    ) -> str:
        before, after = self._lines(old.get(path)), self._lines(new.get(path))
        if before is None or after is None:
            return ""
        names = "/dev/null" if path not in old else path, "/dev/null" if path not in new else path
        lines = diffs.between(before, after, names)
        cut = [f"{MORE} {len(lines) - DIFF_LINES} lines more"] if len(lines) > DIFF_LINES else []
        return "\n".join(lines[:DIFF_LINES] + cut)

    def _lines(self, entry: WorkspaceEntry | None) -> list[str] | None:
        if entry is None:
            return []
        if entry.kind != "file" or entry.size > TEXT_BYTES:
            return None
        try:
            text = self._trees.content(entry).decode()
        except (UnicodeDecodeError, NotKept):
            return None
        return None if "\0" in text else text.splitlines()

    def restore(self, tree: str, cell: int) -> tuple[FileChange, ...]:
        """Make the workspace what it was after a cell. Gives what that changed."""
        self.require(tree, cell)
        changes = self._trees.difference(self._now(), tree)
        assert self._workspace is not None
        self._trees.restore(tree, self._workspace)
        return changes

    def require(self, tree: str, cell: int) -> None:
        """`UsageError` where the files after a cell, which are this tree, are no longer kept."""
        require_files(self._store, self._history.facts.id, self._trees, tree, cell)

    @property
    def last(self) -> int:
        """The number of the last cell."""
        return self._history.last

    def _now(self) -> str:
        assert self._workspace is not None
        return self._trees.take(self._workspace)


class Snapshots:
    """The directory that a session's guest works in, taken and put back while it works.

    `workspace` is where the guest works now: the live one, or a scratch while cells are run again.
    """

    def __init__(self, trees: Trees, workspace: Workspace) -> None:
        self.workspace = workspace
        self._trees = trees
        self._cell = self._kept = 0  # the last one that guest code took some in, and what was kept before that
        # One at a time, and in no thread that others wait for: guest code decides how often.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cellwright-snapshots")

    async def take(self, cell: int = 0) -> str:
        """The workspace as it is. For guest code of `cell` only so often: `PlatformError` when it has kept too much."""
        workspace = self.workspace

        def work() -> str:
            if cell and cell != self._cell:
                self._cell, self._kept = cell, self._trees.kept
            if cell and self._trees.kept - self._kept > CELL_BYTES:
                raise PlatformError(f"its cell has had {CELL_BYTES >> 20} MB of files kept already")
            return self._trees.take(workspace)

        return await self.alone(work)

    @property
    def is_due(self) -> bool:
        """Whether a last one is worth its cost when the session closes."""
        return self.workspace.fresh or self._trees.knows(self.workspace)

    async def restore(self, tree: str) -> None:
        workspace = self.workspace
        await self.alone(lambda: self._trees.restore(tree, workspace))

    async def difference(self, before: str, after: str) -> tuple[FileChange, ...]:
        return await self.alone(lambda: self._trees.difference(before, after))

    async def diff(self, store: StoreReader, history: History, since: int | None) -> tuple[FileDiff, ...]:
        """What the files of this session are otherwise than after a cell."""
        workspace = self.workspace
        return await self.alone(lambda: Versions(store, history, self._trees, workspace).diff(since))

    async def put_back(
        self, store: StoreReader, history: History, at: int | None
    ) -> tuple[tuple[FileChange, ...], str]:
        """The files as they were after a cell, or before the last one. What changed, and the tree that it is now."""
        versions = Versions(store, history, self._trees, self.workspace)

        def work() -> tuple[tuple[FileChange, ...], str]:
            tree = versions.before_last() if at is None else versions.at(at)
            changes = versions.restore(tree, versions.last - 1 if at is None else at)
            return changes, self._trees.take(self.workspace)

        return await self.alone(work)

    def close(self) -> None:
        """End its thread, after what it is doing."""
        self._thread.shutdown(wait=False)

    async def alone(self, work: Callable[[], T]) -> T:
        """What `work` gives, while nothing is taken and nothing is put back."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


class LineDiffs:
    """For texts that are shown together."""

    def __init__(self) -> None:
        self._left = float(WORK)

    def between(self, before: Sequence[str], after: Sequence[str], names: tuple[str, str]) -> list[str]:
        matcher = _Matcher(before, after, self._left)
        lines = [f"--- {names[0]}", f"+++ {names[1]}"]
        for group in matcher.get_grouped_opcodes(CONTEXT):
            (_, old, _, new, _), (_, _, old_end, _, new_end) = group[0], group[-1]
            lines.append(f"@@ -{_span(old, old_end)} +{_span(new, new_end)} @@")
            for what, a, a_end, b, b_end in group:
                if what == "equal":
                    lines += [f" {line}" for line in before[a:a_end]]
                    continue
                lines += [f"-{line}" for line in before[a:a_end]]
                lines += [f"+{line}" for line in after[b:b_end]]
        self._left = matcher.left
        return lines if len(lines) > 2 else []


class _Matcher(difflib.SequenceMatcher[str]):
    """Finds nothing where that takes more work than is `left`."""

    def __init__(self, before: Sequence[str], after: Sequence[str], left: float) -> None:
        super().__init__(None, before, after)
        self.left = left
        found: dict[str, list[int]] = getattr(self, "b2j", {})
        pairs = sum(len(found.get(line, ())) for line in before)
        self._lines = len(before)
        self._each = 1 + pairs / max(1, self._lines)

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> difflib.Match:
        work = ((self._lines if ahi is None else ahi) - alo) * self._each
        if work > self.left:
            return difflib.Match(alo, blo, 0)
        self.left -= work
        return super().find_longest_match(alo, ahi, blo, bhi)


def _span(first: int, after: int) -> str:
    """Lines as `diff -u` counts them."""
    count = after - first
    return f"{first + 1}" if count == 1 else f"{first + (count > 0)},{count}"


def told_files(changes: Sequence[FileChange]) -> tuple[str, ...]:
    """Their paths, for a cell's row."""
    paths = [change.path for change in changes if change.kind != "dir"]
    return tuple(paths[:MOST_FILES] + [MORE] * (len(paths) > MOST_FILES))


def kept_after(cell: CellRow, tree: str) -> CellRow | None:
    """The cell's row with that as the tree after it; None where it says so already, or is not over."""
    if cell.status == "running" or not tree or cell.tree_after == tree:
        return None
    return replace(cell, tree_after=tree)
