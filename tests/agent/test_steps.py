"""The steps of a reply: what was offered is run, in order, until `done`; what was cut off is not; ids are ours."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.agent.worlds import FENCED, Crm, agent_with, last_observation

from cellwright import Agent, operation
from cellwright.doors import Reply
from cellwright.errors import Stuck
from cellwright.messages import AssistantMessage, Message, ToolCall, ToolMessage, Traits
from cellwright.store import MemoryStore
from cellwright.testing import ScriptedModel, call, code, fenced

DIRECT: dict[str, Any] = {"mode": "direct"}


def cut(*calls: ToolCall, text: str = "") -> Reply:
    return Reply(message=AssistantMessage(text=text, calls=calls), cut=True)


def results(model: ScriptedModel, number: int = -1) -> list[str]:
    """The results that the model's request `number` ends with."""
    answered = model.requests[number].messages[-1]
    assert isinstance(answered, ToolMessage)
    return [result.text for result in answered.results]


# --- what was not offered ---


async def test_without_code_a_call_of_execute_is_refused_with_what_is_offered() -> None:
    crm = Crm()
    agent, model = agent_with(code("crm.write('Ada', 'x')"), "Nothing.", scope={"crm": crm}, **DIRECT)
    assert (await agent.run("…")).value == "Nothing."
    assert crm.letters == []
    (told,) = results(model)
    assert told.splitlines() == ["there is no function 'execute'; there is: crm__contacts, crm__write, crm__fail"]


async def test_a_function_of_the_scope_that_was_not_offered_is_not_called() -> None:
    crm = Crm()
    agent, model = agent_with([call("crm__write", name="Ada", text="x")], code("done(1)"), scope={"crm": crm})
    await agent.run("…")
    assert crm.letters == []
    assert results(model) == ["there is no function 'crm__write'; there is: execute"]


async def test_execute_is_not_run_in_a_later_turn_that_offers_functions_alone() -> None:
    sent: list[str] = []

    @operation(direct=True)
    def send(text: str) -> str:
        """Send it."""
        sent.append(text)
        return "sent"

    many = "Send a greeting to each of 40 customers."
    agent, model = agent_with(code("done(1)"), code("send('x')"), "No.", scope={"send": send}, mode="auto", check="off")
    async with agent.session() as session:
        await session.run(many)
        assert (await session.run("Send x.")).value == "No."
    assert [[tool.name for tool in r.tools] for r in model.requests] == [["execute"], ["send"], ["send"]]
    assert sent == []


async def test_a_call_of_a_model_that_was_offered_none_is_refused() -> None:
    crm = Crm()
    agent, model = agent_with(code("crm.write('Ada', 'x')"), fenced("done(1)"), scope={"crm": crm}, traits=FENCED)
    assert (await agent.run("…")).value == 1
    assert crm.letters == []
    assert results(model) == ["there is no function 'execute'; write a block of Python, fenced"]


async def test_done_is_no_function_where_it_was_not_offered() -> None:
    agent, model = agent_with([call("done", value=1)], "One.", **DIRECT)
    assert (await agent.run("…")).value == "One."
    assert results(model)[0].startswith("there is no function 'done'; there is: crm__contacts")


async def test_fenced_code_where_there_is_none_is_pointed_out_once() -> None:
    crm = Crm()
    block = "```python\ncrm.write('Ada', 'x')\n```"
    agent, model = agent_with(block, block, scope={"crm": crm}, **DIRECT)
    assert (await agent.run("…")).value == block  # whoever was asked for code may give some
    assert last_observation(model) == "code is not run here; there is: crm__contacts, crm__write, crm__fail"
    assert crm.letters == []


async def test_a_call_in_the_place_of_a_plan_is_answered_and_not_run() -> None:
    crm = Crm()
    agent, model = agent_with(code("crm.write('Ada', 'x')"), code("done(1)"), scope={"crm": crm}, plan=True)
    assert (await agent.run("…")).value == 1
    assert crm.letters == []
    *_, answered, _ = model.requests[-1].messages
    assert isinstance(answered, ToolMessage)
    assert [r.text for r in answered.results] == ["not run: nothing is offered for the plan"]


async def test_a_long_offer_is_told_in_short() -> None:
    agent, model = agent_with(code("1"), "No.", scope={f"function_{n}": lambda: None for n in range(100)}, **DIRECT)
    await agent.run("…")
    assert results(model)[0].endswith("function_29 and 70 more")


