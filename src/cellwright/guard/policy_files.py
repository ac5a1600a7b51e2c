"""Policies from TOML and JSON files. Every wrong file is one line with the file, the number of the rule, the cure."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from cellwright.errors import UsageError
from cellwright.guard.flow_policy import FlowPolicy, OperationLabels, ProvenValues
from cellwright.guard.network import Network
from cellwright.guard.policy import OperationTimeout, Policy, PolicyRule
from cellwright.guard.privacy import Privacy
from cellwright.guard.private_kinds import Pattern
from cellwright.guard.rate_limits import RateLimit

Part = TypeVar("Part")
_WHOLE = ("default", "rules", "limits", "timeout_s", "timeouts", "flow", "private", "network")
_RULE = ("operation", "kind", "action", "arguments", "labels", "user", "why", "pattern")


def read_policy(path: Path | str) -> Policy:
    """A policy from a TOML or JSON file; UsageError in one line, with the number of a wrong line if it is known."""
    return policy_from(read_table(Path(path), f"the policy {path} cannot be read"), f"the policy {path}")


def policy_of(given: Policy | Path | str | None) -> Policy | None:
    """A policy as it was given to a Runtime: itself, or what is in its file."""
    return given if given is None or isinstance(given, Policy) else read_policy(given)


def read_table(file: Path, failure: str) -> Any:
    """The content of a TOML or JSON file. `failure` begins the UsageError."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        is_json = file.suffix.lower() == ".json"
        return json.loads(text, object_pairs_hook=_once) if is_json else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:  # parsers say the line and the column
        raise UsageError(f"{failure}: {getattr(error, 'strerror', None) or error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A table as TOML has it, where a second key of the same name would take the place of the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r:.50} is there twice")
    return found


def policy_from(found: Any, title: str) -> Policy:
    """A policy from the content of a file. `title` names the file in errors."""
    whole = _table(found, title, _WHOLE)
    rules = _listed(whole, "rules", "rule", title, _rule)
    limits = _listed(whole, "limits", "limit", title, _limit)
    timeouts = _listed(whole, "timeouts", "timeout", title, _timeout)
    flow = _flow(whole.get("flow", {}), f"{title}, flow")
    private = _private(whole["private"], f"{title}, private") if "private" in whole else None
    said = {key: whole[key] for key in ("default", "timeout_s") if key in whole}
    parts: dict[str, Any] = {"rules": rules, "limits": limits, "timeouts": timeouts, "flow": flow, "private": private}
    if "network" in whole:
        parts["network"] = _network(whole["network"], f"{title}, network")
    return _made(lambda: Policy(**parts, **said), title)


def _rule(found: Any, title: str) -> PolicyRule:
    if not isinstance(found, Mapping):
        raise UsageError(f'{title} is no table; write {{ operation = "github.repos.delete", action = "deny" }}')
    one = dict(_table(cast("Any", found), title, _RULE))
    if "pattern" in one and "operation" in one:
        raise UsageError(f"{title} has `operation` and `pattern`; `pattern` is its older name: write `operation` alone")
    if "pattern" in one:
        one["operation"] = one.pop("pattern")
    if not one.get("operation", True) or not one.keys() - {"action", "why"}:
        raise UsageError(f"{title} needs an operation, such as github.repos.*, or a kind")
    one.setdefault("action", None)
    return _made(lambda: PolicyRule(**one), title)


_LIMIT = {"operation": "mail.*", "most": 20, "within": "1h"}
_TIMEOUT = {"operation": "reports.*", "timeout_s": 300}
_LABELLED = {"operation": "mail.read"}
_LABELS = ("untrusted", "private", "trusted", "selecting", "outward")
_PROVEN = {"operation": "mail.send", "values": ["*@corp.example"]}


def _limit(found: Any, title: str) -> RateLimit:
    return RateLimit(**_both(found, title, _LIMIT, ("per",)))


def _timeout(found: Any, title: str) -> OperationTimeout:
    return OperationTimeout(**_both(found, title, _TIMEOUT))


