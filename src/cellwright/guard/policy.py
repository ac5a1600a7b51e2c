"""`Policy`: ordered rules, each allow, ask or deny, by names, kinds and arguments of operations, by labels and user.

It decides about one call, or one operation, at a time. It knows neither scopes nor sessions, nor how a person is asked.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, cast, get_args

from cellwright.errors import UsageError
from cellwright.guard.argument_conditions import MISSING, Condition
from cellwright.guard.flow_policy import FlowPolicy
from cellwright.guard.network import Network
from cellwright.guard.operation_globs import covers_name, may_be_below, names_of
from cellwright.guard.privacy import Privacy
from cellwright.guard.rate_limits import RateLimit, RateLimits

Action = Literal["allow", "ask", "deny"]
Kind = Literal["reads", "writes", "destructive"]
Part = Literal["", "data", "member"]
LABELS = ("untrusted", "private", "influenced")
TIMEOUT_S = 120.0
DESTRUCTIVE = frozenset(
    "delete remove destroy drop purge erase truncate wipe revoke terminate kill uninstall reset clear".split()
)
_ACTIONS: tuple[Action, ...] = get_args(Action)  # the mildest first
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_NUMBERED = re.compile(r"#\d+(?=\.|$)")


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicySubject:
    """A call, or an operation, that a policy decides about.

    name       "github.issues.create"; of an object without a path "Order#7.cancel", which counts as "Order.cancel"
    names      further names that are surely its own
    patterns   noted patterns that cover it under any of its names: `About.patterns`
    part       "data": plain data that is built, or read of what a call gave. A rule for everything leaves that alone.
               "member": of a bound object, that is read. Such a rule does not ask about it, and denies it only where
               it does not lead to what may be called
    arguments  by the names of the parameters; None: not known
    labels     what has reached the session: "untrusted", "private", "influenced"
    user       for whom the session works; "": not known
    """

    name: str
    names: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    reads: bool = False
    destructive: bool = False
    part: Part = ""
    arguments: Mapping[str, Any] | None = None
    labels: Collection[str] = ()
    user: str = ""

    def is_a(self, kind: Kind) -> bool:
        if kind == "reads":
            return self.reads
        return not self.reads and (kind == "writes" or self.destructive)

    @property
    def every_name(self) -> frozenset[str]:
        """Its own names, also that of its class instead of an object's number."""
        return self.names | {self.name, _NUMBERED.sub("", self.name)}

    def is_within(self, glob: str, *, surely: bool = False) -> bool:
        """Whether a glob covers it, under any name by which it can be reached; `surely`: under its own names."""
        return (not surely and glob in self.patterns) or covers_name(glob, self.every_name)


