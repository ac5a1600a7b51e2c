"""The embedded model itself, asked for real. Its words vary: what its code does, and what is parsed, is checked."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cellwright import Runtime
from cellwright.doors import Model, Reply, Request
from cellwright.errors import ModelBusy, ModelMissing, ModelRefused, UsageError
from cellwright.messages import Generation, Message, Piece, Tool, ToolMessage, ToolResult, UserMessage
from cellwright.models import EmbeddedModel, engine
from cellwright.settings import install_command

WINDOW = 2048
CODER = "You write Python. Reply with one fenced Python block that prints the answer, and nothing else."
WEATHER = Tool(
    name="weather",
    description="The weather in a city now",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


@pytest.fixture(scope="module")
async def model(anyio_backend: str, weights: Path) -> AsyncIterator[EmbeddedModel]:
    model = EmbeddedModel(weights, window=WINDOW)
    yield model
    await model.close()


def code_of(reply: Reply) -> str:
    found = re.search(r"```(?:python)?\n(.*?)```", reply.message.text, re.DOTALL)
    assert found, reply.message.text
    return found[1]


async def printed(code: str) -> str:
    async with Runtime() as runtime:
        return (await runtime.execute(code)).stdout


async def until(condition: asyncio.Event) -> None:
    async with asyncio.timeout(120):
        await condition.wait()


def asked(*messages: Message, tokens: int = 100) -> Request:
    return Request(messages=messages, instructions=CODER, generation=Generation(max_tokens=tokens))


@pytest.mark.slow
async def test_it_writes_code_that_gives_the_answer(model: EmbeddedModel) -> None:
    pieces: list[Piece] = []
    threads: set[threading.Thread] = set()

    def hear(piece: Piece) -> None:
        pieces.append(piece)
        threads.add(threading.current_thread())

    task = UserMessage(text="Print the sum of the squares of the numbers 1 to 10.")
    reply = await model.request(asked(task), hear)
    assert (await printed(code_of(reply))).strip() == "385"
    assert "".join(piece.text for piece in pieces) == reply.message.text
    assert len(pieces) > 3
    assert threads == {threading.current_thread()}
    assert reply.usage.requests == 1
    assert reply.usage.output_tokens > 3
    assert reply.usage.cost == 0.0

    more = await model.request(asked(task, reply.message, UserMessage(text="It printed 385. Now of 1 to 20.")))
    assert (await printed(code_of(more))).strip() == "2870"
    before = reply.usage.input_tokens + reply.usage.output_tokens
    assert more.usage.cached_tokens >= before - 8  # only what is new was evaluated


@pytest.mark.slow
async def test_a_cancelled_request_stops_and_the_next_is_served(model: EmbeddedModel) -> None:
    begun = asyncio.Event()
    endless = asked(UserMessage(text="Print the numbers 1 to 300, each by its own print statement."), tokens=1500)
    task = asyncio.create_task(model.request(endless, lambda piece: begun.set()))
    waits = asyncio.create_task(model.request(endless))
    await until(begun)
    task.cancel()
    waits.cancel()
    ended = await asyncio.gather(task, waits, return_exceptions=True)
    assert [type(error) for error in ended] == [asyncio.CancelledError] * 2
    assert (await model.request(asked(UserMessage(text="Hi"), tokens=2))).cut


@pytest.mark.slow
async def test_too_long_a_prompt_is_refused_with_both_numbers(model: EmbeddedModel) -> None:
    with pytest.raises(ModelRefused, match=rf"the prompt has 30\d\d tokens and .* window is {WINDOW}"):
        await model.request(asked(UserMessage(text="word " * 3000)))


@pytest.mark.slow
async def test_time_that_is_up_may_be_tried_again(model: EmbeddedModel) -> None:
    generation = Generation(timeout_s=0.001)
    with pytest.raises(ModelBusy, match=r"did not come to an end in 0\.001 s"):
        await model.request(Request(messages=(UserMessage(text="Hi"),), generation=generation))


@pytest.mark.slow
async def test_what_a_listener_raises_ends_the_request(model: EmbeddedModel) -> None:
    def refuse(piece: Piece) -> None:
        raise LookupError(piece.text)

    with pytest.raises(LookupError):
        await model.request(asked(UserMessage(text="Hi")), refuse)


@pytest.mark.slow
async def test_a_tool_is_called_and_its_result_answered(model: EmbeddedModel) -> None:
    task = UserMessage(text="What is the weather in Oslo?")
    reply = await model.request(Request(messages=(task,), tools=(WEATHER,)))
    (call,) = reply.message.calls
    assert (call.name, "Oslo" in call.arguments) == ("weather", True)
    results = ToolMessage(results=(ToolResult(id=call.id, name=call.name, text="17 degrees and sunny"),))
    last = await model.request(Request(messages=(task, reply.message, results), tools=(WEATHER,)))
    assert last.message.text or last.message.calls


@pytest.mark.slow
async def test_models_of_one_file_share_it_until_the_last_is_closed(weights: Path) -> None:
    said: list[str] = []
    models = [EmbeddedModel(weights, window=256, threads=1, say=said.append) for _ in range(2)]
    before = engines()
    hi = Request(messages=(UserMessage(text="Hi"),), generation=Generation(max_tokens=1))
    await asyncio.gather(*(model.request(hi) for model in models))
    assert engines() == before + 1
    assert len(said) == 1
    await models[0].close()
    await models[1].request(hi)
    assert engines() == before + 1
    await models[1].close()
    assert engines() == before
    await models[1].close()


def engines() -> int:
    return sum(thread.name == "cellwright-model" for thread in threading.enumerate())


# --- what is missing ---


async def test_a_file_that_is_not_there_is_told_with_what_fetches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CELLWRIGHT_CACHE", str(tmp_path))
    with pytest.raises(ModelMissing) as caught:
        await EmbeddedModel().request(asked(UserMessage(text="Hi")))
    assert str(caught.value) == "the embedded model is not here yet: run `cellwright models pull` (1.1 GB)"


async def test_a_package_that_is_not_there_is_told_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "any.gguf"
    file.write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ModelMissing, match=re.escape(install_command("local"))):
        await EmbeddedModel(file).request(asked(UserMessage(text="Hi")))


async def test_a_library_of_the_system_that_is_not_there_is_told_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "libgomp.so.1: cannot open shared object file: No such file or directory"
    (tmp_path / "xllamacpp.py").write_text(f"raise ImportError({said!r}, name='xllamacpp')")
    monkeypatch.syspath_prepend(tmp_path)  # pyright: ignore[reportUnknownMemberType]  pytest has no type for it
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    file = tmp_path / "any.gguf"
    file.write_bytes(b"GGUF")
    with pytest.raises(ModelMissing, match=re.escape(f"{said}; on Debian and Ubuntu: apt-get install libgomp1")):
        await EmbeddedModel(file).request(asked(UserMessage(text="Hi")))


@pytest.mark.usefixtures("engine_package")
@pytest.mark.parametrize("content", [b"", b"GGUF" + b"\0" * 100, b"nonsense" * 1000], ids=["empty", "cut", "other"])
async def test_a_damaged_file_is_told_and_not_loaded(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "any.gguf"
    file.write_bytes(content)
    model = EmbeddedModel(file)
    with pytest.raises(ModelMissing, match=r"any\.gguf does not load: it is damaged, or 2 GB of memory are not free"):
        await model.request(asked(UserMessage(text="Hi")))
    await model.close()


def test_the_engines_thread_starts_while_another_user_is_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def settings(name: str) -> engine.EngineSettings:
        return engine.EngineSettings(path=tmp_path / name, threads=1, window=256)

    earlier, start, released = engine.acquire(settings("a")), threading.Thread.start, list[bool]()

    def collected() -> None:
        engine.release(earlier)
        released.append(True)

    def starts(thread: threading.Thread) -> None:
        if thread.name == "cellwright-model":  # as a collection in the new thread does
            collector = threading.Thread(target=collected, daemon=True)
            start(collector)
            collector.join(10)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", starts)
    engine.release(engine.acquire(settings("b")))
    assert released == [True]


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UsageError, match="window=10: give 256 tokens or more"):
        EmbeddedModel(window=10)
    with pytest.raises(UsageError, match="threads=0: give 1 or more"):
        EmbeddedModel(threads=0)


def test_it_is_a_model_that_is_read_for_fenced_code() -> None:
    model: Model = EmbeddedModel(window=4096)
    assert (model.name, model.traits.calls, model.traits.window) == ("local", False, 4096)


def test_tokens_are_estimated_on_the_careful_side() -> None:
    assert 700 <= EmbeddedModel().count("def double(number: int) -> int:\n    return number * 2\n" * 50) <= 1200


# --- as a library in a process ---

BEGUN = """
import asyncio, os, signal, sys
from cellwright.doors import Request
from cellwright.messages import UserMessage
from cellwright.models import EmbeddedModel

