"""From the arguments of a call to a request: checked against their schemas, in the URL, the headers and the body.

It sends nothing and knows no keys. An error is one line that names the operation and the argument.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from cellwright.errors import WrongArguments
from cellwright.openapi.body_content import BodyContent, body_content, checked
from cellwright.openapi.operation_plan import BodyPlan, OperationPlan, ParameterPlan
from cellwright.openapi.parameter_styles import UnwritableArgument, cookie_pairs, header_text, path_text, query_pairs
from cellwright.schemas import Resolve, is_json, jsonable, mismatch, takes_null

IDEMPOTENT = frozenset(("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"))
IDEMPOTENCY_KEY = "idempotency-key"
_HOLE = re.compile(r"\{([^{}/]*)\}")
_SLASHES = re.compile(r"%2F|%5C|/", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiRequest:
    """One request, without keys. `target` stands below the server: path and query, encoded.

    `repeatable`: sending the request twice has the same effect as sending it once.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[str, ...] = ()
    content: BodyContent = field(default_factory=BodyContent)
    repeatable: bool = False


def build_request(
    title: str, plan: OperationPlan, arguments: dict[str, Any], resolve: Resolve, *, key: str = ""
) -> ApiRequest:
    """The request of a call. `title` is the operation for people; `key` is the call's idempotency key, "" for none."""
    given = {name: value for name, value in arguments.items() if value is not None or _clears(plan, name, resolve)}
    _require_known(title, plan, given)
    values = {p.name: _value(title, p, given[p.name], resolve) for p in plan.parameters if p.name in given}
    path, query, written, cookies = _written(title, plan, values)
    content = _body(title, plan.body, given, resolve)
    headers = [("accept", _accept(plan)), *written]
    if content.media:
        headers.append(("content-type", content.media))
    takes_key = any(p.place == "header" and p.key.lower() == IDEMPOTENCY_KEY for p in plan.parameters)
    if key and plan.method not in IDEMPOTENT and all(name.lower() != IDEMPOTENCY_KEY for name, _ in headers):
        headers.append((IDEMPOTENCY_KEY, key))
    has_key = takes_key and any(name.lower() == IDEMPOTENCY_KEY for name, _ in headers)
    return ApiRequest(
        method=plan.method,
        target=with_query(path, query),
        headers=tuple(headers),
        cookies=tuple(f"{k}={v}" for k, v in cookies),
        content=content,
        repeatable=plan.method in IDEMPOTENT or has_key,
    )


Pairs = list[tuple[str, str]]


def _written(title: str, plan: OperationPlan, values: dict[str, Any]) -> tuple[str, Pairs, Pairs, Pairs]:
    """The path with its parameters; the pairs of the query, the headers and the cookies."""
    query, headers, cookies = Pairs(), Pairs(), Pairs()
    holes: dict[str, str] = {}
    for parameter in plan.parameters:
        if parameter.name not in values:
            continue
        value = values[parameter.name]
        try:
            match parameter.place:
                case "path":
                    holes[parameter.key] = path_text(parameter, value)
                case "query":
                    query += query_pairs(parameter, value)
                case "header":
                    headers.append((parameter.key, header_text(parameter, value)))
                case "cookie":
                    cookies += cookie_pairs(parameter, value)
        except UnwritableArgument as wrong:
            _refuse(title, f"{parameter.name} {wrong}")
    return _path(title, plan.url, holes), query, headers, cookies


def _path(title: str, template: str, holes: dict[str, str]) -> str:
    path, _, query = template.partition("?")  # a few descriptions have a fixed query in their paths
    path = path.partition("#")[0]
    segments: list[str] = []
    for segment in path.split("/"):
        made = _HOLE.sub(lambda hole: holes.get(hole[1], ""), segment)
        # many servers and proxies decode %2F before they resolve the path
        if made != segment and (made == "." or ".." in _SLASHES.split(made)):
            named = ", ".join(hole for hole in _HOLE.findall(segment) if hole in holes)
            _refuse(title, f"{named} is {made!r}, which would lead to another path")
        segments.append(made)
    made = "/".join(segments)
    return (made if made.startswith("/") or not made else f"/{made}") + (f"?{query}" if query else "")


