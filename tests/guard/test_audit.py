"""The audit: what each call tells, that there is no effect without its line, and what verification finds."""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cells import PATIENT
from tests.guard.audit_program import PROGRAM
from tests.guard.keeping import Office, run
from tests.guard.people import Person

from cellwright import Agent, Runtime, operation
from cellwright.errors import PlatformError, UsageError
from cellwright.guard import (
    AuditHead,
    AuditTrail,
    Policy,
    PolicyRule,
    audit_heads,
    audit_records,
    verify_audit,
)
from cellwright.guard.audit_file import sealed
from cellwright.sessions import Sessions
from cellwright.testing import ScriptedModel, code

pytestmark = pytest.mark.usefixtures("warm")
ROOT = Path(__file__).parents[2]
KEY = "sk-ant-api03-" + "aB3dE6gH9j" * 4


class Crm:
    """Contacts, and what was written."""

    def __init__(self) -> None:
        self.written: list[Any] = []
        self.gate = asyncio.Event()
        self.at_gate = asyncio.Event()

    @operation(reads=True, untrusted=True)
    def find(self, name: str = "") -> Any:
        """A contact."""
        return {"name": name, "phone": 7}

    @operation(outward=False, selecting=())
    def write(self, *what: Any, **more: Any) -> Any:
        """Write it."""
        self.written.append(what)
        return len(self.written)

    def fails(self, why: str) -> None:
        """Raise."""
        raise ValueError(why)

    async def waits(self) -> None:
        """Until the gate is open."""
        self.at_gate.set()
        await self.gate.wait()

    def login(self, password: str, user: int) -> str:
        """Give a key."""
        return f"{user} {KEY}"

    def get_password(self) -> str:
        """Give one."""
        return "correct horse battery staple"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """The directory of an audit, whose trail ends with the test."""
    path = tmp_path / "audit"
    yield path
    AuditTrail.of(path).close()


def lines(place: Path, *events: str) -> list[dict[str, Any]]:
    return [one for one in audit_records(place) if not events or one["event"] in events]


def raw_lines(place: Path) -> list[bytes]:
    (file,) = place.iterdir()
    return file.read_bytes().splitlines()


def no_directory(place: Path) -> None:
    shutil.rmtree(place)
    place.write_text("no directory")


async def told(place: Path, *cells: str, crm: Crm | None = None, **options: Any) -> list[dict[str, Any]]:
    """What the audit has of these cells' calls."""
    async with Runtime({"crm": crm or Crm()}, audit=place, limits=PATIENT, **options) as rt:
        for cell in cells:
            await run(rt, cell)
    return [one for one in lines(place) if one["event"] not in ("begin", "session", "end")]


# what a line tells


async def test_a_line_has_who_what_when_the_rule_the_labels_and_what_came_back(place: Path) -> None:
    rules = (
        PolicyRule(action="deny", operation="crm.fails", why="it fails"),
        PolicyRule(action="allow", operation="crm.write"),
    )
    found = await told(
        place,
        "crm.find('ann')",
        "crm.write('hello', to='ann')",
        "crm.fails('x')",
        policy=Policy(rules=rules),
        user="kari",
    )
    begin, session = lines(place)[:2]
    assert (begin["process"], begin["chain"]) == (os.getpid(), next(iter(audit_heads(place))))
    assert (session["user"], session["start"], session["origin"]) == ("kari", "new", "own")
    assert [(one["event"], one["operation"], one["cell"]) for one in found] == [
        ("read", "crm.find", 1),
        ("intent", "crm.write", 2),
        ("done", "crm.write", 2),
        ("denied", "crm.fails", 3),
    ]
    read, intent, done, denied = found
    assert {(one["user"], one["session"]) for one in found} == {("kari", session["session"])}
    assert "labels" not in read  # of the session, when the call was made
    assert intent["labels"] == ["untrusted", "influenced"]
    assert (intent["arguments"], intent["rule"]) == ("('hello', to='ann')", "rule 2 (crm.write): allow")
    assert (done["intent"], done["result"], done["kind"]) == (intent["n"], "1", "int")
    assert denied["why"].startswith("crm.fails was denied by the policy (rule 1")
    assert verify_audit(place, audit_heads(place)) == []


