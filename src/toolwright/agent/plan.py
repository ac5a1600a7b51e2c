"""`Plan`: observe, write a short plan, and write it anew when a step fails. Its lines say what serves each."""

from __future__ import annotations

import re

from toolwright.agent.asking import Asking
from toolwright.agent.result import Trace
from toolwright.events import Planned
from toolwright.runtime import Runtime

FILE = 100  # characters of a file's path that are told
_WISH = (
    "Do not write code yet. First plan: a line `Plan:`, then at most seven numbered lines, each with a sub-goal and, "
    "after `--`, the name in scope that serves it (or `python`). For example:\n"
    "Plan:\n1. find the open orders of each customer -- shop.orders\n2. sum them up -- python"
)
_GO = "Now carry the plan out."
_UNKNOWN = "Not in scope: {names}. Write the plan anew with what there is, in the same form."
_AFTER = "\nIf the plan has to change for this, write it anew (`Plan:` and its lines) before the code."
_LINE = re.compile(r"^\s*(?:\d+[.)]|[-*])\s+(.+?)\s*$")


class Plan:
    """`observed` is what can be told before the first step; `names` says which capabilities there are."""

    def __init__(self, observed: str, names: frozenset[str]) -> None:
        self.lines: tuple[str, ...] = ()
        self._observed = observed
        self._names = names
        self._revision = 0

    async def make(self, asking: Asking) -> None:
        """Ask for a plan before anything is done. What it counts on and is not in scope is told, once."""
        asking.talk.ask(f"{self._observed}\n\n{_WISH}")
        self.revise((await asking.next(tools=False)).message.text, asking.trace, first=True)
        unknown = self._unknown()
        if unknown:
            asking.talk.ask(_UNKNOWN.format(names=", ".join(unknown)))
            self.revise((await asking.next(tools=False)).message.text, asking.trace)
        asking.talk.ask(_GO)

    def revise(self, text: str, trace: Trace, *, first: bool = False) -> None:
        """Take up the plan that a reply holds, if it holds another one."""
        lines = plan_in(text)
        if not lines and first:
            lines = tuple(line.strip() for line in text.splitlines() if _LINE.match(line))[:7]
        if lines and lines != self.lines:
            self.lines = lines
            trace.tell(Planned(lines=lines, revision=self._revision))
            self._revision += 1

    def after_failure(self) -> str:
        return _AFTER

    def _unknown(self) -> list[str]:
        served = (line.rpartition("--")[2].strip(" `()") for line in self.lines if "--" in line)
        names = {name.partition(".")[0].partition("(")[0].strip() for each in served for name in each.split(",")}
        return sorted(n for n in names if n.isidentifier() and n != "python" and n not in self._names)


async def observed(runtime: Runtime) -> str:
    """What can be seen before the first step: the names in scope, and the files in the workspace."""
    names = ", ".join(name for name, _ in runtime.scope.names())
    files = [" ".join(entry.path.split())[:FILE] for entry in await runtime.files.list()]  # the guest named them
    more = f" and {len(files) - 20} more" if len(files) > 20 else ""
    return f"In scope: {names}.\nFiles: {', '.join(files[:20]) or 'none'}{more}."


def plan_in(text: str) -> tuple[str, ...]:
    """The lines below `Plan:` in a reply."""
    lines: list[str] = []
    within = False
    for line in text.splitlines():
        if re.match(r"^\W*plan\b\W*$", line, re.IGNORECASE):
            within, lines = True, []
        elif within and (found := _LINE.match(line)):
            lines.append(found[1])
        elif within and line.strip():
            within = False
    return tuple(lines)