def _require_known(title: str, plan: OperationPlan, given: dict[str, Any]) -> None:
    known = [p.name for p in plan.parameters]
    if plan.body is not None:
        known += [*plan.body.fields, *filter(None, [plan.body.whole])]
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            meant = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known[:20]) or 'nothing'}"
            _refuse(title, f"it takes no {name!r}; {meant}")
    missing = [p.name for p in plan.parameters if p.name not in given and (p.required or p.place == "path")]
    if plan.body is not None and plan.body.required and not plan.body.fields and plan.body.whole not in given:
        missing.append(plan.body.whole)
    if missing:
        _refuse(title, f"it needs {', '.join(missing)}")


def _clears(plan: OperationPlan, name: str, resolve: Resolve) -> bool:
    """Whether None as this argument is sent as null. For every other argument None means "not given"."""
    body = plan.body
    key = body.fields.get(name) if body is not None and is_json(body.media) else None
    return body is not None and key is not None and takes_null(body.schema, key, resolve)


def _value(title: str, parameter: ParameterPlan, value: Any, resolve: Resolve) -> Any:
    wrong = mismatch(value, parameter.schema, resolve, where=parameter.name)
    if wrong is not None:
        other = _unquoted(value)  # "5" is sent as 5 is
        if other is None or mismatch(other, parameter.schema, resolve, where=parameter.name) is not None:
            _refuse(title, wrong)
    return jsonable(value)


def _unquoted(value: Any) -> Any:
    if not isinstance(value, str):
        return None
    if value in ("true", "false"):
        return value == "true"
    try:
        return int(value) if value.lstrip("-").isdecimal() else float(value)
    except ValueError:
        return None


def _body(title: str, body: BodyPlan | None, given: dict[str, Any], resolve: Resolve) -> BodyContent:
    if body is None:
        return BodyContent()
    if body.whole and body.whole in given:
        value, where = given[body.whole], body.whole
    else:
        value, where = {key: given[name] for name, key in body.fields.items() if name in given}, ""
        if not value and not body.required:
            return BodyContent()
    wrong = None
    if body.schema is not None and (is_json(body.media) or isinstance(value, dict)):
        wrong = mismatch(checked(body, value), body.schema, resolve, where=where or "body")
    if wrong is not None:
        _refuse(title, wrong if where else _by_argument(wrong, body))
    try:
        return body_content(body, value)
    except UnwritableArgument as odd:
        _refuse(title, f"{where or 'body'} {odd}")


def _by_argument(wrong: str, body: BodyPlan) -> str:
    """A mismatch of `body.<key>`, with the name of the argument instead of the key."""
    arguments = {key: name for name, key in body.fields.items()}
    if not wrong.startswith("body."):
        return wrong.removeprefix("body: ")
    rest = wrong.removeprefix("body.")
    for key in sorted(arguments, key=len, reverse=True):
        if rest.startswith(key) and rest[len(key) : len(key) + 1] in (":", ".", "[", ""):
            return arguments[key] + rest[len(key) :]
    return wrong


def _accept(plan: OperationPlan) -> str:
    good = [response.media for status, response in plan.responses.items() if status.startswith("2") and response.media]
    first = good[0] if good else "application/json"
    return first if first == "*/*" else f"{first}, */*;q=0.1"


def _refuse(title: str, text: str) -> NoReturn:
    raise WrongArguments(f"{title}: {text}; nothing was sent")


def with_query(url: str, pairs: Iterable[tuple[str, str]]) -> str:
    """The URL with further pairs, encoded already, in its query."""
    text = "&".join(f"{key}={value}" for key, value in pairs)
    return f"{url}{'&' if '?' in url else '?'}{text}" if text else url


def path_arguments(plan: OperationPlan, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that stand in the path of the URL: the methods of a resulting record need them."""
    return {p.name: arguments[p.name] for p in plan.parameters if p.place == "path" and p.name in arguments}