model = EmbeddedModel(sys.argv[1], window=512, threads=1)

async def begin():
    begun = asyncio.Event()
    long = Request(messages=(UserMessage(text="Count to one hundred in words."),))
    task = asyncio.ensure_future(model.request(long, lambda piece: begun.set()))
    await asyncio.wait_for(begun.wait(), 120)
    return task
"""

LEFT = """
async def main():
    task = await begin()
    listening = set()
    for kind in ("tcp", "tcp6"):
        listening |= {line.split()[9] for line in open(f"/proc/self/net/{kind}") if " 0A " in line}
    held = {os.readlink(entry) for entry in os.scandir("/proc/self/fd") if os.path.lexists(entry)}
    assert not {f"socket:[{inode}]" for inode in listening} & held, "it listens on a port"
    assert os.listdir(os.environ["TMPDIR"]) == [], "it left files"
    print("left")
asyncio.run(main())
"""

INTERRUPTED = """
async def main():
    task = await begin()
    os.kill(os.getpid(), signal.SIGINT)
    await task
try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "said"), [(LEFT, "left"), (INTERRUPTED, "interrupted")], ids=["left", "interrupted"]
)
def test_a_process_ends_cleanly_in_the_middle_of_a_reply(ending: str, said: str, weights: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", BEGUN + ending, str(weights)],
        env={"TMPDIR": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{said}\n", "")
