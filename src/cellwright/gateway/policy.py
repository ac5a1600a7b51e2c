"""The policy of an operator: ordered rules, each allow, ask or deny, by names and by kinds of operations.

It decides about one operation at a time. It knows neither scopes nor clients, nor how a person is asked.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, cast, get_args

from cellwright.errors import UsageError

Action = Literal["allow", "ask", "deny"]
Kind = Literal["reads", "writes", "destructive"]
DESTRUCTIVE = frozenset(
    "delete remove destroy drop purge erase truncate wipe revoke terminate kill uninstall reset clear".split()
)
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_KEYS = ("pattern", "kind", "action")


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicySubject:
    """An operation that a policy decides about."""

    name: str  # "github.issues.create"
    reads: bool = False
    destructive: bool = False

    def is_a(self, kind: Kind) -> bool:
        if kind == "reads":
            return self.reads
        return not self.reads and (kind == "writes" or self.destructive)


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyRule:
    """One rule of a policy. `kind` None covers every kind."""

    action: Action
    pattern: str = "*"
    kind: Kind | None = None

    def covers(self, asked: PolicySubject) -> bool:
        return (self.kind is None or asked.is_a(self.kind)) and bool(_compiled(self.pattern).match(asked.name))


@dataclass(frozen=True, kw_only=True)
class GatewayPolicy:
    """Rules in order: the first rule that covers an operation decides, `default` if none does."""

    rules: tuple[PolicyRule, ...] = ()
    default: Action = "allow"

    def decide(self, asked: PolicySubject) -> Action:
        for rule in self.rules:
            if rule.covers(asked):
                return rule.action
        return self.default

    def unlisted(self, source: str, *, reads: bool = False) -> Action:
        """The action for an unknown operation of a source, that writes or `reads`."""
        name = f"{source}.\0"  # no operation has this name: only patterns for the whole source cover it
        return self.decide(PolicySubject(name=name, reads=reads, destructive=not reads))

    @cached_property
    def allows_all(self) -> bool:
        return self.default == "allow" and all(rule.action == "allow" for rule in self.rules)


def is_destructive(name: str, doc: str = "") -> bool:
    """Whether an operation removes something, by its name or by the hint of its upstream."""
    words = [word.lower() for word in _WORD.findall(name.rpartition(".")[2])]
    return bool(DESTRUCTIVE.intersection(words)) or "destructive" in doc.lower()


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


# files


def read_policy(path: Path | str) -> GatewayPolicy:
    """A policy from a TOML or JSON file; UsageError in one line, with the number of a wrong line if it is known."""
    return policy_from(read_table(Path(path), f"the policy {path} cannot be read"), f"the policy {path}")


def read_table(file: Path, failure: str) -> Any:
    """The content of a TOML or JSON file. `failure` begins the UsageError."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        return json.loads(text) if file.suffix.lower() == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:  # parsers say the line and the column
        raise UsageError(f"{failure}: {getattr(error, 'strerror', None) or error}") from None


def policy_from(found: Any, title: str) -> GatewayPolicy:
    """A policy from the content of a file. `title` names the file in errors."""
    if not isinstance(found, Mapping):
        raise UsageError(f"{title} is no table; it has `default` and `rules`")
    whole = cast("Mapping[str, Any]", found)
    unknown = [key for key in whole if key not in ("default", "rules")]
    if unknown:
        raise UsageError(f"{title} knows no {unknown[0]!r}; it has `default` and `rules`")
    listed: Any = whole.get("rules", [])
    if not isinstance(listed, list):
        raise UsageError(f"{title}: `rules` is no list")
    rules = (_rule(one, f"{title}, rule {number}") for number, one in enumerate(cast("list[Any]", listed), 1))
    return GatewayPolicy(rules=tuple(rules), default=_action(whole.get("default", "allow"), f"{title}: default"))


def _rule(found: Any, title: str) -> PolicyRule:
    if not isinstance(found, Mapping):
        raise UsageError(f'{title} is no table; write {{ pattern = "github.repos.delete", action = "deny" }}')
    one = cast("Mapping[str, Any]", found)
    unknown = [key for key in one if key not in _KEYS]
    if unknown:
        raise UsageError(f"{title} knows no {unknown[0]!r}; it has {', '.join(_KEYS)}")
    kind: Any = one.get("kind")
    if kind is not None and kind not in get_args(Kind):
        raise UsageError(f"{title}: kind is {kind!r:.50}; it may be {', '.join(get_args(Kind))}")
    pattern: Any = one.get("pattern", "*")
    if not isinstance(pattern, str) or not pattern or ("pattern" not in one and kind is None):
        raise UsageError(f"{title} needs a pattern, such as github.repos.*, or a kind")
    return PolicyRule(action=_action(one.get("action"), title), pattern=pattern, kind=kind)


def _action(found: Any, title: str) -> Action:
    if found not in get_args(Action):
        raise UsageError(f"{title}: action is {found!r:.50}; it may be {', '.join(get_args(Action))}")
    return found
