"""Fallback: the next model replies where one does not, and the reply says which it was."""

from __future__ import annotations

import pytest

from cellwright.doors import Model, Request
from cellwright.errors import ModelBusy, ModelError, ModelMissing, ModelRefused, UsageError
from cellwright.messages import Piece, Traits, UserMessage
from cellwright.models.model_retries import Fallback
from cellwright.testing import ScriptedModel, broken

ASK = Request(messages=(UserMessage(text="hello"),))


async def test_the_first_that_replies_is_the_one() -> None:
    second = ScriptedModel("no", name="b")
    reply = await Fallback(ScriptedModel("yes", name="a"), second).request(ASK)
    assert (reply.message.text, reply.model) == ("yes", "a")
    assert second.requests == []


@pytest.mark.parametrize(
    "error", [ModelBusy("429"), ModelRefused("wrong key"), ModelMissing("no key"), ModelError("?")]
)
async def test_whatever_the_provider_did_falls_through(error: ModelError) -> None:
    falls: list[tuple[str, str, str]] = []

    def fell(model: Model, error: ModelError, following: Model) -> None:
        falls.append((model.name, str(error), following.name))

    model = Fallback(ScriptedModel(error, name="a"), ScriptedModel("yes", name="b"), on_fall=fell)
    reply = await model.request(ASK)
    assert reply.model == "b"
    assert falls == [("a", str(error), "b")]


async def test_a_mistake_in_code_does_not_fall_through() -> None:
    second = ScriptedModel("no")
    with pytest.raises(RuntimeError):
        await Fallback(ScriptedModel(RuntimeError("bug")), second).request(ASK)
    assert second.requests == []


async def test_every_request_begins_with_the_first() -> None:
    model = Fallback(ScriptedModel(ModelBusy("once"), "back", name="a"), ScriptedModel("yes", name="b"))
    assert [(await model.request(ASK)).model for _ in range(2)] == ["b", "a"]


async def test_what_a_broken_reply_told_is_taken_back() -> None:
    told: list[Piece] = []
    model = Fallback(ScriptedModel(broken("half", ModelBusy("cut"))), ScriptedModel("whole"))
    await model.request(ASK, told.append)
    start = next(place for place, piece in enumerate(told) if piece.restart)
    assert "".join(piece.text for piece in told[:start]) == "half"
    assert "".join(piece.text for piece in told[start:]) == "whole"


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        (ModelBusy("x", retry_after_s=9), ModelRefused("y"), ModelBusy),
        (ModelRefused("x"), ModelRefused("y"), ModelRefused),
        (ModelMissing("x"), ModelMissing("y"), ModelMissing),
        (ModelRefused("x"), ModelMissing("y"), ModelError),
    ],
)
async def test_when_none_replies_all_are_told(first: ModelError, second: ModelError, kind: type[ModelError]) -> None:
    model = Fallback(ScriptedModel(first, name="a"), ScriptedModel(second, name="b"))
    with pytest.raises(kind, match=r"^none of 2 models replied: a: x; b: y$") as caught:
        await model.request(ASK)
    assert type(caught.value) is kind
    if isinstance(caught.value, ModelBusy):
        assert caught.value.retry_after_s == 9


async def test_one_models_error_is_its_own() -> None:
    with pytest.raises(ModelRefused, match=r"^wrong key$"):
        await Fallback(ScriptedModel(ModelRefused("wrong key"))).request(ASK)


def test_traits_are_the_weakest() -> None:
    strong = ScriptedModel(traits=Traits(calls=True, window=200_000), name="a")
    weak = ScriptedModel(traits=Traits(calls=False, window=300_000), name="b")
    assert Fallback(strong, weak).traits == Traits(calls=False, window=200_000)
    assert Fallback(strong, weak).name == "a"


async def test_all_are_closed_also_when_one_fails() -> None:
    class Stubborn(ScriptedModel):
        async def close(self) -> None:
            raise OSError("no")

    last = ScriptedModel()
    with pytest.raises(OSError, match="no"):
        await Fallback(Stubborn(), last).close()
    assert last.closed


def test_no_model_at_all_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one"):
        Fallback()
