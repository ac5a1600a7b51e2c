"""From a reply to a result: JSON, text, bytes or None; or an error, in one line.

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
from cellwright.openapi.api_client import HttpReply
from cellwright.openapi.operation_plan import OperationPlan, ResponsePlan
from cellwright.schemas import is_json
from cellwright.short_texts import cut, one_line, whole_words

WORDS = 300
BODY = 64 * 1024
_MESSAGES = "message error_description error detail title description errors reason msg fault".split()
_LIKE_A_MESSAGE = re.compile(r"(message|detail)s?$", re.IGNORECASE)
_SPECIAL = {401: UpstreamRefused, 403: UpstreamRefused, 404: UpstreamMissing, 410: UpstreamMissing}
_TEXTS = ("xml", "javascript", "yaml", "x-www-form-urlencoded", "graphql", "ndjson", "csv", "sql")
_NO_CHARSETS = frozenset(("idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"))  # some never end
_CHARSET = re.compile(r"charset=[\"']?([\w.:-]+)", re.IGNORECASE)


def response_of(plan: OperationPlan, status: int) -> ResponsePlan | None:
    """The response that the description has for a status: the status itself, its class (`2XX`), or the default.

    A 201 where only a 200 is described (as by FastAPI) is read as the 200.
    """
    exact = plan.responses.get(str(status)) or plan.responses.get(f"{status // 100}XX")
    exact = exact or plan.responses.get(f"{status // 100}xx")
    if exact is None and 200 <= status < 300:
        exact = next((one for told, one in plan.responses.items() if told[0] == "2" and one.media), None)
    return exact or plan.responses.get("default")


def result_of(title: str, plan: OperationPlan, reply: HttpReply, redactor: Redactor) -> Any:
    """The result: plain JSON, text, bytes or None. Any status but 2xx is raised as an error."""
    if not 200 <= reply.status < 300:
        raise error_of(title, reply, redactor)
    if not reply.body or plan.method == "HEAD" or reply.status in (204, 205):
        return None
    told = response_of(plan, reply.status)
    promised = told.media if told is not None else ""
    came = reply.headers.get("content-type", "")
    if any(media and is_json(media) and "*" not in media for media in (came, promised)):
        return _json(title, reply, redactor)
    return redactor.result(_text(reply)) if _is_text(came or promised) else reply.body


def error_of(title: str, reply: HttpReply, redactor: Redactor) -> UpstreamError:
    """The error that a reply stands for."""
    body = _body(reply, redactor)
    words = _one_line(_message(body))
    text = f"{title}: {redactor.text(_status(reply))}" + (f": {words}" if words else "")
    if 300 <= reply.status < 400:
        text += "; it redirects, and not to where this call may follow"
    return _SPECIAL.get(reply.status, UpstreamError)(text, status=reply.status, body=body)


def _status(reply: HttpReply) -> str:
    try:
        return f"{reply.status} {HTTPStatus(reply.status).phrase}"
    except ValueError:
        return f"{reply.status} {_one_line(reply.reason)}".strip()


def _json(title: str, reply: HttpReply, redactor: Redactor) -> Any:
    try:
        value = json.loads(reply.body)
        # only bytes were redacted so far: another encoding, or escapes, can hide a key
        plain = json.detect_encoding(reply.body) == "utf-8" and b"\\u00" not in reply.body
        return value if plain else redactor.result(value)
    except (ValueError, RecursionError) as error:
        why = "nested too deep" if isinstance(error, RecursionError) else str(error)
    text = _redacted(reply, redactor)
    shown = _one_line(text, 80)
    told = f"it promised JSON and sent something else ({why}): {shown!r}"
    raise UpstreamError(f"{title}: {redactor.text(_status(reply))}: {told}", status=reply.status, body=text)


def _is_text(media: str) -> bool:
    kind = media.partition(";")[0].strip().lower()
    return kind.startswith("text/") or any(word in kind for word in _TEXTS)


def _text(reply: HttpReply) -> str:
    named = _CHARSET.search(reply.headers.get("content-type", ""))
    try:
        known = codecs.lookup(named[1] if named else "utf-8").name
        return reply.body.decode("utf-8" if known in _NO_CHARSETS else known, "replace")
    except (LookupError, UnicodeError):
        return reply.body.decode("utf-8", "replace")


def _body(reply: HttpReply, redactor: Redactor) -> Any:
    """The body of an error: JSON unless it is too large, else the beginning of its text."""
    if not reply.body:
        return None
    if len(reply.body) <= BODY:
        try:
            return redactor.plain(json.loads(reply.body))
        except (ValueError, RecursionError):
            pass
    return _redacted(reply, redactor)


def _redacted(reply: HttpReply, redactor: Redactor) -> str:
    """The first part of the text. More of it is redacted than shown: a key that the cut would part is still whole."""
    return redactor.text(whole_words(_text(reply), 2 * BODY))[:BODY]


def _message(body: Any, depth: int = 0) -> str:
    """The message of an error, in any of the places where APIs put it."""
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
    return cut(one_line("".join(c if c.isprintable() else " " for c in text[: longest * 4])), longest)