@dataclass(frozen=True, kw_only=True)
class PolicyRule:
    """One rule of a policy. What is left out covers everything. `why` is told to the person and the agent.

    A rule that allows covers what surely fits it: under the call's own names, with every argument known. A rule that
    asks or denies covers what may fit it: under any name of the operation, also where an argument or the user is not
    known.
    """

    action: Action
    operation: str = "*"
    kind: Kind | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    labels: tuple[str, ...] = ()
    user: str = ""
    why: str = ""

    def __post_init__(self) -> None:
        if self.action not in _ACTIONS:
            raise UsageError(f"action is {self.action!r:.50}; it may be {', '.join(_ACTIONS)}")
        if self.kind is not None and self.kind not in get_args(Kind):
            raise UsageError(f"kind is {self.kind!r:.50}; it may be {', '.join(get_args(Kind))}")
        object.__setattr__(self, "labels", names_of(self.labels, "labels"))
        unknown = [label for label in self.labels if label not in LABELS]
        if unknown:
            raise UsageError(f"there is no label {unknown[0]!r:.50}; labels are {', '.join(LABELS)}")
        texts: tuple[tuple[str, Any], ...] = (("operation", self.operation), ("user", self.user), ("why", self.why))
        for key, text in texts:
            if type(text) is not str or (key == "operation" and not text):
                raise UsageError(f"{key} is {text!r:.50}; write a text, such as github.repos.* for an operation")
        given = cast("Any", self.arguments)
        if not isinstance(given, Mapping):
            raise UsageError(f"arguments is {given!r:.50}; write a table, such as {{ to = '*@corp.example' }}")
        _ = self.conditions  # a wrong one fails here

    @cached_property
    def conditions(self) -> dict[str, Condition]:
        """What `arguments` says, by parameter."""
        found: dict[str, Condition] = {}
        for name, given in self.arguments.items():
            try:
                found[name] = Condition.of(given)
            except UsageError as error:
                raise UsageError(f"arguments, {name}: {error}") from None
        return found

    @cached_property
    def has_conditions(self) -> bool:
        """Whether it depends on more than the operation: only a call can be decided about."""
        return bool(self.arguments or self.labels or self.user)

    def fits(self, arguments: Mapping[str, Any] | None, labels: Collection[str], user: str) -> bool:
        """Whether a rule that covers the operation covers this call of it."""
        if self.labels and any(label not in labels for label in self.labels):
            return False
        sure = self.action == "allow"
        if self.user and not (covers_name(self.user, (user,)) if user else not sure):
            return False
        if not self.arguments:
            return True
        known = arguments or {}
        for name, condition in self.conditions.items():
            value = known.get(name, MISSING)
            if not (condition.allows(value) if sure else condition.may_hold(value)):
                return False
        return True

    def covers_operation(self, asked: PolicySubject) -> bool:
        """Whether it is about this operation, whatever its arguments."""
        if self.kind is not None and not asked.is_a(self.kind):
            return False
        return asked.is_within(self.operation, surely=self.action == "allow")

    def __str__(self) -> str:
        parts = [self.operation if self.kind is None else f"{self.operation} that {_KINDS[self.kind]}"]
        parts += [f"arguments {', '.join(f'{n}={c}' for n, c in self.conditions.items())}"] if self.arguments else []
        parts += [f"labels {', '.join(self.labels)}"] if self.labels else []
        parts += [f"user {self.user}"] if self.user else []
        return ", ".join(parts)


