"""A call as a row of the journal: written, read back, and compared with another call."""

from __future__ import annotations

import asyncio
from hashlib import blake2b

from cellwright.doors import Answer, Call
from cellwright.store import Row, Status, StoredPacked, fingerprint
from cellwright_guest.framing import frame
from cellwright_guest.wire import NOTHING, Packed

KEY_BYTES = 12


def started(call: Call, status: Status = "started", after: str = "") -> Row:
    """The row of a call that begins, or that the guest gave up."""
    return Row(
        cell=call.cell,
        path=call.path,
        title=call.about.title,
        verb=call.verb,
        target=call.target,
        name=call.name,
        line=call.line,
        status=status,
        reads=call.about.operation.reads,
        arguments=call.arguments if call.asked is None else call.asked,
        after=after,
        sent=None if call.asked is None else call.arguments,
    )


def finished(
    call: Call, answer: Answer, delivered: int | None = None, at: float = 0.0, back: tuple[tuple[int, int], ...] = ()
) -> Row:
    """The row of a call that came to its end. In one piece: `replace` takes longer than SQLite."""
    return Row(
        cell=call.cell,
        path=call.path,
        title=call.about.title,
        verb=call.verb,
        target=call.target,
        name=call.name,
        line=call.line,
        status="failed" if answer.failed else "done",
        reads=call.about.operation.reads,
        arguments=call.arguments if call.asked is None else call.asked,
        labels=answer.labels,
        sent=answer.sent if call.asked is None else call.arguments,
        value=answer.value,
        delivered=delivered,
        at=at,
        back=back,
        made=answer.made,
        kept=answer.kept,
    )


def call_of(row: Row) -> Call:
    """The call that a row tells of."""
    return Call(
        id=0,
        cell=row.cell,
        verb=row.verb,
        target=row.target,
        name=row.name,
        arguments=row.arguments if row.sent is None else row.sent,
        path=row.path,
        line=row.line,
    )


def key_of(call: Call | Row) -> str:
    """A short hash: the same for the same operation with the same arguments, whoever calls it and when."""
    return _digest([call.verb, call.target, call.name, call.arguments.tree], call.arguments.blobs)


def key_of_value(packed: Packed) -> str:
    return _digest(["value", packed.tree], packed.blobs)


def is_same_call(row: Row, call: Call) -> bool:
    if (row.verb, row.target, row.name) != (call.verb, call.target, call.name):
        return False
    if call.refused is not None or row.arguments == NOTHING:  # too many at once, then or now: told without arguments
        return True
    return _is_same(row.arguments, call.arguments)


def is_made_alike(row: Row, call: Call) -> bool:
    """Whether the call is about to be made with what it was made with then: a hook may have changed meanwhile."""
    return _is_same(row.arguments if row.sent is None else row.sent, call.arguments)


def is_same_answer(answer: Answer, value: Packed, failed: bool) -> bool:
    return answer.failed == failed and _is_same(value, answer.value)


def _is_same(recorded: Packed, now: Packed) -> bool:
    """A large recorded value is read only where its digests differ."""
    if isinstance(recorded, StoredPacked) and fingerprint(recorded) == fingerprint(now):
        return True
    return key_of_value(recorded) == key_of_value(now)


def has_short_answer(row: Row) -> bool:
    """Whether its value is read from the store, and has some kilobytes at most."""
    return isinstance(row.value, StoredPacked) and row.value.is_short


async def in_memory(packed: Packed) -> Packed:
    """The value itself. A large one is read from the store, in a thread."""
    return await asyncio.to_thread(lambda: Packed(*packed)) if isinstance(packed, StoredPacked) else packed


def _digest(message: list[object], blobs: list[object]) -> str:
    digest = blake2b(digest_size=KEY_BYTES)
    for buffer in frame(message, blobs):
        digest.update(buffer)
    return digest.hexdigest()
