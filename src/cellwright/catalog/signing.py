"""A signature on one line, cut where it is very long: what must be given first, then as much of the rest as fits."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 200
_SIGN = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[\[\](){},]""")


def fitted_signature(text: str, limit: int = LONGEST) -> str:
    """`create(owner: str, *, title: str, body: str | None = None, …) -> Issue`, in about so many characters."""
    if len(text) <= limit or "(" not in text:
        return text
    head, _, rest = text.partition("(")
    inside, gives = _closed(rest)
    parts = list(parts_of(inside))
    needed = {number for number, part in enumerate(parts) if " = " not in part and not part.startswith("**")}
    room = limit - len(head) - len(gives) - 5 - sum(len(parts[number]) + 2 for number in needed)
    shown: list[str] = []
    left = False
    for number, part in enumerate(parts):
        if number in needed:
            shown.append(_short(part, limit))
        elif room >= len(part) + 2 and not left:
            room -= len(part) + 2
            shown.append(part)
        else:
            left = True
    if shown and shown[-1] == "*" and not left:
        shown.pop()
    return f"{head}({', '.join([*shown, '…'] if left else shown)}){gives}"


def _short(part: str, limit: int) -> str:
    """A parameter whose type alone is too long: `kind: Literal['a', 'b', …]`."""
    most = limit // 2
    if len(part) <= most:
        return part
    cut = part[:most].rpartition(", ")[0] or part[:most]
    return f"{cut}, …{']' * (cut.count('[') - cut.count(']'))}"


def _closed(text: str) -> tuple[str, str]:
    """What stands before the bracket that closes, and after it."""
    depth = 0
    for place, char in _bare(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            if depth == 0:
                return text[:place], text[place + 1 :]
            depth -= 1
    return text, ""


def parts_of(text: str) -> Iterator[str]:
    """Parameters, one by one."""
    depth = begin = 0
    for place, char in _bare(text):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0 and char == ",":
            yield text[begin:place].strip()
            begin = place + 1
    if text[begin:].strip():
        yield text[begin:].strip()


def _bare(text: str) -> Iterator[tuple[int, str]]:
    """The brackets and commas outside of quotes, each with its place."""
    for found in _SIGN.finditer(text):
        if len(found[0]) == 1:
            yield found.start(), found[0]
