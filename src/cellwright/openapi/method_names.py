"""The name of an operation in its namespace: the words of its id that do not repeat the namespace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cellwright.openapi.name_words import joined, same, singular, words

HTTP_METHODS = ("get", "put", "post", "delete", "patch", "head", "options", "trace")
_LINKS = frozenset("for of in to from by on at with as and a an the all via per".split())
_LOOSE = frozenset("a an the all multiple several many one single".split())
_GETTING = frozenset("get fetch read retrieve find query".split())
VERBS = frozenset(
    "accept activate add allocate apply approve archive assign associate attach authorize batch begin block cancel "
    "change check clear clone close complete configure confirm connect convert copy count create deactivate decline "
    "delete deny deprovision deregister describe detach disable disassociate disconnect download duplicate edit "
    "enable end execute export fetch find finish follow generate get grant hide import initiate insert install invite "
    "invoke join kick leave link list lock lookup mark merge migrate modify move mute notify open patch pause pin "
    "post preview provision publish purge push put query read rebuild receive refresh register reject release reload "
    "remove rename render renew reopen reorder replace replay request resend reset resolve restart restore resume "
    "retrieve retry revert revoke rotate run save scan schedule search select send set share show sign skip snooze "
    "sort start stop submit subscribe suspend swap switch sync tag terminate test toggle transfer trigger unarchive "
    "unassign unblock undelete undo unfollow uninstall unlink unlock unmute unpin unpublish unsubscribe update "
    "upgrade upload upsert use validate verify view void watch write".split()
)
CHANGING = VERBS - frozenset(
    "batch begin check count describe download export fetch find get list lookup open preview query read render "
    "request retrieve scan search share show sort test use validate verify view watch".split()
)


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
