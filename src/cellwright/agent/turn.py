"""One turn: ask the model, run what it wrote, tell it what came of that; until there is an answer.

It knows the two doors and the conversation; not which model, which sandbox, or where the session is kept.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from cellwright.agent.asking import Asking
from cellwright.agent.failures import Advice, Failures
from cellwright.agent.finish import Finish
from cellwright.agent.inbox import Inbox
from cellwright.agent.observing import Observation, Outputs, failed, observe, side_by_side
from cellwright.agent.plan import Plan
from cellwright.agent.reading import Cell, Step, Unreadable, steps_of
from cellwright.catalog import mended
from cellwright.doors import Reply
from cellwright.errors import TypeMistake
from cellwright.events import CellFinished, CodeReady
from cellwright.messages import Said, ToolCall, ToolResult
from cellwright.sandboxes import Outcome

Run = Callable[[str, bool], Awaitable[Outcome]]  # runs a cell; the flag says whether the type checker is asked first
CUT_OFF = "Your reply was cut off because it was too long; nothing of it was run. Write a shorter cell."
NO_CODE = "There is no code in that reply to run, and as the answer it will not do: "
ONLY_FIRST = "(Only the first block of the reply was run.)"
NO_CALL = 'As the answer that will not do; call the function `done` with {"value": …}: '


class Turn:
    """From a task to its answer. `plan` is None where nobody asked for one; `inbox` has what people say meanwhile."""

    def __init__(
        self, asking: Asking, run: Run, outputs: Outputs, finish: Finish, inbox: Inbox, plan: Plan | None
    ) -> None:
        self._asking, self._inbox = asking, inbox
        self._offer, self._talk, self._trace = asking.offer, asking.talk, asking.trace
        self._run, self._outputs, self._finish, self._plan = run, outputs, finish, plan
        self._failures = Failures()
        self._advice = Advice()
        self._failed: list[Said] = []  # replies of which nothing came
        self._last: Outcome | None = None

    async def run(self, task: str) -> Any:
        """Set the task, plan if that was asked for, and work on it."""
        self._talk.begin(self._offer.task(task, self._finish.returns))
        return await self.work()

    async def work(self, reply: Reply | None = None, last: Outcome | None = None) -> Any:
        """Step after step. The first is taken on a reply that is there already, where there is one.

        `last` is what came of the last cell before that.
        """
        self._last = last
        if reply is not None and self._plan is not None:
            reply = await self._plan.go_on(reply, self._asking)
        while True:
            reply = reply or await self._next()
            await self._inbox.check()
            observed = await self._act(reply)
            if self._finish.ended:
                return self._finish.value
            self._finish.check_tries()
            self._reflect(reply.message, observed)
            reply = None

    async def _next(self) -> Reply:
        """What people said meanwhile, a plan where there is none yet, and then the model's next reply."""
        if await self._inbox.taken_up(self._asking, lambda task: self._offer.task(task, self._finish.returns)):
            self._failures, self._advice, self._failed, self._last = Failures(), Advice(), [], None
            if self._plan is not None:
                self._plan.drop()
        if self._plan is not None:
            await self._plan.make(self._asking)
        return await self._asking.next(warmer=self._advice.warmer)

    async def _act(self, reply: Reply) -> list[Observation]:
        """Run what the reply asks for. Without code it is the answer."""
        said = reply.message
        if self._plan is not None:
            self._plan.revise(said.text, self._trace)
        if reply.cut and not said.calls:
            return [failed(CUT_OFF)]
        steps = steps_of(said, fenced=self._offer.reads_fences(self._last is not None))
        return await self._take(steps) if steps else self._read(said)

    async def _take(self, steps: Sequence[Step]) -> list[Observation]:
        """In the order of the reply: cells one by one, calls that stand together side by side."""
        observed: list[Observation] = []
        together: list[ToolCall] = []
        for step in (*steps, None):
            if isinstance(step, ToolCall):
                together.append(step)
                continue
            if together:
                observed += await self._offer.call(together, self._run, self._finish, self._outputs)
                together = []
            if self._finish.ended:
                break
            if isinstance(step, Cell):
                observed.append(await self._cell(step))
            elif isinstance(step, Unreadable):
                observed.append(failed(step.why, call=step.call.id))
        return observed

    async def _cell(self, step: Cell) -> Observation:
        """Check a cell, run it, and put into words what came of it."""
        self._trace.tell(CodeReady(code=step.code))
        outcome = await self._run(step.code, not self._advice.unchecked)
        change = ""
        if isinstance(outcome.error, TypeMistake):
            code, change = mended(step.code, outcome.error.mistakes)
            outcome = await self._run(code, True) if change else outcome
        self._last = outcome
        if self._finish.ended:
            outcome = replace(outcome, error=None)  # `done` leaves the cell by an exception
        seen = self._failures.same_cell(step.code, observe(step.code, outcome, self._outputs, ended=self._finish.ended))
        notes = [f"Mended: {change}."] * bool(change) + [ONLY_FIRST] * bool(step.left_out)
        text = "\n".join((seen.text, *notes))
        self._trace.tell(CellFinished(cell=outcome.cell, ok=seen.ok, observation=text, duration_s=outcome.duration_s))
        return replace(seen, text=text, call=step.call)

    def _read(self, said: Said) -> list[Observation]:
        """A reply without code is the answer; or it says that the value of the last cell is."""
        why = self._finish.accept(said.text, text=True)
        value = self._last.value if self._last is not None and self._last.ok else None
        if why and value is not None and self._finish.fits(value):
            why = self._finish.accept(value)
        return [failed((NO_CODE if self._offer.code else NO_CALL) + why)] if why else []

    def _reflect(self, said: Said, observed: Sequence[Observation]) -> None:
        """Tell the model what came of its reply; and, where the same thing fails again and again, to change its way."""
        advice = [self._failures.after(observation) for observation in observed]
        self._advice = Advice(warmer=any(a.warmer for a in advice), unchecked=any(a.unchecked for a in advice))
        told = [o.text + a.words for o, a in zip(observed, advice, strict=True)]
        told = side_by_side(told, observed, self._outputs.limit)
        if self._plan is not None and not all(o.ok for o in observed):
            told[-1] += self._plan.after_failure()
        if self._advice.warmer:
            self._talk.forget(self._failed)
            self._failed = []
        if not all(o.ok for o in observed):
            self._failed.append(said)
        if not said.calls:
            self._talk.ask("\n".join(told), observed[-1].name)
            return
        by_call = {o.call: (text, o) for o, text in zip(observed, told, strict=True)}
        for call in said.calls:
            text, seen = by_call.get(call.id, ("not run", Observation(text="", ok=False)))
            self._talk.answer(ToolResult(id=call.id, name=call.name, text=text, failed=not seen.ok), seen.name)