_KINDS: dict[Kind, str] = {"reads": "reads", "writes": "writes", "destructive": "is destructive"}


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyDecision:
    """What a policy says of a call. `rule` None: no rule covers it. `text` names the rule, for people and the audit."""

    action: Action
    rule: PolicyRule | None
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationRules:
    """The rules that may decide a call of one operation, each with its decision; the last one is for every call."""

    rules: tuple[tuple[PolicyRule | None, PolicyDecision], ...]

    def decide(self, arguments: Mapping[str, Any] | None, labels: Collection[str], user: str) -> PolicyDecision:
        for rule, decision in self.rules:
            if rule is None or rule.fits(arguments, labels, user):
                return decision
        raise AssertionError("the last one is for every call")

    @property
    def has_arguments(self) -> bool:
        """Whether the decision depends on arguments."""
        return any(rule is not None and rule.arguments for rule, _ in self.rules)


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationTimeout:
    """How long the operations that a glob covers may take."""

    operation: str
    timeout_s: float

    def __post_init__(self) -> None:
        _checked_timeout(self.timeout_s)


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Rules in order: the first rule that covers a call decides, `default` if none does.

    >>> Policy(rules=(PolicyRule(action="ask", operation="mail.send"),), default="allow")
    """

    rules: tuple[PolicyRule, ...] = ()
    default: Action = "allow"
    limits: tuple[RateLimit, ...] = ()
    timeout_s: float = TIMEOUT_S
    timeouts: tuple[OperationTimeout, ...] = ()
    flow: FlowPolicy = field(default_factory=FlowPolicy)
    private: Privacy | None = None  # None: nothing is
    network: Network | None = None  # None: guests have none

    def __post_init__(self) -> None:
        if self.default not in _ACTIONS:
            raise UsageError(f"default: action is {self.default!r:.50}; it may be {', '.join(_ACTIONS)}")
        _checked_timeout(self.timeout_s)

    def decide(self, asked: PolicySubject) -> PolicyDecision:
        return self.rules_of(asked).decide(asked.arguments, asked.labels, asked.user)

    def rules_of(self, asked: PolicySubject) -> OperationRules:
        """What decides the calls of an operation, whatever their arguments, labels and user."""
        found: list[tuple[PolicyRule | None, PolicyDecision]] = []
        for number, rule in enumerate(self.rules, 1):
            if rule.user and asked.user and not covers_name(rule.user, (asked.user,)):
                continue
            if rule.covers_operation(asked) and not self._leaves_alone(rule.action, asked, named=rule.operation != "*"):
                text = f"rule {number} ({rule}): {rule.action}"
                decision = PolicyDecision(action=rule.action, rule=rule, text=text)
                found.append((rule if rule.has_conditions else None, decision))
                if not rule.has_conditions:
                    return OperationRules(rules=tuple(found))
        if self._leaves_alone(self.default, asked, named=False):
            last = PolicyDecision(action="allow", rule=None, text="no rule names it, and it is no operation")
        else:
            last = PolicyDecision(action=self.default, rule=None, text=f"no rule; default: {self.default}")
        return OperationRules(rules=(*found, (None, last)))

    def _leaves_alone(self, action: Action, asked: PolicySubject, *, named: bool) -> bool:
        """Whether a rule, or the default, is not about what is no operation."""
        if action == "allow" or not asked.part:
            return False
        if asked.part == "member" and action == "deny":
            return self._leads(asked.every_name)
        return not named

    def _leads(self, names: Collection[str]) -> bool:
        """Whether something below one of these names may be called."""
        globs = [rule.operation for rule in self.rules if rule.action != "deny"]
        return any(may_be_below(glob, name) for glob in globs for name in names)

    def mildest(self, asked: PolicySubject) -> Action:
        """The mildest action that a call of the operation may get: what holds before there are arguments."""
        return min(self._possible(asked), key=_ACTIONS.index)

    def _possible(self, asked: PolicySubject) -> set[Action]:
        """The actions that calls of an operation may get."""
        return {decision.action for _, decision in self.rules_of(asked).rules}

    def lent(self, asked: PolicySubject) -> str:
        """Why host code may not be given a function of this operation, which it would call past the policy; "" else."""
        if any(asked.is_within(limit.operation) for limit in self.limits):
            return "has a limit in the policy"
        return "" if self._possible(asked) == {"allow"} else "is guarded by the policy"

    def timeout_of(self, names: Collection[str]) -> float:
        """Seconds that a call may take whose operation says nothing of that itself."""
        return next((one.timeout_s for one in self.timeouts if covers_name(one.operation, names)), self.timeout_s)

    @cached_property
    def allows_all(self) -> bool:
        return self.default == "allow" and all(rule.action == "allow" for rule in self.rules)

    @cached_property
    def parameters(self) -> frozenset[str]:
        """Those that a rule is about."""
        return frozenset(name for rule in self.rules for name in rule.arguments)

    @cached_property
    def patterns(self) -> tuple[str, ...]:
        """The globs to note in a scope: of what takes something away, and so holds for every name of an operation."""
        globs = (
            *(rule.operation for rule in self.rules if rule.action != "allow"),
            *(limit.operation for limit in self.limits),
            *(one.operation for one in self.flow.labels if one.untrusted or one.private),
        )
        return tuple(dict.fromkeys(glob for glob in globs if glob != "*"))

    @cached_property
    def rate_limits(self) -> RateLimits:
        """The counts of this policy: one for all that use it in this process."""
        return RateLimits(self.limits, time.monotonic)


@lru_cache(maxsize=4096)
def is_destructive(name: str) -> bool:
    """Whether an operation removes something, by its name."""
    return not DESTRUCTIVE.isdisjoint(word.lower() for word in _WORD.findall(name.rpartition(".")[2]))


def _checked_timeout(seconds: Any) -> None:
    if type(seconds) not in (int, float) or not 0 < seconds < 10**9:
        raise UsageError(f"timeout_s is {seconds!r:.50}; write seconds above zero")