def _flow(found: Any, title: str) -> FlowPolicy:
    whole = dict(_table(found, title, ("mode", "readers", "proven", "labels")))
    proven = _listed(whole, "flow.proven", "proven", title, lambda one, at: ProvenValues(**_both(one, at, _PROVEN)))
    labels = _listed(
        whole, "flow.labels", "labels", title, lambda one, at: OperationLabels(**_both(one, at, _LABELLED, _LABELS))
    )
    said = {key: whole[key] for key in ("mode", "readers") if key in whole}
    return _made(lambda: FlowPolicy(proven=proven, labels=labels, **said), title)


def _network(found: Any, title: str) -> Network:
    whole = dict(_table(found, title, ("hosts", "private", "body_mb", "timeout_s", "certificates")))
    if "hosts" not in whole:
        raise UsageError(f'{title} needs `hosts`, such as hosts = ["api.example.com"]')
    return _made(lambda: Network(**whole), title)


_PRIVATE = ("kinds", "columns", "patterns", "names", "region", "may_have", "answers", "strict")
_PATTERN = {"kind": "badge", "pattern": "B-[0-9]{6}"}


def _private(found: Any, title: str) -> Privacy:
    whole = dict(_table(found, title, _PRIVATE))
    listed: Any = whole.pop("patterns", [])
    if not isinstance(listed, list):
        raise UsageError(f"{title}: `patterns` is no list; write [[private.patterns]] before each of them")
    tables = [
        _table(one, f"{title}, pattern {n}", (*_PATTERN, "columns"))
        for n, one in enumerate(cast("list[Any]", listed), 1)
    ]
    for one in tables:
        if missing := [key for key in _PATTERN if not isinstance(one.get(key), str)]:
            raise UsageError(
                f"{title}: a pattern needs {missing[0]!r}, such as {missing[0]} = {json.dumps(_PATTERN[missing[0]])}"
            )
    about = title.removesuffix(", private")  # its errors begin with that
    return _made(lambda: Privacy(**whole, detectors=[Pattern(**one) for one in tables]), about)


def _listed(
    whole: Mapping[str, Any], section: str, noun: str, title: str, make: Callable[[Any, str], Part]
) -> tuple[Part, ...]:
    key = section.rpartition(".")[2]
    listed: Any = whole.get(key, [])
    if not isinstance(listed, list):
        raise UsageError(f"{title}: `{key}` is no list; write [[{section}]] before each of them")
    made: list[Part] = []
    for number, one in enumerate(cast("list[Any]", listed), 1):
        at = f"{title}, {noun} {number}"
        made.append(_made(lambda one=one, at=at: make(one, at), at))
    return tuple(made)


def _both(found: Any, title: str, example: Mapping[str, Any], more: tuple[str, ...] = ()) -> dict[str, Any]:
    """A table that has all keys of the `example`, and may have `more`."""
    one = dict(_table(found, title, (*example, *more)))
    missing = [key for key in example if key not in one]
    if missing:
        raise UsageError(f"{title} needs {missing[0]!r}, such as {missing[0]} = {json.dumps(example[missing[0]])}")
    operation: Any = one["operation"]
    if not isinstance(operation, str) or not operation:
        raise UsageError(f"{title}: operation is {operation!r:.50}; write a glob, such as {example['operation']}")
    return one


def _table(found: Any, title: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    listed = ", ".join(f"`{key}`" for key in keys if key != "pattern")
    if not isinstance(found, Mapping):
        raise UsageError(f"{title} is no table; it has {listed}")
    whole = cast("Mapping[str, Any]", found)
    unknown = [key for key in whole if key not in keys]
    if unknown:
        raise UsageError(f"{title} knows no {unknown[0]!r}; it has {listed}")
    return whole


def _made(make: Callable[[], Part], title: str) -> Part:
    """What `make` makes; its UsageError names the file, and the rule, first."""
    try:
        return make()
    except UsageError as error:
        raise (error if str(error).startswith(title) else UsageError(f"{title}: {error}")) from None
