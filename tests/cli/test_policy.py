"""`cellwright policy check` as a user runs it: what a file says, and which rule decides a call."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cellwright.cli import main

POLICY = """
timeout_s = 60
[[rules]]
operation = "bank.pay"
arguments = { amount = "> 1000" }
action = "deny"
why = "call\\u001b[2J accounting"
[[rules]]
operation = "mail.send"
arguments = { to = "*@firm.example" }
action = "allow"
[[rules]]
operation = "mail.*"
user = "intern*"
action = "deny"
[[rules]]
kind = "destructive"
action = "ask"
[[rules]]
kind = "writes"
labels = ["untrusted"]
action = "ask"
[[limits]]
operation = "mail.*"
most = 20
within = "1h"
per = "user"
[[timeouts]]
operation = "reports.*"
timeout_s = 600
[flow]
mode = "deny"
readers = ["crm.note"]
[[flow.proven]]
operation = "mail.send"
values = ["*@firm.example"]
[[flow.labels]]
operation = "mail.read"
untrusted = ["body"]
private = true
outward = false
"""

Check = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Check:
    """The command on `policy.toml`: its exit code, and what it printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY)

    def run(*words: str, file: str = "policy.toml") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["cellwright", "policy", "check", file, *words])
        code = main()
        out, err = capsys.readouterr()
        return code, out, err

    return run


def decided(check: Check, *words: str) -> tuple[str, int | None]:
    code, out, _ = check(*words, "--json")
    told = json.loads(out)
    assert code == 0
    return told["action"], told["rule"]


def test_the_rule_that_decides_is_told_with_its_number_its_text_and_the_file(check: Check) -> None:
    code, out, err = check("bank.pay", "--arg", "amount=5000", "--arg", "iban=NO93 8601")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "deny: bank.pay(amount=5000, iban='NO93 8601')",
        "  call     writes",
        "  rule     1 (bank.pay, arguments amount=> 1000): deny",
        "  file     policy.toml",
        "  why      call\\x1b[2J accounting",
        "  timeout  60 s, if the operation does not say otherwise",
    ]


@pytest.mark.parametrize(
    ("amount", "action"),
    [
        ("1001", "deny"),
        ("999", "allow"),
        ("1000.01", "deny"),
        ("9.50", "allow"),
        ("[1, 5000]", "deny"),
        ("[1, 2]", "allow"),
        ('"999"', "deny"),  # a text has no order: it may be over the limit for whoever reads it
        ("0999", "deny"),
        ("1e2", "deny"),
        ("NaN", "deny"),
    ],
)
def test_arguments_are_numbers_where_they_are_written_so(check: Check, amount: str, action: str) -> None:
    assert decided(check, "bank.pay", "--arg", f"amount={amount}")[0] == action


def test_an_argument_that_is_not_given_fits_what_denies_and_never_what_allows(check: Check) -> None:
    assert decided(check, "bank.pay") == ("deny", 1)
    assert decided(check, "mail.send", "--arg", "to=ann@firm.example") == ("allow", 2)
    assert decided(check, "mail.send") == ("deny", 3)
    _, out, _ = check("mail.send")
    assert "  not      2 (mail.send, arguments to=*@firm.example): allow\n" in out
    assert "  unknown  the argument to, the user: fits what denies or asks, and never what allows\n" in out
    assert "  limit    20 in 1h, each user (mail.*)\n" in out


def test_user_labels_and_kind_count(check: Check) -> None:
    assert decided(check, "mail.send", "--user", "intern-7") == ("deny", 3)
    assert decided(check, "mail.send", "--user", "kari") == ("allow", None)
    assert decided(check, "mail.send", "--user", "kari", "--label", "untrusted") == ("ask", 5)
    assert decided(check, "web.get", "--reads", "--label", "untrusted", "--label", "private") == ("allow", None)
    assert decided(check, "disk.delete") == ("ask", 4)  # by its name
    assert decided(check, "disk.format", "--writes") == ("allow", None)
    assert decided(check, "disk.format", "--destructive") == ("ask", 4)
    assert "rule     none covers it; default: allow" in check("web.get", "--reads")[1]


def test_a_file_alone_is_shown_in_the_columns_of_a_terminal(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    code, out, _ = check()
    assert code == 0
    out = re.sub(r"\x1b\[[0-9]*m", "", out)
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 60
    words = " ".join(out.split())
    assert words.startswith("policy.toml: 5 rules, 1 limit, 1 timeout")
    for part in (
        "2 allow mail.send, arguments to=*@firm.example",
        "default: allow; timeout: 60 s; flow: deny",
        "20 1h each user mail.*",
        "600 s reports.*",
        "crm.note",
        "mail.send *@firm.example",
        "mail.read untrusted (body), private, not outward",
    ):
        assert part in words


def test_all_of_a_file_is_there_as_json(check: Check) -> None:
    told = json.loads(check("--json")[1])
    assert [rule["number"] for rule in told["rules"]] == [1, 2, 3, 4, 5]
    assert told["rules"][1]["arguments"] == {"to": "*@firm.example"}
    assert told["limits"] == [{"operation": "mail.*", "most": 20, "within": "1h", "per": "user"}]
    assert (told["default"], told["timeout_s"], told["flow"]["mode"]) == ("allow", 60, "deny")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bank.pay", "--arg", "amount"], "--arg amount: give NAME=VALUE"),
        (["bank.pay", "--arg", "a=1", "--arg", "a=2"], "--arg a: it is given twice"),
        (["bank.pay", "--reads", "--writes"], "give one of them"),
        (["bank.pay", "--label", "red"], "'red' is not one of"),
        (["--user", "kari"], "say of which OPERATION"),
    ],
)
def test_wrong_usage_is_one_line(check: Check, words: list[str], said: str) -> None:
    code, out, err = check(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[rules]]\naction = 'deny'", "rule 1 needs an operation"),
        ("[[rules]]\noperation = 'a'\naction = 'no'", "rule 1: action is 'no'"),
        ("rules = 1 2", "(at line 1, column 11)"),
        ("[[limits]]\noperation = 'a'\nmost = 1\nwithin = 'soon'", "limit 1: within is 'soon'"),
    ],
)
def test_a_wrong_file_is_one_line(check: Check, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "wrong.toml").write_text(text)
    code, out, err = check(file="wrong.toml")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("cellwright: the policy wrong.toml")
    assert said in err
    code, _, err = check("a.b", file="absent.toml")
    assert (code, err) == (2, "cellwright: the policy absent.toml cannot be read: No such file or directory\n")


def test_a_request_reads_and_is_refused_where_the_network_of_the_file_has_not_its_host(check: Check) -> None:
    with open("policy.toml", "w") as file:
        file.write('rules = [{ kind = "writes", action = "ask" }]\n[network]\nhosts = ["a.example"]\n')
    _, out, _ = check("network.fetch", "--arg", "url=https://a.example/x")
    assert out.startswith("allow: network.fetch")
    assert "refused" not in out
    _, out, _ = check("network.send", "--arg", "url=https://b.example/x")
    assert out.startswith("ask: network.send")
    assert "  refused  https://b.example is not in network=[…]; this session may reach a.example\n" in out
