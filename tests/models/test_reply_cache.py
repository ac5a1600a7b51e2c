"""The cache of replies: the same request is not paid for twice, and another one is never answered from it."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cells import PATIENCE_S

from cellwright.doors import Reply, Request
from cellwright.errors import ModelBusy, UsageError
from cellwright.messages import AssistantMessage, Generation, Piece, Tool, ToolCall, Usage, UserMessage
from cellwright.models.reply_cache import Cached, FileCache, MemoryCache, ReplyCache
from cellwright.testing import ScriptedModel, code

ASK = Request(messages=(UserMessage(text="hello"),))
TOOL = Tool(name="t", description="d", parameters={"type": "object"})
OWN = AssistantMessage(text="x", calls=(ToolCall(id="1", name="t", arguments="{"),), own={"id": ["s\ud800"]})


@pytest.fixture(params=["memory", "files"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ReplyCache:
    return MemoryCache() if request.param == "memory" else FileCache(tmp_path / "a" / "cache")


def only_file(directory: Path) -> Path:
    (file,) = directory.iterdir()
    return file


async def test_the_same_request_is_asked_once_and_costs_nothing_again(store: ReplyCache) -> None:
    whole = Reply(message=OWN, usage=Usage(requests=1, input_tokens=5, cost=0.25), model="m", cut=True)
    inner = ScriptedModel(whole)
    model = Cached(inner, store)
    first, second = await model.request(ASK), await model.request(ASK)
    assert first == whole
    assert second == replace(whole, usage=Usage())
    assert (second.usage.requests, second.usage.cost) == (0, 0.0)
    assert (model.hits, model.saved) == (1, whole.usage)
    assert len(inner.requests) == 1


async def test_another_process_finds_what_was_kept(tmp_path: Path) -> None:
    await Cached(ScriptedModel("one"), FileCache(tmp_path)).request(ASK)
    assert (await Cached(ScriptedModel(), FileCache(tmp_path)).request(ASK)).message.text == "one"


@pytest.mark.parametrize(
    "other",
    [
        replace(ASK, instructions="x"),
        replace(ASK, tools=(TOOL,)),
        replace(ASK, messages=(UserMessage(text="hello "),)),
        replace(ASK, messages=(*ASK.messages, OWN)),
        replace(ASK, messages=(*ASK.messages, replace(OWN, own=None))),
        replace(ASK, generation=Generation(max_tokens=5)),
        replace(ASK, generation=Generation(stop=("x",))),
        replace(ASK, generation=Generation(extra={"seed": 1})),
    ],
)
async def test_another_request_is_asked(other: Request) -> None:
    inner = ScriptedModel("one", "two", "three")
    model = Cached(inner, MemoryCache())
    await model.request(ASK)
    assert (await model.request(other)).message.text == "two"
    await model.request(replace(other, messages=(*other.messages, OWN)))
    assert len(inner.requests) == 3


async def test_another_model_is_asked() -> None:
    store = MemoryCache()
    await Cached(ScriptedModel("one", name="a"), store).request(ASK)
    assert (await Cached(ScriptedModel("two", name="b"), store).request(ASK)).message.text == "two"


async def test_a_timeout_does_not_make_another_request() -> None:
    model = Cached(ScriptedModel("one"), MemoryCache())
    await model.request(ASK)
    assert (await model.request(replace(ASK, generation=Generation(timeout_s=1)))).message.text == "one"


@pytest.mark.parametrize("temperature", [0.7, None])
async def test_only_temperature_zero_is_served_unless_asked(temperature: float | None) -> None:
    warm = replace(ASK, generation=Generation(temperature=temperature))
    model = Cached(ScriptedModel("one", "two"), MemoryCache())
    assert [(await model.request(warm)).message.text for _ in range(2)] == ["one", "two"]
    always = Cached(ScriptedModel("one", "two"), MemoryCache(), always=True)
    assert [(await always.request(warm)).message.text for _ in range(2)] == ["one", "one"]


async def test_a_reply_from_the_cache_is_told_whole() -> None:
    model = Cached(ScriptedModel(code("1 + 1", say="So:")), MemoryCache())
    await model.request(ASK)
    told: list[Piece] = []
    await model.request(ASK, told.append)
    assert told == [
        Piece(text="So:"),
        Piece(text='{"code": "1 + 1"}', kind="call", call=0, name="execute"),
    ]


async def test_an_error_is_not_kept() -> None:
    model = Cached(ScriptedModel(RuntimeError("no"), "yes"), MemoryCache())
    with pytest.raises(RuntimeError):
        await model.request(ASK)
    assert (await model.request(ASK)).message.text == "yes"


@pytest.mark.parametrize("odd", [replace(ASK, generation=Generation(extra={"x": object()})), ASK])
async def test_what_is_not_plain_is_neither_kept_nor_lost(odd: Request) -> None:
    model = Cached(ScriptedModel(otherwise=AssistantMessage(text="x", own=object())), MemoryCache())
    await model.request(odd)
    await model.request(odd)
    assert model.hits == 0


@pytest.mark.parametrize("wrong", [b"", b"{", b"null", b"[]", b'{"format": 1}', b"\xff", b'{"format": 2}'])
async def test_a_damaged_file_is_a_miss_and_is_replaced(wrong: bytes, tmp_path: Path) -> None:
    await Cached(ScriptedModel("one"), FileCache(tmp_path)).request(ASK)
    only_file(tmp_path).write_bytes(wrong)
    assert (await Cached(ScriptedModel("two"), FileCache(tmp_path)).request(ASK)).message.text == "two"
    assert (await Cached(ScriptedModel(), FileCache(tmp_path)).request(ASK)).message.text == "two"


async def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        await Cached(ScriptedModel("one"), FileCache(tmp_path / "cache")).request(ASK)
    finally:
        os.umask(before)
    file = only_file(tmp_path / "cache")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def key(number: int) -> str:
    return f"{number:064x}"


async def test_the_oldest_go_when_there_is_no_room(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x" * 5_000)
    (tmp_path / ".half.writing").write_text("x")
    os.utime(tmp_path / ".half.writing", (1, 1))
    store = FileCache(tmp_path, most_mb=0.001)
    for number in range(8):
        await store.write(key(number), "x" * 200)
        os.utime(tmp_path / f"{key(number)}.json", (1_000 + number, 1_000 + number))
    kept = [number for number in range(8) if await store.read(key(number))]
    assert kept[-1] == 7
    assert kept == list(range(kept[0], 8))
    assert 3 <= len(kept) <= 5
    assert (tmp_path / "mine.txt").exists()
    assert not (tmp_path / ".half.writing").exists()


async def test_what_is_larger_than_all_room_is_not_kept(tmp_path: Path) -> None:
    store = FileCache(tmp_path, most_mb=0.001)
    await store.write(key(1), "x" * 2_000)
    assert await store.read(key(1)) is None


async def test_a_place_that_cannot_be_written_costs_no_reply(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = FileCache(tmp_path / "file")
    assert (await Cached(ScriptedModel("one"), store).request(ASK)).message.text == "one"
    assert isinstance(store.failed, OSError)


async def test_memory_forgets_the_oldest() -> None:
    store = MemoryCache(most=2)
    for number in range(3):
        await store.write(key(number), "x")
    assert [await store.read(key(number)) for number in range(3)] == [None, "x", "x"]


@pytest.mark.parametrize("most", [0, -1])
def test_no_room_at_all_is_refused(most: Any) -> None:
    with pytest.raises(UsageError, match="above zero"):
        FileCache("x", most_mb=most)


# several at once


class Slow:
    """Replies when it is let go on; counts those who were cancelled."""

    def __init__(self, *lines: Any) -> None:
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.cancelled = 0
        self._lines = iter(lines)

    async def __call__(self, request: Request) -> Any:
        self.begun.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return next(self._lines)


async def begun(slow: Slow, model: Cached, count: int, **options: Any) -> list[asyncio.Task[Reply]]:
    """As many requests, the first of which is under way and the others wait."""
    tasks = [asyncio.create_task(model.request(ASK, **options)) for _ in range(count)]
    async with asyncio.timeout(PATIENCE_S):
        await slow.begun.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    return tasks


async def test_ten_at_once_are_asked_once(store: ReplyCache) -> None:
    slow, pieces = Slow("hello there"), list[Piece]()
    inner = ScriptedModel(otherwise=slow)
    model = Cached(inner, store)
    tasks = await begun(slow, model, 10, on_piece=pieces.append)
    slow.go_on.set()
    replies = await asyncio.gather(*tasks)
    assert len(inner.requests) == 1
    assert {reply.message.text for reply in replies} == {"hello there"}
    assert sorted(reply.usage.requests for reply in replies) == [0] * 9 + [1]  # the first that has looked asks
    assert (model.hits, model.saved.requests) == (9, 9)
    assert "".join(piece.text for piece in pieces) == "hello there" * 10


async def test_after_a_failure_the_next_of_them_asks() -> None:
    slow = Slow(ModelBusy("later"), "now")
    inner = ScriptedModel(otherwise=slow)
    tasks = await begun(slow, Cached(inner, MemoryCache()), 5)
    slow.go_on.set()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(end) for end in ended] == [ModelBusy, *[Reply] * 4]
    assert len(inner.requests) == 2


async def test_who_asked_may_leave_and_the_others_get_the_reply_and_its_price() -> None:
    slow = Slow("x")
    inner = ScriptedModel(otherwise=slow)
    first, *others = await begun(slow, Cached(inner, MemoryCache()), 3)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    slow.go_on.set()
    replies = await asyncio.gather(*others)
    assert sum(reply.usage.requests for reply in replies) == 1
    assert (len(inner.requests), slow.cancelled) == (1, 0)


async def test_when_all_have_left_the_request_is_cancelled() -> None:
    slow = Slow("x", "y")
    inner = ScriptedModel(otherwise=slow)
    model = Cached(inner, MemoryCache())
    tasks = await begun(slow, model, 3)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (len(inner.requests), slow.cancelled) == (1, 1)
    slow.go_on.set()
    assert (await model.request(ASK)).message.text == "x"


def test_loops_of_several_threads_do_not_wait_for_one_another() -> None:
    met = threading.Barrier(2)

    async def meet(request: Request) -> str:
        await asyncio.to_thread(met.wait, PATIENCE_S)
        return "x"

    model = Cached(ScriptedModel(otherwise=meet), MemoryCache())
    with ThreadPoolExecutor(2) as threads:
        replies = [threads.submit(asyncio.run, model.request(ASK)) for _ in range(2)]
    assert [reply.result().message.text for reply in replies] == ["x", "x"]