# --- what was cut off ---


@pytest.mark.parametrize(
    "calls",
    [
        (call("execute", code="crm.write('Ada', 'x')"),),
        (call("execute", code="crm.write('Ada', 'x')"), ToolCall(id="", name="execute", arguments='{"code": "crm.wr')),
        (ToolCall(id="", name="execute", arguments='{"code": "crm.wr'),),
    ],
)
async def test_no_call_of_a_reply_that_was_cut_off_is_run(calls: tuple[ToolCall, ...]) -> None:
    crm = Crm()
    agent, model = agent_with(cut(*calls), code("done(1)"), scope={"crm": crm})
    assert (await agent.run("…")).value == 1
    assert crm.letters == []
    told = results(model)
    assert len(told) == len(calls)
    assert all("cut off" in text and "JSON" not in text for text in told)


async def test_a_text_that_was_cut_off_is_no_answer() -> None:
    agent, model = agent_with(cut(text="The answer is for"), "42.")
    assert (await agent.run("…")).value == "42."
    assert "cut off" in last_observation(model)


async def test_replies_of_many_calls_that_are_cut_off_count_as_one_failure_each() -> None:
    calls = [call("execute", code=f"{n}") for n in range(10)]
    agent, model = agent_with(cut(*calls), code("done(1)"))
    assert (await agent.run("…")).value == 1
    agent, model = agent_with(otherwise=cut(*calls))
    with pytest.raises(Stuck, match="6 times"):
        await agent.run("…")
    assert len(model.requests) == 6


async def test_a_plan_that_was_cut_off_is_asked_for_again() -> None:
    agent, model = agent_with(
        cut(text="Plan:\n1. find -- crm.cont"), "Plan:\n1. find -- crm.contacts", code("done(1)"), plan=True
    )
    result = await agent.run("…")
    assert (result.value, result.steps) == (1, 3)
    assert "cut off" in last_observation(model, 1)


async def test_without_code_the_model_is_told_to_make_fewer_calls() -> None:
    agent, model = agent_with(cut(call("crm__fail", number=1)), "Well.", **DIRECT)
    await agent.run("…")
    assert results(model)[0].endswith("Write less: fewer calls at a time, or a shorter answer.")


# --- advice ---


async def test_without_code_no_advice_speaks_of_code() -> None:
    long: str = "x" * 5_000
    agent, model = agent_with(
        *[[call("crm__fail", number=1)]] * 3,
        [call("text")],
        "Well.",
        scope={"crm": Crm(), "text": lambda: long},
        traits=Traits(window=8_000),
        **DIRECT,
    )
    await agent.run("…")
    for number in (2, 3):
        assert "take another way: other arguments, or another function." in results(model, number)[0]
    assert "characters cut" in results(model, 4)[0]
    assert not any("show(" in text or "search(" in text for n in range(1, 5) for text in results(model, n))


async def test_without_code_a_plan_names_functions() -> None:
    agent, model = agent_with(
        "Plan:\n1. find -- crm__contacts", [call("crm__fail", number=1)], "Well.", plan=True, **DIRECT
    )
    assert (await agent.run("…")).steps == 3
    asked = model.requests[0].messages[-1]
    assert "In scope: crm__contacts, crm__write, crm__fail." in str(asked)
    assert "code" not in str(asked)
    assert "code" not in results(model)[0]


# --- done ---


async def test_calls_after_done_are_not_made() -> None:
    crm = Crm()
    write = call("crm__write", name="Ada", text="x")
    agent, _ = agent_with([write, call("done", value=7), write], scope={"crm": crm}, **DIRECT)
    assert (await agent.run("…", returns=int)).value == 7
    assert crm.letters == ["Ada: x"]


async def test_calls_after_a_rejected_done_are_made() -> None:
    crm = Crm()
    replies = [call("done", value="no"), call("crm__write", name="Ada", text="x")], [call("done", value=7)]
    agent, model = agent_with(*replies, scope={"crm": crm}, **DIRECT)
    assert (await agent.run("…", returns=int)).value == 7
    assert results(model)[1] == "1"


