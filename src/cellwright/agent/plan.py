"""`TurnPlan`: a short plan that the model writes first and revises after failures. Each line names what serves it."""

from __future__ import annotations

import re

from cellwright.agent.requester import Requester
from cellwright.agent.result import Trace
from cellwright.doors import Reply
from cellwright.events import Planned
from cellwright.messages import UserMessage
from cellwright.runtime import Runtime
from cellwright.short_texts import one_line

FILE = 100  # characters of a file's path that are told
_WISH = (
    "Do not write code yet. First plan: a line `Plan:`, then at most seven numbered lines, each with a sub-goal and, "
    "after `--`, the name in scope that serves it (or `python`). For example:\n"
    "Plan:\n1. find the open orders of each customer -- shop.orders\n2. sum them up -- python"
)
_GO = "Now carry the plan out."
_ANEW = "Write the plan anew with what there is, in the same form."
AFTER_FAILURE = "\nIf the plan has to change for this, write it anew (`Plan:` and its lines) before the code."
_LINE = re.compile(r"^\s*(?:\d+[.)]|[-*])\s+(.+?)\s*$")


class TurnPlan:
    """`observed` describes scope and files before the first step; `names` are the names in scope."""

    def __init__(self, observed: str, names: frozenset[str]) -> None:
        self.lines: tuple[str, ...] = ()
        self._observed = observed
        self._names = names
        self._revision = 0
        self._is_made = False

    def drop(self) -> None:
        """Another task needs another plan."""
        self._is_made = False

    async def make(self, requester: Requester) -> None:
        """Ask for a plan if there is none yet. Names in it that are not in scope are pointed out once."""
        if self._is_made:
            return
        requester.context.ask(f"{self._observed}\n\n{_WISH}")
        await self._take(await requester.next(tools=False), requester)

    async def go_on(self, reply: Reply, requester: Requester) -> Reply | None:
        """A reply of an earlier process, to act on; None if it was the plan, which is used."""
        self._is_made = True
        asked = next((m for m in reversed(requester.context.messages) if isinstance(m, UserMessage)), None)
        second = asked is not None and asked.text.endswith(_ANEW)
        if asked is None or not (second or asked.text.endswith(_WISH)):
            return reply
        await self._take(reply, requester, second=second)
        return None

    async def _take(self, reply: Reply, requester: Requester, *, second: bool = False) -> None:
        self._is_made = True
        self.revise(reply.message.text, requester.trace, first=not second)
        unknown = self._unknown()
        if unknown and not second:
            requester.context.ask(f"Not in scope: {', '.join(unknown)}. {_ANEW}")
            self.revise((await requester.next(tools=False)).message.text, requester.trace)
        requester.context.ask(_GO)

    def revise(self, text: str, trace: Trace, *, first: bool = False) -> None:
        """Use the plan in a reply, if there is a new one."""
        lines = plan_in(text)
        if not lines and first:
            lines = tuple(line.strip() for line in text.splitlines() if _LINE.match(line))[:7]
        if lines and lines != self.lines:
            self.lines = lines
            trace.tell(Planned(lines=lines, revision=self._revision))
            self._revision += 1

    def _unknown(self) -> list[str]:
        served = (line.rpartition("--")[2].strip(" `()") for line in self.lines if "--" in line)
        names = {name.partition(".")[0].partition("(")[0].strip() for each in served for name in each.split(",")}
        return sorted(n for n in names if n.isidentifier() and n != "python" and n not in self._names)


async def observed(runtime: Runtime) -> str:
    """The names in scope and the files in the workspace, before the first step."""
    names = ", ".join(name for name, _ in runtime.scope.names())
    files = [one_line(entry.path)[:FILE] for entry in await runtime.files.list()]  # the guest named them
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
