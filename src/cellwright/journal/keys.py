"""What makes two calls the same: the operation and its arguments, as a short hash."""

from __future__ import annotations

from hashlib import blake2b

from cellwright.doors import Answer, Call
from cellwright.store import Row
from cellwright_guest.framing import frame
from cellwright_guest.wire import Packed

SIZE = 12


def key_of(call: Call | Row) -> str:
    """The key of a call: the same for the same request, whoever makes it and when."""
    return _digest([call.verb, call.target, call.name, call.arguments.tree], call.arguments.blobs)


def key_of_value(packed: Packed) -> str:
    return _digest(["value", packed.tree], packed.blobs)


def same_answer(answer: Answer, value: Packed, failed: bool) -> bool:
    return answer.failed == failed and key_of_value(answer.value) == key_of_value(value)


def _digest(message: list[object], blobs: list[object]) -> str:
    digest = blake2b(digest_size=SIZE)
    for buffer in frame(message, blobs):
        digest.update(buffer)
    return digest.hexdigest()
