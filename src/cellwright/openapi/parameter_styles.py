"""Parameters as text: every style of OpenAPI 3, and the formats of 2.0 that are translated to them.

The text is percent-encoded and goes into a URL or a header unchanged. It knows no operation and sends nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import quote

from cellwright.openapi.operation_plan import ParameterPlan

Pair = tuple[str, str]

DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}
RESERVED = ":/?@!$'()*,;=[]"  # the reserved characters of RFC 3986 that neither end a query nor divide it
_TRIPLET = re.compile(r"(%[0-9A-Fa-f]{2})")
_DEEPEST = 32


class UnwritableArgument(ValueError):
    """A value that a parameter cannot carry. The text says why, without the parameter's name."""


def scalar(value: Any) -> str:
    """A value as text; what has parts is JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def escaped(text: str, *, reserved: bool = False) -> str:
    """RFC 3986: everything but the unreserved characters; with `reserved` also triplets that are there already."""
    raw = text.encode("utf-8", "replace").decode()
    if not reserved:
        return quote(raw, safe="")
    return "".join(part if _TRIPLET.fullmatch(part) else quote(part, safe=RESERVED) for part in _TRIPLET.split(raw))


def path_text(parameter: ParameterPlan, value: Any) -> str:
    """The text of a parameter in the path of a URL: never a further segment, never empty."""
    parts = [(escaped(k), escaped(v)) for k, v in _parts(value)]
    key, style, explode = escaped(parameter.key), parameter.style, parameter.explode
    if parameter.content:
        text = escaped(_content(parameter, value))
    elif style == "label":
        text = "." + _joined(value, parts, "." if explode else ",", explode)
    elif style == "matrix":
        text = _matrix(key, value, parts, explode)
    else:
        text = _joined(value, parts, DELIMITERS.get(style, ","), explode)
    if not text:
        raise UnwritableArgument("is empty, and stands in the path of a URL")
    return text


def query_pairs(parameter: ParameterPlan, value: Any) -> list[Pair]:
    """The pairs of a query, or of a form: keys and values, encoded."""

    def text(value: str) -> str:
        return escaped(value, reserved=parameter.reserved)

    key = escaped(parameter.key)
    if parameter.content:
        return [(key, text(_content(parameter, value)))]
    if parameter.style == "deepObject":
        return [(escaped(k), text(v)) for k, v in deep_pairs(parameter.key, value)]
    parts = [(escaped(k), text(v)) for k, v in _parts(value)]
    if not isinstance(value, list | dict):
        return [(key, parts[0][1])]
    if parameter.explode:
        return parts if isinstance(value, dict) else [(key, v) for _, v in parts]
    if not parts:
        return [(key, "")] if parameter.required else []
    return [(key, _joined(cast(Any, value), parts, DELIMITERS.get(parameter.style, ","), False))]


def deep_pairs(key: str, value: Any, depth: int = 0) -> Iterator[Pair]:
    """Brackets as Stripe and `qs` write them, not yet encoded: a[b][0]=1."""
    if depth > _DEEPEST:
        raise UnwritableArgument(f"is nested deeper than {_DEEPEST} levels")
    if isinstance(value, dict):
        for name, inner in cast(dict[str, Any], value).items():
            yield from deep_pairs(f"{key}[{name}]", inner, depth + 1)
    elif isinstance(value, list):
        for i, inner in enumerate(cast(list[Any], value)):
            yield from deep_pairs(f"{key}[{i}]", inner, depth + 1)
    else:
        yield key, scalar(value)


def header_text(parameter: ParameterPlan, value: Any) -> str:
    """A header's value. Nothing in it is encoded, so a line break in it is refused."""
    text = _content(parameter, value) if parameter.content else _joined(value, _parts(value), ",", parameter.explode)
    if any((c < " " and c != "\t") or c == "\x7f" for c in text):
        raise UnwritableArgument("has a line break or a control character, which no header takes")
    return text.strip(" \t")


def cookie_pairs(parameter: ParameterPlan, value: Any) -> list[Pair]:
    """The pairs of a Cookie header."""
    return [(key, text.replace(";", "%3B")) for key, text in query_pairs(parameter, value)]


def _content(parameter: ParameterPlan, value: Any) -> str:
    if "json" in parameter.content:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return scalar(value)


def _parts(value: Any) -> list[Pair]:
    """Keys and values of an object, values of an array, or the one value; keys are "" where there are none."""
    if isinstance(value, Mapping):
        return [
            (str(name), text)
            for name, inner in cast(Mapping[str, Any], value).items()
            for text in (map(scalar, cast(list[Any], inner)) if isinstance(inner, list) else [scalar(inner)])
        ]
    if isinstance(value, list):
        return [("", scalar(inner)) for inner in cast(list[Any], value)]
    return [("", scalar(value))]


def _joined(value: Any, parts: list[Pair], by: str, explode: bool) -> str:
    if isinstance(value, dict):
        between = "=" if explode else by
        return by.join(f"{key}{between}{text}" for key, text in parts)
    return by.join(text for _, text in parts)


def _matrix(key: str, value: Any, parts: list[Pair], explode: bool) -> str:
    if explode and isinstance(value, dict):
        return "".join(f";{name}={text}" for name, text in parts)
    if explode and isinstance(value, list):
        return "".join(f";{key}={text}" for _, text in parts)
    text = _joined(value, parts, ",", False)
    return f";{key}={text}" if text else f";{key}"