async def test_no_further_step_of_a_reply_is_taken_after_done() -> None:
    sent: list[str] = []

    @operation(direct=True)
    def send(text: str) -> None:
        """Send it."""
        sent.append(text)

    after = [call("execute", code="done(7)"), call("send", text="x"), call("execute", code="send('y')")]
    others = {f"other_{n}": Crm().contacts for n in range(30)}
    agent, model = agent_with(after, scope={"send": send, **others}, mode="auto", check="off")
    assert (await agent.run("Send x.")).value == 7
    assert {tool.name for tool in model.requests[0].tools} == {"execute", "send"}
    assert sent == []


# --- fences ---


@pytest.mark.parametrize(
    "reply",
    [
        "```python\ndone(7)",
        "```\ndone(7)\n```",
        "````python\n'''\n```\n'''\ndone(7)\n````",
        "Sure:\n  ```py\ndone(7)\n  ```\nThere.",
        "```python\r\nx = 7\r\ndone(x)\r\n```\r\n",
        "~~~python\ndone(7)\n~~~",
        "~~~~\n'''\n~~~\n'''\ndone(7)\n~~~~",
        "\ufeff```python\ndone(7)\n```",
        "```python\n\ufeffdone(7)\n```",
    ],
)
async def test_fences_are_read_as_models_write_them(reply: str) -> None:
    agent, _ = agent_with(reply, traits=FENCED)
    assert (await agent.run("…")).value == 7


@pytest.mark.parametrize(
    "written", ["\ufeffdone(7)", "\ufeff```python\ndone(7)\n```", "~~~\r\ndone(7)\r\n~~~", "x = 7\r\ndone(x)\r\n"]
)
async def test_code_in_a_call_is_read_in_the_same_way(written: str) -> None:
    agent, _ = agent_with(code(written))
    assert (await agent.run("…")).value == 7


# --- ids ---


def ids(messages: tuple[Message, ...]) -> list[str]:
    return [made.id for m in messages if isinstance(m, AssistantMessage) for made in m.calls]


def named(id: str, *codes: str) -> list[ToolCall]:
    return [ToolCall(id=id, name="execute", arguments=json.dumps({"code": text})) for text in codes]


@pytest.mark.parametrize("id", ["call_0", ""])
async def test_calls_with_the_same_id_get_each_its_own_result(id: str) -> None:
    agent, model = agent_with(
        Reply(message=AssistantMessage(text="", calls=tuple(named(id or " ", "'first'", "'second'")))), code("done(1)")
    )
    await agent.run("…")
    assert results(model) == ["'first'", "'second'"]
    answered = model.requests[-1].messages[-1]
    assert isinstance(answered, ToolMessage)
    assert [result.id for result in answered.results] == ids(model.requests[-1].messages)


async def test_ids_are_numbered_whatever_the_server_says(tmp_path: Path) -> None:
    replies = [named("call_0", f"'{n}'") for n in range(4)]
    store = f"sqlite:///{tmp_path / 'agents.db'}"
    model = ScriptedModel(*replies[:2], code("done(1)"), *replies[2:], code("done(2)"))
    agent = Agent(model, store=store)
    async with agent.session(id="s") as session:
        await session.run("…")
    async with agent.resume("s") as session:
        assert (await session.run("And?")).value == 2
        async with session.fork() as branch:
            assert branch.id != "s"
    seen = ids(model.requests[-1].messages)
    assert len(set(seen)) == len(seen) == 5
    assert all(len(id) == 9 and id.isalnum() for id in seen)


async def test_an_old_output_is_referred_to_by_its_own_name_after_compaction() -> None:
    long = [named("call_0", f"print('{letter}' * 1500)") for letter in "abcdef"]
    agent, model = agent_with(
        *long, code("done(show('output:2')[0])"), traits=Traits(window=3_000), otherwise="So far."
    )
    assert (await agent.run("…")).value == "b"
    told = [r for m in model.requests[-1].messages if isinstance(m, ToolMessage) for r in m.results]
    old = [r.text for r in told if "an old output" in r.text]
    assert old
    assert all(f"output:{'abcdef'.index(text[0]) + 1}" in text for text in old)


# --- done, wherever the code calls it ---

