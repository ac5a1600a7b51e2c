"""`Start`: a checkpoint as a place to begin from, with what the host must know of the cells before it.

As bytes it is a line of JSON, and then what the guest pickled, which nobody but a guest reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cellwright.doors import Made

FORMAT = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointStart:
    """After `cell` of `session`, when the guest had been told as much as delivery `delivered`.

    made        the host objects and classes that the guest knew; `began`: the numbers of those that no call made
    names       the names that were bound up to then; `later`: how often names were bound after the session had begun
    forgotten   some cells before it are not part of its state
    rollback    the cell that an unfinished rollback leads to; "" for none
    missing     what is not in the guest's own bytes; `read` gives these, and is called when a guest takes them up
    """

    session: str
    cell: int
    delivered: int
    made: tuple[Made, ...] = ()
    began: frozenset[int] = frozenset()
    names: tuple[str, ...] = ()
    later: int = 0
    forgotten: bool = False
    rollback: str = ""
    missing: tuple[str, ...] = ()
    read: Callable[[], bytes] = field(default=bytes, repr=False, compare=False)

    @property
    def complete(self) -> bool:
        return not self.missing

    @property
    def lost(self) -> tuple[str, ...]:
        """The names that are not in it."""
        names = (one.partition(": ")[0] for one in self.missing)
        return tuple(name for name in names if name.isidentifier())


def encoded(start: CheckpointStart, content: bytes) -> bytes:
    head = {
        "format": FORMAT,
        "session": start.session,  # with the cell: so that no two checkpoints of a journal are the same blob
        "cell": start.cell,
        "delivered": start.delivered,
        "made": [[one.number, one.path, one.kind] for one in start.made],
        "began": sorted(start.began),
        "names": start.names,
        "later": start.later,
        "forgotten": start.forgotten,
        "rollback": start.rollback,
    }
    return json.dumps(head, separators=(",", ":")).encode("ascii") + b"\n" + content


def decoded(blob: bytes, missing: tuple[str, ...]) -> CheckpointStart:
    """What `encoded` made this of, without the content. Raises `ValueError` for what it did not make."""
    head: dict[str, Any] = json.loads(blob[: _head_size(blob)])
    if head.pop("format", None) != FORMAT:
        raise ValueError("it has another format")
    try:
        made = tuple(Made(number=number, path=path, kind=kind) for number, path, kind in head.pop("made"))
        began, names = frozenset[int](head.pop("began")), tuple[str, ...](head.pop("names"))
        return CheckpointStart(made=made, began=began, names=names, missing=missing, **head)
    except (TypeError, KeyError) as error:
        raise ValueError(f"its parts do not fit ({error})") from None


def content_in(blob: bytes) -> bytes:
    """The content that `encoded` was given."""
    return blob[_head_size(blob) :]


def _head_size(blob: bytes) -> int:
    return blob.find(b"\n") + 1 or len(blob)
