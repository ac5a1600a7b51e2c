"""The conversation is kept small: long outputs are cut with a mark, old ones to a reference, the rest told in short."""

from __future__ import annotations

from tests.agent.worlds import agent_with, last_observation

from cellwright.agent.context_window import SUMMARY, ContextWindow
from cellwright.agent.conversation_head import ADDED, NOW, REDIRECTED
from cellwright.agent.observation import CellOutputs
from cellwright.doors import Request
from cellwright.events import CellFinished, Compacted
from cellwright.messages import AssistantMessage, Message, ToolCall, ToolMessage, ToolResult, Traits, Usage, UserMessage
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
    outputs = CellOutputs(limit=100)
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
    context = long_talk(12, size=1000)
    last = context.messages[-4:]

    async def never(_: object) -> str:
        raise AssertionError("cutting is enough")

    before = context.tokens
    assert context.full
    estimated, after = await context.compact(never)
    assert after < estimated
    assert context.tokens < before / 2
    assert context.messages[0] == UserMessage(text="the task")
    assert context.messages[-4:] == last
    assert calls_and_answers(context)
    old = context.messages[2]
    assert isinstance(old, ToolMessage)
    assert "show('output:0') has it" in old.results[0].text


async def test_when_cutting_is_not_enough_the_middle_is_told_in_short() -> None:
    context = long_talk(60, size=400)

    async def summary(messages: tuple[object, ...]) -> str:
        return f"{len(messages)} messages"

    await context.compact(summary)
    first = context.messages[0]
    assert isinstance(first, UserMessage)
    assert first.text.startswith("the task\n\nWhat was done so far, in short:\n")
    assert len(context.messages) <= 6
    assert calls_and_answers(context)


async def test_a_turn_that_fills_the_window_goes_on_with_what_matters() -> None:
    def reply(request: Request) -> AssistantMessage | str:
        last = request.messages[-1]
        if isinstance(last, UserMessage) and SUMMARY in last.text:
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
    assert isinstance(first, UserMessage)
    assert first.text.startswith("Read all the rows.")
    assert len([e for e in result.trace if isinstance(e, CellFinished)]) == 15  # the trace has it all


def test_after_a_turn_no_call_is_left_without_an_answer() -> None:
    context = ContextWindow(1000)
    context.ask("x")
    context.say(AssistantMessage(text="", calls=(ToolCall(id="a", name="execute", arguments="{}"),)), Usage())
    context.settle()
    assert calls_and_answers(context)
    context.settle()
    assert len(context.messages) == 3


