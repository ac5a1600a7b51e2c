"""The loop: what the model asks for is done, and what came of it goes back in short, exact words."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agent.worlds import FENCED, Crm, agent_with, kinds, last_observation

from cellwright import Limits
from cellwright.doors import Reply, Request
from cellwright.errors import BudgetSpent, Stuck, UsageError
from cellwright.events import CallFinished, CellFinished, CodePiece, Event, TextPiece
from cellwright.messages import AssistantMessage, ToolCall, ToolMessage, Traits
from cellwright.models import Budget
from cellwright.testing import ScriptedModel, call, code, fenced


async def test_code_runs_against_live_objects_until_it_is_done() -> None:
    crm = Crm()
    agent, model = agent_with(
        code("idle = [c.name for c in crm.contacts() if not c.deals]\nidle"),
        code("for name in idle:\n    crm.write(name, 'hello')\ndone(idle)"),
        scope={"crm": crm},
    )
    result = await agent.run("Write to everybody without a deal.")
    assert result.value == ["Bo", "Cy"]
    assert crm.letters == ["Bo: hello", "Cy: hello"]
    assert last_observation(model) == "['Bo', 'Cy']"
    assert (result.steps, result.usage.requests, model.left) == (2, 2, 0)


async def test_nothing_runs_after_done() -> None:
    crm = Crm()
    cell = "for name in ('Ada', 'Bo'):\n    try:\n        crm.write(name, 'x')\n        done(name)\n"
    cell += "    except Exception:\n        pass"
    agent, _ = agent_with(code(cell), scope={"crm": crm})
    assert (await agent.run("…")).value == "Ada"
    assert crm.letters == ["Ada: x"]


async def test_fenced_code_is_run_for_a_model_without_tool_calls() -> None:
    agent, model = agent_with(fenced("done(len(crm.contacts()))", say="Let me count."), traits=FENCED)
    assert (await agent.run("How many?", returns=int)).value == 3
    assert model.requests[0].tools == ()
    assert "\n```\n" in model.requests[0].generation.stop


async def test_only_the_first_block_of_a_reply_is_run_and_that_is_said() -> None:
    crm = Crm()
    two = "```python\ncrm.write('Ada', '1')\n```\nIt printed 1.\n```python\ncrm.write('Ada', '2')\n```"
    agent, model = agent_with(two, fenced("done(1)"), traits=FENCED, scope={"crm": crm})
    await agent.run("…")
    assert crm.letters == ["Ada: 1"]
    assert "Only the first block" in last_observation(model)


async def test_a_fence_of_another_language_is_not_run() -> None:
    agent, _ = agent_with("```json\n{}\n```", traits=FENCED)
    assert (await agent.run("…")).value == "```json\n{}\n```"


async def test_an_error_goes_back_with_its_own_line() -> None:
    agent, model = agent_with(code("x = 1\ncrm.fail(7)"), code("done(x)"))
    result = await agent.run("…")
    told = last_observation(model)
    assert "LookupError: there is no letter 7" in told
    assert "line 2" in told
    assert "Traceback" not in told
    assert result.value == 1  # the names from before the error are there


async def test_a_wrong_call_names_the_right_parameters() -> None:
    agent, model = agent_with(code("crm.contacts(town='Oslo')"), code("done(1)"), check="off")
    await agent.run("…")
    assert "city" in last_observation(model)


async def test_a_mistake_of_types_is_told_and_nothing_runs() -> None:
    crm = Crm()
    agent, model = agent_with(
        code("crm.write('Ada', 'x')\ncrm.contacts(town='Oslo')"), code("done(1)"), scope={"crm": crm}, check="strict"
    )
    result = await agent.run("…")
    assert "Not run." in last_observation(model)
    assert crm.letters == []
    assert [e.ok for e in result.trace if isinstance(e, CellFinished)] == [False, True]


async def test_a_limit_is_an_observation() -> None:
    agent, model = agent_with(code("while True: pass"), code("done(1)"), limits=Limits(wall_s=0.3), check="off")
    await agent.run("…")
    assert "TimeLimit" in last_observation(model)
    assert "wall_s=0.3" in last_observation(model)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("x = None", "no output and no value"),
        ("import json\ndef main():\n    return 1", "defined `main` and did not call it"),
        ("async def main():\n    return 1", "call it: `await main(…)`"),
        ("# No output", "nothing to run in that cell but comments"),
        ("    x = 5\n    if x: pass", "no output and no value"),
    ],
)
async def test_a_cell_that_shows_nothing_is_told_why(written: str, said: str) -> None:
    agent, model = agent_with(code(written), code("done(1)"))
    await agent.run("…")
    assert said in last_observation(model)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"code": ', "not JSON"),
        ('{"cod": "1"}', '"code"'),
        ('["x"]', '"code"'),
        ('{"code": 3}', '"code"'),
        ("", "not JSON"),
    ],
)
async def test_a_malformed_call_is_told_what_is_wrong(arguments: str, said: str) -> None:
    agent, model = agent_with([ToolCall(id="a", name="execute", arguments=arguments)], code("done(1)"))
    assert (await agent.run("…")).value == 1
    assert said in last_observation(model)


async def test_a_function_that_is_not_there_is_told_what_there_is() -> None:
    agent, model = agent_with([call("send_email", to="x")], code("done(1)"))
    await agent.run("…")
    assert "there is no function 'send_email'; there is: execute" in last_observation(model)


async def test_every_call_of_a_reply_is_answered_in_its_order() -> None:
    crm = Crm()
    agent, model = agent_with(
        [call("execute", code="crm.write('Ada', '1')"), call("nothing"), call("execute", code="crm.write('Bo', '2')")],
        code("done(1)"),
        scope={"crm": crm},
    )
    await agent.run("…")
    answered = model.requests[-1].messages[-1]
    assert isinstance(answered, ToolMessage)
    assert [r.text for r in answered.results][::2] == ["1", "2"]
    assert crm.letters == ["Ada: 1", "Bo: 2"]


async def test_a_reply_that_was_cut_off_is_not_run() -> None:
    crm = Crm()
    cut = Reply(message=AssistantMessage(text="```python\ncrm.write('Ada', 'x')\ncrm.wri"), cut=True)
    agent, model = agent_with(cut, fenced("done(1)"), traits=FENCED, scope={"crm": crm})
    await agent.run("…")
    assert crm.letters == []
    assert "cut off" in last_observation(model)


async def test_a_plain_reply_ends_the_turn() -> None:
    agent, _ = agent_with("Nobody.")
    assert (await agent.run("Who?")).value == "Nobody."


async def test_fenced_code_of_a_model_that_could_have_made_a_call_runs_while_it_has_made_none() -> None:
    agent, _ = agent_with("```python\nx = 5\n```", code("y = x"), "Like this:\n```python\nprint(1)\n```")
    assert (await agent.run("…")).value.startswith("Like this")


async def test_the_second_time_the_same_failure_is_named_and_the_third_time_the_way_changes() -> None:
    agent, model = agent_with(*[code(f"crm.fail({n})") for n in range(3)], code("done(1)"))
    await agent.run("…")
    assert "same failure" not in last_observation(model, 1)
    assert "same failure as before. Do not repeat it" in last_observation(model, 2)
    assert "failed 3 times" in last_observation(model, 3)
    assert [r.generation.temperature for r in model.requests] == [0.0, 0.0, 0.0, 0.7]


async def test_a_failure_that_nothing_helps_against_ends_with_a_report() -> None:
    agent, _ = agent_with(otherwise=code("crm.fail(1)"))
    with pytest.raises(Stuck, match="same failure 6 times") as caught:
        await agent.run("…")
    assert "there is no letter" in str(caught.value)
    result: Any = caught.value.result
    assert (result.steps, result.value) == (6, None)
    assert kinds(result.trace)[-1] == "Failed"


async def test_the_checker_does_not_stand_in_the_way_for_ever() -> None:
    agent, _ = agent_with(otherwise=code("if len(crm.contacts()) > 9:\n    crm.nothing()\ndone(1)"), check="strict")
    result = await agent.run("…")
    assert (result.value, result.steps) == (1, 4)


async def test_the_same_cell_with_the_same_result_counts_as_a_failure() -> None:
    agent, model = agent_with(otherwise=code("len(crm.contacts())"))
    with pytest.raises(Stuck):
        await agent.run("…")
    assert "If that is the answer, call done(value)" in last_observation(model, 2)


async def test_the_budget_of_steps_ends_a_turn_with_what_there_was() -> None:
    n = iter(range(100))

    def another(_: Request) -> AssistantMessage:
        return code(f"{next(n)}")

    agent, _ = agent_with(otherwise=another, budget=Budget(steps=3))
    with pytest.raises(BudgetSpent) as caught:
        await agent.run("…")
    result: Any = caught.value.result
    assert (caught.value.what, result.steps, result.usage.requests) == ("steps", 3, 3)


async def test_events_come_in_order_with_ids_and_times() -> None:
    heard: list[Event] = []
    agent, _ = agent_with(code("print('hi')\ncrm.contacts('Oslo')", say="Looking."), code("done(1)"))
    result = await agent.run("…", on_event=heard.append)
    kept = [e for e in heard if not isinstance(e, TextPiece | CodePiece)]
    assert (
        kinds(kept)
        == (
            "TurnStarted ModeChosen Used Replied CodeReady Printed CallStarted CallFinished CellFinished "
            "Used CodeReady CallStarted CallFinished CellFinished Done"
        ).split()
    )
    assert result.trace == tuple(kept)
    assert {e.session for e in heard} == {result.session_id}
    assert {e.turn for e in heard} == {1}
    assert [e.step for e in kept] == [0, 0, *[1] * 7, *[2] * 6]
    assert [e.at for e in heard] == sorted(e.at for e in heard)
    assert (
        "".join(e.text for e in heard if isinstance(e, CodePiece) and e.step == 1)
        == "print('hi')\ncrm.contacts('Oslo')"
    )
    assert all(e.error is None for e in kept if isinstance(e, CallFinished))


async def test_the_beginning_of_a_request_is_that_of_the_one_before() -> None:
    agent, model = agent_with(*[code(f"print({n}); crm.{'abcde'[n]}x") for n in range(5)], code("done(1)"), check="off")
    await agent.run("…")
    for earlier, later in zip(model.requests, model.requests[1:], strict=False):
        assert later.messages[: len(earlier.messages)] == earlier.messages
        assert (later.instructions, later.tools) == (earlier.instructions, earlier.tools)


def test_a_name_of_the_agents_own_cannot_be_bound() -> None:
    with pytest.raises(UsageError, match="'done' is a name of the agent's own"):
        agent_with(scope={"done": print})


async def test_search_and_show_are_there_for_the_code() -> None:
    agent, _ = agent_with(code("print(search('send a letter'))\nprint(show('crm.write'))\ndone(1)"))
    result = await agent.run("…")
    told = "\n".join(e.observation for e in result.trace if isinstance(e, CellFinished))
    assert "crm.write" in told
    assert "Send a letter" in told


async def test_a_scripted_model_that_runs_out_says_so() -> None:
    agent, model = agent_with(code("1"))
    with pytest.raises(AssertionError, match="1 requests were expected"):
        await agent.run("…")
    assert isinstance(model, ScriptedModel)


class NoSuchLetter(LookupError):
    pass


async def test_an_exception_of_the_developers_is_named_each_time_it_is_told() -> None:
    def letter() -> None:
        raise NoSuchLetter("7")

    agent, model = agent_with(code("letter()"), code("letter()\n1"), code("done(1)"), scope={"letter": letter})
    result = await agent.run("…")
    told = [e.error for e in result.trace if isinstance(e, CallFinished) and e.error]
    assert told == ["NoSuchLetter: 7", "NoSuchLetter: 7"]
    assert last_observation(model, 1).splitlines()[-1] == "NoSuchLetter: 7"


async def test_an_await_too_many_is_mended_and_that_is_said() -> None:
    agent, model = agent_with(
        code("people = await crm.contacts()\nlen(people)"), code("done(len(people))"), check="strict"
    )
    result = await agent.run("…")
    assert (result.value, result.steps) == (3, 2)
    assert last_observation(model).startswith("3\nMended: line 1: `await` was left out")


async def test_when_the_way_changes_earlier_attempts_that_failed_alike_are_not_shown_again() -> None:
    agent, model = agent_with(
        code("x = 1\nx"), *[code(f"crm.fail({n})") for n in range(4)], code("done(x)"), traits=Traits(window=100_000)
    )
    assert (await agent.run("…")).value == 1
    said = [m for m in model.requests[-1].messages if isinstance(m, AssistantMessage)]
    assert ["fail" in m.calls[0].arguments for m in said] == [False, True]
    answered = [m for m in model.requests[-1].messages if isinstance(m, ToolMessage)]
    assert [r.id for m in answered for r in m.results] == [m.calls[0].id for m in said]
