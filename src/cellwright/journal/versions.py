"""A session's files at its cells: `Versions` finds the trees, compares them, and puts one back.

Knows the story and one directory; no guest. Everything here blocks; call it in a thread, while no cell runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cellwright.errors import UsageError
from cellwright.journal.differing import LineDiffs
from cellwright.journal.story import Story
from cellwright.journal.trees import FileChange, Trees
from cellwright.sandboxes import Entry, Workspace
from cellwright.store import CellRow, Reading

MOST_FILES = 200  # of which a cell's row tells the paths
MORE = "…"
TEXT_BYTES = 256 << 10  # a longer file is not compared by its lines
DIFF_LINES = 2_000  # of one file's text
COMPARED = 500  # files whose texts are compared


@dataclass(frozen=True, kw_only=True, slots=True)
class FileDiff(FileChange):
    """One path that changed. `text` is what changed in its lines, as `diff -u` has it; "" where it is no short text."""

    text: str = ""


class Versions:
    """The files of one session, which are in `workspace` now; without one, trees can be found and no more."""

    def __init__(self, store: Reading, story: Story, trees: Trees, workspace: Workspace | None = None) -> None:
        self._store = store
        self._story = story
        self._trees = trees
        self._workspace = workspace

    def before_last(self) -> str:
        """The tree before the last cell."""
        if not self._story.cells:
            raise UsageError(f"session {self._story.facts.id!r} has run no cell yet")
        return self._taken(self._story.cells[-1].tree, "before its last cell")

    def at(self, cell: int) -> str:
        """The tree after a cell; 0 is before the first."""
        cells = self._story.cells
        last = cells[-1].number if cells else 0
        if not 0 <= cell <= last:
            raise UsageError(f"session {self._story.facts.id!r} has no cell {cell}; its last one is {last}")
        later = next((c for c in cells if c.number > cell), None)
        found = self._as_it_ended(cell) or (later.tree if later is not None else "")
        return self._taken(found, f"after cell {cell}")

    def _as_it_ended(self, cell: int) -> str:
        """What its row said first: the tree after the last cell changes with what comes into the workspace later."""
        facts = self._story.facts
        if not cell or cell <= facts.parent_cell:
            return next((c.tree_after for c in self._story.cells if c.number == cell), "")
        for entry in self._store.entries(facts.id):
            row = entry.change
            if isinstance(row, CellRow) and row.number == cell and row.tree_after:
                return row.tree_after
        return ""

    def _taken(self, tree: str, when: str) -> str:
        if not tree:
            raise UsageError(f"session {self._story.facts.id!r} has no copy of its files as they were {when}")
        return tree

    def diff(self, since: int | None = None, *, texts: bool = True) -> tuple[FileDiff, ...]:
        """What is otherwise in the workspace now than after cell `since`, or before the last one."""
        then = self.before_last() if since is None else self.at(since)
        now = self._now()
        changes = self._trees.difference(then, now)
        if not changes:
            return ()
        none: Mapping[str, Entry] = {}
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

    def _text(self, diffs: LineDiffs, path: str, old: Mapping[str, Entry], new: Mapping[str, Entry]) -> str:
        before, after = self._lines(old.get(path)), self._lines(new.get(path))
        if before is None or after is None:
            return ""
        names = "/dev/null" if path not in old else path, "/dev/null" if path not in new else path
        lines = diffs.between(before, after, names)
        cut = [f"{MORE} {len(lines) - DIFF_LINES} lines more"] if len(lines) > DIFF_LINES else []
        return "\n".join(lines[:DIFF_LINES] + cut)

    def _lines(self, entry: Entry | None) -> list[str] | None:
        if entry is None:
            return []
        if entry.kind != "file" or entry.size > TEXT_BYTES:
            return None
        try:
            text = self._trees.content(entry).decode()
        except UnicodeDecodeError:
            return None
        return None if "\0" in text else text.splitlines()

    def restore(self, tree: str) -> tuple[FileChange, ...]:
        """Make the workspace what it was. Gives what that changed."""
        changes = self._trees.difference(self._now(), tree)
        assert self._workspace is not None
        self._trees.restore(tree, self._workspace)
        return changes

    def _now(self) -> str:
        assert self._workspace is not None
        return self._trees.take(self._workspace)


def told_files(changes: Sequence[FileChange]) -> tuple[str, ...]:
    """Their paths, for a cell's row."""
    paths = [change.path for change in changes if change.kind != "dir"]
    return tuple(paths[:MOST_FILES] + [MORE] * (len(paths) > MOST_FILES))


def kept_after(cell: CellRow, tree: str) -> CellRow | None:
    """The cell's row with that as the tree after it; None where it says so already, or is not over."""
    if cell.status == "running" or not tree or cell.tree_after == tree:
        return None
    return replace(cell, tree_after=tree)
