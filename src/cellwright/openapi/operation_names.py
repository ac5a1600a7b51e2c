"""Where operations stand in a tidy namespace: `issues.create` for what a description calls "issues/create".

A namespace is the operation's id without its last part, else its tag, else the path; a method is the id without the
words of the namespace, else a verb from the HTTP method and the path. It knows no parameters and no schemas.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from cellwright.openapi.name_words import joined, same, singular, words
from cellwright.openapi.path_names import (
    HTTP_METHODS,
    VERBS,
    OperationLabel,
    PathNames,
    id_words,
    method_name,
    path_words,
    segments_of,
    words_of,
)

_HASH = re.compile(r"-[0-9a-f]{4}$")  # Graph's own mark for ids that were alike
_SIMPLE = re.compile(r"[\w$-]+$")
_ORDER = ("get", "post", "put", "patch", "delete", "head", "options", "trace")
_MADE = {"get": "get", "post": "create", "put": "put", "patch": "patch", "delete": "delete"}


Place = tuple[tuple[str, ...], str]  # namespaces, method


def operation_paths(entries: Sequence[OperationLabel]) -> list[str]:
    """A path for each operation: all are different, and none is below another."""
    naming = _Naming(entries)
    wanted = [naming.place(entry) for entry in entries]
    return distinct_paths(entries, [".".join((*namespace, method)) for namespace, method in wanted])


class _Naming:
    """What all operations of one description share: a word that begins every id or tag is left out of names."""

    def __init__(self, entries: Sequence[OperationLabel]) -> None:
        self._paths = PathNames([(entry.method, entry.url) for entry in entries])
        dotted = [parts for entry in entries if (parts := _parts(entry))]
        self._common = _common_first(dotted) if all(len(parts) > 2 for parts in dotted) else ""
        tags = [words(entry.tags[0]) for entry in entries if entry.tags]
        self._tag_common = _common_first([tag for tag in tags if tag]) if len(set(tags)) > 1 else ""
        self._one_tag = len(set(tags)) <= 1
        made = sum(_mechanical(entry) for entry in entries)
        self._made_up = made > 0.6 * sum(bool(entry.id) for entry in entries)  # the ids are generated from paths

    def place(self, entry: OperationLabel) -> Place:
        fastapi = _without_fastapi(entry)
        if fastapi:
            entry = OperationLabel(method=entry.method, url=entry.url, id=fastapi, tags=entry.tags)
        parts = _parts(entry)
        if parts:
            return self._dotted(entry, parts)
        if entry.id.count(".") > 1 or _HASH.search(entry.id):  # generated ids, which begin with a verb
            return self._paths.place(entry.method, entry.url)
        if not entry.id or (self._made_up and _mechanical(entry)):
            return self._by_path(entry)
        namespace = self._tagged(entry) or self._paths.namespace(entry.url)
        told = id_words(entry)
        method = method_name(told, namespace, entry)
        return namespace, method or self._paths.verb(entry.method, entry.url)

    def _dotted(self, entry: OperationLabel, parts: list[str]) -> Place:
        """`gmail.users.messages.list`, `issues/create`, `drives.drive.items.driveItem.workbook.functions.sum`."""
        if self._common and words(parts[0])[:1] == (self._common,) and len(parts) > 1:
            parts = parts[1:]
        kept: list[list[str]] = []
        for part in parts[:-1]:
            told = list(words(part))
            if told and not (kept and _is_one_of(told, kept[-1])):
                kept.append(told)
        namespace = tuple(name for one in kept if (name := joined(one)))
        last = words(parts[-1])
        method = method_name(last, namespace, entry, curated=True) or self._paths.verb(entry.method, entry.url)
        return namespace, method

    def _tagged(self, entry: OperationLabel) -> tuple[str, ...]:
        if not entry.tags:
            return ()
        tag = entry.tags[0]
        if re.fullmatch(r"[\w-]+(?:[./][\w-]+)+", tag):  # `admin.users`, as deep as it says
            return tuple(name for part in re.split(r"[./]", tag) if (name := joined(words(part))))
        told = words(tag)
        if self._tag_common and len(told) > 1 and told[0] == self._tag_common:
            told = told[1:]
        name = joined(told[:6])
        return (name,) if name else ()

    def _by_path(self, entry: OperationLabel) -> Place:
        namespace, method = self._paths.place(entry.method, entry.url)
        tagged = self._tagged(entry)
        if not tagged or self._one_tag:
            return namespace, method
        if namespace and words_of(tagged)[-1:] and same(words_of(tagged)[-1], words_of(namespace)[-1]):
            return tagged, method
        inside = [part for part in namespace if not _repeats(part, tagged)]
        return (*tagged, *inside), method


def _is_one_of(told: Sequence[str], before: Sequence[str]) -> bool:
    """Whether a part only repeats the part before, or its singular: `items.driveItem`, `compliance.compliance`."""
    if told == before:
        return singular(told[-1]) == told[-1]
    return before[-1] != told[-1] and singular(before[-1]) == told[-1]


def _repeats(name: str, tagged: Sequence[str]) -> bool:
    return all(any(same(word, told) for told in words_of(tagged)) for word in words_of((name,)))


def _parts(entry: OperationLabel) -> list[str]:
    """The parts of an id that is a path itself; empty where it is one word, or begins with a verb."""
    text = _HASH.sub("", entry.id)
    for mark in ("/", ".", "::"):
        if mark in text:
            parts = [part for part in text.split(mark) if part]
            plain = len(parts) > 1 and all(_SIMPLE.match(part) for part in parts)
            if plain and parts[0].lower() not in (*HTTP_METHODS, "list"):
                return parts
            return []
    return []


def _common_first(found: Sequence[Sequence[str]]) -> str:
    """The first word of all of them, where it is the same and something follows it."""
    first = {"".join(words(next(iter(one), ""))[:1]) for one in found}
    return first.pop() if len(found) > 1 == len(first) and all(len(one) > 1 for one in found) else ""


def _without_fastapi(entry: OperationLabel) -> str:
    """`read_items_items__item_id__get` → `read_items`: FastAPI puts path and method behind the function's name.

    An application that is mounted below a prefix (`/api`) does not know it.
    """
    url = entry.url
    for _ in range(3):
        tail = re.sub(r"\W", "_", url) + "_" + entry.method
        if len(entry.id) > len(tail) and entry.id.endswith(tail):
            return entry.id[: -len(tail)]
        url = url[url.find("/", 1) :] if "/" in url[1:] else ""
        if url in ("", "/"):
            break
    return ""


def _mechanical(entry: OperationLabel) -> bool:
    """Whether an id is only the method and the path once more: `PostCustomersCustomer`, `get_files_id`."""
    told = list(words(entry.id))
    if told and told[0] == entry.method:
        told = told[1:]
    elif told and told[-1] == entry.method:
        told = told[:-1]
    else:
        return False
    return bool(told) and _retold(told, entry.url)


def _retold(told: list[str], url: str) -> bool:
    """Whether these are the words of the path: every fixed part; parameters as they are, as `id`, or not at all."""
    at = 0
    for fixed, part in path_words(url):
        size = len(part)
        if [*map(singular, told[at : at + size])] == [*map(singular, part)]:
            at += size
        elif fixed:
            return False
        elif told[at : at + 1] == ["id"]:
            at += 1
        elif told[at : at + 1] == ["by"] and told[at + 1 : at + 1 + size] == list(part):
            at += 1 + size
    return at == len(told)


# Paths of operations that would be the same, told apart: by the method, by words of the URL, at last by a number.


def distinct_paths(entries: Sequence[OperationLabel], wanted: Sequence[str]) -> list[str]:
    """Paths that are all different, and none of them also a namespace."""
    found = list(wanted)
    for more in (_by_other_words, _by_method, _by_all_words):
        spaces, alike = _spaces(found), _alike(found)
        for group in alike:
            if found[group[0]] in spaces:
                for at in group:
                    found[at] = _by_method(found[at], entries[at], Counter())
                continue
            urls = {entries[at].url for at in group}
            told = Counter(part for url in urls for part in set(segments_of(url)))
            for at in _followers(group, entries):
                found[at] = more(found[at], entries[at], told)
    return _numbered(entries, found)


def _spaces(found: Sequence[str]) -> set[str]:
    """Every namespace of these paths."""
    spaces: set[str] = set()
    for path in found:
        space = path.rpartition(".")[0]
        while space and space not in spaces:
            spaces.add(space)
            space = space.rpartition(".")[0]
    return spaces


def _alike(found: Sequence[str]) -> list[list[int]]:
    """The operations that share a path, or whose path is also a namespace."""
    spaces = _spaces(found)
    by_path: defaultdict[str, list[int]] = defaultdict(list)
    for at, path in enumerate(found):
        by_path[path].append(at)
    return [group for path, group in by_path.items() if len(group) > 1 or path in spaces]


def _followers(group: list[int], entries: Sequence[OperationLabel]) -> list[int]:
    """All operations but the one that keeps the name: the shortest URL, and a read before a change."""

    def rank(at: int) -> tuple[int, int, str]:
        return len(segments_of(entries[at].url)), _ORDER.index(entries[at].method), entries[at].url

    return sorted(group, key=rank)[1:]


def _by_other_words(path: str, entry: OperationLabel, group: Counter[str]) -> str:
    """The path with the words of its URL that no other URL has: `list_for_org`. `group` counts the URLs with a part."""
    strange = [part for part in segments_of(entry.url) if group[part] == 1]
    extra = [word for part in strange for word in words(part)]
    space, _, method = path.rpartition(".")
    known = set(method.split("_"))
    extra = [word for word in extra if word not in known][:5]
    if not extra:
        return path
    link = ["by"] if strange[0].startswith("{") and method not in ("get", "list") else []
    name = joined([*method.strip("_").split("_"), *link, *extra])
    return f"{space}.{name}" if space else name


def _by_method(path: str, entry: OperationLabel, group: Counter[str]) -> str:
    space, _, method = path.rpartition(".")
    verb = _MADE.get(entry.method, entry.method)
    acts = method.partition("_")[0] in VERBS
    name = f"{method.strip('_')}_{entry.method}" if acts else f"{verb}_{method.strip('_')}"
    return f"{space}.{name}" if space else name


def _by_all_words(path: str, entry: OperationLabel, group: Counter[str]) -> str:
    space, _, method = path.rpartition(".")
    known = words_of((*space.split("."), method))
    extra = [word for part in segments_of(entry.url) for word in words(part) if word not in known]
    name = joined([*method.strip("_").split("_"), *extra[-6:]])
    return f"{space}.{name}" if space else name


def _numbered(entries: Sequence[OperationLabel], found: list[str]) -> list[str]:
    spaces, used, last = _spaces(found), set[str](), dict[str, int]()

    def rank(at: int) -> tuple[str, int, str, str]:
        return found[at], len(entries[at].url), entries[at].url, entries[at].method

    for at in sorted(range(len(found)), key=rank):
        wanted = path = found[at]
        number = last.get(wanted, 1)
        while path in used or path in spaces:
            number += 1
            path = f"{wanted.rstrip('_')}_{number}"
        last[wanted] = number
        used.add(path)
        found[at] = path
    return found
