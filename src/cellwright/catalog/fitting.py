"""A stub and the classes that it needs, cut to a number of characters at the end of a line."""

from __future__ import annotations

import re

LEFT = 8  # names of what was cut
_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)


def fitted(text: str, further: list[str], budget: int, name: str) -> str:
    """A stub and the classes it needs, cut at a line, with a mark that says what was cut and how to see it."""
    if len(text) > budget:
        return _cut(text, budget, name)
    left: list[str] = []
    for one in further:
        if len(text) + len(one) + 2 <= budget and not left:
            text += f"\n\n{one}"
        else:
            left.append(_CLASS.findall(one)[0])
    text = text.rstrip("\n")
    if not left:
        return f"{text}\n"
    names = ", ".join(left[:LEFT]) + (f" and {len(left) - LEFT} more" if len(left) > LEFT else "")
    return f'{text}\n# … also needs {names}: show("{left[0]}")\n'


def _cut(text: str, budget: int, name: str) -> str:
    lines = text.splitlines()
    kept: list[str] = []
    for line in lines:
        budget -= len(line) + 1
        if budget < 0 and kept:
            break
        kept.append(line)
    more = f"… {len(lines) - len(kept)} more lines"
    if sum(line.count('"""') for line in kept) % 2:  # in the middle of a docstring
        return "\n".join([*kept, f'    {more}: help({name})"""', ""])
    return "\n".join([*kept, f'    # {more}; show("{name}.<member>") tells one', ""])
