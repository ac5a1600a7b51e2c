"""Policies: which rule decides about a call, and what a wrong file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cellwright.errors import UsageError
from cellwright.guard import (
    FlowPolicy,
    Policy,
    PolicyRule,
    PolicySubject,
    ProvenValues,
    RateLimit,
    RateLimits,
    is_destructive,
    policy_from,
    read_policy,
)


class NotPlain:
    """Of no plain type, with a text that is the same in each process."""

    def __repr__(self) -> str:
        return "NotPlain()"


def rules(*found: dict[str, Any], default: str = "allow") -> Policy:
    return policy_from({"rules": list(found), "default": default}, "this policy")


def action(policy: Policy, name: str, **more: Any) -> str:
    return policy.decide(PolicySubject(name=name, **more)).action


# deciding


def test_the_first_rule_that_covers_an_operation_decides() -> None:
    policy = rules({"pattern": "api.users.get", "action": "allow"}, {"pattern": "api.users.*", "action": "deny"})
    assert action(policy, "api.users.get") == "allow"
    assert action(policy, "api.users.list") == "deny"
    assert action(policy, "api.posts.list") == "allow"


@pytest.mark.parametrize(
    ("kind", "asked", "covered"),
    [
        ("reads", PolicySubject(name="a.b", reads=True), True),
        ("reads", PolicySubject(name="a.b"), False),
        ("writes", PolicySubject(name="a.b"), True),
        ("writes", PolicySubject(name="a.b", reads=True, destructive=True), False),
        ("destructive", PolicySubject(name="a.b", destructive=True), True),
        ("destructive", PolicySubject(name="a.b"), False),
    ],
)
def test_a_rule_may_be_about_a_kind(kind: str, asked: PolicySubject, covered: bool) -> None:
    assert (rules({"kind": kind, "action": "deny"}).decide(asked).action == "deny") is covered


@pytest.mark.parametrize("name", ["a.delete", "a.delete_user", "a.user_remove", "a.purgeCache"])
def test_a_name_tells_what_is_destructive(name: str) -> None:
    assert is_destructive(name)


def test_a_name_that_only_speaks_of_removal_is_not_destructive() -> None:
    assert not is_destructive("a.list_deleted")


# files


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("p.toml", "default = 'ask'\nrules = ?", "line 2"),
        ("p.json", '{"rules":\n[,]}', "line 2"),
        ("p.toml", "rules = 1", "`rules` is no list; write [[rules]] before each"),
        ("p.toml", "[flow.labels]\noperation = 'a'", "`labels` is no list; write [[flow.labels]] before each"),
        ("p.toml", "rulez = []", "knows no 'rulez'"),
        (
            "p.toml",
            "[[rules]]\npattern = 'a'\naction = 'maybe'",
            "rule 1: action is 'maybe'; it may be allow, ask, deny",
        ),
        ("p.toml", "[[rules]]\naction = 'ask'", "rule 1 needs an operation"),
        ("p.toml", "[[rules]]\nkind = 'odd'\naction = 'ask'", "kind is 'odd'"),
        ("p.toml", "[[rules]]\npatern = 'a'\naction = 'ask'", "knows no 'patern'"),
        ("p.toml", "default = 'no'", "default: action is 'no'"),
        ("p.json", "[]", "is no table"),
        ("p.json", '{"rules": [{"operation": "a", "action": "deny"}], "rules": []}', "'rules' is there twice"),
    ],
)
def test_a_wrong_file_is_one_clear_line(name: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError) as error:
        read_policy(tmp_path / name)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert name in str(error.value)


def test_a_missing_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_policy(tmp_path / "none.toml")


# arguments, labels, users


CONDITIONS: list[tuple[Any, Any, str, str]] = [  # a condition, a value, whether it allows, whether it asks
    ("*@corp.example", "Ann@CORP.example", "allow", "ask"),
    ("*@corp.example", "eve@x.example", "no", "no"),
    ("*@corp.example", ["ann@corp.example", "eve@x.example"], "no", "ask"),
    ("*@corp.example", "eve@x.example, ann@corp.example", "no", "ask"),
    ("*@corp.example", "eve@x.example@corp.example", "no", "ask"),
    ("*@corp.example", "root ann@corp.example", "no", "ask"),
    ("*@corp.example", "\uff41nn@corp.example", "allow", "ask"),
    ("*@corp.example", {"to": "ann@corp.example"}, "no", "ask"),
    ("*@corp.example", [], "no", "ask"),
    ("*@corp.example", NotPlain(), "no", "ask"),
    ("not *@corp.example", ["ann@corp.example", "eve@x.example"], "no", "ask"),
    ("not *@corp.example", "eve@x.example", "allow", "ask"),
    ("not *@corp.example", "ann@corp.example", "no", "no"),
    ("https://*.corp.example/*", "https://a.corp.example/b?c", "allow", "ask"),
    ("https://*.corp.example/*", "https://evil.example/?x=.corp.example/", "no", "ask"),
    ("https://*.corp.example/*", "https://u@a.corp.example/", "no", "ask"),
    ("https://*", "https://corp.example/a", "allow", "ask"),
    ("> 1000", 1001, "allow", "ask"),
    ("> 1000", 1000, "no", "no"),
    ("> 1000", "2000", "no", "ask"),
    ("> 1000", float("nan"), "no", "ask"),
    ("> 1000", True, "no", "ask"),
    (">= 0.5", 0.5, "allow", "ask"),
    ("<= 5", [1, 9], "no", "ask"),
    ("< 5", -3, "allow", "ask"),
    ("> 2024-01-01", "2024-06-01", "allow", "ask"),
    ("= 7", 7.0, "allow", "ask"),
    ("= 7", "7", "allow", "ask"),
    (7, 7, "allow", "ask"),
    (True, 1, "no", "ask"),
    (True, True, "allow", "ask"),
    ("!= x", "X", "no", "no"),
    ("!= x", "y", "allow", "ask"),
    (["a*", "b*"], "Bee", "allow", "ask"),
    (["a*", "b*"], ["ant", "cat"], "no", "ask"),
]


@pytest.mark.parametrize(("condition", "value", "allows", "asks"), CONDITIONS, ids=str)
def test_a_condition_allows_what_surely_fits_and_asks_about_what_may(
    condition: Any, value: Any, allows: str, asks: str
) -> None:
    for wanted, told in (("allow", allows), ("ask", asks)):
        policy = rules({"operation": "m.*", "action": wanted, "arguments": {"to": condition}}, default="deny")
        assert action(policy, "m.send", arguments={"to": value}) == (told if told == wanted else "deny")


@pytest.mark.parametrize("arguments", [None, {}, {"cc": "ann@corp.example"}])
def test_an_argument_that_is_not_known_is_never_allowed_and_always_asked_about(arguments: Any) -> None:
    there = {"operation": "m.*", "arguments": {"to": "*@corp.example"}}
    assert action(rules({**there, "action": "allow"}, default="deny"), "m.send", arguments=arguments) == "deny"
    assert action(rules({**there, "action": "ask"}), "m.send", arguments=arguments) == "ask"


def test_a_rule_may_be_about_labels_and_about_the_user() -> None:
    policy = rules({"operation": "m.*", "labels": ["untrusted", "private"], "action": "deny"})
    assert action(policy, "m.send", labels=("untrusted",)) == "allow"
    assert action(policy, "m.send", labels=("untrusted", "private", "influenced")) == "deny"
    for wanted, unknown in (("allow", "deny"), ("ask", "ask")):  # who has not said their name has no right
        policy = rules({"operation": "m.*", "user": "ann*", "action": wanted}, default="deny")
        found = [action(policy, "m.send", user=user) for user in ("anna", "Ann", "")]
        assert found == [wanted, "deny", unknown]


def test_a_rule_holds_for_every_name_of_an_operation_but_allows_under_its_own_alone() -> None:
    noted = frozenset(("crm.delete",))
    for wanted, told in (("deny", "deny"), ("ask", "ask"), ("allow", "deny")):
        policy = rules({"operation": "crm.delete", "action": wanted}, default="deny" if wanted == "allow" else "allow")
        assert action(policy, "box.tidy", patterns=noted) == told
    assert action(rules({"operation": "Order.pay", "action": "ask"}), "Order#7.pay") == "ask"


def test_the_text_says_which_rule_decided_and_why() -> None:
    wanted = {"operation": "mail.send", "action": "ask", "arguments": {"to": "*@corp.example"}, "why": "it is mail"}
    policy = rules({"kind": "destructive", "action": "deny"}, wanted)
    found = policy.decide(PolicySubject(name="mail.send"))
    assert found.text == "rule 2 (mail.send, arguments to=*@corp.example): ask"
    assert found.rule is not None
    assert found.rule.why == "it is mail"
    assert policy.decide(PolicySubject(name="crm.get")).text == "no rule; default: allow"
    assert policy.decide(PolicySubject(name="crm.delete", destructive=True)).text == (
        "rule 1 (* that is destructive): deny"
    )


def test_before_there_are_arguments_the_mildest_action_holds() -> None:
    policy = rules(
        {"operation": "mail.send", "action": "allow", "arguments": {"to": "*@corp.example"}},
        {"operation": "mail.*", "action": "deny"},
        {"operation": "crm.*", "action": "deny", "user": "eve"},
    )
    found = [policy.mildest(PolicySubject(name=name)) for name in ("mail.send", "mail.read", "crm.get")]
    assert found == ["allow", "deny", "allow"]


def test_a_policy_is_written_in_python_too() -> None:
    policy = Policy(rules=(PolicyRule(action="ask", operation="mail.*", arguments={"to": ["a*", "b*"]}),))
    assert action(policy, "mail.send", arguments={"to": "bob"}) == "ask"
    wrongs: list[Any] = [{"labels": ("odd",)}, {"arguments": {"a": {}}}, {"operation": ""}, {"kind": "odd"}]
    for wrong in wrongs:
        with pytest.raises(UsageError):
            PolicyRule(action="ask", **wrong)


# limits, times, data flow


def refusals(limits: RateLimits, *sessions: str, user: str = "") -> list[bool]:
    return [bool(limits.refused(("mail.send",), session, user)) for session in sessions]


def test_a_limit_counts_calls_in_a_sliding_window_by_session_user_or_all() -> None:
    now = [0.0]
    limits = RateLimits([RateLimit(operation="mail.*", most=2, within="60s")], lambda: now[0])
    assert refusals(limits, "a", "a", "a", "b") == [False, False, True, False]
    now[0] = 59.0
    assert limits.refused(("mail.send",), "a", "") == (
        "the limit of 2 calls of mail.* in 60s of this session is reached; the next is free in 1 s"
    )
    assert limits.refused(("crm.get",), "a", "") == ""
    now[0] = 60.0
    assert refusals(limits, "a", "a", "a") == [False, False, True]
    shared = RateLimits([RateLimit(most=1, within="1h", per="user")], lambda: 0.0)
    assert refusals(shared, "a", "b", user="ann") == [False, True]
    assert refusals(RateLimits([RateLimit(most=1, within="1d", per="all")], lambda: 0.0), "a", "b") == [False, True]


def test_a_refused_call_takes_nothing_from_other_limits() -> None:
    limits = RateLimits(
        [RateLimit(operation="mail.*", most=2, within="1h", per="all"), RateLimit(most=1, within="1h")], lambda: 0.0
    )
    assert refusals(limits, "a", "a", "a", "b", "c") == [False, True, True, False, True]


def test_a_limit_never_lets_more_through_in_any_window_and_keeps_few_numbers() -> None:
    now, made = [0.0], list[float]()
    limits = RateLimits([RateLimit(most=150, within="10s")], lambda: now[0])
    for step in range(1000):
        now[0] = step / 25
        if not limits.refused(("mail.send",), "a", ""):
            made.append(now[0])
    assert max(sum(at <= other < at + 10 for other in made) for at in made) == 150
    assert len(made) > 550


def test_one_policy_has_one_count_and_notes_its_limits() -> None:
    policy = policy_from({"limits": [{"operation": "mail.*", "most": 1, "within": "1h", "per": "all"}]}, "p")
    assert refusals(policy.rate_limits, "a") == [False]
    assert refusals(policy.rate_limits, "b") == [True]
    assert policy.rate_limits.refused(("tidy", "mail.*"), "c", "") != ""
    assert policy.patterns == ("mail.*",)


def test_an_operation_has_the_time_of_the_first_glob_that_covers_it() -> None:
    policy = policy_from({"timeout_s": 5, "timeouts": [{"operation": "reports.*", "timeout_s": 300}]}, "p")
    assert (policy.timeout_of(("crm.get",)), policy.timeout_of(("reports.make",))) == (5, 300)
    assert Policy().timeout_of(("crm.get",)) == 120


def test_a_policy_proves_destinations_and_names_readers() -> None:
    proven = ({"operation": "mail.*", "values": ["*@corp.example"]},)
    flow = policy_from({"flow": {"mode": "deny", "readers": ["vault.*"], "proven": list(proven)}}, "p").flow
    assert flow == FlowPolicy(
        mode="deny", readers=("vault.*",), proven=(ProvenValues(operation="mail.*", values=("*@corp.example",)),)
    )
    assert (flow.is_reader(("vault.put",)), flow.is_reader(("mail.send",))) == (True, False)
    told = [flow.proves(("mail.send",), to) for to in ("ann@corp.example", "eve@x.example", "eve@x,a@corp.example")]
    assert told == [True, False, False]
    assert not flow.proves(("sms.send",), "ann@corp.example")


WRONG: list[tuple[Any, str]] = [
    ({"rules": [{"operation": "a", "pattern": "a", "action": "ask"}]}, "rule 1 has `operation` and `pattern`"),
    ({"rules": [{"operation": "a", "action": "ask", "arguments": {"to": {}}}]}, "rule 1: arguments, to: {} is no"),
    ({"rules": [{"operation": "a", "action": "ask", "arguments": {"to": "> "}}]}, "has no value"),
    ({"rules": [{"operation": "a", "action": "ask", "labels": ["odd"]}]}, "labels are untrusted, private"),
    ({"limits": [{"operation": "a", "most": 1}]}, "limit 1 needs 'within', such as within = \"1h\""),
    ({"limits": [{"operation": "a", "most": 1, "within": "soon"}]}, "limit 1: within is 'soon'; write a time"),
    ({"timeouts": [{"operation": "a", "timeout_s": 0}]}, "timeout 1: timeout_s is 0; write seconds"),
    ({"flow": {"mode": "odd"}}, "flow: mode is 'odd'; it may be off, warn, ask, deny"),
    ({"flow": {"proven": [{"operation": "a"}]}}, "flow, proven 1 needs 'values'"),
]


@pytest.mark.parametrize(("found", "said"), WRONG)
def test_a_wrong_part_is_named_with_its_number_and_what_to_write(found: Any, said: str) -> None:
    with pytest.raises(UsageError, match=r"^the file") as error:
        policy_from(found, "the file")
    assert said in str(error.value)
