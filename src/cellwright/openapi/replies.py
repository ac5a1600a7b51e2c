"""From an answer to a result: JSON to records, text, bytes, None; or the error that it is, in one line.

It knows statuses and media types. It sends nothing.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast

from cellwright.connectors import Redactor
from cellwright.errors import UpstreamError, UpstreamMissing, UpstreamRefused
from cellwright.openapi.bodies import is_json
from cellwright.openapi.client import Arrived
from cellwright.openapi.plans import Plan, Response

WORDS = 300
BODY = 64 * 1024
_MESSAGES = "message error_description error detail title description errors reason msg fault".split()
_LIKE_A_MESSAGE = re.compile(r"(message|detail)s?$", re.IGNORECASE)
_SPECIAL = {401: UpstreamRefused, 403: UpstreamRefused, 404: UpstreamMissing, 410: UpstreamMissing}
_TEXTS = ("xml", "javascript", "yaml", "x-www-form-urlencoded", "graphql", "ndjson", "csv", "sql")
_NO_CHARSETS = frozenset(("idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"))  # some never end
_CHARSET = re.compile(r"charset=[\"']?([\w.:-]+)", re.IGNORECASE)


def response_of(plan: Plan, status: int) -> Response | None:
    """What the description says of a status: itself, its hundred, or the default.

    A 201 where only a 200 is described (as FastAPI's applications do) is read as that.
    """
    exact = plan.responses.get(str(status)) or plan.responses.get(f"{status // 100}XX")
    exact = exact or plan.responses.get(f"{status // 100}xx")
    if exact is None and 200 <= status < 300:
        exact = next((one for told, one in plan.responses.items() if told[0] == "2" and one.media), None)
    return exact or plan.responses.get("default")


def found(title: str, plan: Plan, arrived: Arrived, redactor: Redactor) -> Any:
    """What came: plain JSON, text, bytes or None. Any status but 2xx is raised."""
    if not 200 <= arrived.status < 300:
        raise failed(title, arrived, redactor)
    if not arrived.body or plan.method == "HEAD" or arrived.status in (204, 205):
        return None
    told = response_of(plan, arrived.status)
    promised = told.media if told is not None else ""
    came = arrived.headers.get("content-type", "")
    if came and is_json(came) and "*" not in came:
        return _json(title, arrived, redactor)
    if promised and is_json(promised) and "*" not in promised:
        return _json(title, arrived, redactor)
    return redactor.result(_text(arrived)) if _is_text(came or promised) else arrived.body


def failed(title: str, arrived: Arrived, redactor: Redactor) -> UpstreamError:
    """The error of an answer that is no result."""
    body = _body(arrived, redactor)
    words = _one_line(_message(body))
    text = f"{title}: {redactor.text(_status(arrived))}" + (f": {words}" if words else "")
    if 300 <= arrived.status < 400:
        text += "; it redirects, and not to where this call may follow"
    return _SPECIAL.get(arrived.status, UpstreamError)(text, status=arrived.status, body=body)


def _status(arrived: Arrived) -> str:
    try:
        return f"{arrived.status} {HTTPStatus(arrived.status).phrase}"
    except ValueError:
        return f"{arrived.status} {_one_line(arrived.reason)}".strip()


def _json(title: str, arrived: Arrived, redactor: Redactor) -> Any:
    try:
        value = json.loads(arrived.body)
        # what was looked through were bytes: in another encoding, or behind escapes, they do not show a key
        plain = json.detect_encoding(arrived.body) == "utf-8" and b"\\u00" not in arrived.body
        return value if plain else redactor.result(value)
    except (ValueError, RecursionError) as error:
        why = "nested too deep" if isinstance(error, RecursionError) else str(error)
    text = redactor.text(_text(arrived)[:BODY])
    shown = _one_line(text, 80)
    told = f"it promised JSON and sent something else ({why}): {shown!r}"
    raise UpstreamError(f"{title}: {redactor.text(_status(arrived))}: {told}", status=arrived.status, body=text)


def _is_text(media: str) -> bool:
    kind = media.partition(";")[0].strip().lower()
    return kind.startswith("text/") or any(word in kind for word in _TEXTS)


def _text(arrived: Arrived) -> str:
    named = _CHARSET.search(arrived.headers.get("content-type", ""))
    try:
        known = codecs.lookup(named[1] if named else "utf-8").name
        return arrived.body.decode("utf-8" if known in _NO_CHARSETS else known, "replace")
    except (LookupError, UnicodeError):
        return arrived.body.decode("utf-8", "replace")


def _body(arrived: Arrived, redactor: Redactor) -> Any:
    """The body of an error: JSON where it is some and not too much, else the beginning of its text."""
    if not arrived.body:
        return None
    if len(arrived.body) <= BODY:
        try:
            return redactor.plain(json.loads(arrived.body))
        except (ValueError, RecursionError):
            pass
    return redactor.text(_text(arrived)[: 2 * BODY])[:BODY]


def _message(body: Any, depth: int = 0) -> str:
    """The words of an error, wherever an API puts them."""
    if isinstance(body, Mapping) and depth < 4:
        fields = cast(Mapping[str, Any], body)
        named = [*_MESSAGES, *(name for name in fields if name not in _MESSAGES and _LIKE_A_MESSAGE.search(name))]
        told = [words for name in named if fields.get(name) and (words := _message(fields[name], depth + 1))]
        first = next(iter(told), "")
        rest = [name for name in named if name == "errors" or name.lower().endswith(("detail", "details"))]
        more = next((words for name in rest if (words := _message(fields.get(name), depth + 1)) and words != first), "")
        where = fields.get("loc")  # which argument, as pydantic tells it
        if first and isinstance(where, list):
            first = f"{'.'.join(str(part) for part in cast(list[Any], where)[:6])}: {first}"
        if not first and isinstance(fields.get("code"), str):  # of one field among several, as GitHub tells them
            first = f"{fields.get('field') or ''} {fields['code']}".strip()
        return f"{first} ({more})" if more and more != first else first
    if isinstance(body, list) and depth < 4:
        return "; ".join(words for one in cast(list[Any], body)[:3] if (words := _message(one, depth + 1)))
    if not isinstance(body, str) or body.lstrip().startswith("<"):  # a page is no message
        return ""
    return body


def _one_line(text: str, longest: int = WORDS) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in text[: longest * 4]).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"
