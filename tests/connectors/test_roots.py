"""An upstream in scope: its operations called from a cell, its records there as typed objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.connectors.listing import Tracker, offered

from cellwright import Runtime, Scope
from cellwright.errors import CodeError


async def run(code: str, tracker: Tracker | None = None, **options: Any) -> Any:
    async with Runtime({"tracker": tracker or Tracker()}, **options) as rt:
        outcome = await rt.execute(code)
        assert outcome.error is None, outcome.error
        return outcome.value


async def failed(code: str, scope: Scope | dict[str, Any]) -> str:
    async with Runtime(scope) as rt:
        outcome = await rt.execute(code)
        assert isinstance(outcome.error, CodeError)
        return str(outcome.error)


async def test_an_operation_is_called_without_await_and_gets_its_arguments_by_name() -> None:
    tracker = Tracker()
    assert await run("tracker.issues.create('o', title='T').title", tracker) == "T"
    assert tracker.calls == [("issues.create", {"owner": "o", "title": "T"})]


async def test_many_calls_run_at_once_in_threads_of_the_guest() -> None:
    code = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    found = list(pool.map(lambda n: tracker.issues.get('o', n).number, range(20)))
found
"""
    assert await run(code) == list(range(20))


async def test_an_operation_of_the_root_itself_is_called() -> None:
    assert await run("tracker.ping()") == "pong"


async def test_a_record_reads_as_an_object_and_as_the_json_that_it_was() -> None:
    code = """
i = tracker.issues.get("o", 3)
import json
[type(i).__name__, i.number, i["class"], i.class_, i.body, "body" in i, i.get("body", 0), i["x-more"][1]["a"],
 sorted(i.keys()), json.loads(json.dumps(i)), i.to_dict() == i, repr(i)]
"""
    value = await run(code)
    whole = {"number": 3, "title": "A bug", "class": "bug", "x-more": [1, {"a": 2}]}
    assert value[:8] == ["Issue", 3, "bug", "bug", None, False, 0, 2]
    assert value[8:11] == [sorted(whole), whole, True]
    assert value[11].startswith("Issue(number=3, title='A bug', class_='bug'")


async def test_a_field_that_no_record_has_is_told_with_the_nearest_one() -> None:
    told = await failed("tracker.issues.get('o', 1).titel", {"tracker": Tracker()})
    assert "'Issue' has no field 'titel'; did you mean 'title'?" in told


async def test_a_field_with_the_name_of_a_method_is_the_field_and_none_where_it_is_absent() -> None:
    code = """
import json
i = tracker.issues.get("o", 3)
before = i.items
i.items = [1]
[before, i.items, json.loads(json.dumps(i))["items"]]
"""
    assert await run(code) == [None, [1], [1]]


async def test_a_method_of_a_record_is_the_operation_with_its_arguments_filled() -> None:
    tracker = Tracker()
    assert await run("tracker.issues.get('acme', 5).comment(text='hi')", tracker) == "acme#5: hi"
    assert tracker.calls[-1] == ("issues.comment", {"owner": "acme", "number": 5, "text": "hi"})


async def test_records_of_a_list_keep_their_methods() -> None:
    assert await run("[i.comment(text='x') for i in tracker.issues.list('a')]") == ["a#1: x", "a#2: x"]


async def test_a_record_that_goes_back_to_the_host_is_the_record_that_it_was() -> None:
    seen: list[Any] = []
    tracker = Tracker()
    async with Runtime({"tracker": tracker, "take": seen.append}) as rt:
        assert (await rt.execute("i = tracker.issues.get('o', 1); i.title = 'new'; take(i)")).error is None
    assert type(seen[0]) is tracker.issue
    assert seen[0].title == "new"
    assert seen[0]["class"] == "bug"


async def test_what_the_rules_hide_is_not_reached_by_a_record_either() -> None:
    scope = Scope({"tracker": Tracker()})
    scope.declare("tracker.issues.comment", hide=True)
    assert "hidden in this scope" in await failed("tracker.issues.get('o', 1).comment(text='x')", scope)


