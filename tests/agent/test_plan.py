"""Observe, plan, execute: the plan comes first, says what serves each step, and is written anew when one fails."""

from __future__ import annotations

from tests.agent.worlds import FENCED, agent_with, last_observation

from cellwright.agent.plan import plan_in
from cellwright.events import CellFinished, Planned
from cellwright.testing import code, fenced

FIRST = "Plan:\n1. find who is idle -- crm.contacts\n2. write to them -- crm.write"
OTHER = "Plan:\n1. count them -- python"


async def test_the_plan_is_made_before_anything_runs_and_is_in_the_trace() -> None:
    agent, model = agent_with(FIRST, code("done(1)"), plan=True)
    result = await agent.run("Write to the idle ones.")
    planned = [e for e in result.trace if isinstance(e, Planned)]
    assert planned[0].lines == ("find who is idle -- crm.contacts", "write to them -- crm.write")
    assert model.requests[0].tools == ()  # it cannot act yet
    assert "crm" in last_observation(model, 0)
    assert "Files: none" in last_observation(model, 0)
    assert result.trace.index(planned[0]) < [type(e) for e in result.trace].index(CellFinished)


async def test_a_plan_that_counts_on_what_is_not_in_scope_is_sent_back_once() -> None:
    agent, model = agent_with("Plan:\n1. send -- mailer.send\n2. sum -- python", FIRST, code("done(1)"), plan=True)
    result = await agent.run("…")
    assert "Not in scope: mailer" in last_observation(model, 1)
    assert [e.revision for e in result.trace if isinstance(e, Planned)] == [0, 1]


async def test_the_plan_is_revised_when_a_step_fails() -> None:
    agent, model = agent_with(FIRST, code("crm.fail(1)"), code("done(1)", say=OTHER), plan=True)
    result = await agent.run("…")
    assert "If the plan has to change" in last_observation(model, 2)
    assert [e.lines for e in result.trace if isinstance(e, Planned)][-1] == ("count them -- python",)


async def test_a_model_without_calls_plans_too() -> None:
    agent, _ = agent_with("1. count -- crm.contacts", fenced("done(len(crm.contacts()))"), plan=True, traits=FENCED)
    result = await agent.run("…", returns=int)
    assert result.value == 3
    assert [e.lines for e in result.trace if isinstance(e, Planned)] == [("1. count -- crm.contacts",)]


def test_a_plan_is_read_from_a_reply() -> None:
    text = "Fine.\n\n**Plan:**\n1. one -- a\n2) two\n- three\n\nNow the code.\n1. not this"
    assert plan_in(text) == ("one -- a", "two", "three")
    assert plan_in("no plan here\n1. nothing") == ()
