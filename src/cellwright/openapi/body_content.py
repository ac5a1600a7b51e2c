"""The body of a request, in the media type that its operation takes. It knows values and bytes, and no HTTP client."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from cellwright.openapi.operation_plan import BodyPlan, ParameterPlan
from cellwright.openapi.parameter_styles import UnwritableArgument, query_pairs, scalar
from cellwright.schemas import as_object, is_json, jsonable

FORM = "application/x-www-form-urlencoded"
_NAMED = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})  # as browsers write names in a part's header


@dataclass(frozen=True, kw_only=True, slots=True)
class BodyContent:
    """The bytes of a body, and their media type; `media` is "" where no body is sent."""

    body: bytes = field(default=b"", repr=False)
    media: str = ""


def body_content(body: BodyPlan, value: Any) -> BodyContent:
    """The body as it is sent. `value` is a dict where the body is made of fields."""
    media = body.media.partition(";")[0].strip().lower()
    if not media or is_json(media):
        return BodyContent(body=_json(value), media="application/json" if "*" in media or not media else body.media)
    if media == FORM and isinstance(value, dict):
        fields = cast(dict[str, Any], value).items()
        pairs = [f"{key}={text}" for name, inner in fields for key, text in _form_pairs(body, name, inner)]
        return BodyContent(body="&".join(pairs).encode(), media=FORM)
    if media.startswith("multipart/") and isinstance(value, dict):
        boundary = secrets.token_hex(16)
        parts = b"".join(_part(boundary, *part) for part in _parts(body, cast(dict[str, Any], value)))
        return BodyContent(body=parts + f"--{boundary}--\r\n".encode(), media=f"{media}; boundary={boundary}")
    if isinstance(value, bytes | bytearray | memoryview):
        return BodyContent(body=bytes(cast(bytes, value)), media=body.media)
    if isinstance(value, str):
        text = media.startswith("text/") and "charset" not in body.media
        return BodyContent(body=value.encode(), media=f"{body.media}; charset=utf-8" if text else body.media)
    raise UnwritableArgument(f"is sent as {media}: give text or bytes, not {type(value).__name__}")


def checked(body: BodyPlan, value: Any) -> Any:
    """The body as it is compared with its schema: each file is its bytes."""
    if not body.media.startswith("multipart/") or not isinstance(value, dict):
        return value
    fields = cast(dict[str, Any], value)
    return {key: [_file(one)[1] for one in cast(list[Any], inner)] if isinstance(inner, list) else _file(inner)[1]
            for key, inner in fields.items()}  # fmt: skip


def _json(value: Any) -> bytes:
    try:
        text = json.dumps(jsonable(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise UnwritableArgument("has a number that JSON does not have (NaN, or infinity)") from None
    return text.encode("utf-8", "replace")


def _form_pairs(body: BodyPlan, key: str, value: Any) -> list[tuple[str, str]]:
    known = as_object(body.encoding.get(key))
    plain = jsonable(value)
    if isinstance(plain, dict) and not known.get("style"):  # by the specification, an object in a form is JSON
        plain = scalar(plain)
    style = str(known.get("style") or "form")
    explode = known.get("explode", style in ("form", "deepObject"))
    as_json = known.get("contentType", "") if is_json(known.get("contentType") or "text/plain") else ""
    plan = ParameterPlan(name=key, key=key, place="query", style=style, explode=bool(explode), content=as_json)
    return query_pairs(plan, plain)


Part = tuple[str, str, bytes, str]  # key, file name, bytes, media type


def _parts(body: BodyPlan, value: dict[str, Any]) -> Iterator[Part]:
    for key, inner in value.items():
        wanted = str(as_object(body.encoding.get(key)).get("contentType") or "").partition(",")[0]
        for one in cast(list[Any], inner) if isinstance(inner, list) else [inner]:
            yield _one(key, one, wanted if "*" not in wanted else "")


def _one(key: str, value: Any, wanted: str) -> Part:
    name, found, kind = _file(value)
    if isinstance(found, bytes | bytearray | memoryview):
        return key, name or key, bytes(cast(bytes, found)), kind or wanted or "application/octet-stream"
    plain = jsonable(found)
    if isinstance(plain, dict | list) or (wanted and is_json(wanted)):
        return key, name, _json(cast(Any, plain)), kind or wanted or "application/json"
    return key, name, scalar(plain).encode(), kind or wanted


def _file(value: Any) -> tuple[str, Any, str]:
    """`bytes`, `(name, bytes)` and `(name, bytes, type)` as name, bytes and type."""
    if isinstance(value, tuple) and 2 <= len(cast(Any, value)) <= 3:
        name, found, kind = (*cast(tuple[Any, ...], value), "")[:3]
        if isinstance(name, str) and isinstance(found, str | bytes | bytearray) and isinstance(kind, str):
            return name, found.encode() if isinstance(found, str) else found, kind
    return "", cast(Any, value), ""


def _part(boundary: str, key: str, name: str, body: bytes, media: str) -> bytes:
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{key.translate(_NAMED)}"'
    if name:
        head += f'; filename="{name.translate(_NAMED)}"'
    if media:
        head += f"\r\nContent-Type: {''.join(media.split())}"  # a guest must not put a line break into a header
    return head.encode("utf-8", "replace") + b"\r\n\r\n" + body + b"\r\n"
