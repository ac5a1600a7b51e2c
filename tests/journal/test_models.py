"""The model's door under a journal: paid for once, given again in order, and never another reply than the recorded."""

from __future__ import annotations

import os

import pytest

from toolwright.doors import Reply, Request
from toolwright.errors import Diverged
from toolwright.journal import Facts, MemoryJournal
from toolwright.journal.models import ReplayedModel
from toolwright.journal.writer import Writer
from toolwright_guest.wire import NOTHING


class Counting:
    """A model that says how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def request(self, request: Request) -> Reply:
        self.asked += 1
        return Reply(message={"text": f"reply {self.asked}", "raw": b"\x00"}, usage={"tokens": self.asked})


def ask(text: str) -> Request:
    return Request(messages=({"role": "user", "content": text},), settings={"temperature": 0})


def journal() -> tuple[MemoryJournal, Writer]:
    made = MemoryJournal()
    facts = Facts(id="s1", created=1.0, seed=os.urandom(32), pins={}, names=NOTHING)
    return made, Writer(made, made.create(facts))


async def test_a_reply_that_was_paid_for_is_given_again() -> None:
    kept, writer = journal()
    model = Counting()
    live = ReplayedModel(model, (), writer)
    first, second = await live.request(ask("a")), await live.request(ask("b"))
    again = ReplayedModel(model, kept.rows("s1"), writer)
    assert [await again.request(ask("a")), await again.request(ask("b"))] == [first, second]
    assert model.asked == 2


async def test_what_is_not_recorded_is_asked_where_there_is_a_model() -> None:
    kept, writer = journal()
    model = Counting()
    await ReplayedModel(model, (), writer).request(ask("a"))
    again = ReplayedModel(model, kept.rows("s1"), writer)
    await again.request(ask("a"))
    assert (await again.request(ask("b"))).message["text"] == "reply 2"
    assert len(kept.rows("s1")) == 2


async def test_another_request_than_the_recorded_one_diverges() -> None:
    kept, writer = journal()
    await ReplayedModel(Counting(), (), writer).request(ask("a"))
    with pytest.raises(Diverged, match="request 1"):
        await ReplayedModel(None, kept.rows("s1"), None).request(ask("z"))


async def test_offline_nothing_is_asked() -> None:
    kept, writer = journal()
    await ReplayedModel(Counting(), (), writer).request(ask("a"))
    offline = ReplayedModel(None, kept.rows("s1"), None)
    await offline.request(ask("a"))
    with pytest.raises(Diverged, match="no model"):
        await offline.request(ask("b"))
