"""Names of single operations: from HTTP method and path alone (`GET /customers/{customer}/sources` is
`customers.sources.list`), and from the words of an operation's id that do not repeat its namespace."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from cellwright.openapi.name_words import is_plural, joined, same, singular, word_list, words

_VERSION = re.compile(r"v?\d+(?:[._]\d+)*(?:[._-]?(?:alpha|beta|rc|preview)\d*)?$|v\d\w{0,8}$|\d{4}-\d\d-\d\d$", re.I)
_PREFIXES = frozenset("api rest apis services service web public".split())
_ENDING = re.compile(r"\.(?:json|xml|php|aspx?|do|action)$")
ACTIONS = word_list("actions")


@lru_cache(maxsize=65536)
def segments_of(url: str) -> tuple[str, ...]:
    """The parts of a path without versions and what says nothing; parameters in braces."""
    path, _, fragment = url.partition("?")[0].partition("#")
    parts = [part for part in path.split("/") if part]
    if fragment:  # `/#Action=DescribeInstances`, `/{Bucket}#tagging`: operations that share an URL
        parts.append(fragment.rpartition("=")[2] or fragment)
    kept: list[str] = []
    for part in parts:
        if not kept and (_VERSION.match(part) or part.lower() in _PREFIXES) and len(parts) > 1:
            continue
        if _VERSION.match(part):
            continue
        if part.startswith("{") and part.find("}") == len(part) - 1:
            kept.append(part)
            continue
        kept.extend(_inside(part))
    return tuple(kept)


def _inside(part: str) -> list[str]:
    """`{Sid}.json` → {Sid}; `users:batchGet` → users, batchGet; `microsoft.graph.user` → user; `sum(a={a})` → sum."""
    part = _ENDING.sub("", part)
    if part.count(".") > 1 and "{" not in part:
        part = part.rpartition(".")[2]
    if "(" in part and part.endswith(")"):
        part = part.partition("(")[0]
    return [piece for piece in re.split(r"(\{[^{}]*\})|[:.]", part) if piece]


def is_parameter(segment: str) -> bool:
    return segment.startswith("{")


@lru_cache(maxsize=65536)
def path_words(url: str) -> tuple[tuple[bool, tuple[str, ...]], ...]:
    """The words of each part of a path, and whether that part is fixed and must be there."""
    found: list[tuple[bool, tuple[str, ...]]] = []
    for part in re.split(r"[/#?&=]", url):
        for piece in re.split(r"(\{[^{}]*\})", part):
            told = words(piece)
            if told:
                plain = not is_parameter(piece) and not _VERSION.match(piece) and piece.lower() not in _PREFIXES
                found.append((plain and not _ENDING.match(piece), told))
    return tuple(found)


class PathNames:
    """Knows all paths of a description, for what is below what."""

    def __init__(self, operations: Sequence[tuple[str, str]]) -> None:
        self._methods: dict[tuple[str, ...], set[str]] = {}
        self._parents: set[tuple[str, ...]] = set()
        for method, url in operations:
            parts = segments_of(url)
            self._methods.setdefault(parts, set()).add(method)
            self._parents.update(parts[:size] for size in range(1, len(parts)))

    def namespace(self, url: str) -> tuple[str, ...]:
        """The first fixed part."""
        parts = segments_of(url)
        first = joined(words(parts[0])) if parts and not is_parameter(parts[0]) else ""
        return (first,) if first and (len(parts) > 1 or parts in self._parents) else ()

    def place(self, method: str, url: str) -> tuple[tuple[str, ...], str]:
        """Namespaces and a method."""
        parts = segments_of(url)
        fixed = [name for part in parts if not is_parameter(part) and (name := joined(words(part)))]
        if parts and not is_parameter(parts[-1]) and fixed and self._is_action(method, parts):
            return tuple(fixed[:-1]), fixed[-1]
        return tuple(fixed), self.verb(method, url)

    def verb(self, method: str, url: str) -> str:
        """`list`, `get`, `create`, `update`, `replace`, `delete` …"""
        parts = segments_of(url)
        item = bool(parts) and is_parameter(parts[-1])
        beside = self._methods.get(parts, set())
        if method == "get":
            many = bool(parts) and not item and (is_plural(words(parts[-1])[-1]) if words(parts[-1]) else False)
            return "list" if many or (parts and not item and self._has_items(parts)) else "get"
        if method == "post":
            return "update" if item and not beside & {"put", "patch"} else "create"
        if method == "put":
            return "replace" if "patch" in beside else "update" if item or not self._has_items(parts) else "replace_all"
        if method == "delete":
            return "delete_all" if not item and self._has_items(parts) else "delete"
        return {"patch": "update"}.get(method, method)

    def _has_items(self, parts: tuple[str, ...]) -> bool:
        return any((*parts, own) in self._methods or (*parts, own) in self._parents for own in self._below(parts))

    def _below(self, parts: tuple[str, ...]) -> set[str]:
        if not hasattr(self, "_children"):
            self._children: dict[tuple[str, ...], set[str]] = {}
            for whole in (*self._methods, *self._parents):
                if whole and is_parameter(whole[-1]):
                    self._children.setdefault(whole[:-1], set()).add(whole[-1])
        return self._children.get(parts, set())

    def _is_action(self, method: str, parts: tuple[str, ...]) -> bool:
        """Whether the last part is what is done, and not what it is done to."""
        if parts in self._parents or len(parts) < 2:
            return False
        told = words(parts[-1])
        if not told or len(self._methods.get(parts, ())) > 1:
            return False
        if method == "get":
            return told[0] in ACTIONS
        return method in ("post", "put") and (told[0] in ACTIONS or singular(told[-1]) == told[-1])


HTTP_METHODS = ("get", "put", "post", "delete", "patch", "head", "options", "trace")
_LINKS = frozenset("for of in to from by on at with as and a an the all via per".split())
_LOOSE = frozenset("a an the all multiple several many one single".split())
_GETTING = frozenset("get fetch read retrieve find query".split())
VERBS = word_list("verbs")
CHANGING = VERBS - word_list("reading")


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationLabel:
    """The parts of an operation that its name is made from."""

    method: str  # lower case
    url: str
    id: str = ""
    tags: tuple[str, ...] = ()


def words_of(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for name in names for word in name.strip("_").split("_"))


def id_words(entry: OperationLabel) -> tuple[str, ...]:
    """The words of an operation's id."""
    told = words(entry.id)
    if len(told) > 1 and told[0] in HTTP_METHODS and told[1] in VERBS and told[1] != told[0]:
        told = told[1:]  # `GET_DescribeInstances`
    return told


