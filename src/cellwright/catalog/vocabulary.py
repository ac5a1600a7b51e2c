"""The words that search knows: `vocabulary.toml`, read when something is first searched or indexed.

It knows English, and neither indexes nor operations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from cellwright.catalog.stemmer import split, stem, undone

Kind = Literal["list", "read", "ask", "create", "update", "delete", "act", "change", ""]
_GAP = r"((?:\s+[\w'-]+){0,4}?)\s+"  # what ` … ` stands for in a phrase
_UNWANTED = re.compile(r"\s(?:without|instead of|rather than|but not|not)\s", re.IGNORECASE)
_POSSESSIVE = re.compile(r"[\u2019']s\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class Vocabulary:
    """The sets of words that the grammar of a query is read by; the file says what each is for."""

    verbs: Mapping[str, Kind]  # by stem
    names: Mapping[str, Kind]  # by stem
    # words
    small: frozenset[str]
    vague: frozenset[str]
    also_nouns: frozenset[str]
    determiners: frozenset[str]
    prepositions: frozenset[str]
    auxiliaries: frozenset[str]
    after_verbs: frozenset[str]
    detail_nouns: frozenset[str]
    part_nouns: frozenset[str]
    question_words: frozenset[str]
    measures: frozenset[str]
    states: frozenset[str]
    no_plural: frozenset[str]
    # stems
    actions: frozenset[str]
    changes: frozenset[str]
    looking: frozenset[str]
    filters: frozenset[str]
    anyone: frozenset[str]


@lru_cache(maxsize=1)
def _file() -> Mapping[str, Any]:
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("cellwright.catalog").joinpath("vocabulary.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def vocabulary() -> Vocabulary:
    """All sets of words, read once."""
    lists = _file()
    return Vocabulary(
        verbs={stem(word): kind for kind, text in lists["verbs"].items() for word in text.split()},
        names={stem(word): kind for kind, text in lists["names"].items() for word in text.split()},
        **{name: frozenset(text.split()) for name, text in lists["words"].items()},
        **{name: frozenset(map(stem, text.split())) for name, text in lists["stems"].items()},
    )


@lru_cache(maxsize=1)
def _groups() -> dict[str, tuple[str, ...]]:
    members = ([stem(word) for word in group.split()] for group in _file()["groups"].splitlines())
    return _merged((one, [other for other in group if other != one]) for group in members for one in group)


@lru_cache(maxsize=1)
def _spellings() -> dict[str, tuple[str, ...]]:
    groups = [list(dict.fromkeys(map(stem, group.split()))) for group in _file()["spellings"].splitlines()]
    return {one: tuple(other for other in group if other != one) for group in groups for one in group}


@lru_cache(maxsize=1)
def _meanings() -> dict[str, tuple[str, ...]]:
    lines = (line.partition(":") for section in _file()["meanings"].values() for line in section.splitlines())
    return _merged((stem(word), [stem(other) for other in meant.split()]) for word, _, meant in lines)


@lru_cache(maxsize=1)
def _phrases() -> list[tuple[re.Pattern[str], str]]:
    lines = (line.split(" => ") for section in _file()["phrases"].values() for line in section.splitlines())
    return [(re.compile(rf"\b(?:{p.replace(' … ', _GAP)})(?!\w)", re.IGNORECASE), words) for p, words in lines]


def _merged(pairs: Iterable[tuple[str, list[str]]]) -> dict[str, tuple[str, ...]]:
    """Every word with all that its pairs have, each once, in the order of the file."""
    merged: dict[str, dict[str, None]] = {}
    for word, others in pairs:
        merged.setdefault(word, {}).update(dict.fromkeys(others))
    return {word: tuple(others) for word, others in merged.items()}


def alike(word: str) -> tuple[str, ...]:
    """Stems that people use for this one."""
    return _groups().get(word, ())


def meanings(word: str) -> tuple[str, ...]:
    """Stems of what an API is likely to call the thing that people call by this stem."""
    return _meanings().get(word, ())


def spellings(word: str) -> tuple[str, ...]:
    """Stems that are this one in another spelling, or the stem of what it undoes."""
    return _spellings().get(word) or ((stem(undone(word)),) if undone(word) else ())


def is_small(word: str) -> bool:
    """Whether a word says nothing by itself."""
    return word in vocabulary().small


def plain(query: str) -> str:
    """The query without what it excludes, and with one word instead of each phrase."""
    kept = _UNWANTED.split(query.strip(), maxsplit=1)[0] or query
    kept = _POSSESSIVE.sub("", kept)
    for pattern, words in _phrases():
        kept = pattern.sub(words, kept)
    return kept


def query_stems(query: str) -> list[str]:
    """The stems that a query is about; those of all its words where it has only small ones."""
    known = vocabulary()
    words = split(query)
    if len(words) > 1 and words[0] == "all":
        del words[0]
    if (
        len(words) > 2 and "all" in words[1:3] and stem(words[0]) in known.looking
    ):  # "list all pods", "show me all pods"
        words.remove("all")
    words = [*words[:1], *("my" if word == "i" else word for word in words[1:])]  # "repos i own"
    telling = [word for word in words if word not in known.small and word not in known.vague] or words
    return list(dict.fromkeys(map(stem, telling)))
