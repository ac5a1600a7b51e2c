"""One turn: ask the model, run what it wrote, tell it the outcome; until there is an answer.

It knows the two doors and the conversation; not which model, which sandbox, or where the session is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cellwright.agent.direct_cell import Run
from cellwright.agent.finish import Finish
from cellwright.agent.inbox import SessionInbox
from cellwright.agent.observation import CellOutputs, Observation, failed, observed, side_by_side
from cellwright.agent.plan import TurnPlan
from cellwright.agent.repeated_failures import Advice, RepeatedFailures
from cellwright.agent.requester import Requester
from cellwright.agent.steps import CodeStep, RefusedCall, Step, blocks_of, steps_of
from cellwright.agent.toolset import RecordedReply
from cellwright.catalog import repaired, too_long
from cellwright.doors import Reply
from cellwright.errors import TypeMistake
from cellwright.events import CellFinished, CodeReady
from cellwright.messages import AssistantMessage, ToolCall
from cellwright.sandboxes import Outcome

DONE = "done"
ONLY_FIRST = "(Only the first block of the reply was run.)"


class Turn:
    """From a task to its answer. `plan` is None unless a plan was asked for; `inbox` has the messages of people."""

    def __init__(
        self,
        requester: Requester,
        run: Run,
        outputs: CellOutputs,
        finish: Finish,
        inbox: SessionInbox,
        plan: TurnPlan | None,
    ) -> None:
        self._requester, self._inbox = requester, inbox
        self._toolset, self._context, self._trace = requester.toolset, requester.context, requester.trace
        self._run, self._outputs, self._finish, self._plan = run, outputs, finish, plan

    def _start_over(self, last: Outcome | None = None) -> None:
        """`last` is the outcome of the last cell."""
        self._failures, self._advice = RepeatedFailures(self._toolset.words.another_way), Advice()
        self._last, self._told_no_code = last, False
        self._failed: list[AssistantMessage] = []  # replies whose code or calls failed

    async def run(self, task: str, hint: str = "") -> Any:
        """Set the task, plan if a plan was asked for, and work on it. `hint` tells the model what came with it."""
        said = self._toolset.task(task, self._finish.returns)
        self._context.begin(f"{said}\n\n{hint}" if hint else said)
        return await self.work()

    async def work(
        self, reply: Reply | None = None, last: Outcome | None = None, recorded: RecordedReply | None = None
    ) -> Any:
        """Step after step. `reply` is a recorded reply to begin with, `last` the outcome of the last cell before it."""
        self._start_over(last)
        if reply is not None and self._plan is not None:
            reply = await self._plan.go_on(reply, self._requester)
        self._recorded = None if reply is None else recorded
        while True:
            reply = reply or await self._next()
            await self._inbox.check()
            observed = [] if self._finish.ended else await self._act(reply)  # a thread may have ended the turn
            if self._finish.ended:
                return self._finish.value
            self._finish.check_tries()
            self._reflect(reply.message, observed)
            reply = self._recorded = None

    async def _next(self) -> Reply:
        """Take up the messages of people, make a plan if there is none yet, and ask the model for its next reply."""
        if await self._inbox.taken_up(self._requester, lambda task: self._toolset.task(task, self._finish.returns)):
            self._start_over()
            if self._plan is not None:
                self._plan.drop()
        if self._plan is not None:
            await self._plan.make(self._requester)
        return await self._requester.next(warmer=self._advice.warmer)

    async def _act(self, reply: Reply) -> list[Observation]:
        """Run what the reply asks for. A reply without code or calls is the answer."""
        said = reply.message
        if self._plan is not None:
            self._plan.revise(said.text, self._trace)
        recorded = self._recorded
        if reply.cut and not (recorded is not None and recorded.begun):
            words = self._toolset.words.cut_off
            return [failed(words, call=call.id) for call in said.calls] or [failed(words)]
        fenced = self._toolset.reads_fences(self._last is not None, recorded)
        steps = steps_of(said, fenced=fenced, refusal=lambda call: self._toolset.refusal(call, recorded))
        return await self._take(steps) if steps else self._read(said)

    async def _take(self, steps: Sequence[Step]) -> list[Observation]:
        """In the order of the reply: cells one by one, adjacent calls side by side; none after `done`."""
        observed: list[Observation] = []
        calls: list[ToolCall] = []
        for step in (*steps, None):
            if isinstance(step, ToolCall) and step.name != DONE:
                calls.append(step)
                continue
            if calls:
                observed += await self._toolset.call(calls, self._run, self._outputs)
                calls = []
            if self._finish.ended:
                break
            if isinstance(step, CodeStep):
                observed.append(await self._cell(step))
            elif isinstance(step, ToolCall):
                observed += self._toolset.end(step, self._finish)
            elif isinstance(step, RefusedCall):
                observed.append(failed(step.why, call=step.call.id))
            if self._finish.ended:
                break
        return observed

    async def _cell(self, step: CodeStep) -> Observation:
        """Check a cell, run it, and observe its outcome."""
        if why := too_long(step.code):
            return failed(why, call=step.call)
        self._trace.tell(CodeReady(code=step.code))
        outcome = await self._run(step.code, not self._advice.unchecked)
        change = ""
        if isinstance(outcome.error, TypeMistake):
            code, change = repaired(step.code, outcome.error.mistakes)
            outcome = await self._run(code, True) if change else outcome
        self._last = outcome
        if self._finish.ended:
            outcome = replace(outcome, error=None)  # `done` leaves the cell by an exception
        seen = await observed(step.code, outcome, self._outputs, ended=self._finish.ended)
        seen = self._failures.same_cell(step.code, seen)
        text = "\n".join([seen.text] + [f"Mended: {change}."] * bool(change) + [ONLY_FIRST] * bool(step.left_out))
        self._trace.tell(CellFinished(cell=outcome.cell, ok=seen.ok, observation=text, duration_s=outcome.duration_s))
        return replace(seen, text=text, call=step.call)

    def _read(self, said: AssistantMessage) -> list[Observation]:
        """The text of a reply is the answer, or the value of the last cell if the text does not fit the type."""
        if not said.text.strip():
            return [failed(self._toolset.words.empty)]
        if not self._toolset.code and not self._toolset.called and not self._told_no_code and [*blocks_of(said.text)]:
            self._told_no_code = True  # once: a block of code may be the answer
            return [failed(f"code is not run here; {self._toolset.offer}")]
        why = self._finish.accept(said.text, text=True)
        value = self._last.value if self._last is not None and self._last.ok else None
        if why and value is not None and self._finish.fits(value):
            why = self._finish.accept(value)
        return [failed(self._toolset.words.no_answer + why)] if why else []

    def _reflect(self, said: AssistantMessage, observed: Sequence[Observation]) -> None:
        """Tell the model the outcome of its reply; after repeated failures also to try another way."""
        advice = self._failures.after_reply(observed)
        self._advice = Advice(warmer=any(a.warmer for a in advice), unchecked=any(a.unchecked for a in advice))
        texts = [o.text + a.words for o, a in zip(observed, advice, strict=True)]
        texts = [self._outputs.marked(text) for text in side_by_side(texts, observed, self._outputs.limit)]
        all_ok = all(o.ok for o in observed)
        if self._plan is not None and not all_ok:
            texts[-1] += self._plan.after_failure
        if self._advice.warmer:
            self._context.forget(self._failed)
            self._failed = []
        if not all_ok:
            self._failed.append(said)
        self._context.add_observations(said, observed, texts)
