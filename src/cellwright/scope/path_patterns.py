"""`PathPatterns`: how far a path has come in the patterns of several rules, and which of them can still match.

Two paths that have come equally far in every pattern are alike to the rules, however they go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

# a pattern's number, and the positions in the pattern that its beginning may have reached; only of live patterns
Progress = tuple[tuple[int, frozenset[int]], ...]
_WILD = frozenset("*?[")
_NONE: frozenset[int] = frozenset()


class PathPatterns:
    """Patterns as `fnmatchcase` reads them."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._tokens = [_tokens(pattern) for pattern in patterns]
        self._literal = ["" if _WILD & set(pattern) else pattern for pattern in patterns]
        self._known: dict[tuple[int, frozenset[int], str], frozenset[int]] = {}
        self.begin: Progress = tuple((n, _past_stars(tokens, {0})) for n, tokens in enumerate(self._tokens))

    def after(self, progress: Progress, text: str) -> Progress:
        """The progress when the path goes on with `text`, without the patterns that cannot match any more."""
        moved = ((number, self._moved(number, positions, text)) for number, positions in progress)
        return tuple(one for one in moved if one[1])

    def ended(self, progress: Progress) -> list[int]:
        """The numbers of the patterns that match the path as it is."""
        return [number for number, positions in progress if len(self._tokens[number]) in positions]

    def leads(self, progress: Progress) -> bool:
        """Whether a pattern matches the path as it is, or a pattern without wild cards can match further on."""
        return bool(self.ended(progress)) or not self.is_wild(progress)

    def is_wild(self, progress: Progress) -> bool:
        """Whether all these patterns have wild cards."""
        return all(not self._literal[number] for number, _ in progress)

    def _moved(self, number: int, positions: frozenset[int], text: str) -> frozenset[int]:
        literal = self._literal[number]
        if literal:
            (at,) = positions
            return frozenset((at + len(text),)) if literal.startswith(text, at) else _NONE
        last = len(self._tokens[number]) - 1
        if last in positions and self._tokens[number][last] == "*":
            return frozenset((last, last + 1))  # it matches, whatever comes
        key = (number, positions, text)
        known = self._known.get(key)
        if known is None:
            tokens, known = self._tokens[number], positions
            for char in text:
                known = _past_stars(tokens, {to for at in known for to in _step(tokens, at, char)})
            self._known[key] = known
        return known


def _tokens(pattern: str) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(pattern):
        end = pattern.find("]", at + 2) if pattern[at] == "[" else -1
        found.append(pattern[at : end + 1] if end > 0 else pattern[at])
        at += len(found[-1])
    return found


def _step(tokens: list[str], at: int, char: str) -> tuple[int, ...]:
    if at == len(tokens):
        return ()
    token = tokens[at]
    if token == "*":
        return (at,)
    same = token == char if len(token) == 1 and token != "?" else fnmatchcase(char, token)
    return (at + 1,) if same else ()


def _past_stars(tokens: list[str], positions: set[int]) -> frozenset[int]:
    for at in sorted(positions):
        while at < len(tokens) and tokens[at] == "*":
            at += 1
            positions.add(at)
    return frozenset(positions)
