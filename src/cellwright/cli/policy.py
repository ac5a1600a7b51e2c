"""`cellwright policy check`: what a policy's file says, and which of its rules decides a call."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.answers import json_text, json_value
from cellwright.cli.arguments import exit_on_error
from cellwright.cli.options import JsonObject, option
from cellwright.errors import RequestRefused, UsageError
from cellwright.short_texts import counted, cut, one_line, printable

if TYPE_CHECKING:
    from rich.console import Console

    from cellwright.guard import Policy, PolicyDecision, PolicyRule, PolicySubject, Privacy, RateLimit

SHOWN = 60  # characters of one argument
_LABEL = "What has reached the session: untrusted, private, influenced. Again for another."
_ARG = 'An argument; JSON or a text, such as amount=50 or id="50". Again for another.'

policy = typer.Typer(
    help="Show what a policy says, and which rule decides a call.",
    no_args_is_help=True,
    epilog="Example: cellwright policy check policy.toml mail.send --arg to=ann@firm.example",
)


class LabelName(StrEnum):
    """What may have reached a session."""

    untrusted = "untrusted"
    private = "private"
    influenced = "influenced"


@policy.callback()
def _group() -> None:
    pass


@policy.command(
    "check",
    epilog="Examples: cellwright policy check policy.toml · "
    "cellwright policy check policy.toml bank.pay --arg amount=5000 --user kari --label untrusted",
)
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The policy, TOML or JSON.")],
    operation: Annotated[
        str,
        typer.Argument(metavar="[OPERATION]", help="Whose call is decided about. Left out: all that is in the file."),
    ] = "",
    arg: Annotated[list[str] | None, option(_ARG, metavar="NAME=VALUE")] = None,
    user: Annotated[str, option("For whom the session works.", metavar="NAME")] = "",
    label: Annotated[list[LabelName] | None, option(_LABEL, metavar="LABEL")] = None,
    reads: Annotated[bool, option("The operation is known to read.", "--reads")] = False,
    writes: Annotated[bool, option("It writes: so does what says nothing.", "--writes")] = False,
    destructive: Annotated[bool, option("It is declared as destructive.", "--destructive")] = False,
    as_json: JsonObject = False,
) -> None:
    """Say which rule of a policy decides a call, and why; of a file alone, show its rules, limits, timeouts and flow.

    In a session hooks and the data flow decide besides.

    Exit codes: 0 whatever is decided, 2 wrong usage or a wrong file.
    """
    from cellwright.guard import read_policy

    with exit_on_error():
        read = read_policy(file)
        given = _given(arg or [])
        if not operation:
            if given or user or label or reads or writes or destructive:
                raise UsageError("say of which OPERATION; without one, the file is shown")
            print(json_text(_file_json(file, read), indent=2)) if as_json else _file_page(file, read)
            return
        if reads + (writes or destructive) > 1:
            raise UsageError("--reads, and --writes or --destructive: give one of them")
        labels = sorted({one.value for one in label or []})
        reads = reads or (operation == "network.fetch" and read.network is not None and not (writes or destructive))
        subject = replace(_operation(operation, reads, destructive), arguments=given, labels=labels, user=user)
        checked = CheckedCall(file=file, policy=read, subject=subject, decision=read.decide(subject))
        if as_json:
            print(json_text(checked.as_json(), indent=2))
        else:
            for line in checked.lines():
                print(line)


def _operation(name: str, reads: bool, destructive: bool) -> PolicySubject:
    from cellwright.doors import About, Operation
    from cellwright.guard import subject_of

    return subject_of(About(title=name, operation=Operation(reads=reads, destructive=destructive)))


def _given(texts: Sequence[str]) -> dict[str, Any]:
    """The arguments of the call, by name."""
    given: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.isidentifier():
            raise UsageError(f"--arg {text:.60}: give NAME=VALUE, such as to=ann@firm.example")
        if name in given:
            raise UsageError(f"--arg {name}: it is given twice")
        given[name] = _value(value)
    return given


def _value(text: str) -> Any:
    """Plain data where the text is JSON; a number only where it is written so, with no digit lost: `007` is a text."""
    try:
        value = json.loads(text, parse_float=Decimal, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return text
    return text if type(value) in (int, Decimal) and str(value) != text else value


def _no_number(word: str) -> Any:
    raise ValueError(word)


@dataclass(frozen=True, kw_only=True)
class CheckedCall:
    """A call, and what a policy says of it."""

    file: str
    policy: Policy
    subject: PolicySubject
    decision: PolicyDecision

    @property
    def number(self) -> int | None:
        rules = enumerate(self.policy.rules, 1)
        return next((number for number, rule in rules if rule is self.decision.rule), None)

    @property
    def passed(self) -> list[tuple[int, PolicyRule]]:
        """Rules above the one that decides, which are about the operation and do not cover this call."""
        above = self.policy.rules[: None if self.number is None else self.number - 1]
        return [(number, rule) for number, rule in enumerate(above, 1) if rule.covers_operation(self.subject)]

    @property
    def unknown(self) -> list[str]:
        """What those rules are about, and the call was not given."""
        rules = [*(rule for _, rule in self.passed), *([self.decision.rule] if self.decision.rule else [])]
        known = self.subject.arguments or {}
        names = [f"the argument {name}" for rule in rules for name in rule.arguments if name not in known]
        users = ["the user" for rule in rules if rule.user and not self.subject.user]
        return list(dict.fromkeys([*names, *users]))

    @property
    def kind(self) -> str:
        if self.subject.reads:
            return "reads"
        return "writes, destructive" if self.subject.destructive else "writes"

    @property
    def off_network(self) -> str:
        """Why the file's `[network]` refuses the request; "" where it does not, and of other calls."""
        network, url = self.policy.network, (self.subject.arguments or {}).get("url")
        if network is None or not isinstance(url, str) or not self.subject.name.startswith("network."):
            return ""
        try:
            network.target(url)
        except RequestRefused as error:
            return str(error)
        return ""

    def lines(self) -> Iterator[str]:
        """For a person."""
        subject, rule = self.subject, self.decision.rule
        given = ", ".join(f"{name}={cut(_literal(value), SHOWN)}" for name, value in (subject.arguments or {}).items())
        yield f"{self.decision.action}: {printable(subject.name)}({given})"
        about = [self.kind]
        about += [f"user {printable(subject.user)}"] if subject.user else []
        about += [f"labels {', '.join(subject.labels)}"] if subject.labels else []
        yield f"  call     {'; '.join(about)}"
        if rule is None:
            yield f"  rule     none covers it; default: {self.policy.default}"
        else:
            yield f"  rule     {_numbered(self.number or 0, rule)}"
        yield f"  file     {printable(self.file)}"
        if rule is not None and rule.why:
            yield f"  why      {_short(rule.why)}"
        for number, other in self.passed:
            yield f"  not      {_numbered(number, other)}"
        if self.unknown:
            yield f"  unknown  {printable(', '.join(self.unknown))}: fits what denies or asks, and never what allows"
        if self.off_network:
            yield f"  refused  {_short(self.off_network)}"
        for limit in self._limits():
            yield f"  limit    {limit.most} in {limit.within}, {_WHOSE[limit.per]} ({printable(limit.operation)})"
        yield f"  timeout  {self._timeout_s():g} s, if the operation does not say otherwise"

    def as_json(self) -> dict[str, Any]:
        rule, subject = self.decision.rule, self.subject
        return {
            "action": self.decision.action,
            "file": self.file,
            "rule": self.number,
            "text": self.decision.text,
            "why": "" if rule is None else rule.why,
            "operation": subject.name,
            "arguments": json_value(subject.arguments),
            "kind": self.kind,
            "user": subject.user,
            "labels": list(subject.labels),
            "passed": [number for number, _ in self.passed],
            "unknown": self.unknown,
            "off_network": self.off_network,
            "limits": [asdict(limit) for limit in self._limits()],
            "timeout_s": self._timeout_s(),
        }

    def _limits(self) -> list[RateLimit]:
        from cellwright.guard import covers_name

        return [one for one in self.policy.limits if covers_name(one.operation, self.subject.every_name)]

    def _timeout_s(self) -> float:
        return self.policy.timeout_of(self.subject.every_name)


