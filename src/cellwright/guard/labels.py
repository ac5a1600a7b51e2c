"""Labels: what an answer carries: *untrusted* (outsiders may have written it), *private*, *trusted*.

They are declared by operation and by field, and kept in the row of the answer as short texts, from which a session's
state is read back. It knows no sessions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from cellwright.doors import Fields, Operation
from cellwright.scope import KEY, Leaf, PackedContent

UNTRUSTED, PRIVATE, TRUSTED = "untrusted", "private", "trusted"
NAMES = (UNTRUSTED, PRIVATE, TRUSTED)
HIT, CHOSEN, SAID = "hit", "chosen", "said "
LISTED = "listed"  # code that nothing influenced asked for several objects: it may act on them, and no later code
NARROWED = "narrowed"  # influenced code chose what a trusted answer is about: no name is the only one in it
UNNAMED = ""  # the field that no name leads to
FLAGS = 64  # None, True and False of an answer; more of them could say anything

CONTENT = frozenset(
    "body text content message subject title description comment note notes summary caption reason html".split()
)
"""Parameters of operations of which nothing is declared that hold what is said, not to whom."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelSpec:
    """What is declared of the answers of an operation, or of what an object gives."""

    untrusted: Fields = False
    private: Fields = False
    trusted: Fields = False

    @classmethod
    def of(cls, operation: Operation, *, operator: bool = False) -> LabelSpec:
        """`operator`: it is one of a bound object, `str` of a frame or an item of it, which may tell any field."""
        if not operation.has_labels:
            return NONE
        spec = cls(untrusted=operation.untrusted, private=operation.private, trusted=operation.trusted)
        return spec.beneath("") if operator else spec

    def __or__(self, other: LabelSpec) -> LabelSpec:
        """Both are said. What either calls untrusted or private is; trusted is what one does, and no other limits."""
        if other is NONE or self is other:
            return self
        if self is NONE:
            return other
        return LabelSpec(
            untrusted=_united(self.untrusted, other.untrusted),
            private=_united(self.private, other.private),
            trusted=_united(self.trusted, other.trusted),
        )

    def inside(self, name: str) -> LabelSpec:
        """What holds for the member `name` of an object that carries these labels."""
        parts = {label: _inside(getattr(self, label), name) for label in NAMES}
        return LabelSpec(**parts) if any(parts.values()) else NONE

    def beneath(self, name: str) -> LabelSpec:
        """What holds for the answer of a method, or an operator, of an object that carries these labels.

        What has no name in it may be, or be made of, any field: the text of a record, an item of a column.
        """
        inner = self.inside(name)
        parts: dict[str, Fields] = {}
        for label in (UNTRUSTED, PRIVATE):
            fields: Fields = getattr(inner, label)
            parts[label] = fields if type(fields) is bool else tuple(dict.fromkeys((*fields, UNNAMED)))
        return replace(inner, **parts)

    def texts(self) -> tuple[str, ...]:
        """As a row keeps them: "said private", "said untrusted:body,subject"."""
        return _texts(self)

    @classmethod
    def read(cls, texts: Iterable[str]) -> LabelSpec:
        """The labels that `texts` gave."""
        return _read(tuple(texts))

    def is_in(self, label: str, leaf: Leaf) -> bool:
        """Whether a leaf carries the label. An untrusted field is never trusted."""
        fields: Fields = getattr(self, label)
        if label == TRUSTED and self.untrusted and _covers(self.untrusted, leaf.names):
            return False
        return _covers(fields, leaf.names) and not _is_unnamed(leaf.names)

    def carried(self, content: PackedContent) -> tuple[str, ...]:
        """Which of the labels an answer of this content carries: none of what is not in it."""
        found: list[str] = []
        for label in (UNTRUSTED, PRIVATE):
            fields: Fields = getattr(self, label)
            if not fields:
                continue
            told = (leaf for leaf in content.leaves if leaf.value not in ("", b""))
            if content.opaque or content.flags > FLAGS or any(_covers(fields, leaf.names) for leaf in told):
                found.append(label)
        return tuple(found)


NONE = LabelSpec()


@lru_cache(maxsize=4096)
def _texts(spec: LabelSpec) -> tuple[str, ...]:
    given = ((f"{SAID}{label}", getattr(spec, label)) for label in NAMES)
    return tuple(text if fields is True else f"{text}:{','.join(fields)}" for text, fields in given if fields)


@lru_cache(maxsize=4096)
def _read(texts: tuple[str, ...]) -> LabelSpec:
    said: dict[str, Fields] = {}
    for text in texts:
        label, _, names = text.removeprefix(SAID).partition(":")
        if text.startswith(SAID) and label in NAMES:
            said[label] = tuple(names.split(",")) if names else True
    return LabelSpec(**said) if said else NONE


def _is_unnamed(names: tuple[str, ...]) -> bool:
    """Whether a field on the way has no name here: it may be any."""
    return any(name.startswith("?") for name in names)


def _covers(fields: Fields, names: tuple[str, ...]) -> bool:
    """Whether a value that these names lead to may be in one of the fields. A name of a field may be dotted."""
    if fields is True or (fields and _is_unnamed(names)):
        return True
    if not fields:
        return False
    path = f".{'.'.join(names)}."
    return any(f".{field}." in path for field in fields)


def _united(one: Fields, other: Fields) -> Fields:
    if one is True or other is True:
        return True
    return tuple(dict.fromkeys((*(one or ()), *(other or ())))) or False


def _inside(fields: Fields, name: str) -> Fields:
    if fields is True or not fields:
        return fields
    if name and name in fields:
        return True
    below = tuple(field.partition(".")[2] for field in fields if field.startswith(f"{name}."))
    return below or fields


def selecting_part(operation: Operation, name: str, content: PackedContent) -> PackedContent | None:
    """What of an argument says to whom, or on what, the call acts; None for nothing."""
    chosen = operation.selecting
    if chosen is not None:
        return content if name in chosen or (name.startswith("#") and chosen) else None
    if name not in CONTENT:
        return content
    fields = [leaf for leaf in content.leaves if leaf.names and leaf.names[-1] not in (KEY, *CONTENT)]
    return PackedContent(leaves=fields) if fields else None  # as in body={"to": …}
