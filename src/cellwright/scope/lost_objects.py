"""Host objects whose process is gone: the contract of those that can be rebuilt, and the errors about lost ones.

It knows what an object tells about itself; `revivals` knows how an object is brought back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from cellwright.doors import Made, ObjectOrigin
from cellwright.errors import HandleLost, UsageError
from cellwright.scope.presets import JOURNAL
from cellwright_guest.packer import Packer, plain
from cellwright_guest.wire import Packed


class Revivable(Protocol):
    """An object that can be rebuilt from its own data after the death of its process: a connector's record is one.

    `to_journal` gives plain data; it is called once, when the guest of a journaled session first gets the object, and
    what it raises is the answer of that call. `from_journal` makes the object again, on first use; `root` is what the
    scope has under the first name of the object's path (`crm` for one that came from `crm.contacts.get`). It may be
    async. Both are hidden from guest code.
    """

    def to_journal(self) -> Any: ...
    @classmethod
    def from_journal(cls, kept: Any, root: Any) -> Any: ...


def is_revivable(kind: type) -> bool:
    return all(hasattr(kind, name) for name in JOURNAL)


def pack_kept(kept: dict[int, Any]) -> Packed | None:
    """The data of the objects in one answer, by their numbers."""
    if not kept:
        return None
    try:
        return Packer(plain).packed(kept)
    except TypeError as error:
        raise UsageError(f"to_journal() must give plain data: {error}") from None


@dataclass(frozen=True, kw_only=True, slots=True)
class LostObject:
    """Stands in the value of a cell for a host object that did not outlive its process."""

    handle: int
    told: str

    def __repr__(self) -> str:
        return f"<lost: {self.told}>"


def lost_object(number: int, made: Made | None, origin: ObjectOrigin | None) -> LostObject:
    if made is None:
        return LostObject(handle=number, told=f"host object {number}, which this session does not hold")
    return LostObject(handle=number, told=f"{named(made)}, which {_source(origin)}")


def handle_lost(made: Made, origin: ObjectOrigin | None, why: str = "") -> HandleLost:
    """An error that names the object, the call that made it, why it is lost, and what to do."""
    again = "get it again" if origin is None else "call it again" if origin.call.verb == "call" else "read it again"
    because = f" ({why})" if why else ""
    return HandleLost(f"{named(made)} {_source(origin)} and did not outlive the process that made it{because}; {again}")


def named(made: Made) -> str:
    return f"{made.kind.rpartition(':')[2].rpartition('.')[2]}#{made.number}"


def _source(origin: ObjectOrigin | None) -> str:
    if origin is None:
        return "was handed to guest code by host code"
    title = origin.title
    if origin.call.verb in ("call", "new"):
        title += "()" if origin.call.arguments.tree in ({"t": []}, {"t": [{"t": []}, {"m": {}}]}) else "(…)"
    return f"came from {title} in cell {origin.call.cell}"