_WHOSE = {"session": "each session", "user": "each user", "all": "all together"}


def _literal(value: Any) -> str:
    return f"{value}" if isinstance(value, Decimal) else printable(repr(value))


def _numbered(number: int, rule: PolicyRule) -> str:
    return f"{number} ({_short(str(rule))}): {rule.action}"


def _short(text: str) -> str:
    return printable(one_line(text))


# a file


def _file_page(file: str, read: Policy) -> None:
    from cellwright.cli.session_pages import shown_console

    console, flow = shown_console(), read.flow
    parts = ("rule", read.rules), ("limit", read.limits), ("timeout", read.timeouts)
    numbers = ", ".join(counted(len(some), word) for word, some in parts)
    print(f"{printable(file)}: {numbers}")
    _table(
        console,
        ("rule", "action", "covers", "why"),
        [(str(number), rule.action, str(rule), rule.why) for number, rule in enumerate(read.rules, 1)],
    )
    print(f"default: {read.default}; timeout: {read.timeout_s:g} s; flow: {flow.mode or 'ask, where there are labels'}")
    _table(console, ("limit", "within", "for", "of"), [
        (str(one.most), one.within, _WHOSE[one.per], one.operation) for one in read.limits
    ])  # fmt: skip
    _table(console, ("timeout", "of"), [(f"{one.timeout_s:g} s", one.operation) for one in read.timeouts])
    _table(console, ("reader of private data",), [(one,) for one in flow.readers])
    _table(console, ("proven for", "values"), [(one.operation, ", ".join(one.values)) for one in flow.proven])
    _table(console, ("labels of", "labels"), [(one.operation, _labels(asdict(one))) for one in flow.labels])
    if read.private is not None:
        print(f"private: {', '.join(read.private.kinds)}")
        _table(console, ("private column", "kind"), list(read.private.columns.items()))
        given = read.private.may_have.items()
        _table(console, ("may have", "kinds"), [(one, "all" if of is True else _listed(of)) for one, of in given])
    if read.network is not None:
        print(f"network: {read.network.allowed.text}")


