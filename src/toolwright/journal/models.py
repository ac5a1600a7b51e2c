"""`ReplayedModel`: the model's door under a journal. A reply that was paid for is given again, a new one written down.

Requests are known by their order in the session. One that is not the recorded one raises `Diverged`.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwright.doors import Model, Reply, Request
from toolwright.errors import Diverged
from toolwright.journal.keys import key_of_value
from toolwright.journal.rows import Row
from toolwright.journal.writer import Writer
from toolwright_guest.packing import Packer, plain
from toolwright_guest.unpacking import Unpacker
from toolwright_guest.wire import Bounds, Packed


class ReplayedModel:
    """See `Model`. Without an inner one whatever is not recorded raises `Diverged`: nothing is ever asked."""

    def __init__(self, inner: Model | None, recorded: Iterable[Row], writer: Writer | None, cell: int = 0) -> None:
        self._inner = inner
        self._rows = {row.path: row for row in recorded if row.door == "model"}
        self._writer = writer
        self._cell = cell
        self._count = 0

    async def request(self, request: Request) -> Reply:
        self._count += 1
        path = f"model#{self._count}"
        asked = Packer(plain).packed([list(request.messages), request.settings])
        row = self._rows.get(path)
        if row is not None and row.value is not None:
            if key_of_value(row.arguments) != key_of_value(asked):
                raise Diverged(f"request {self._count} to the model is not the one that was recorded")
            message, usage = Unpacker(row.value.blobs, _nothing_else, Bounds()).unpack(row.value.tree)
            return Reply(message=message, usage=usage)
        if self._inner is None:
            raise Diverged(f"request {self._count} to the model is not recorded, and there is no model to ask")
        reply = await self._inner.request(request)
        if self._writer is not None:
            self._writer.now(self._row(path, asked, reply))
        return reply

    def _row(self, path: str, asked: Packed, reply: Reply) -> Row:
        value = Packer(plain).packed([reply.message, reply.usage])
        return Row(cell=self._cell, path=path, door="model", status="done", arguments=asked, value=value)


def _nothing_else(tag: str, body: object, unpacker: Unpacker) -> object:
    raise ValueError(f"a reply holds plain data only, and no {tag!r}")
