"""`TurnPlan`: a short plan that the model writes first and revises after failures. Each line names what serves it."""

from __future__ import annotations

import re

from cellwright.agent.requester import Requester
from cellwright.agent.result import Trace
from cellwright.agent.toolset import Toolset
from cellwright.doors import Reply
from cellwright.events import Planned
from cellwright.messages import UserMessage
from cellwright.runtime import Runtime
from cellwright.short_texts import one_line

FILE = 100  # characters of a file's path that are told
_FORM = "First plan: a line `Plan:`, then at most seven numbered lines, each with a sub-goal and, after `--`, "
_WISH = (
    f"Do not write code yet. {_FORM}the name in scope that serves it (or `python`). For example:\n"
    "Plan:\n1. find the open orders of each customer -- shop.orders\n2. sum them up -- python"
)
_DIRECT_WISH = (
    f"Do not call a function yet. {_FORM}the function that serves it. For example:\n"
    "Plan:\n1. find the open orders -- shop__orders\n2. write to their customers -- mail__send"
)
_GO = "Now carry the plan out."
_ANEW = "Write the plan anew with what there is, in the same form."
_CUT_OFF = "Your plan was cut off because it was too long."
_NOT_RUN = "not run: nothing is offered for the plan"
_LINE = re.compile(r"^\s*(?:\d+[.)]|[-*])\s+(.+?)\s*$")


class TurnPlan:
    """`observed` describes scope and files before the first step; `names` are the names in scope.

    `code`: the plan is carried out by code; otherwise by calls of functions.
    """

    def __init__(self, observed: str, names: frozenset[str], *, code: bool) -> None:
        self.lines: tuple[str, ...] = ()
        self._wish = _WISH if code else _DIRECT_WISH
        before = "the code" if code else "the next call"
        self.after_failure = (
            f"\nIf the plan has to change for this, write it anew (`Plan:` and its lines) before {before}."
        )
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
        requester.context.ask(f"{self._observed}\n\n{self._wish}")
        await self._take(await requester.next(tools=False), requester)

    async def go_on(self, reply: Reply, requester: Requester) -> Reply | None:
        """A reply of an earlier process, to act on; None if it was the plan, which is used."""
        self._is_made = True
        asked = next((m for m in reversed(requester.context.messages) if isinstance(m, UserMessage)), None)
        second = asked is not None and asked.text.endswith(_ANEW)
        if asked is None or not (second or asked.text.endswith((_WISH, _DIRECT_WISH))):
            return reply
        await self._take(reply, requester, second=second)
        return None

    async def _take(self, reply: Reply, requester: Requester, *, second: bool = False) -> None:
        self._is_made = True
        context = requester.context
        context.settle(_NOT_RUN)  # no provider takes a call without its result
        self.revise(reply.message.text, requester.trace, first=not second)
        unknown = self._unknown()
        why = _CUT_OFF if reply.cut else f"Not in scope: {', '.join(unknown)}." if unknown else ""
        if why and not second:
            context.ask(f"{why} {_ANEW}")
            return await self._take(await requester.next(tools=False), requester, second=True)
        context.ask(_GO)

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


async def new_plan(runtime: Runtime, toolset: Toolset) -> TurnPlan:
    """With the names in scope, or the functions that are offered, and the files in the workspace."""
    names = [name for name, _ in runtime.scope.names()] if toolset.code else [tool.name for tool in toolset.tools]
    files = [one_line(entry.path)[:FILE] for entry in await runtime.files.list()]  # the guest named them
    more = f" and {len(files) - 20} more" if len(files) > 20 else ""
    observed = f"In scope: {', '.join(names)}.\nFiles: {', '.join(files[:20]) or 'none'}{more}."
    return TurnPlan(observed, frozenset(names), code=toolset.code)


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
