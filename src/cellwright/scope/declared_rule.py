"""`Rule`: what one `declare` says, and which members it is about; `RuleVerdict`: what all of them come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One `declare`: the members that it is about, and what it says of them.

    `when` decides by a member's path, too: an upstream may offer other operations meanwhile. With `read_only="ask"` an
    operation that is not known to only read waits for a person's yes.
    """

    pattern: str
    hide: bool | frozenset[str] | None = None
    only: frozenset[str] | None = None
    read_only: bool | Literal["ask"] = False
    writable: bool | frozenset[str] | None = None
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    when: Callable[[str], bool] | None = None
    noted: bool = False  # it says nothing itself: a policy has this pattern, and decides call by call

    @property
    def general(self) -> bool:
        """Whether the pattern names no owner: it says the same at every path."""
        return self.pattern.startswith("*") and self.pattern.rpartition(".")[0] in ("", "*")

    def names(self, name: str) -> bool:
        """Whether the rule is about the member `name` in particular."""
        return self.pattern.rpartition(".")[2] == name or (isinstance(self.hide, frozenset) and name in self.hide)

    def hides(self, name: str, fields: tuple[str, ...]) -> bool | None:
        """Whether it hides, or shows, a member of an object; None where it says nothing of that.

        What hides everything is about what objects do, not about the `fields` of plain data.
        """
        if isinstance(self.hide, frozenset):
            return True if name in self.hide else None
        return None if self.hide and self.general and not self.names(name) and name in fields else self.hide

    def covers(self, titles: tuple[str, ...]) -> bool:
        matches = any(fnmatchcase(title, self.pattern) for title in titles)
        return matches and (self.when is None or self.when(titles[0]))

    def level_with(self, titles: tuple[str, ...]) -> bool:
        """Whether the pattern names members of this very object, as `only` means, and not of objects below them."""
        depth = self.pattern.count(".")
        return any(fnmatchcase(title, self.pattern) and title.count(".") == depth for title in titles)


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleVerdict:
    """What the rules decide about one member."""

    visible: bool
    read_only: bool
    why: str = ""
    lifted: bool = False  # `hide=False` is declared of it: it is granted whatever presets say
    asks_writes: bool = False
    writable: bool | None = None  # whether guest code may set it; None: nothing is declared
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    noted: frozenset[str] = frozenset()  # patterns of a policy that cover it


GRANTED = RuleVerdict(visible=True, read_only=False)  # no rule speaks of it


@dataclass(slots=True)
class RuleDecision:
    """What rules say of a member under one title: those that name an owner, or this member; a general one undoes."""

    hidden: bool = False
    shown: bool = False
    read_only: bool = False
    asks_writes: bool = False
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    noted: set[str] = field(default_factory=set[str])


def joined(verdict: RuleVerdict, same: Iterable[RuleDecision], strict: Iterable[RuleDecision]) -> RuleVerdict:
    """The verdict, with what is granted to the `same` object elsewhere, and less what `strict` takes away."""
    facts: dict[str, Any] = {}
    why, lifted, read_only, asks_writes = verdict.why, verdict.lifted, verdict.read_only, verdict.asks_writes
    noted = set(verdict.noted)
    for one in same:
        noted |= one.noted
        facts |= one.facts
        why, lifted = ("", True) if one.shown else (why, lifted)
    facts |= verdict.facts
    for one in strict:
        noted |= one.noted
        why = "it is hidden in this scope" if one.hidden else why
        read_only, asks_writes = read_only or one.read_only, asks_writes or one.asks_writes
        facts |= {fact: value for fact, value in (("ask", True), ("reads", False)) if one.facts.get(fact) is value}
    return RuleVerdict(
        writable=verdict.writable,
        visible=not why,
        read_only=read_only,
        why=why,
        lifted=lifted,
        asks_writes=asks_writes,
        facts=facts,
        noted=frozenset(noted),
    )
