"""What changed in the lines of texts, as `diff -u` has it: `LineDiffs`. Knows no files.

The guest chose the texts, and to find the shortest difference of two can take the square of their length. So only so
much is compared; what is beyond that is told as replaced, which is as true, and longer.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

WORK = 10_000_000  # pairs of lines that are compared, for all texts together: some seconds
CONTEXT = 3


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