async def test_a_read_only_scope_refuses_what_writes_by_every_way() -> None:
    tracker = Tracker()
    scope = Scope({"tracker": tracker})
    scope.declare("tracker.*", read_only=True)
    assert "read-only" in await failed("tracker.issues.create('o', title='x')", scope)
    assert "read-only" in await failed("tracker.issues.get('o', 1).comment(text='x')", scope)
    assert [path for path, _ in tracker.calls] == ["issues.get"]


async def test_a_record_whose_upstream_is_not_in_scope_has_no_methods() -> None:
    tracker = Tracker()

    async def first() -> Any:
        return await tracker.call("issues.get", {"owner": "o", "number": 1})

    told = await failed("i = await first()\ni.comment(text='x')", {"first": first})
    assert "'Issue' has no field 'comment'" in told
    assert [path for path, _ in tracker.calls] == ["issues.get"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("tracker.issues.create('o', titel='T')", "did you mean 'title'? it takes (owner: str, *, title: str, body"),
        ("tracker.issues.creat('o')", "tracker.issues has no 'creat'; did you mean create"),
        ("tracker.isues", "tracker has no 'isues'; did you mean issues?"),
        ("tracker.issues = 1", "cannot be set"),
    ],
)
async def test_a_wrong_use_is_told_with_the_right_one(code: str, said: str) -> None:
    assert said in await failed(code, {"tracker": Tracker()})


async def test_an_operation_that_came_later_can_be_called() -> None:
    tracker = Tracker()
    async with Runtime({"tracker": tracker}) as rt:
        assert (await rt.execute("tracker.ping()")).value == "pong"
        tracker.surface.operations["issues.reopen"] = offered("issues.reopen", "(self, owner: str) -> Issue")
        assert (await rt.execute("tracker.issues.reopen('o').number")).value == 7


async def test_an_operation_that_takes_something_else_now_is_called_as_it_is_now() -> None:
    tracker = Tracker()
    async with Runtime({"tracker": tracker}) as rt:
        assert (await rt.execute("tracker.ping()")).value == "pong"
        tracker.surface.operations["ping"] = offered("ping", "(self, *, loud: bool = False) -> str")
        assert (await rt.execute("tracker.ping(loud=True)")).value == "pong"
        del tracker.surface.operations["ping"]
        assert "is not offered any more" in str((await rt.execute("tracker.ping()")).error)
    assert tracker.calls == [("ping", {}), ("ping", {"loud": True})]


async def test_a_tool_answers_to_the_name_that_mcp_clients_give_it() -> None:
    assert await run("mcp__tracker__ping()") == "pong"


async def test_records_outlive_the_process_of_their_session(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/s.db"
    async with Runtime({"tracker": Tracker()}, store=store, session="s") as rt:
        assert (await rt.execute("i = tracker.issues.get('acme', 5)")).error is None
    again = Tracker()
    async with Runtime.resume("s", scope={"tracker": again}, store=store) as rt:
        assert (await rt.execute("i.title, i.comment(text='hi')")).value == ("A bug", "acme#5: hi")
    assert [path for path, _ in again.calls] == ["issues.comment"]


async def test_a_record_is_part_of_a_checkpoint(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/s.db"
    async with Runtime({"tracker": Tracker()}, store=store, session="s") as rt:
        for number in range(12):
            await rt.execute(f"i{number} = tracker.issues.get('acme', {number})")
    again = Tracker()
    async with Runtime.resume("s", scope={"tracker": again}, store=store) as rt:
        assert (await rt.execute("[i11.number, i3.comment(text='x'), type(i3) is type(i11)]")).value == [
            11,
            "acme#3: x",
            True,
        ]
        assert rt.restored is not None


async def test_a_call_is_told_by_the_path_of_its_operation() -> None:
    async with Runtime({"tracker": Tracker()}) as rt:
        outcome = await rt.execute("tracker.issues.get('o', 1).comment(text='x')")
    assert [call.name for call in outcome.calls if not call.name.endswith(".issues")] == [
        "tracker.issues.get",
        "tracker.issues.comment",
    ]


async def test_a_dotted_name_is_no_way_round_what_is_hidden() -> None:
    scope = Scope({"tracker": Tracker()})
    scope.declare("tracker.issues.*", hide=["create"])
    told = await failed("getattr(tracker, 'issues.create')('o', title='x')", scope)
    assert "AttributeError" in told
