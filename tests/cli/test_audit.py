"""`cellwright audit` as a user runs it: what was done, whether it was changed, and its lines for other programs."""

from __future__ import annotations

import csv
import io
import json
import re
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cellwright import Policy, PolicyRule, Runtime
from cellwright.cli import main
from cellwright.guard import AuditTrail

Audit = Callable[..., tuple[int, str, str]]


class Mail:
    def send(self, to: str, password: str = "") -> str:
        """Send a mail."""
        return f"sent to {to}\x1b[2J\u202e"


@pytest.fixture
def audit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Audit:
    """The command, where `audit/` may be: its exit code, and what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["cellwright", "audit", *words])
        code = main()
        out, err = capsys.readouterr()
        return code, out, err

    return run


def written(place: Path = Path("audit")) -> Path:
    """Two sessions of one process. Gives the file."""
    trail = AuditTrail(place)
    trail.session("s1", user="kari")
    for number, to in enumerate(("ann", "bob", "eve\x1b]0;x\x07"), 1):
        call: dict[str, Any] = {"session": "s1", "user": "kari", "cell": number, "operation": "mail.send"}
        trail.write("intent", {**call, "arguments": f"({to!r})"})
        trail.write("done", {**call, "result": f"sent to {to}\u202e\nq-0"})
    trail.session("s2", user="bo")
    trail.write("denied", {"session": "s2", "user": "bo", "operation": "bank.pay", "why": "=cmd|' /C calc'!A0"})
    trail.close()
    return sorted(place.iterdir())[-1]


def rewritten(file: Path, change: Callable[[list[str]], list[str]]) -> None:
    file.write_text("".join(change(file.read_text().splitlines(keepends=True))))


# show


async def test_what_a_session_did_is_shown_with_who_decided_and_without_control_characters(
    audit: Audit, tmp_path: Path
) -> None:
    rules = (PolicyRule(operation="mail.send", arguments={"to": "eve*"}, action="deny", why="no\x1b[1m eve"),)
    scope, policy = {"mail": Mail()}, Policy(rules=rules)
    async with Runtime(
        scope, policy=policy, audit=tmp_path / "audit", user="kari", store="memory:", session="s1"
    ) as rt:
        await rt.execute("mail.send('ann\\x1b[2J', password='hunter2')")
        await rt.execute("mail.send('eve@evil.example')")
    code, out, err = audit("show", "audit")
    assert (code, err) == (0, "")
    lines = [re.sub(r"[\d.]+ ms", "… ms", line[21:] if line[:2] == "20" else line) for line in out.splitlines()]
    assert lines[1:] == [
        "session s1, user kari:",
        "session   new",
        "intent    mail.send('ann\\x1b[2J', password='***')  (cell 1)",
        " " * 21 + "no rule; default: allow",
        "done      mail.send: 'sent to ann\\x1b[2J\\x1b[2J\\u202e'  (cell 1, … ms)",
        "denied    mail.send('eve@evil.example')  (cell 2)",
        " " * 21
        + "why: mail.send was denied by the policy (rule 1 (mail.send, arguments to=eve*): deny): no\\x1b[1m eve",
    ]
    assert out.isprintable() or set(re.findall(r"[^ -~]", out)) == {"\n"}


def test_a_person_who_said_yes_is_told_and_a_rule_that_did_is_not(audit: Audit) -> None:
    trail = AuditTrail("audit")
    for operation, rule in (("mail.a", ""), ("mail.b", "rule 1 (mail.b): allow"), ("mail.c", "data flow (warn): it …")):
        trail.write("intent", {"session": "s1", "operation": operation, "approved": True, "rule": rule})
    trail.write("intent", {"session": "s1", "operation": "mail.d", "approved": True, "rule": "data flow (ask): it …"})
    trail.close()
    out = audit("show", "audit", "--event", "intent")[1]
    words = [line.split()[-1] if "mail." in line else line.strip() for line in out.splitlines()]
    assert words.count("a person said yes") == 2
    assert words[words.index("mail.a") + 1] == "a person said yes"
    assert words[-1] == "a person said yes"


async def test_a_call_that_a_person_refused_says_why_it_was_asked_for_and_why_not(audit: Audit, tmp_path: Path) -> None:
    policy = Policy(rules=(PolicyRule(operation="mail.send", action="ask", why="who is it"),))
    async with Runtime({"mail": Mail()}, policy=policy, audit=tmp_path / "audit", approve=lambda _: "not now") as rt:
        await rt.execute("mail.send('ann')")
    out = audit("show", "audit", "--event", "denied")[1]
    assert [line.strip() for line in out.splitlines()[-3:]] == [
        "rule 1 (mail.send): ask",
        "asked because: who is it",
        "why: mail.send was denied: not now",
    ]
    for line in next((tmp_path / "audit").iterdir()).read_text().splitlines():
        keys = json.loads(line, object_pairs_hook=lambda pairs: [key for key, _ in pairs])
        assert len(keys) == len(set(keys))  # programs read the first of two, or the last


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (("--session", "s2"), [9, 10]),
        (("--user", "k*", "--event", "intent"), [3, 5, 7]),
        (("--operation", "bank.*"), [10]),
        (("--event", "denied", "--event", "end"), [10, 11]),
        (("--last", "2"), [10, 11]),
        (("--operation", "mail.*", "--last", "1"), [8]),
        (("--since", "1h"), list(range(1, 12))),
        (("--since", "2200-01-01"), []),
        (("--since", "2001-02-03T04:05+02:00", "--session", "s1", "--last", "1"), [8]),
    ],
)
def test_filters_choose_lines(audit: Audit, words: tuple[str, ...], numbers: list[int]) -> None:
    written()
    code, out, _ = audit("show", "audit", "--json", *words)
    assert code == 0
    assert [json.loads(line)["n"] for line in out.splitlines()] == numbers
    assert out.isascii()


def test_files_of_many_processes_are_one_story_and_few_are_open_at_once(audit: Audit) -> None:
    trails = [AuditTrail("audit") for _ in range(3)]
    for number in range(9):  # three processes at the same time
        trails[number % 3].write("read", {"session": "s1", "operation": f"a.b{number}"})
    for trail in trails:
        trail.close()
    for number in range(9, 200):
        trail = AuditTrail("audit")
        trail.write("read", {"session": "s1", "operation": f"a.b{number}"})
        trail.close()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(list(Path("/proc/self/fd").iterdir())) + 20, before[1]))
    try:
        code, out, err = audit("show", "audit", "--json", "--event", "read")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (code, err) == (0, "")
    records = [json.loads(line) for line in out.splitlines()]
    assert [record["operation"] for record in records] == [f"a.b{number}" for number in range(200)]
    assert len({record["file"] for record in records}) == 194


# verify


def test_an_audit_in_which_nothing_was_changed_is_said_to_be_so(audit: Audit) -> None:
    written()
    code, out, err = audit("verify", "audit")
    assert (code, err) == (0, "")
    assert out == "nothing was changed: 11 lines in 1 file; an end that was cut off is only found with --heads\n"
    assert json.loads(audit("verify", "audit", "--json")[1]) == {
        "changed": False,
        "files": 1,
        "lines": 11,
        "findings": [],
    }


CHANGES: list[tuple[Callable[[list[str]], list[str]], str]] = [
    (lambda lines: [line.replace("'ann'", "'eve'") for line in lines], "3: changed: n=3 does not have its own hash"),
    (lambda lines: lines[:3] + lines[4:], "4: removed: n=4 to n=4 are missing before it"),
    (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], "3: removed: n=3 to n=3 are missing before it"),
    (lambda lines: [*lines[:4], lines[3], *lines[4:]], "5: moved: n=4 stands after n=4"),
    (lambda lines: [*lines, lines[1]], "12: inserted: it stands after the end of the chain"),
    (lambda lines: [*lines[:4], "\x1b[2J\n", *lines[4:]], "5: changed: it is no line of an audit"),
]


@pytest.mark.parametrize(("change", "words"), CHANGES)
def test_each_change_is_one_line_and_an_exit_code(
    audit: Audit, change: Callable[[list[str]], list[str]], words: str
) -> None:
    file = written()
    rewritten(file, change)
    code, out, err = audit("verify", "audit", "--write-heads", "heads.json")
    assert code == 1
    assert out.splitlines()[0] == f"{file.name}:{words}"
    assert "\x1b" not in out
    assert "nothing was changed" not in out
    assert err == "cellwright: heads.json was not written\n"  # what was changed is not made the new truth
    assert not Path("heads.json").exists()


def test_an_end_that_was_cut_off_is_found_against_heads_that_were_kept_elsewhere(audit: Audit) -> None:
    file = written()
    assert audit("verify", "audit", "--write-heads", "heads.json")[0] == 0
    written()  # more was done since
    assert audit("verify", "audit", "--heads", "heads.json")[1] == "nothing was changed: 22 lines in 2 files\n"
    rewritten(file, lambda lines: lines[:-2])
    assert audit("verify", "audit")[0] == 0
    code, out, _ = audit("verify", "audit", "--heads", "heads.json")
    assert (code, out) == (1, f"{file.name}:9: removed: the chain goes up to n=9; n=11 was kept\n")
    file.unlink()
    code, out, _ = audit("verify", "audit", "--heads", "heads.json", "--json")
    assert (code, json.loads(out)["changed"], json.loads(out)["findings"][0]["kind"]) == (1, True, "removed")


def test_a_process_that_died_in_a_line_changed_nothing_and_half_a_line_proves_nothing(audit: Audit) -> None:
    file = written()
    rewritten(file, lambda lines: [*lines[:-1], lines[-2].replace("bank.pay", "bank.get").rstrip("\n")])
    code, out, _ = audit("verify", "audit")
    assert code == 0
    assert out.splitlines()[0] == f"{file.name}:11: torn: the last line is not whole: whoever wrote it died meanwhile"
    assert out.splitlines()[1].startswith("nothing was changed: 10 lines in 1 file")
    assert "bank.get" not in audit("show", "audit")[1]


# export


def test_an_export_has_each_line_for_other_programs_and_a_table_has_no_formula(audit: Audit) -> None:
    written()
    code, out, _ = audit("export", "audit")
    records = [json.loads(line) for line in out.splitlines()]
    assert (code, [record["n"] for record in records]) == (0, list(range(1, 12)))
    assert records[2]["arguments"] == "('ann')"
    code, out, err = audit("export", "audit", "out.csv", "--format", "csv", "--operation", "*")
    assert (code, out, err) == (0, "", "cellwright: out.csv: 7 lines\n")
    assert Path("out.csv").stat().st_mode & 0o077 == 0
    text = Path("out.csv").read_text()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(text.splitlines()) - 1
    assert [row["result"] for row in rows][1] == "sent to ann\\u202e\\nq-0"
    assert rows[-1]["why"] == "'=cmd|' /C calc'!A0"
    assert json.loads(rows[-1]["more"])["hash"] == records[9]["hash"]


def test_a_search_that_finds_nothing_says_so(audit: Audit) -> None:
    written()
    assert audit("show", "audit", "--session", "nobodys") == (0, "", "cellwright: no line of an audit there fits\n")
    assert audit("show", "audit", "--session", "nobodys", "--json") == (0, "", "")


# wrong usage


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "nowhere"), "there is no audit in nowhere"),
        (("show", "empty"), "there is no audit in empty"),
        (("verify", "empty"), "there is no audit in empty"),
        (("show", "audit", "--event", "sent"), "--event sent: give one of begin, session, intent"),
        (("show", "audit", "--since", "yesterday"), "--since yesterday: give 30m, 2h or 7d, or a time such as"),
        (("show", "audit", "--last", "0"), "Invalid value for '--last'"),
        (("export", "audit", "--format", "xml"), "Invalid value for '--format'"),
        (("verify", "audit", "--heads", "none.json"), "--heads none.json: No such file"),
        (("verify", "audit", "--heads", "wrong.json"), "--heads wrong.json: it is none that --write-heads wrote"),
        (("verify", "audit", "--write-heads", "audit/h"), "audit/h is in the audit itself; give another place"),
        (("export", "audit", "audit/x.jsonl"), "audit/x.jsonl is in the audit itself"),
        (("show",), "Missing argument 'DIR'"),
    ],
)
def test_wrong_usage_is_one_clear_line(audit: Audit, words: tuple[str, ...], said: str) -> None:
    written()
    Path("empty").mkdir()
    Path("wrong.json").write_text('{"a": {"n": "1", "hash": 2}}')
    code, out, err = audit(*words)
    assert (code, out) == (2, "")
    assert err.startswith(f"cellwright: {said}"), err
    assert err.count("\n") == 1


def test_what_cannot_be_written_is_one_line_and_an_exit_code(audit: Audit) -> None:
    written()
    assert audit("export", "audit", "no/such/file")[::2] == (
        4,
        "cellwright: cannot write no/such/file: No such file or directory\n",
    )
    assert audit("verify", "audit", "--write-heads", "no/such/file")[0] == 4


@pytest.mark.parametrize("command", ["show", "verify", "export"])
def test_each_command_has_help_with_an_example(audit: Audit, command: str) -> None:
    code, out, _ = audit(command, "--help")
    assert code == 0
    assert f"Example: cellwright audit {command} audit/" in " ".join(out.split())
    assert "Exit codes" in out