def long_talk(steps: int, *, size: int) -> ContextWindow:
    context = ContextWindow(4_000)
    context.ask("the task")
    for n in range(steps):
        call = ToolCall(id=f"c{n}", name="execute", arguments='{"code": "x"}')
        context.say(AssistantMessage(text="", calls=(call,)), Usage(input_tokens=(n + 1) * size // 4, output_tokens=50))
        context.answer(ToolResult(id=f"c{n}", name="execute", text="o" * size), f"output:{n}")
    return context


def calls_and_answers(context: ContextWindow) -> bool:
    """Whether each reply with calls is followed by their answers, and no answer stands alone."""
    pairs = list(zip(context.messages, [*context.messages[1:], None], strict=True))
    answered = all(
        isinstance(after, ToolMessage) for m, after in pairs[:-1] if isinstance(m, AssistantMessage) and m.calls
    )
    asked = all(isinstance(m, AssistantMessage) for m, after in pairs if isinstance(after, ToolMessage))
    return answered and asked


async def test_the_first_task_and_that_of_this_turn_stay_and_what_was_between_is_told_in_short() -> None:
    context = long_talk(8, size=1200)
    context.begin("the second task")
    for n in range(100, 104):
        context.say(AssistantMessage(text="", calls=(ToolCall(id=f"c{n}", name="execute", arguments="{}"),)), Usage())
        context.answer(ToolResult(id=f"c{n}", name="execute", text="o" * 3000), f"output:{n}")

    async def summary(_: object) -> str:
        return "much"

    await context.compact(summary)
    first = context.messages[0]
    assert isinstance(first, UserMessage)
    whole = f"the task\n\n{NOW}the second task\n\nWhat was done so far, in short:\nmuch"
    assert first.text == whole
    assert calls_and_answers(context)
    await context.compact(summary)
    assert isinstance(context.messages[0], UserMessage)
    assert context.messages[0].text == whole


async def test_what_a_person_said_stays_word_for_word_when_the_window_fills() -> None:
    words = ADDED + "and mind this: " + "w" * 500
    for enough in (True, False):
        context = long_talk(2, size=100)
        context.hear(words)
        for n in range(10, 22 if enough else 70):
            context.say(
                AssistantMessage(text="", calls=(ToolCall(id=f"c{n}", name="execute", arguments="{}"),)), Usage()
            )
            context.answer(ToolResult(id=f"c{n}", name="execute", text="o" * 1000), f"output:{n}")
        again = ContextWindow(context.window, context.messages)  # as it is read from a journal

        async def summary(_: object) -> str:
            return "much"

        for one in (context, again):
            await one.compact(summary)
            asked = "\n".join(message.text for message in one.messages if isinstance(message, UserMessage))
            assert asked.count(words) == 1
            assert ("much" in asked) is not enough
            assert calls_and_answers(one)


async def test_a_person_s_words_below_an_observation_stay_when_that_is_cut_or_forgotten() -> None:
    context = ContextWindow(4_000)
    context.begin("the task")
    failed: list[AssistantMessage] = []
    for n in range(6):
        said = AssistantMessage(text=f"```python\nstep {n}\n```")
        context.say(said, Usage())
        failed += [said] if n in (1, 2) else []
        context.ask(str(n) * 1000, f"output:{n}")
        if n < 3:
            context.hear(f"{ADDED}word {n}")

    async def never(_: object) -> str:
        raise AssertionError("cutting is enough")

    context.forget(failed)
    await context.compact(never)
    asked = "\n".join(message.text for message in context.messages if isinstance(message, UserMessage))
    assert [asked.count(f"{ADDED}word {n}") for n in range(3)] == [1, 1, 1]
    assert "show('output:0') has it" in asked
    assert [type(message) for message in context.messages] == [UserMessage, AssistantMessage, UserMessage] + [
        AssistantMessage,
        UserMessage,
    ] * 3


async def test_a_person_s_words_below_an_observation_stay_also_where_another_process_goes_on() -> None:
    context = ContextWindow(100_000)
    context.begin("the task")
    context.say(AssistantMessage(text="a step"), Usage())
    context.ask("o" * 5_000)
    context.hear(f"{ADDED}mind this: {'w' * 500}")
    for n in range(3):
        context.say(AssistantMessage(text=f"step {n}"), Usage())
        context.ask(f"came of it: {n}")
    resumed = ContextWindow(100_000, context.messages)

    async def never(messages: tuple[Message, ...]) -> str:
        raise AssertionError(messages)

    await resumed.compact(never)
    text = "".join(m.text for m in resumed.messages if isinstance(m, UserMessage))
    assert f"{ADDED}mind this: {'w' * 500}" in text
    assert "o" * 500 not in text


async def test_another_task_is_the_one_that_stays() -> None:
    context = long_talk(6, size=1000)
    context.hear(REDIRECTED + "the other task", task=True)
    for n in range(100, 108):
        context.say(AssistantMessage(text="", calls=(ToolCall(id=f"c{n}", name="execute", arguments="{}"),)), Usage())
        context.answer(ToolResult(id=f"c{n}", name="execute", text="o" * 3000), f"output:{n}")

    async def summary(_: object) -> str:
        return "much"

    again = ContextWindow(context.window, context.messages)
    for one in (context, again):
        await one.compact(summary)
        first = one.messages[0]
        assert isinstance(first, UserMessage)
        assert first.text == f"the task\n\n{REDIRECTED}the other task\n\nWhat was done so far, in short:\nmuch"
