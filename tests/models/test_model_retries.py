"""Retries: a busy model is asked again after a fair wait, and nobody sees the beginning of a reply twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cellwright.doors import Request
from cellwright.errors import ModelBusy, ModelError, ModelRefused, UsageError
from cellwright.messages import Piece, UserMessage
from cellwright.models.model_retries import Retrying
from cellwright.testing import ScriptedModel, broken, code

ASK = Request(messages=(UserMessage(text="hello"),))


class Waits:
    """Keeps what would have been slept."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, delay_s: float) -> None:
        self.slept.append(delay_s)


def shown(told: list[Piece]) -> str:
    """What a screen shows in the end."""
    text = ""
    for piece in told:
        text = piece.text if piece.restart else text + piece.text
    return text


async def test_a_busy_model_is_asked_again() -> None:
    waits = Waits()
    inner = ScriptedModel(ModelBusy("429"), ModelBusy("500"), "done")
    reply = await Retrying(inner, sleep=waits, jitter=lambda: 1.0).request(ASK)
    assert reply.message.text == "done"
    assert inner.requests == [ASK] * 3
    assert waits.slept == [0.5, 1.0]


async def test_the_wait_grows_to_its_cap_and_is_drawn_from_nothing_upwards() -> None:
    for draw, waited in ((1.0, [1.0, 2.0, 4.0, 5.0, 5.0]), (0.0, [0.0] * 5)):
        waits = Waits()
        model = Retrying(
            ScriptedModel(*[ModelBusy("busy")] * 5, "done"),
            attempts=6,
            base_s=1,
            cap_s=5,
            sleep=waits,
            jitter=lambda drawn=draw: drawn,
        )
        await model.request(ASK)
        assert waits.slept == waited


async def test_what_the_provider_asks_for_is_waited() -> None:
    waits = Waits()
    model = Retrying(ScriptedModel(ModelBusy("429", retry_after_s=7), "done"), sleep=waits, jitter=lambda: 0.5)
    await model.request(ASK)
    assert waits.slept == [7.25]


async def test_a_wish_above_the_cap_is_raised_at_once() -> None:
    waits = Waits()
    inner = ScriptedModel(ModelBusy("quota", retry_after_s=3_600))
    with pytest.raises(ModelBusy, match="quota; it asks to be left alone for 3,600 s, and 30 s are") as caught:
        await Retrying(inner, sleep=waits).request(ASK)
    assert caught.value.retry_after_s == 3_600
    assert waits.slept == []


async def test_the_last_failure_is_raised_with_the_number_of_attempts() -> None:
    inner = ScriptedModel(otherwise=ModelBusy("503 of it", retry_after_s=1))
    with pytest.raises(ModelBusy, match=r"^503 of it \(after 3 attempts\)$") as caught:
        await Retrying(inner, attempts=3, sleep=Waits()).request(ASK)
    assert caught.value.retry_after_s == 1
    assert len(inner.requests) == 3


@pytest.mark.parametrize("error", [ModelRefused("401"), ModelError("other"), RuntimeError("bug")])
async def test_what_is_not_busy_is_raised_at_once(error: Exception) -> None:
    inner = ScriptedModel(error)
    with pytest.raises(type(error)):
        await Retrying(inner, sleep=Waits()).request(ASK)
    assert len(inner.requests) == 1


async def test_a_retry_is_told_with_its_wait() -> None:
    told: list[tuple[str, float]] = []
    model = Retrying(
        ScriptedModel(ModelBusy("429"), "done"),
        on_retry=lambda error, delay_s: told.append((str(error), delay_s)),
        sleep=Waits(),
        jitter=lambda: 1.0,
    )
    await model.request(ASK)
    assert told == [("429", 0.5)]


async def test_the_beginning_of_a_broken_reply_is_taken_back() -> None:
    told: list[Piece] = []
    inner = ScriptedModel(
        broken("The ans", ModelBusy("cut")), ModelBusy("429"), broken(code("1"), ModelBusy("cut")), "The answer"
    )
    await Retrying(inner, sleep=Waits()).request(ASK, told.append)
    assert shown(told) == "The answer"
    assert sum(piece.restart for piece in told) == 2  # none for the attempt that told nothing


async def test_nothing_is_taken_back_when_it_is_not_asked_again() -> None:
    told: list[Piece] = []
    with pytest.raises(ModelBusy):
        await Retrying(ScriptedModel(broken("half", ModelBusy("cut"))), attempts=1).request(ASK, told.append)
    assert shown(told) == "half"
    assert not any(piece.restart for piece in told)


async def test_nobody_listening_means_no_stream() -> None:
    heard: list[Any] = []

    class Deaf(ScriptedModel):
        async def request(self, request: Request, on_piece: Any = None) -> Any:
            heard.append(on_piece)
            return await super().request(request, on_piece)

    await Retrying(Deaf("x")).request(ASK)
    assert heard == [None]


async def test_a_wait_can_be_cancelled() -> None:
    waiting = asyncio.Event()

    async def forever(delay_s: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    inner = ScriptedModel(ModelBusy("429"))
    task = asyncio.create_task(Retrying(inner, sleep=forever).request(ASK))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(inner.requests) == 1


async def test_it_is_the_model_inside_for_all_else() -> None:
    inner = ScriptedModel(name="inside")
    model = Retrying(inner)
    assert (model.name, model.traits) == ("inside", inner.traits)
    await model.close()
    assert inner.closed


def test_no_attempt_at_all_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one attempt"):
        Retrying(ScriptedModel(), attempts=0)
