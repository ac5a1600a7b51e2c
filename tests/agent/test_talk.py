"""The conversation is kept small: long outputs are cut with a mark, old ones to a reference, the rest told in short."""

from __future__ import annotations

from tests.agent.worlds import agent_with, last_observation

from cellwright.agent.observing import Outputs
from cellwright.agent.talk import ADDED, REDIRECTED, SUMMARY, Talk
from cellwright.doors import Request
from cellwright.events import CellFinished, Compacted
from cellwright.messages import Answered, Asked, Message, Said, ToolCall, ToolResult, Traits, Usage
from cellwright.testing import code

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


async def test_what_a_person_said_stays_word_for_word_when_the_window_fills() -> None:
    words = ADDED + "and mind this: " + "w" * 500
    for enough in (True, False):
        talk = long_talk(2, size=100)
        talk.hear(words)
        for n in range(10, 22 if enough else 70):
            talk.say(Said(text="", calls=(ToolCall(id=f"c{n}", name="execute", arguments="{}"),)), Usage())
            talk.answer(ToolResult(id=f"c{n}", name="execute", text="o" * 1000), f"output:{n}")
        again = Talk(talk.window, talk.messages)  # as it is read from a journal

        async def summary(_: object) -> str:
            return "much"

        for one in (talk, again):
            await one.compact(summary)
            asked = "\n".join(message.text for message in one.messages if isinstance(message, Asked))
            assert asked.count(words) == 1
            assert ("much" in asked) is not enough
            assert calls_and_answers(one)


async def test_a_person_s_words_below_an_observation_stay_when_that_is_cut_or_forgotten() -> None:
    talk = Talk(4_000)
    talk.begin("the task")
    failed: list[Said] = []
    for n in range(6):
        said = Said(text=f"```python\nstep {n}\n```")
        talk.say(said, Usage())
        failed += [said] if n in (1, 2) else []
        talk.ask(str(n) * 1000, f"output:{n}")
        if n < 3:
            talk.hear(f"{ADDED}word {n}")

    async def never(_: object) -> str:
        raise AssertionError("cutting is enough")

    talk.forget(failed)
    await talk.compact(never)
    asked = "\n".join(message.text for message in talk.messages if isinstance(message, Asked))
    assert [asked.count(f"{ADDED}word {n}") for n in range(3)] == [1, 1, 1]
    assert "show('output:0') has it" in asked
    assert [type(message) for message in talk.messages] == [Asked, Said, Asked] + [Said, Asked] * 3


async def test_a_person_s_words_below_an_observation_stay_also_where_another_process_goes_on() -> None:
    talk = Talk(100_000)
    talk.begin("the task")
    talk.say(Said(text="a step"), Usage())
    talk.ask("o" * 5_000)
    talk.hear(f"{ADDED}mind this: {'w' * 500}")
    for n in range(3):
        talk.say(Said(text=f"step {n}"), Usage())
        talk.ask(f"came of it: {n}")
    resumed = Talk(100_000, talk.messages)

    async def never(messages: tuple[Message, ...]) -> str:
        raise AssertionError(messages)

    await resumed.compact(never)
    text = "".join(m.text for m in resumed.messages if isinstance(m, Asked))
    assert f"{ADDED}mind this: {'w' * 500}" in text
    assert "o" * 500 not in text


async def test_another_task_is_the_one_that_stays() -> None:
    talk = long_talk(6, size=1000)
    talk.hear(REDIRECTED + "the other task", task=True)
    for n in range(100, 108):
        talk.say(Said(text="", calls=(ToolCall(id=f"c{n}", name="execute", arguments="{}"),)), Usage())
        talk.answer(ToolResult(id=f"c{n}", name="execute", text="o" * 3000), f"output:{n}")

    async def summary(_: object) -> str:
        return "much"

    again = Talk(talk.window, talk.messages)
    for one in (talk, again):
        await one.compact(summary)
        first = one.messages[0]
        assert isinstance(first, Asked)
        assert first.text == f"{REDIRECTED}the other task\n\nWhat was done so far, in short:\nmuch"
