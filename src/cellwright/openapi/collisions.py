"""Paths of operations that would be the same, told apart: by the method, by words of the URL, at last by a number."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from cellwright.openapi.method_names import VERBS, Entry, words_of
from cellwright.openapi.path_names import segments_of
from cellwright.openapi.words import joined, words

_ORDER = ("get", "post", "put", "patch", "delete", "head", "options", "trace")
_MADE = {"get": "get", "post": "create", "put": "put", "patch": "patch", "delete": "delete"}


def apart(entries: Sequence[Entry], wanted: Sequence[str]) -> list[str]:
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


def _followers(group: list[int], entries: Sequence[Entry]) -> list[int]:
    """All but the one that keeps the name: the shortest URL, and what changes nothing before what does."""

    def rank(at: int) -> tuple[int, int, str]:
        return len(segments_of(entries[at].url)), _ORDER.index(entries[at].method), entries[at].url

    return sorted(group, key=rank)[1:]


def _by_other_words(path: str, entry: Entry, group: Counter[str]) -> str:
    """The words of the path that no other URL has: `list_for_org`. `group` counts the URLs that have a part."""
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


def _by_method(path: str, entry: Entry, group: Counter[str]) -> str:
    space, _, method = path.rpartition(".")
    verb = _MADE.get(entry.method, entry.method)
    acts = method.partition("_")[0] in VERBS
    name = f"{method.strip('_')}_{entry.method}" if acts else f"{verb}_{method.strip('_')}"
    return f"{space}.{name}" if space else name


def _by_all_words(path: str, entry: Entry, group: Counter[str]) -> str:
    space, _, method = path.rpartition(".")
    known = words_of((*space.split("."), method))
    extra = [word for part in segments_of(entry.url) for word in words(part) if word not in known]
    name = joined([*method.strip("_").split("_"), *extra[-6:]])
    return f"{space}.{name}" if space else name


def _numbered(entries: Sequence[Entry], found: list[str]) -> list[str]:
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