async def test_a_call_that_a_person_allowed_or_refused_or_that_failed_or_was_cancelled_says_so(place: Path) -> None:
    crm, person = Crm(), Person(lambda wanted: "no" not in wanted.arguments)
    policy = Policy(rules=(PolicyRule(action="ask", operation="crm.write"),))
    async with Runtime({"crm": crm}, audit=place, limits=PATIENT, policy=policy, approve=person.approve) as rt:
        for cell in ("crm.write('yes')", "crm.write('no')", "crm.fails('no such name')"):
            await run(rt, cell)
        pending = asyncio.ensure_future(run(rt, "await crm.waits()"))
        await crm.at_gate.wait()
        pending.cancel()
        await asyncio.gather(pending, return_exceptions=True)
    found = [
        (one["event"], one.get("approved"), one.get("error"))
        for one in lines(place, "intent", "denied", "done", "failed", "unfinished")
    ]
    assert found == [
        ("intent", True, None),
        ("done", None, None),
        ("denied", None, "Denied"),
        ("intent", None, None),
        ("failed", None, "ValueError"),
        ("intent", None, None),
        ("unfinished", None, "CancelledError"),
    ]


async def test_the_answer_of_an_agent_is_done_and_did_not_fail(place: Path) -> None:
    agent = Agent(ScriptedModel(code("done('no number')"), code("done(7)")), scope={}, audit=place)
    assert (await agent.run("How many?", returns=int)).value == 7
    ends = [(one["event"], one.get("error"), one.get("result")) for one in lines(place, "done", "failed")]
    assert [(event, error) for event, error, _ in ends] == [("failed", "Rejected"), ("done", None)]
    assert ends[1][2] is None


async def test_credentials_are_masked_in_arguments_results_errors_and_by_names(place: Path) -> None:
    found = await told(
        place,
        f"crm.write({KEY!r}, password='hunter2', more={{'api_key': 'hunter3'}})",
        "crm.login('tr0ub4dor', 1)",
        f"crm.fails('no access with {KEY}')",
        "crm.get_password()",
        f"crm.write('x ' * 1980 + {KEY!r})",  # the cut is in the middle of the key
        f"crm.find('y ' * 240 + {KEY!r})",
    )
    text = json.dumps(found)
    for secret in (KEY, KEY[:20], "hunter2", "hunter3", "correct horse", "tr0ub4dor"):
        assert secret not in text
    assert "***" in text
    assert "x x x" in text


async def test_large_arguments_and_results_are_cut_with_a_digest_of_the_whole(place: Path) -> None:
    found = await told(
        place, *(f"crm.write('x' * 1_000_000 + '{end}')" for end in "aab"), "len(crm.find('z' * 9_000)['name'])"
    )
    intents = [one for one in found if one["event"] == "intent"]
    assert all(len(one["arguments"]) < 4_200 for one in intents)
    assert intents[0]["digest"] == intents[1]["digest"] != intents[2]["digest"]
    read = found[-1]
    assert len(read["result"]) < 700
    assert read["digest"]
    assert (read["kind"], read["size"]) == ("dict", 2)


@pytest.mark.parametrize("text", ["a\x00b", "one\ntwo\r\u2028", "\ud800", '"},{"event":"done"', "\x1b[2J", "é" * 9_000])
async def test_any_text_stays_on_its_line(place: Path, text: str) -> None:
    found = await told(place, f"crm.write({text!r})\ntry:\n    crm.fails({text!r})\nexcept ValueError: pass")
    assert [one["event"] for one in found] == ["intent", "done", "intent", "failed"]
    assert verify_audit(place, audit_heads(place)) == []
    assert all(line.isascii() for line in raw_lines(place))


# no effect without its line


async def test_a_call_whose_line_cannot_be_written_is_refused(place: Path) -> None:
    crm = Crm()
    async with Runtime({"crm": crm}, audit=place, limits=PATIENT) as rt:
        assert (await run(rt, "crm.write(1)")).ok
        await asyncio.to_thread(no_directory, place)
        for code in ("crm.write(2)", "crm.find()"):
            outcome = await run(rt, code)
            assert "cannot be written" in str(outcome.error), code
        await asyncio.to_thread(place.unlink)
        assert (await run(rt, "crm.write(3)")).ok  # another file is begun, which says what is lost
    assert crm.written == [(1,), (3,)]
    begin = lines(place)[0]
    assert (begin["lost"], begin["follows"]["n"]) == (2, 4)


async def test_a_session_does_not_open_where_its_audit_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlatformError, match=r"the audit in .* cannot be written"):
        async with Runtime({}, audit=tmp_path / "file" / "audit"):
            pass


async def test_an_audit_in_the_workspace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is in the workspace"):
        async with Runtime({}, audit=tmp_path / "audit", workspace=tmp_path):
            pass


def test_on_a_full_disk_no_effect_happens_and_what_was_written_verifies(tmp_path: Path) -> None:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", PROGRAM, str(tmp_path / "audit"), "5000"],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    written, _, said = done.stdout.partition(" ")
    assert 0 < int(written) < 20, done.stderr
    assert "crm.write was denied: the audit in" in said
    intents = len(lines(tmp_path / "audit", "intent"))
    assert intents == int(written)
    assert {finding.kind for finding in verify_audit(tmp_path / "audit")} <= {"torn"}


