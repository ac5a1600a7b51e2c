"""Names and queries as words: split, stemmed, and with the words that mean the same."""

from __future__ import annotations

import re
from functools import lru_cache

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_STOP = frozenset(
    "a an the of to in on at by for from with and or is are was be been it its this that these those i me my we our us "
    "you your do does did can could how what which who whom where when there here as into onto about via if so please "
    "want need would like should some any given using use someone somebody something anyone am s t".split()
)
# Words that people use for one another; a word may stand in several groups. The first of a group means nothing special.
_GROUPS = (
    "create add new make insert register open start write save put append",
    "delete remove drop erase clear destroy discard trash",
    "list all find get fetch search read load retrieve query lookup show view see select display browse look",
    "send post notify deliver dispatch mail email message tell publish submit",
    "update change edit set modify patch rename adjust replace alter correct",
    "cancel abort stop revoke terminate void delete remove",
    "close end finish complete resolve",
    "pay charge bill settle payment",
    "refund reimburse repay return",
    "buy purchase order",
    "move transfer shift relocate",
    "copy duplicate clone",
    "schedule book plan arrange reserve",
    "reschedule move postpone",
    "meeting event appointment calendar",
    "count total number many amount size sum",
    "contact person people customer client user member",
    "file document doc attachment",
    "folder directory dir",
    "email mail message inbox",
    "money amount balance price cost payment",
    "invoice bill",
    "upload put store",
    "download get fetch pull",
    "join merge combine concat",
    "divide split",
    "reply answer respond",
    "invite attendee guest participant",
    "assign give allocate",
    "enable activate on",
    "disable deactivate off suspend",
    "login authenticate signin",
    "exist check verify validate test",
    "compute calculate evaluate",
    "free available busy availability slot",
    "picture image photo",
    "label tag category",
    "comment note remark",
    "task todo ticket issue",
    "company organization organisation account",
    "deal opportunity sale",
    "employee staff worker",
    "weather forecast temperature",
    "convert translate transform",
    "archive store",
    "share grant permission access allow",
    "request ask apply",
    "approve accept confirm allow",
    "reject deny decline dismiss refuse",
    "limit quota cap maximum",
    "history log past",
    "retry rerun repeat again",
    "run execute launch start trigger",
    "organization org",
    "repository repo",
    "configuration config setting option preference",
    "message msg",
    "information info detail",
    "database db",
    "environment env",
    "identifier id",
    "address addr",
    "job task run",
)


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


@lru_cache(maxsize=20_000)
def root(word: str) -> str:
    """What a stem has in common with its kin: deploy and deployment, invite and invitation, assign and assignee."""
    for _ in range(2):
        ending = next((s for s in _SUFFIXES if word.endswith(s) and len(word) - len(s) > 3), "")
        word = word.removesuffix(ending)
    return word.removesuffix("at") if len(word) > 5 else word


def stems(text: str) -> list[str]:
    """The stems of all words of a text, in order."""
    return [stem(word) for word in split(text)]


@lru_cache(maxsize=1)
def _alike() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for group in _GROUPS:
        members = [stem(word) for word in group.split()]
        for member in members:
            found.setdefault(member, {}).update(dict.fromkeys(m for m in members if m != member))
    return {word: tuple(others) for word, others in found.items()}


def alike(word: str) -> tuple[str, ...]:
    """Stems that may stand for this one."""
    return _alike().get(word, ())


def asked(query: str) -> list[str]:
    """The stems that a query is about; all of its words where it has none but small ones."""
    words = split(query)
    told = [word for word in words if word not in _STOP] or words
    return list(dict.fromkeys(stem(word) for word in told))


def is_small(word: str) -> bool:
    """Whether a word says nothing by itself."""
    return word in _STOP
