"""The conversation is kept small: long outputs are cut with a mark, old ones to a reference, the rest told in short."""

from __future__ import annotations

from tests.agent.worlds import agent_with, last_observation

from toolwright.agent.observing import Outputs
from toolwright.agent.talk import SUMMARY, Talk
from toolwright.doors import Request
from toolwright.events import CellFinished, Compacted
from toolwright.messages import Answered, Asked, Said, ToolCall, ToolResult, Traits, Usage
from toolwright.testing import code

SMALL = Traits(window=4_000)


async def test_a_long_output_is_cut_and_show_reopens_the_rest() -> None:
    agent, model = agent_with(
        code("'\\n'.join(f'row {n}' for n in range(2000))"),
        code("print(show('output:1', start=1280))"),
        code("done(1)"),
        traits=SMALL,
    )
    await agent.run("…")
    told = last_observation(model, 1)
    assert "characters cut; `print(show('output:1', start=1280))`" in told
    assert len(told) < 2100
    assert "row 155" in last_observation(model, 2)


def test_every_page_of_an_output_put_together_is_the_whole() -> None:
    outputs = Outputs(limit=100)
    text = "".join(f"{n}," for n in range(500))
    outputs.keep(3, text)
    whole, start = "", 0
    while start < len(text):
        page = outputs.page("output:3", start)
        assert page is not None
        whole += page.partition("\n… [")[0]
        start = len(whole)
    assert whole == text
    assert outputs.page("output:4", 0) is None


async def test_compaction_keeps_the_task_the_calls_and_the_last_messages() -> None:
    talk = long_talk(12, size=1000)
    last = talk.messages[-4:]

    async def never(_: object) -> str:
        raise AssertionError("cutting is enough")

    before = talk.tokens
    assert talk.full
    estimated, after = await talk.compact(never)
    assert after < estimated
    assert talk.tokens < before / 2
    assert talk.messages[0] == Asked(text="the task")
    assert talk.messages[-4:] == last
    assert calls_and_answers(talk)
    old = talk.messages[2]
    assert isinstance(old, Answered)
    assert "show('output:0') has it" in old.results[0].text


async def test_when_cutting_is_not_enough_the_middle_is_told_in_short() -> None:
    talk = long_talk(60, size=400)

    async def summary(messages: tuple[object, ...]) -> str:
        return f"{len(messages)} messages"

    await talk.compact(summary)
    first = talk.messages[0]
    assert isinstance(first, Asked)
    assert first.text.startswith("the task\n\nWhat was done so far, in short:\n")
    assert len(talk.messages) <= 6
    assert calls_and_answers(talk)


async def test_a_turn_that_fills_the_window_goes_on_with_what_matters() -> None:
    def reply(request: Request) -> Said | str:
        last = request.messages[-1]
        if isinstance(last, Asked) and SUMMARY in last.text:
            return "The rows were read."
        n = len(steps)
        steps.append(n)
        return code(f"print('{n:04}' * 350)") if n < 14 else code("done(1)")

    steps: list[int] = []
    agent, model = agent_with(otherwise=reply, traits=SMALL)
    result = await agent.run("Read all the rows.")
    assert [e for e in result.trace if isinstance(e, Compacted)]
    assert all(e.after_tokens < e.before_tokens for e in result.trace if isinstance(e, Compacted))
    first = model.requests[-1].messages[0]
    assert isinstance(first, Asked)
    assert first.text.startswith("Read all the rows.")
    assert len([e for e in result.trace if isinstance(e, CellFinished)]) == 15  # the trace has it all


def test_after_a_turn_no_call_is_left_without_an_answer() -> None:
    talk = Talk(1000)
    talk.ask("x")
    talk.say(Said(text="", calls=(ToolCall(id="a", name="execute", arguments="{}"),)), Usage())
    talk.settle()
    assert calls_and_answers(talk)
    talk.settle()
    assert len(talk.messages) == 3


def long_talk(steps: int, *, size: int) -> Talk:
    talk = Talk(4_000)
    talk.ask("the task")
    for n in range(steps):
        call = ToolCall(id=f"c{n}", name="execute", arguments='{"code": "x"}')
        talk.say(Said(text="", calls=(call,)), Usage(input_tokens=(n + 1) * size // 4, output_tokens=50))
        talk.answer(ToolResult(id=f"c{n}", name="execute", text="o" * size), f"output:{n}")
    return talk


def calls_and_answers(talk: Talk) -> bool:
    """Whether each reply with calls is followed by their answers, and no answer stands alone."""
    pairs = list(zip(talk.messages, [*talk.messages[1:], None], strict=True))
    answered = all(isinstance(after, Answered) for m, after in pairs[:-1] if isinstance(m, Said) and m.calls)
    asked = all(isinstance(m, Said) for m, after in pairs if isinstance(after, Answered))
    return answered and asked


async def test_the_task_of_this_turn_stays_and_those_before_it_are_told_in_short() -> None:
    talk = long_talk(8, size=1200)
    talk.begin("the second task")
    for n in range(100, 104):
        talk.say(Said(text="", calls=(ToolCall(id=f"c{n}", name="execute", arguments="{}"),)), Usage())
        talk.answer(ToolResult(id=f"c{n}", name="execute", text="o" * 3000), f"output:{n}")

    async def summary(_: object) -> str:
        return "much"

    await talk.compact(summary)
    first = talk.messages[0]
    assert isinstance(first, Asked)
    assert first.text == "the second task\n\nWhat was done so far, in short:\nmuch"
    assert calls_and_answers(talk)
    await talk.compact(summary)
    assert isinstance(talk.messages[0], Asked)
    assert talk.messages[0].text.startswith("the second task")
