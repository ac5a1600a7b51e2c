"""`Plan`: observe, write a short plan, and write it anew when a step fails. Its lines say what serves each."""

from __future__ import annotations

import re

from cellwright.agent.asking import Asking
from cellwright.agent.result import Trace
from cellwright.doors import Reply
from cellwright.events import Planned
from cellwright.messages import Asked
from cellwright.runtime import Runtime

FILE = 100  # characters of a file's path that are told
_WISH = (
    "Do not write code yet. First plan: a line `Plan:`, then at most seven numbered lines, each with a sub-goal and, "
    "after `--`, the name in scope that serves it (or `python`). For example:\n"
    "Plan:\n1. find the open orders of each customer -- shop.orders\n2. sum them up -- python"
)
_GO = "Now carry the plan out."
_ANEW = "Write the plan anew with what there is, in the same form."
_AFTER = "\nIf the plan has to change for this, write it anew (`Plan:` and its lines) before the code."
_LINE = re.compile(r"^\s*(?:\d+[.)]|[-*])\s+(.+?)\s*$")


class Plan:
    """`observed` is what can be told before the first step; `names` says which capabilities there are."""

    def __init__(self, observed: str, names: frozenset[str]) -> None:
        self.lines: tuple[str, ...] = ()
        self._observed = observed
        self._names = names
        self._revision = 0
        self._is_made = False

    def drop(self) -> None:
        """The task is another one: so will the plan be."""
        self._is_made = False

    async def make(self, asking: Asking) -> None:
        """Ask for a plan where there is none yet. What it counts on and is not in scope is told, once."""
        if self._is_made:
            return
        asking.talk.ask(f"{self._observed}\n\n{_WISH}")
        await self._take(await asking.next(tools=False), asking)

    async def go_on(self, reply: Reply, asking: Asking) -> Reply | None:
        """A reply of an earlier process, to be acted on; None where it was the plan, which is taken up."""
        self._is_made = True
        asked = next((m for m in reversed(asking.talk.messages) if isinstance(m, Asked)), None)
        second = asked is not None and asked.text.endswith(_ANEW)
        if asked is None or not (second or asked.text.endswith(_WISH)):
            return reply
        await self._take(reply, asking, second=second)
        return None

    async def _take(self, reply: Reply, asking: Asking, *, second: bool = False) -> None:
        self._is_made = True
        self.revise(reply.message.text, asking.trace, first=not second)
        unknown = self._unknown()
        if unknown and not second:
            asking.talk.ask(f"Not in scope: {', '.join(unknown)}. {_ANEW}")
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
