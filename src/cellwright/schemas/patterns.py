"""Patterns of schemas, run with a bound: they are somebody else's, and JavaScript's.

A pattern that Python cannot compile, or that could take long on this text, is not run and so matches.
"""

from __future__ import annotations

import functools
import re

LENGTH = 300  # characters of a pattern
OPTIONALS = 10
STEPS = 1_000_000  # about what one match may cost: the text's length to the power of its repeats
_STRANGE = ("[[", "--", "&&", "~~", "||")  # Python warns of these inside sets
_ESCAPED = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPEAT = re.compile(r"[*+]|\{\d*,\d*\}|\{\d{2,}\}")
_GROUP = re.compile(r"\(([^()]*)\)(\*|\+|\{\d+(?:,\d*)?\})?")


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text; True where that is not looked for."""
    compiled, repeats = _compiled(pattern)
    if compiled is None or (len(text) + 1) ** max(1, repeats) > STEPS:
        return True
    return compiled.search(text) is not None


@functools.lru_cache(maxsize=512)
def _compiled(pattern: str) -> tuple[re.Pattern[str] | None, int]:
    if len(pattern) > LENGTH or any(mark in pattern for mark in _STRANGE):
        return None, 0
    bare = _ESCAPED.sub("x", pattern)  # what is left are the pattern's own signs
    anchored = pattern.startswith("^") and "|" not in bare  # another choice may begin anywhere
    repeats = len(_REPEAT.findall(bare)) + (not anchored)
    refers = re.search(r"\\[1-9]", pattern)  # to a group before it, which is compared again at each step
    if refers or _repeats_a_repeat(bare) or bare.count("?") > OPTIONALS or re.search(r"\(\?[^:]", bare):
        return None, 0
    try:
        return re.compile(pattern), repeats
    except (re.error, OverflowError, RecursionError):
        return None, 0


def _repeats_a_repeat(bare: str) -> bool:
    """Whether a group that is repeated holds a repeat or a choice: `(a+)+` can take for ever."""
    while True:
        found = _GROUP.search(bare)
        if found is None:
            return False
        inside = bool(re.search(r"[*+?|{]", found[1].removeprefix("?:")))
        if found[2] and inside:
            return True
        left = "x*" if inside or found[2] else "x"  # it stays seen by the group around it
        bare = bare[: found.start()] + left + bare[found.end() :]
