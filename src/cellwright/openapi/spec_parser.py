"""JSON and YAML texts as plain data, and what a document is that is not OpenAPI.

It knows neither the origin of a text nor the content of a description.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, cast

from cellwright.errors import SpecError
from cellwright.settings import install_command
from cellwright.short_texts import one_line

_VERSIONS_2 = ("2.0", "2")
_MOST_NODES = 1_000_000  # that aliases may lead to; a longer text may have as many as it has characters
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def parse_spec(content: bytes, where: str) -> Any:
    """The data of a JSON or YAML text. SpecError with line and column where it is neither."""
    text = _text(content, where)
    head = text[:400].lstrip()
    if not head:
        raise SpecError(f"{where} is empty; an OpenAPI description in JSON or YAML was expected")
    if head.startswith("<"):
        page = head.lower().startswith(("<!doctype html", "<html"))
        kind = "an HTML page" if page else "WSDL" if "wsdl" in head.lower() else "XML"
        raise SpecError(f"{where} is {kind}; an OpenAPI description in JSON or YAML was expected")
    if head[0] in "{[":
        try:
            return _sound(json.loads(text), text)
        except json.JSONDecodeError as wrong:
            found = wrong
        except RecursionError:
            raise SpecError(f"{where} is nested too deep to be read") from None
        if head[0] == "{" and _flow_yaml(head):
            return _yaml(text, where)
        raise SpecError(f"{where} is no JSON: line {found.lineno}, column {found.colno}: {found.msg}")
    return _yaml(text, where)


def _sound(found: Any, text: str) -> Any:
    """Data without unpaired surrogates: JSON can escape them, and no file can hold them."""
    if not _HALF.search(text):
        return found
    return json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))


def _text(content: bytes, where: str) -> str:
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as wrong:
        raise SpecError(f"{where} is no text in UTF-8: byte {wrong.start} is {content[wrong.start]:#04x}") from None


def _flow_yaml(head: str) -> bool:
    """Whether an object in braces has keys without quotes, which YAML allows and JSON does not."""
    inner = head[1:].lstrip()
    return bool(inner) and inner[0] not in '"}'


def _yaml(text: str, where: str) -> Any:
    yaml = _yaml_library()
    loader = _loader(yaml)
    try:
        found = yaml.load(text, Loader=loader)
        expanded = _expanded(found, {}) if "*" in text else 0
    except yaml.YAMLError as wrong:
        mark = getattr(wrong, "problem_mark", None)
        at = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
        said = getattr(wrong, "problem", None) or one_line(str(wrong))
        raise SpecError(f"{where} is no YAML: {at}{said}") from None
    except RecursionError:
        raise SpecError(f"{where} is nested too deep to be read") from None
    most = max(_MOST_NODES, len(text))
    if expanded > most:
        raise SpecError(f"{where} leads by its aliases to more than {most:,} values, or round in a circle")
    return _sound(found, text)


def _expanded(found: Any, known: dict[int, float]) -> float:
    """The number of values with each alias written out; infinite where a value contains itself."""
    if not isinstance(found, (dict, list)):
        return 1
    if id(cast("Any", found)) not in known:
        known[id(cast("Any", found))] = math.inf
        inside = cast("dict[str, Any]", found).values() if isinstance(found, dict) else cast("list[Any]", found)
        known[id(cast("Any", found))] = 1 + sum(_expanded(one, known) for one in inside)
    return known[id(cast("Any", found))]


def _yaml_library() -> Any:
    try:
        import yaml  # heavy, and only for descriptions in YAML
    except ImportError:
        raise SpecError(f"reading YAML needs the extra: {install_command('connect')}") from None
    return yaml


_LOADERS: dict[str, Any] = {}


def _loader(yaml: Any) -> Any:
    """The safe loader, in C where there is one: dates stay text, and every key is text."""
    if "yaml" not in _LOADERS:
        safe = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        loader = type("Loader", (safe,), {"yaml_implicit_resolvers": {}})
        for tag, pattern, first in _SCALARS:
            loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"(?:{pattern})$"), list(first))
        loader.add_constructor("tag:yaml.org,2002:map", _mapping)
        loader.add_constructor(None, _untagged)
        _LOADERS["yaml"] = loader
    return _LOADERS["yaml"]


# Plain scalars as YAML 1.2 reads them: dates, `010`, `1_000`, `12:30`, yes and no are texts.
_SCALARS = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ("~", "n", "N", "")),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", "-+0123456789."),
    ("float", r"[-+]?(?:0|[1-9][0-9]*)[eE][-+]?[0-9]+", "-+0123456789"),
    ("merge", r"<<", "<"),
)


def _mapping(loader: Any, node: Any) -> Any:
    made: dict[str, Any] = {}
    yield made  # given out before it is filled, for aliases that lead round
    loader.flatten_mapping(node)
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        made[_key(key)] = loader.construct_object(value_node)


def _key(found: Any) -> str:
    if isinstance(found, bool):
        return "true" if found else "false"
    return found if isinstance(found, str) else "null" if found is None else str(found)


def _untagged(loader: Any, node: Any) -> Any:
    """A tag that nobody knows: its content as it is."""
    kind = type(node).__name__
    if kind == "MappingNode":
        return {
            _key(loader.construct_object(k, deep=True)): loader.construct_object(v, deep=True) for k, v in node.value
        }
    return [loader.construct_object(one, deep=True) for one in node.value] if kind == "SequenceNode" else node.value


def version_of(found: Any, where: str) -> str:
    """ "2.0", "3.0" or "3.1" of a description. SpecError that says what it is instead."""
    if not isinstance(found, dict):
        raise SpecError(f"{where} is no OpenAPI description: it holds {_told(found)}, not an object")
    document = cast("dict[str, Any]", found)
    stated = document.get("openapi", document.get("swagger", document.get("swaggerVersion")))
    if stated is None:
        raise SpecError(f"{where} is no OpenAPI description: {_resembles(document)}")
    text = str(stated).strip()
    if "openapi" in document and text.startswith("3."):
        return "3.0" if text.startswith("3.0") else "3.1"
    if text in _VERSIONS_2 or text.startswith("2.0"):
        return "2.0"
    raise SpecError(f"{where} is OpenAPI {text[:20]}, which is not read; 2.0, 3.0 and 3.1 are")


def _told(found: Any) -> str:
    if isinstance(found, str):
        return f"the text {found[:40]!r}"
    return "nothing" if found is None else f"a {type(found).__name__}"


_KINDS: tuple[tuple[str, str], ...] = (
    ("asyncapi", "it is an AsyncAPI document (events, not HTTP)"),
    ("mcpServers", "it is a list of MCP servers; give it to --mcp-config"),
    ("__schema", "it is a GraphQL introspection result"),
    ("discoveryVersion", "it is a Google discovery document; convert it to OpenAPI first"),
    ("arazzo", "it is an Arazzo document"),
    ("log", "it looks like a HAR recording"),
    ("$schema", "it is a JSON schema"),
    ("resources", "it looks like a list of resources"),
)


def _resembles(document: dict[str, Any]) -> str:
    about: Any = document.get("info")
    if isinstance(about, dict) and "postman" in str(cast("dict[str, Any]", about).get("schema", "")).lower():
        return "it is a Postman collection; export it as OpenAPI"
    for key, said in _KINDS:
        if key in document:
            return said
    keys = ", ".join(list(document)[:5]) or "nothing"
    return f'it has no "openapi" or "swagger" key (it has {keys})'
