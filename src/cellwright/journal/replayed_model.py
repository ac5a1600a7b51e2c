"""`ReplayedModel`: the model's door under a journal. A reply that was paid for is given again, a new one written down.

Requests are known by their order in the session. One that is not the recorded one raises `Diverged`. Asides, which are
no part of the conversation, are known by what they ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import takewhile

from cellwright.doors import Model, Reply, Request
from cellwright.errors import Diverged
from cellwright.journal.conversations import (
    ASIDE,
    PREFIX,
    ModelExchange,
    arguments_of,
    asides_in,
    digest_of,
    exchange_in,
    folded,
    reply_in,
    request_in,
    requests_in,
    value_of,
)
from cellwright.journal.writer import JournalWriter
from cellwright.messages import OnPiece, Traits, pieces_of
from cellwright.store import Row
from cellwright_guest.wire import Packed

BEFORE, SHOWN = 30, 120  # characters of a difference: of what is the same before it, and in all


class ReplayedModel:
    """See `Model`. Without an inner one whatever is not recorded raises `Diverged`: nothing is ever asked.

    `recorded` are the session's rows, those of the sessions it was forked from among them; the last of them are enough
    if `last` is the exchange that the next is built on. `begun` is how many requests are over and will not be made
    again; the next has the number after it. `cell` gives the number of the session's last
    cell. A request that fails has no row, and its number is free again: whoever comes back asks once more.
    """

    def __init__(
        self,
        inner: Model | None,
        recorded: Iterable[Row],
        writer: JournalWriter | None,
        cell: Callable[[], int] = lambda: 0,
        *,
        begun: int = 0,
        last: ModelExchange | None = None,
    ) -> None:
        self._inner = inner
        recorded = list(recorded)
        self._rows = requests_in(recorded)
        self._asides = asides_in(recorded)
        self._writer = writer
        self._cell = cell
        self._count = begun
        self._last = last

    @property
    def name(self) -> str:
        if self._inner is not None:
            return self._inner.name
        return next((row.title for row in self._rows.values()), "recorded")

    @property
    def traits(self) -> Traits:
        """Of the model inside; without one, of the model that was asked."""
        return self._recorded_traits if self._inner is None else self._inner.traits

    @cached_property
    def _recorded_traits(self) -> Traits:
        return request_in(self._rows, max(self._rows))[1] if self._rows else Traits()

    @property
    def requests(self) -> int:
        """The number of the last request."""
        return self._count

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        if request.aside:
            return await self._beside(request, on_piece)
        self._count += 1
        number, cell = self._count, self._cell()
        try:
            row = self._rows.get(number)
            if row is not None:
                return self._again(number, row, request, on_piece)
            if self._inner is None:
                raise Diverged(f"request {number} to the model is not recorded, and there is no model to ask")
            reply = await self._inner.request(request, on_piece)
            await self._write(number, cell, request, reply)
        except BaseException:
            if self._count == number:
                self._count -= 1
            raise
        return reply

    async def _beside(self, request: Request, on_piece: OnPiece | None) -> Reply:
        base, cell = self._base(self._count + 1), self._cell()
        key = digest_of(request, folded(request.messages, base))
        row = self._asides.get(key)
        if row is not None:
            return _told(reply_in(row), on_piece)
        if self._inner is None:
            raise Diverged("an aside to the model is not recorded, and there is no model to ask")
        reply = await self._inner.request(request, on_piece)
        path, arguments = f"{ASIDE}{key}", arguments_of(request, self.traits, base)
        self._asides[key] = await self._written(path, cell, key, arguments, reply)
        return reply

    async def close(self) -> None:
        if self._inner is not None:
            await self._inner.close()

    def _again(self, number: int, row: Row, request: Request, on_piece: OnPiece | None) -> Reply:
        folds = folded(request.messages, self._last)
        if digest_of(request, folds) != row.key:
            recorded, _ = request_in(self._rows, number)
            part = _part(recorded, request)
            raise Diverged(f"request {number} to the model is not the one that was recorded: {part}")
        reply = reply_in(row)
        self._remember(ModelExchange(number=number, request=request, folds=folds, reply=reply.message))
        return _told(reply, on_piece)

    async def _write(self, number: int, cell: int, request: Request, reply: Reply) -> None:
        base, traits = self._base(number), self.traits
        folds = folded(request.messages, base)
        arguments = arguments_of(request, traits, base, folds[-1])
        await self._written(f"{PREFIX}{number}", cell, digest_of(request, folds), arguments, reply)
        self._remember(ModelExchange(number=number, request=request, traits=traits, folds=folds, reply=reply.message))

    async def _written(self, path: str, cell: int, key: str, arguments: Packed, reply: Reply) -> Row:
        row = Row(
            cell=cell,
            path=path,
            door="model",
            title=reply.model or self.name,
            key=key,
            status="done",
            arguments=arguments,
            value=value_of(reply),
        )
        if self._writer is not None:
            await self._writer.now(row)
        return row

    def _remember(self, exchange: ModelExchange) -> None:
        if self._last is None or self._last.number < exchange.number:
            self._last = exchange

    def _base(self, number: int) -> ModelExchange | None:
        """What the row of this request builds on: the last one that is written down before it."""
        if self._last is None:
            earlier = max((n for n in self._rows if n < number), default=0)
            if earlier:
                self._last = exchange_in(self._rows, earlier)
        return self._last if self._last is not None and self._last.number < number else None


def _told(reply: Reply, on_piece: OnPiece | None) -> Reply:
    """A reply that is there already, told to whoever listens."""
    if on_piece is not None:
        for piece in pieces_of(reply.message):
            on_piece(piece)
    return reply


def _part(recorded: Request, asked: Request) -> str:
    """The first part in which two requests differ."""
    if recorded.instructions != asked.instructions:
        return f"its instructions {_was(recorded.instructions, asked.instructions)}"
    if recorded.tools != asked.tools:
        return f"its tools {_was(recorded.tools, asked.tools)}"
    for number, (before, now) in enumerate(zip(recorded.messages, asked.messages, strict=False)):
        if before != now:
            return f"message {number} {_was(before, now)}"
    if len(recorded.messages) != len(asked.messages):
        return f"it had {len(recorded.messages)} messages, and has {len(asked.messages)}"
    return "its settings (`Generation`) are others"


def _was(before: object, now: object) -> str:
    """Two values where they differ first."""
    texts = [one if isinstance(one, str) else repr(one) for one in (before, now)]
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    start = max(same - BEFORE, 0)
    was, is_now = (
        f"{'…' * (start > 0)}{text[start : start + SHOWN]}{'…' * (len(text) > start + SHOWN)}" for text in texts
    )
    return f"had {was!r}, and now {is_now!r}"
