"""Names and queries as words: split, and reduced to stems and roots. It knows how English words end, and no lists."""

from __future__ import annotations

import re
from functools import lru_cache

_PART = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_SUFFIXES = ("ship", "ment", "ness", "ance", "ence", "able", "ible", "ity", "ion", "ive", "er", "or", "al", "ly", "e")
# words that only look as if they were made from another: a customer is nothing custom
_UNDERIVED = frozenset("customer terminal reader general personal container controller server number material".split())
_CHANGED = (("iption", "ib"), ("ification", "ify"), ("ision", "id"), ("expiry", "expir"))


def split(text: str) -> list[str]:
    """The words of a name or a sentence: `createHTTPServer_v2` is create, http, server, v, 2."""
    return [part.lower() for part in _PART.findall(text)]


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The word without its grammatical ending: contacts, contact; deleting, deleted, delete."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes", "zes")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        base = word.removesuffix(ending)
        if base != word and len(base) > 2 and re.search("[aeiouy]", base):
            word = base[:-1] if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz" else base
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def stems(text: str) -> list[str]:
    """The stems of all words of a text, in order."""
    return [stem(word) for word in split(text)]


@lru_cache(maxsize=20_000)
def root(word: str) -> str:
    """What a stem shares with related words: deploy and deployment, invite and invitation, assign and assignee."""
    if word in _UNDERIVED:
        return word
    for ending, other in _CHANGED:
        if word.endswith(ending):
            return word.removesuffix(ending) + other
    for _ in range(2):
        ending = next((s for s in _SUFFIXES if word.endswith(s) and len(word) - len(s) > 3), "")
        word = word.removesuffix(ending)
    word = word.removesuffix("at") if len(word) > 5 else word
    return word[:-1] if len(word) > 5 and word.endswith("ll") else word


def undone(word: str) -> str:
    """What a word undoes: `assign` for `unassign`; "" for a word that undoes nothing."""
    return word[2:] if word.startswith("un") and len(word) > 5 and word[2:5] not in ("der", "til", "ion", "ive") else ""
