"""A session as one file: it imports elsewhere, replays and resumes, and comes out the same again."""

from __future__ import annotations

import base64
import io
import json
import os
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from tests.agent.worlds import agent_with
from tests.sessions.made import cell, session, turn
from tests.sessions.worlds import Post, ended, runtime, value

from cellwright.errors import JournalFailed, UsageError
from cellwright.runtime import replay
from cellwright.sessions import Sessions
from cellwright.store import Facts, JournalEntry, MemoryStore, Row, SqliteStore, Store, digest_of
from cellwright.testing import code
from cellwright_guest.packer import Packer, plain

pytestmark = pytest.mark.usefixtures("warm")


def exported(store: Store, session: str) -> bytes:
    file = io.BytesIO()
    Sessions(store).export(session, file)
    return file.getvalue()


def imported(store: Store, content: bytes, id: str | None = None) -> str:
    return Sessions(store).import_(io.BytesIO(content), id).session


def lines_of(content: bytes) -> list[dict[str, Any]]:
    def no_json(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return [json.loads(line, parse_constant=no_json) for line in content.splitlines()]


def without_ids(content: bytes) -> list[dict[str, Any]]:
    lines = lines_of(content)
    for line in lines:
        if "session" in line:
            line["session"] |= {"id": "", "parent": ""}
    return lines


async def lively(store: Store | Path) -> None:
    """A session with what there is to be kept: calls, large values, files, a failure, a rewind."""
    post = Post()
    async with runtime(store, "s1", post) as rt:
        await value(rt, "x = [post.send({'é': b'\\x00' * 5000, 'deep': [1.5, None, {3}]})]")
        await value(rt, "open('f', 'w').write('é' * 4000)")
        await rt.execute("x.append(post.send(float('inf'))); raise ValueError('no')")
        await value(rt, "y = 'gone'")
        await rt.rewind(3)
        await value(rt, "import os; os.mkdir('d'); os.symlink('../f', 'd/l'); x.append(len(x)); x")


@pytest.mark.parametrize("here", ["memory", "sqlite"])
async def test_a_session_imports_elsewhere_and_replays_and_goes_on(here: str, tmp_path: Path) -> None:
    there = SqliteStore(tmp_path / "there.db")
    await lively(there)
    content = exported(there, "s1")
    store: Store = MemoryStore() if here == "memory" else SqliteStore(tmp_path / "here.db")
    assert imported(store, content) == "s1"
    assert (await replay("s1", store=store)).same
    async with runtime(store, "s1", resume=True) as rt:
        assert await value(rt, "import os\n(x, len(open('d/l').read()), 'y' in globals())") == ([1, 2, 2], 4000, False)
    assert [e.change for e in store.entries("s1", upto=len(there.entries("s1")))] == [
        replace(e.change, imported=True) if isinstance(e.change, Row) else e.change for e in there.entries("s1")
    ]


async def test_what_was_imported_is_exported_the_same_but_for_ids(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    await lively(store)
    content = exported(store, "s1")
    again = imported(store, content)
    assert again == "s1-2"
    assert without_ids(exported(store, again)) == without_ids(content)
    assert imported(MemoryStore(), content, "chosen") == "chosen"


async def test_numbers_that_json_does_not_have_come_back(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    async with runtime(store, "s1", Post()) as rt:
        await value(rt, "x = [float('nan'), float('-inf'), post.send(float('nan'))]; x")
    content = exported(store, "s1")
    assert lines_of(content)
    other = MemoryStore()
    id = imported(other, content)
    assert (await replay(id, store=other)).same
    assert exported(other, id) == content


async def test_a_fork_brings_what_it_was_forked_from(tmp_path: Path) -> None:
    store = MemoryStore()
    async with runtime(store, "s1") as rt:
        await value(rt, "x = ['a']; open('f', 'w').write('a')")
        await value(rt, "x.append('b')")
    branch = Sessions(store).fork("s1", entry=ended(store, "s1", 1), name="try-2")
    async with runtime(store, branch, resume=True) as rt:
        await value(rt, "x.append('c')")
    other = SqliteStore(tmp_path / "other.db")
    id = imported(other, exported(store, branch))
    assert other.facts(id).parent == "s1"
    assert len(other.entries("s1")) == ended(store, "s1", 1)  # what came after the fork is not in the file
    assert (await replay(id, store=other)).same
    assert Sessions(other).resolve("try-2") == id
    async with runtime(other, id, resume=True) as rt:
        assert await value(rt, "x, open('f').read()") == (["a", "c"], "a")


async def test_the_file_is_readable_and_says_nothing_of_this_machine(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    session(store, "s0", turn(1, "x", opened="/secret/place"), child_of="nobody")
    assert b"secret" not in exported(store, "s0")
    assert store.facts(imported(store, exported(store, "s0"))).child_of == ""
    await lively(store)
    content = exported(store, "s1")
    first, *rest = lines_of(content)
    assert first["cellwright"] == 1
    assert first["session"]["id"] == "s1"
    cell = next(line for line in rest if line.get("kind") == "cell" and line.get("status") == "failed")
    assert "raise ValueError('no')" in cell["code"]
    assert {line["kind"] for line in rest if "entry" in line} == {"row", "cell", "note"}
    assert all({"session", "entry", "blob"} & line.keys() for line in rest)
    blobs = [line["blob"] for line in rest if "base64" in line]
    assert len(blobs) == len(set(blobs))


async def test_messages_for_fine_tuning_have_code_and_observations() -> None:
    store = MemoryStore()
    agent, _ = agent_with(code("x = 6 * 7\nprint(x)", say="I compute."), "It is 42.", "Still 42.", store=store)
    async with agent.session("s1") as session:
        await session.run("What is 6 * 7?")
        await session.run("Sure?")
    first, second = Sessions(store).chat("s1")
    assert [message["role"] for message in first["messages"]] == ["system", "user", "assistant", "tool", "assistant"]
    call = first["messages"][2]["tool_calls"][0]
    assert (call["type"], call["function"]["name"]) == ("function", "execute")
    assert json.loads(call["function"]["arguments"])["code"] == "x = 6 * 7\nprint(x)"
    assert first["messages"][3]["tool_call_id"] == call["id"]
    assert "42" in first["messages"][3]["content"]
    assert (first["session"], first["turn"], first["status"]) == ("s1", 1, "done")
    assert first["tools"][0]["function"]["name"] == "execute"
    assert [m["content"] for m in second["messages"]][-2:] == ["Sure?", "Still 42."]
    json.dumps([first, second])


# what no export wrote

HEAD: dict[str, Any] = {"cellwright": 1, "session": {"id": "s1", "created": 1.0, "pins": {}, "names": {"tree": None}}}
HEAD["session"]["seed"] = base64.b64encode(b"s" * 32).decode()
BLOB = {"blob": digest_of(b"content"), "base64": base64.b64encode(b"content").decode()}
CELL = {"entry": 1, "parent": 0, "kind": "cell", "number": 1, "code": "1"}
TURN = {"entry": 1, "kind": "turn", "number": 1, "task": "x"}
ROW = {"entry": 1, "kind": "row", "cell": 1, "path": "1"}
DEEP: Any = json.loads("[" * 400 + "]" * 400)


def head(**more: Any) -> dict[str, Any]:
    return {"cellwright": 1, "session": HEAD["session"] | more}


WRONG: dict[str, list[Any]] = {
    "nothing": [],
    "no head": [CELL],
    "another format": [{**HEAD, "cellwright": 2}],
    "no object": [[1]],
    "an id that leads away": [head(id="../../etc/passwd")],
    "an id that is too long": [head(id="x" * 65)],
    "an unknown fact": [head(own="x")],
    "how it was opened": [head(opened="{}")],
    "pins of another type": [head(pins={"python": 3})],
    "no seed": [head(seed="")],
    "a seed that is no base64": [head(seed="§")],
    "a parent that is not there": [head(parent="other")],
    "a number that is none": [HEAD, {**CELL, "entry": True}],
    "a gap": [HEAD, {**CELL, "entry": 2}],
    "an entry twice": [HEAD, CELL, CELL],
    "a cell of no number": [HEAD, {**CELL, "number": -1}],
    "a cell of a large number": [HEAD, {**CELL, "number": 1 << 60}],
    "code that is no text": [HEAD, {**CELL, "code": 3}],
    "a status that is none": [HEAD, {**CELL, "status": "over"}],
    "files that are no texts": [HEAD, {**CELL, "files": [1]}],
    "a tree that is not there": [HEAD, {**CELL, "tree": "0" * 64}],
    "a tree that is a path": [HEAD, {**CELL, "tree": "../../x"}],
    "a tree that is none": [HEAD, BLOB, {**CELL, "tree": BLOB["blob"]}],
    "a time that never comes": [HEAD, {**CELL, "at": float("inf")}],
    "a session that was never made": [head(created=float("nan"))],
    "a time beyond all numbers": [HEAD, {**CELL, "at": 10**400}],
    "a time after the last year": [HEAD, {**TURN, "at": 1e12}],
    "a session made beyond all numbers": [head(created=10**400)],
    "a session made before all time": [head(created=-1)],
    "an error that is none": [HEAD, {**ROW, "status": "failed", "value": {"tree": "x"}}],
    "an error of no class": [HEAD, {**ROW, "status": "failed", "value": {"tree": {"E": [[], [], {}, "x"]}}}],
    "an answer before the first": [HEAD, {**CELL, "before": -1}],
    "a delivery that is too many": [HEAD, {**ROW, "delivered": 1 << 60}],
    "a number that is a text": [HEAD, {**CELL, "number": "1"}],
    "an unknown field": [HEAD, {**CELL, "own": 1}],
    "an unknown kind": [HEAD, {**CELL, "kind": "checkpoint"}],
    "a row of no door": [HEAD, {**ROW, "door": "window"}],
    "a path that is no text": [HEAD, {**ROW, "path": 1}],
    "arguments that are not packed": [HEAD, {**ROW, "arguments": [1]}],
    "a blob that is not there": [HEAD, {**ROW, "arguments": {"tree": {"b": 0}, "blobs": [{"blob": "0" * 64}]}}],
    "a blob by another name": [HEAD, {**ROW, "arguments": {"tree": 1, "blobs": [{"path": "/etc/passwd"}]}}],
    "a blob that is another": [HEAD, {**BLOB, "base64": base64.b64encode(b"other").decode()}],
    "a blob without an end": [HEAD, {**BLOB, "more": True}],
    "a digest that is none": [HEAD, {**BLOB, "blob": "../x"}],
    "a note of no kind": [HEAD, {"entry": 1, "kind": "note", "note": "gossip"}],
    "a turn that says how it was opened": [HEAD, {**TURN, "opened": "{}"}],
    "made things that are none": [HEAD, {**ROW, "made": [[1, 2]]}],
}


@pytest.mark.parametrize("what", WRONG)
def test_what_no_export_wrote_is_refused_and_nothing_is_kept(what: str) -> None:
    store = MemoryStore()
    content = "".join(json.dumps(line) + "\n" for line in WRONG[what]).encode()
    with pytest.raises(UsageError, match="nothing was imported"):
        imported(store, content)
    assert store.sessions() == []


@pytest.mark.parametrize("content", [b"\x00\xff\n", b"{", b"[" * 200_000, b"null\n", b"\xef\xbb\xbf{}\n"])
def test_bytes_that_are_no_lines_of_json_are_refused(content: bytes) -> None:
    with pytest.raises(UsageError, match="nothing was imported"):
        imported(MemoryStore(), content)


def test_a_right_file_of_these_lines_is_taken() -> None:  # or the tests above would prove nothing
    store = MemoryStore()
    lines = [HEAD, BLOB, CELL, {**ROW, "entry": 2, "arguments": {"tree": {"b": 0}, "blobs": [{"blob": BLOB["blob"]}]}}]
    imported(store, "".join(json.dumps(line) + "\n" for line in lines).encode())
    assert store.rows("s1")[0].arguments.blobs == [b"content"]
    imported(store, json.dumps(HEAD).encode())
    assert list(store.sessions()) == ["s1", "s1-2"]


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("kind", ["cell", "transaction"])
def test_files_that_only_another_session_has_here_are_missing_from_the_file(kind: str, dropped: bool) -> None:
    store = MemoryStore()
    session(store, "other")
    secret = store.keep("other", b"secret")
    tree = json.dumps({"entries": [["f", "file", 420, 1, 6, secret]], "left": []}).encode()
    lines = [HEAD, {"blob": digest_of(tree), "base64": base64.b64encode(tree).decode()}]
    lines += [{"blob": secret, "dropped": True}] if dropped else []
    began = {**ROW, "verb": "begin", "name": "1/t", "status": "done", "value": {"tree": digest_of(tree)}}
    lines += [{**CELL, "tree": digest_of(tree)}] if kind == "cell" else [CELL, {**began, "entry": 2}]
    with pytest.raises(UsageError, match="nothing was imported: the file lacks"):
        imported(store, "".join(json.dumps(line) + "\n" for line in lines).encode())
    assert store.sessions() == ["other"]


def test_a_store_that_fails_half_way_keeps_nothing() -> None:
    class Full(MemoryStore):
        def keep(self, session: str, content: bytes) -> str:
            raise UsageError("the disk is full")

    store = Full()
    with pytest.raises(UsageError, match="the disk is full"):
        imported(store, b"".join(json.dumps(line).encode() + b"\n" for line in (HEAD, BLOB, CELL)))
    assert store.sessions() == []


def test_an_id_that_is_taken_is_told_and_one_that_is_none(tmp_path: Path) -> None:
    store = MemoryStore()
    imported(store, json.dumps(HEAD).encode())
    for wrong in ("s1", "../x"):
        with pytest.raises(UsageError):
            imported(store, json.dumps(HEAD).encode(), wrong)
    assert list(store.sessions()) == ["s1"]


async def test_an_export_to_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    store = MemoryStore()
    await lively(store)
    file = tmp_path / "out.jsonl"
    file.write_text("before")

    told = Sessions(store).export("s1", file)
    assert told.bytes == file.stat().st_size
    whole = file.read_bytes()

    class Failing(MemoryStore):
        def entries(self, session: str, first: int = 1, upto: int | None = None) -> Sequence[JournalEntry]:
            raise JournalFailed("gone")

    failing = Failing()
    imported(failing, whole)
    with pytest.raises(JournalFailed):
        Sessions(failing).export("s1", file)
    assert file.read_bytes() == whole
    assert os.listdir(tmp_path) == ["out.jsonl"]


def test_an_export_replaces_no_link_no_pipe_and_no_file_of_another_name(tmp_path: Path) -> None:
    store = MemoryStore()
    session(store, "s1", cell(1, "1"))
    (tmp_path / "out.jsonl.part").write_text("somebody's")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    os.mkfifo(tmp_path / "pipe")
    sessions = Sessions(store)
    sessions.export("s1", tmp_path / "out.jsonl")
    sessions.export("s1", tmp_path / "link.jsonl")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        sessions.export("s1", tmp_path / "pipe")
        assert os.read(reader, 1 << 16) == (tmp_path / "out.jsonl").read_bytes()
    finally:
        os.close(reader)
    assert (tmp_path / "out.jsonl.part").read_text() == "somebody's"
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "pipe").is_fifo()
    for wrong in ("", tmp_path):
        with pytest.raises(IsADirectoryError):
            sessions.export("s1", wrong)


def test_a_request_of_a_stranger_with_tools_that_are_none_is_told() -> None:
    told = {"base": 0, "kept": 0, "messages": [], "tools": [["f", "", 3]]}
    how: dict[str, Any] = {"temperature": None, "max_tokens": None, "stop": [], "extra": {}}
    asked = Packer(plain).packed(told | {"generation": how})
    said = {"message": {"kind": "said", "text": "x"}, "usage": {}, "model": "", "cut": False}
    row = Row(cell=0, path="model#1", door="model", status="done", arguments=asked, value=Packer(plain).packed(said))
    store = MemoryStore()
    session(store, "s1", turn(1, "x"), row)
    with pytest.raises(JournalFailed, match="a tool without a name"):
        list(Sessions(store).chat("s1"))


def test_facts_that_an_export_has_are_all_but_what_is_of_one_machine() -> None:
    """A new fact is to be thought about: is it to leave this machine?"""
    exported = "id created seed pins names made parent parent_cell parent_entry agent"
    assert {one.name for one in fields(Facts)} == {*exported.split(), "child_of", "imported", "import_key"}
