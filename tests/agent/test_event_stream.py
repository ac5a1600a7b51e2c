"""Events of a turn: a listener that raises, a loop that is left, a consumer that is slow, a reply that begins anew."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from tests.agent.worlds import agent_with, kinds

from cellwright.agent import Agent
from cellwright.agent.event_stream import WAITING
from cellwright.doors import Request
from cellwright.errors import ModelBusy, ModelRefused, UsageError
from cellwright.events import CellFinished, CodePiece, Done, Event, Failed, TextPiece
from cellwright.messages import AssistantMessage, Piece
from cellwright.testing import ScriptedModel, code

BOUND_S = 20


class Stuck:
    """A model whose second request never ends; `gone` when that was cancelled."""

    def __init__(self) -> None:
        self.asked, self.gone = asyncio.Event(), asyncio.Event()

    async def reply(self, _: Request) -> AssistantMessage:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.gone.set()
        raise AssertionError


@pytest.fixture
async def reported() -> list[BaseException]:
    """What the event loop's exception handler gets."""
    errors: list[BaseException] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context["exception"]))
    return errors


# a listener that raises


async def test_a_listener_that_raises_does_not_stop_the_turn_and_hears_its_end(reported: list[BaseException]) -> None:
    heard: list[Event] = []

    def hear(event: Event) -> None:
        heard.append(event)
        raise ValueError(type(event).__name__)

    agent, _ = agent_with(code("print(1)\ncrm.contacts()"), code("done(2)"))
    result = await agent.run("…", on_event=hear)
    assert result.value == 2
    assert heard[-1] == result.trace[-1]
    assert isinstance(heard[-1], Done)
    assert [str(error) for error in reported] == kinds(heard)


async def test_a_listener_that_raises_does_not_hide_a_failure_nor_stop_children(reported: list[BaseException]) -> None:
    heard: list[str] = []

    def hear(event: Event) -> None:
        heard.append(type(event).__name__)
        raise ValueError

    parent = code("import asyncio\ngot = await asyncio.gather(spawn('a'), spawn('b'))\ndone(got)")
    agent, _ = agent_with(parent, code("done(1)"), code("done(1)"), ModelRefused("401: wrong key"), spawn=True)
    assert (await agent.run("…", on_event=hear)).value == [1, 1]
    assert heard.count("ChildFinished") == 2
    with pytest.raises(ModelRefused):
        await agent.run("…", on_event=hear)
    assert heard[-1] == "Failed"
    assert len(reported) == len(heard)


async def test_every_turn_that_began_has_a_last_event() -> None:
    """Also one that fails before its first request, or by an error of the model's own, and one that is cancelled."""
    heard: list[Event] = []
    agent, _ = agent_with(mode="direct", scope={})
    with pytest.raises(UsageError):
        await agent.run("…", on_event=heard.append)
    assert kinds(heard) == ["TurnStarted", "Failed"]
    agent, _ = agent_with(AssertionError())
    with pytest.raises(AssertionError):
        await agent.run("…", on_event=heard.append)
    assert isinstance(heard[-1], Failed)
    assert heard[-1].error == "AssertionError"
    stuck = Stuck()
    agent, _ = agent_with(stuck.reply)
    turn = asyncio.ensure_future(agent.run("…", on_event=heard.append))
    await asyncio.wait_for(stuck.asked.wait(), BOUND_S)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert isinstance(heard[-1], Failed)


async def test_nothing_is_told_after_the_end_of_a_turn() -> None:
    heard: list[Event] = []
    asked: asyncio.Queue[Any] = asyncio.Queue()

    class Late:
        name, traits = "late", ScriptedModel().traits

        async def request(self, request: Request, on_piece: Any = None) -> Any:
            asked.put_nowait(on_piece)
            await asyncio.Event().wait()

        async def close(self) -> None: ...

    turn = asyncio.ensure_future(Agent(Late()).run("…", on_event=heard.append))
    on_piece = await asyncio.wait_for(asked.get(), BOUND_S)
    on_piece(Piece(text="in time"))
    turn.cancel()
    await asyncio.wait([turn])
    on_piece(Piece(text="late"))
    assert kinds(heard)[-2:] == ["TextPiece", "Failed"]


# a loop that is left