def method_name(told: Sequence[str], namespace: Sequence[str], entry: OperationLabel, *, curated: bool = False) -> str:
    """The words of an id without what repeats the namespace: create issue → `create` in `issues`."""
    repeated = words_of(namespace)
    left = list(told)
    start = 0
    while start < len(left) and any(same(left[start], word) for word in repeated):
        start += 1
    if 0 < start < len(left) and left[start] not in _LINKS:
        left = left[start:]
    left = left if curated else _without_middle(left, words_of(namespace[-1:]))
    left, plural = _without_object(left, words_of(namespace[-1:]))
    if plural and left and left[0] in _GETTING and entry.method == "get" and not entry.url.rstrip("/").endswith("}"):
        left = ["list", *left[1:]]
    return joined(left)


def _without_middle(left: list[str], name: Sequence[str]) -> list[str]:
    """create core v1 namespaced pod → create namespaced pod."""
    size = len(name)
    for at in range(1, len(left) - size):
        if tuple(left[at : at + size]) == tuple(name) and left[at + size] not in _LINKS:
            before = left[: at - 1] if left[at - 1] in ("a", "an", "the") else left[:at]
            return before + left[at + size :]
    return left


def _without_object(left: list[str], name: Sequence[str]) -> tuple[list[str], bool]:
    """create issue → create; remove tag for task → remove tag. And whether the removed words were plural."""
    size = len(name)
    for at in range(1, len(left) - size + 1):
        found = left[at : at + size]
        if not size or not all(same(one, other) for one, other in zip(found, name, strict=True)):
            continue
        rest = left[at + size :]
        if rest and rest[0] not in _LINKS:
            continue
        before = left[:at]
        if before[-1] in _LINKS and len(before) > 1 and before[-1] not in _LOOSE:
            return before[:-1] + rest, False
        loose = [word for word in before[1:] if word not in ("a", "an", "the")]
        if all(word in _LOOSE for word in loose):
            return [before[0], *loose, *rest], found[-1] != singular(found[-1])
    return left, False