BEGIN = """
import asyncio, threading
go = threading.Event()
async def goes_on():
    global go
    go = asyncio.Event()
    await go.wait()
    crm.write('Ada', 'x')
def started(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread
"""
ELSEWHERE = {
    "in a thread": "started(lambda: done(7)).join()\ncrm.write('Ada', 'x')",
    "beside a thread": "thread = started(lambda: (go.wait(), crm.write('Ada', 'x')))\ndone(7)",
    "in a task": "async def ends(): done(7)\nawait asyncio.gather(goes_on(), ends())",
    "beside a task": "left = asyncio.create_task(goes_on())\nawait asyncio.sleep(0)\ndone(7)",
    "before what catches it": "try:\n    done(7)\nexcept BaseException:\n    done(8)\n    crm.write('Ada', 'x')",
    "before what follows it": "try:\n    done(7)\nfinally:\n    crm.write('Ada', 'x')",
}
LATER = """
go.set()
for _ in range(9):
    await asyncio.sleep(0)
if 'thread' in globals():
    thread.join()
crm.contacts()[0].name
"""


@pytest.mark.parametrize("store", [None, "memory:"], ids=["unkept", "kept"])
@pytest.mark.parametrize("cell", ELSEWHERE.values(), ids=ELSEWHERE)
async def test_nothing_of_a_cell_goes_on_after_done(cell: str, store: str | None) -> None:
    crm = Crm()
    agent, model = agent_with(
        code(BEGIN + cell), code(LATER), code("done(1)"), scope={"crm": crm}, store=store, check="off"
    )
    async with agent.session() as session:
        assert (await session.run("…")).value == 7
        assert (await session.run("And?")).value == 1
    assert crm.letters == []
    assert last_observation(model) == "'Ada'"


@pytest.mark.parametrize("cell", ELSEWHERE.values(), ids=ELSEWHERE)
async def test_a_session_with_such_an_end_is_resumed(cell: str) -> None:
    crm, store = Crm(), MemoryStore()
    agent, model = agent_with(
        code(BEGIN + cell), code(LATER), code("done(1)"), scope={"crm": crm}, store=store, check="off"
    )
    async with agent.session("s1") as session:
        assert (await session.run("…")).value == 7
    async with agent.resume("s1") as session:
        assert (await session.carry_on()).value == 7
        assert (await session.run("And?")).value == 1
    assert crm.letters == []
    assert last_observation(model) == "'Ada'"


EARLIER = {
    "a task": (
        "import asyncio\nasync def goes_on():\n    while True:\n        await asyncio.sleep(0)\n        crm.contacts()",
        "left = asyncio.create_task(goes_on())",
        "for _ in range(9): await asyncio.sleep(0)\ndone(left.done())",
    ),
    "a pool": (
        "import asyncio\nhere = await asyncio.to_thread(lambda: crm.contacts()[0].name)",
        "",
        "done(await asyncio.to_thread(lambda: crm.contacts()[0].name) != here)",
    ),
}


@pytest.mark.parametrize("cells", EARLIER.values(), ids=EARLIER)
async def test_what_an_earlier_cell_began_goes_on_after_done(cells: tuple[str, str, str]) -> None:
    first, beside, later = cells
    replies = [code(f"{first}\n{beside}"), code("await asyncio.sleep(0)\ndone(7)")]
    agent, _ = agent_with(*replies, code(later), check="off")
    async with agent.session() as session:
        assert (await session.run("…")).value == 7
        assert (await session.run("And?")).value is False


async def test_a_pool_of_a_cell_that_ended_serves_the_next_turn() -> None:
    used = "import asyncio\ndone(await asyncio.to_thread(lambda: crm.contacts()[0].name))"
    agent, _ = agent_with(code(used), code(used))
    async with agent.session() as session:
        assert [(await session.run("…")).value for _ in range(2)] == ["Ada", "Ada"]


async def test_a_function_that_the_host_holds_may_call_it_after_done() -> None:
    held: list[Any] = []
    crm = Crm()
    agent, _ = agent_with(
        code("keep(lambda: crm.write('Ada', 'x'))\ndone(1)"), scope={"crm": crm, "keep": held.append}, check="off"
    )
    async with agent.session() as session:
        await session.run("…")
        await asyncio.to_thread(held[0])
    assert crm.letters == ["Ada: x"]


async def test_what_the_code_has_open_is_closed_after_done() -> None:
    closed: list[str] = []

    class Connection:
        def __enter__(self) -> str:
            return "open"

        def __exit__(self, *_: object) -> None:
            closed.append("yes")

    agent, _ = agent_with(code("with connection as c:\n    done(c)"), scope={"connection": Connection()}, check="off")
    assert (await agent.run("…")).value == "open"
    assert closed == ["yes"]