def _listed(kinds: bool | Collection[str]) -> str:
    return ", ".join(kinds) if not isinstance(kinds, bool) else ""


def _labels(fields: Mapping[str, Any]) -> str:
    """`untrusted (body), private`"""
    given = {name: fact for name, fact in fields.items() if name != "operation" and fact not in (None, False)}
    words = {name: "" if fact is True else f" ({', '.join(fact)})" for name, fact in given.items()}
    return ", ".join([f"{name}{of}" for name, of in words.items()] + ["not outward"] * (fields["outward"] is False))


def _table(console: Console, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    used = [number for number in range(len(heads)) if any(row[number] for row in rows)]
    for number in used:
        table.add_column(heads[number], overflow="fold")
    for row in rows:
        table.add_row(*(Text(_short(row[number])) for number in used))
    console.print()
    console.print(table)


def _file_json(file: str, read: Policy) -> dict[str, Any]:
    rules = [{"number": number} | _rule_json(rule) for number, rule in enumerate(read.rules, 1)]
    return {
        "file": file,
        "default": read.default,
        "timeout_s": read.timeout_s,
        "rules": rules,
        "limits": [asdict(limit) for limit in read.limits],
        "timeouts": [asdict(timeout) for timeout in read.timeouts],
        "flow": asdict(read.flow),
        "private": None if read.private is None else _private_json(read.private),
        "network": None if read.network is None else list(read.network.hosts),
    }


def _private_json(private: Privacy) -> dict[str, Any]:
    may_have = {one: kinds if isinstance(kinds, bool) else list(kinds) for one, kinds in private.may_have.items()}
    return {"kinds": list(private.kinds), "columns": dict(private.columns), "may_have": may_have}


def _rule_json(rule: PolicyRule) -> dict[str, Any]:
    names = ("action", "operation", "kind", "arguments", "labels", "user", "why")
    return {name: json_value(getattr(rule, name)) for name in names}