@pytest.mark.parametrize("way", ["break", "error", "return", "cancel"])
async def test_leaving_the_loop_cancels_the_request_at_once(way: str) -> None:
    stuck, before = Stuck(), asyncio.all_tasks()
    agent, _ = agent_with(code("x = 5"), stuck.reply)

    async def hear() -> None:
        async for event in agent.stream("…"):
            if isinstance(event, CellFinished):
                await asyncio.wait_for(stuck.asked.wait(), BOUND_S)
                if way == "break":
                    break
                if way == "error":
                    raise ValueError
                if way == "return":
                    return

    consumer = asyncio.ensure_future(hear())
    await asyncio.wait_for(stuck.asked.wait(), BOUND_S)
    if way == "cancel":
        for _ in range(5):
            await asyncio.sleep(0)
        consumer.cancel()
    await asyncio.wait([consumer])
    for _ in range(5):  # turns of the loop, not of a clock
        await asyncio.sleep(0)
    assert stuck.gone.is_set()
    assert consumer.cancelled() or isinstance(consumer.exception(), ValueError | None)
    left = asyncio.all_tasks() - before
    assert not left or not (await asyncio.wait(left, timeout=BOUND_S))[1]


async def test_leaving_the_loop_ends_the_cell() -> None:
    gone = asyncio.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()

    agent, _ = agent_with(code("await forever()"), scope={"forever": forever})
    async with aclosing(agent.stream("…")) as stream:
        async for event in stream:
            if type(event).__name__ == "CallStarted":
                break
        assert not gone.is_set()
    assert gone.is_set()  # closing has waited for the end of the turn
    assert [event async for event in stream] == []


def test_a_program_that_ends_in_the_loop_leaves_nothing_behind(capfd: pytest.CaptureFixture[str]) -> None:
    stuck: list[Stuck] = []

    async def main() -> None:
        stuck.append(Stuck())
        agent, _ = agent_with(code("x = 5"), stuck[0].reply)
        async for _ in agent.stream("…"):
            break

    asyncio.run(main(), debug=False)
    assert capfd.readouterr().err == ""


async def test_a_stream_that_nobody_reads_asks_no_model() -> None:
    agent, model = agent_with("hi")
    stream = agent.stream("…")
    await stream.aclose()
    assert [event async for event in stream] == []
    assert model.requests == []


# a slow consumer


async def test_a_turn_waits_for_a_slow_consumer_before_its_next_step() -> None:
    called, second = asyncio.Event(), asyncio.Event()

    async def call(number: int) -> None:
        if number == WAITING:
            called.set()

    async def next_step(_: Request) -> AssistantMessage:
        second.set()
        return code("done(1)")

    agent, _ = agent_with(code(f"for n in range({WAITING + 1}): await call(n)"), next_step, scope={"call": call})
    async with aclosing(agent.stream("…")) as stream:
        first = await anext(stream)
        await asyncio.wait_for(called.wait(), BOUND_S)
        other, _ = agent_with(*[code("1")] * 5, code("done(1)"))
        await other.run("…")  # time enough for the next step
        assert not second.is_set()
        rest = [event async for event in stream]
    assert kinds([first, rest[-1]]) == ["TurnStarted", "Done"]
    assert kinds(rest).count("CallFinished") == WAITING + 2


# a reply that begins anew


async def test_pieces_of_text_and_of_code_are_withdrawn_each_by_its_own_kind() -> None:
    class Breaks:
        name, traits = "breaks", ScriptedModel().traits

        def __init__(self) -> None:
            self.asked = 0

        async def request(self, request: Request, on_piece: Any = None) -> Any:
            self.asked += 1
            on_piece(Piece(text="I "))
            on_piece(Piece(text='{"code": "x = ', kind="call", name="execute"))
            if self.asked == 1:
                raise ModelBusy("529", retry_after_s=0.0)
            on_piece(Piece(text='1"}', kind="call", name="execute"))
            return await ScriptedModel(code("done(1)")).request(request)

        async def close(self) -> None: ...

    text = code_told = ""
    async for event in Agent(Breaks()).stream("…"):
        match event:
            case TextPiece():
                text = event.text if event.restart else text + event.text
            case CodePiece():
                code_told = event.text if event.restart else code_told + event.text
            case _:
                pass
    assert (text, code_told) == ("I ", "x = 1")