async def test_fsync_waits_for_the_disk_before_each_effect(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    crm = Crm()
    monkeypatch.setattr(os, "fsync", lambda fd: seen.append(len(crm.written)))  # type: ignore[reportUnknownLambdaType]
    async with Runtime({"crm": crm}, audit=AuditTrail(place, fsync=True), limits=PATIENT) as rt:
        await run(rt, "crm.write(1); crm.find(); crm.write(2)")
        assert seen == [0, 1]
        monkeypatch.setattr(os, "fsync", broken_disk)
        assert "cannot be written" in str((await run(rt, "crm.write(3)")).error)
    assert len(crm.written) == 2


def broken_disk(fd: int) -> None:
    raise OSError(5, "Input/output error")


# one chain a process


async def test_sessions_and_threads_of_a_process_write_one_chain(place: Path) -> None:
    async def session(name: str) -> None:
        async with Runtime({"crm": Crm()}, audit=place, limits=PATIENT, user=name) as rt:
            await run(rt, "for i in range(20): crm.write(i)")

    await asyncio.gather(session("ann"), session("bo"))
    thread = threading.Thread(target=asyncio.run, args=(session("cid"),))
    trail = AuditTrail.of(place)
    other = threading.Thread(target=lambda: [trail.write("note", {"i": i}) for i in range(500)])
    thread.start()
    other.start()
    await asyncio.to_thread(thread.join)
    other.join()
    found = lines(place)
    assert [one["n"] for one in found] == list(range(1, len(found) + 1))
    assert len(lines(place, "intent")) == len(lines(place, "done")) == 60
    assert len(lines(place, "note")) == 500
    assert len(raw_lines(place)) == len(found)  # one file
    assert verify_audit(place, audit_heads(place)) == []


def test_a_forked_process_has_a_chain_of_its_own(tmp_path: Path) -> None:
    trail = AuditTrail(tmp_path)
    trail.write("note", {"who": "parent"})
    child = os.fork()
    if child == 0:
        trail.write("note", {"who": "child"})
        os._exit(0)
    os.waitpid(child, 0)
    trail.write("note", {"who": "parent"})
    trail.close()
    assert len(list(tmp_path.iterdir())) == 2
    assert sorted(one["who"] for one in lines(tmp_path, "note")) == ["child", "parent", "parent"]
    assert verify_audit(tmp_path, audit_heads(tmp_path)) == []
    with pytest.raises(PlatformError, match="is closed"):
        trail.write("note", {})


@pytest.mark.slow
async def test_two_thousand_calls_verify(place: Path) -> None:
    await told(place, "for i in range(1000): crm.write(i)", "for i in range(1000): crm.find()")
    assert len(lines(place, "intent", "read")) == 2_000
    assert verify_audit(place) == []


# kept sessions


async def test_a_replay_writes_no_effect_again_and_the_next_session_line_says_how_it_began(
    place: Path, tmp_path: Path
) -> None:
    crm, office = Crm(), Office(tmp_path)
    options: dict[str, Any] = {"scope": {"crm": crm}, "audit": place, "user": "kari"}
    async with office.open(**options) as rt:
        await run(rt, "n = crm.write('once')")
    async with office.open(**{**options, "user": "ola"}) as rt:
        assert (await run(rt, "n, crm.write('twice')")).value == (1, 2)
        async with await rt.fork(session="s2") as branch:
            await run(branch, "crm.write('thrice')")
    assert [one["arguments"] for one in lines(place, "intent")] == ["('once')", "('twice')", "('thrice')"]
    assert [one["user"] for one in lines(place, "intent")] == ["kari", "ola", "ola"]
    assert [(one["session"], one["start"]) for one in lines(place, "session")] == [
        ("s1", "new"),
        ("s1", "resumed"),
        ("s2", "forked"),
    ]


async def test_a_session_that_came_in_a_file_is_told_from_ones_own(place: Path, tmp_path: Path) -> None:
    crm, office = Crm(), Office(tmp_path)
    async with office.open(scope={"crm": crm}) as rt:
        await run(rt, "crm.write('there')")
    file = io.BytesIO()
    Sessions(office.store).export("s1", file)
    Sessions(office.store).import_(io.BytesIO(file.getvalue()), "copy")
    async with office.open("copy", scope={"crm": crm}, audit=place) as rt:
        await run(rt, "crm.write('here')")
    assert [(one["session"], one["origin"]) for one in lines(place, "session")] == [("copy", "imported")]
    assert [one["arguments"] for one in lines(place, "intent")] == ["('here')"]


# verification


def chain(place: Path, notes: int = 9) -> tuple[Path, dict[str, AuditHead]]:
    """A file of a process that wrote so many lines and is over, and its head."""
    trail = AuditTrail(place)
    for number in range(notes):
        trail.write("note", {"number": number})
    trail.close()
    (file,) = place.iterdir()
    return file, audit_heads(place)


Rows = list[bytes]


def changed(rows: Rows) -> Rows:
    return [*rows[:4], rows[4].replace(b'"number":3', b'"number":4'), *rows[5:]]


def changed_with_its_hash(rows: Rows) -> Rows:
    record = json.loads(rows[4])
    del record["hash"]
    record["number"] = 99
    return [*rows[:4], sealed(record)[0].rstrip(b"\n"), *rows[5:]]


TAMPERED: list[tuple[Callable[[Rows], Rows], str, int]] = [
    (changed, "changed", 5),
    (changed_with_its_hash, "inserted", 6),
    (lambda rows: [*rows[:4], *rows[5:]], "removed", 5),
    (lambda rows: [*rows[:4], rows[5], rows[4], *rows[6:]], "removed", 5),
    (lambda rows: [*rows[:5], rows[4], *rows[5:]], "moved", 6),
    (lambda rows: [*rows[:4], b"{}", *rows[4:]], "changed", 5),
    (lambda rows: rows[1:], "removed", 1),
    (lambda rows: [*rows, rows[4]], "inserted", 12),
    (lambda rows: [*rows[:4], b'{"n":[[[', *rows[5:]], "changed", 5),
    (lambda rows: [*rows[:4], rows[4] + b" ", *rows[5:]], "changed", 5),
]


@pytest.mark.parametrize(("tamper", "kind", "line"), TAMPERED)
def test_each_line_that_is_not_as_it_was_written_is_found(
    tmp_path: Path, tamper: Callable[[Rows], Rows], kind: str, line: int
) -> None:
    file, heads = chain(tmp_path)
    assert verify_audit(tmp_path, heads) == []
    rows = file.read_bytes().splitlines()
    file.write_bytes(b"\n".join(tamper(rows)) + b"\n")
    first = verify_audit(tmp_path)[0]
    assert (first.kind, first.line) == (kind, line)


@given(at=st.integers(0, 10_000), byte=st.integers(0, 255), how=st.sampled_from(["changed", "added", "removed"]))
@settings(max_examples=60)
def test_no_byte_of_a_chain_changes_unseen(at: int, byte: int, how: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        file, heads = chain(Path(place), notes=3)
        before = file.read_bytes()
        at %= len(before)
        rest = before[at:] if how == "added" else before[at + 1 :]
        after = before[:at] + (b"" if how == "removed" else bytes([byte])) + rest
        file.write_bytes(after)
        assert bool(verify_audit(place, heads)) == (after != before)


def test_a_cut_or_rewritten_chain_is_found_against_heads_that_were_kept_elsewhere(tmp_path: Path) -> None:
    file, heads = chain(tmp_path)
    rows = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(rows[:6]))
    assert verify_audit(tmp_path) == []  # nothing here says that there was more
    assert [one.kind for one in verify_audit(tmp_path, heads)] == ["removed"]
    anew, before = list[bytes](), ""
    for row in rows:  # all of it written anew, hashes and all
        record = json.loads(row)
        del record["hash"]
        line, before = sealed({**record, "user": "nobody", "prev": before})
        anew.append(line)
    file.write_bytes(b"".join(anew))
    assert verify_audit(tmp_path) == []
    assert [one.kind for one in verify_audit(tmp_path, heads)] == ["changed"]
    file.write_bytes(b"".join(rows))
    (tmp_path / "copy.jsonl").write_bytes(b"".join(rows))
    assert [one.kind for one in verify_audit(tmp_path, heads)] == ["inserted"]
    (tmp_path / "copy.jsonl").unlink()
    file.unlink()
    assert [one.kind for one in verify_audit(tmp_path, heads)] == ["removed"]


def test_a_chain_that_has_grown_since_its_head_was_kept_is_as_it_should_be(tmp_path: Path) -> None:
    trail = AuditTrail(tmp_path)
    trail.write("note", {})
    assert trail.head is not None
    chain, head = trail.head
    trail.write("note", {})
    trail.close()
    assert verify_audit(tmp_path, {chain: head}) == []


def test_a_line_that_a_death_cut_off_is_told_as_torn(tmp_path: Path) -> None:
    file, _ = chain(tmp_path)
    file.write_bytes(file.read_bytes()[:-20])
    assert [one.kind for one in verify_audit(tmp_path)] == ["torn"]
    assert len(lines(tmp_path)) == 10
