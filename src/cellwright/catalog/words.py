"""Names and queries as words: split, stemmed, and with the words that mean the same."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache

from cellwright.catalog.synonyms import GROUPS, SAME
from cellwright.catalog.vocabulary import MEANS

_PART = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
SMALL = frozenset(
    "a an the of to in on at by for from with and or is are was were be been being it its this that these those i me "
    "we our us you your he she they them their his her do does did can could how what which whom whose where when why "
    "there here as into onto about via if so please want need would like should will some any given using use someone "
    "somebody something anyone am s t ve ll d m has have had got still ever yet already just now right "
    "really too very also again lately recently currently today than then while before after during because only own "
    "up out down off away back over much more most less no not never go goes come comes called named titled".split()
)
_VAGUE = frozenset("detail details info information data thing things object objects".split())


def split(text: str) -> list[str]:
    """The words of a name or a sentence: `createHTTPServer_v2` is create, http, server, v, 2."""
    return [part.lower() for part in _PART.findall(text)]


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The word without what grammar adds: contacts, contact; deleting, deleted, delete."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes", "zes")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) > 2 and re.search("[aeiouy]", root):
            word = root[:-1] if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "lsz" else root
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


_SUFFIXES = ("ship", "ment", "ness", "ance", "ence", "able", "ible", "ity", "ion", "ive", "er", "or", "al", "ly", "e")


# words that only look as if they were made from another: a customer is nothing custom
_ITSELF = frozenset("customer terminal reader general personal container controller server number material".split())
_CHANGED = (("iption", "ib"), ("ification", "ify"), ("ision", "id"), ("expiry", "expir"))


@lru_cache(maxsize=20_000)
def root(word: str) -> str:
    """What a stem has in common with its kin: deploy and deployment, invite and invitation, assign and assignee."""
    if word in _ITSELF:
        return word
    for ending, other in _CHANGED:
        if word.endswith(ending):
            return word.removesuffix(ending) + other
    for _ in range(2):
        ending = next((s for s in _SUFFIXES if word.endswith(s) and len(word) - len(s) > 3), "")
        word = word.removesuffix(ending)
    word = word.removesuffix("at") if len(word) > 5 else word
    return word[:-1] if len(word) > 5 and word.endswith("ll") else word


def stems(text: str) -> list[str]:
    """The stems of all words of a text, in order."""
    return [stem(word) for word in split(text)]


@lru_cache(maxsize=1)
def _alike() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for group in GROUPS:
        members = [stem(word) for word in group.split()]
        for member in members:
            found.setdefault(member, {}).update(dict.fromkeys(m for m in members if m != member))
    return {word: tuple(others) for word, others in found.items()}


@lru_cache(maxsize=1)
def _spellings() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for group in SAME:
        members = list(dict.fromkeys(stem(word) for word in group.split()))
        found |= {member: tuple(m for m in members if m != member) for member in members}
    return found


def spellings(word: str) -> tuple[str, ...]:
    """Stems that are this one in another spelling, or what it undoes."""
    return _spellings().get(word) or ((stem(undone(word)),) if undone(word) else ())


def undone(word: str) -> str:
    """What a word undoes: `assign` of `unassign`; "" for none."""
    return word[2:] if word.startswith("un") and len(word) > 5 and word[2:5] not in ("der", "til", "ion", "ive") else ""


@lru_cache(maxsize=1)
def _meanings() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for told in itertools.chain.from_iterable(text.split(";") for text in MEANS.values()):
        said, _, meant = told.partition(":")
        others = (stem(word) for word in meant.split())
        found.setdefault(stem(said.strip()), {}).update(dict.fromkeys(others))
    return {word: tuple(others) for word, others in found.items()}


def meanings(word: str) -> tuple[str, ...]:
    """Stems of what an API is likely to call what people call so."""
    return _meanings().get(word, ())


def alike(word: str) -> tuple[str, ...]:
    """Stems that may stand for this one."""
    return _alike().get(word, ())


def asked(query: str) -> list[str]:
    """The stems that a query is about; all of its words where it has none but small ones."""
    words = split(query)
    if len(words) > 1 and words[0] == "all":
        del words[0]
    if len(words) > 2 and "all" in words[1:3] and stem(words[0]) in _LOOKING:  # "list all pods", "show me all pods"
        words.remove("all")
    words = [*words[:1], *("my" if word == "i" else word for word in words[1:])]  # "repos i own"
    told = [word for word in words if word not in SMALL | _VAGUE] or words
    return list(dict.fromkeys(stem(word) for word in told))


_LOOKING = frozenset(map(stem, "list show get see find fetch read retrieve view display".split()))


def is_small(word: str) -> bool:
    """Whether a word says nothing by itself."""
    return word in SMALL
