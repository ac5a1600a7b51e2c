"""`Budgeted`: a model that stops when its budget is used up. Knows no agent; a turn counts its own steps.

`Budget` is the limits, `Spending` what was used of them. An agent and its children share one `Spending`. It can be
shared by tasks, not by threads.
"""

from __future__ import annotations

import asyncio
import bisect
import itertools
import math
import time
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

from cellwright.doors import Model, ModelWrapper, Reply, Request
from cellwright.errors import BudgetSpent, UsageError
from cellwright.messages import OnPiece, Piece, Usage, estimated_tokens
from cellwright.models.reservations import Reservation, SeenReplies, asked_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """Limits. None means no limit; `cost` is in US dollars."""

    tokens: int | None = None
    cost: float | None = None
    steps: int | None = None
    seconds: float | None = None
    requests: int | None = None

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value is not None and not value > 0:
                raise UsageError(f"Budget({limit.name}={value!r}): give a number above zero, or leave it out")


_TICKETS = itertools.count()


class _Place:
    """A request that is under way, or waits; `called` is set when it may try again.

    Lines are ordered by `ticket`: at each level of spendings the oldest is first, so that no two wait for each other.
    """

    called: asyncio.Future[None]

    def __init__(self) -> None:
        self.ticket = next(_TICKETS)


class Spending:
    """What was used of a budget: `usage`, `steps` and `seconds` since it was made.

    `within` is the spending of the parent: usage here counts there too, and its limits hold.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        *,
        within: Spending | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.budget = budget or Budget()
        self.usage = Usage()
        self.steps = 0
        self.within = within
        self._clock = clock
        self._began = clock()
        self._under_way: dict[_Place, Reservation] = {}
        self._line: deque[_Place] = deque()  # requests that do not fit beside those under way, first come first served
        self._seen: defaultdict[str, SeenReplies] = defaultdict(SeenReplies)  # by the name of the model
        self._priced = 0  # tokens whose price is in `usage.cost`
        self._unpriced = 0  # tokens of replies that broke off, charged at the average price

    @property
    def seconds(self) -> float:
        return self._clock() - self._began

    @property
    def cost(self) -> float | None:
        """Dollars, with an estimate for replies that broke off; None if a price is not known."""
        known = self.usage.cost
        return known if known is None else known + self._unpriced * self._price()

    def add(self, usage: Usage, *, model: str = "the model") -> None:
        """Charge a request. `UsageError` if cost is limited and the price of the model is not known."""
        usage = _believed(usage)
        for spending in self._all():
            spending.usage += usage
            spending._priced += usage.tokens
        if usage.cost is None and any(spending.budget.cost is not None for spending in self._all()):
            raise UsageError(
                f"Budget(cost=…) cannot be held: nobody knows the price of {model}; limit tokens= or requests= instead"
            )

    def add_broken(self, usage: Usage) -> None:
        """Charge the estimated usage of a reply that broke off."""
        for spending in self._all():
            spending.usage += usage
            spending._unpriced += usage.tokens

    def step(self) -> None:
        """Count a step that begins now; `BudgetSpent` if none is left."""
        self.check()
        for spending in self._all():
            if spending.budget.steps is not None and spending.steps >= spending.budget.steps:
                raise spending._spent("steps")
        for spending in self._all():
            spending.steps += 1

    def check(self) -> None:
        """`BudgetSpent` if no further request may be made."""
        for spending in self._all():
            for what in ("tokens", "cost", "requests", "seconds"):
                left = spending.left(what)
                if left is not None and left <= 0:
                    raise spending._spent(what)

    def left(self, what: str) -> float | None:
        """What is left of "tokens", "cost", "steps", "seconds" or "requests"; None without a limit."""
        limit = self._limit(what)
        return None if limit is None else limit - self._used(what)

    def seconds_left(self) -> float | None:
        """The least of this spending and its parents."""
        left = [s for s in (spending.left("seconds") for spending in self._all()) if s is not None]
        return min(left, default=None)

    def out_of_time(self) -> BudgetSpent:
        """The error of the spending that has the least time left."""
        limited = [s for s in self._all() if s.budget.seconds is not None]
        return min(limited, key=lambda s: s.left("seconds") or 0.0)._spent("seconds")

    @asynccontextmanager
    async def in_time(self) -> AsyncGenerator[None]:
        """Ends what is inside when the time is over, with `BudgetSpent`."""
        time_left = asyncio.timeout(self.seconds_left())
        try:
            async with time_left:
                yield
        except TimeoutError:
            if time_left.expired():
                raise self.out_of_time() from None
            raise
        if time_left.expired():  # the cancellation was ignored inside
            raise self.out_of_time()

    @property
    def limited(self) -> list[Spending]:
        """This spending and its parents, those that limit something that a reply takes."""
        return [s for s in self._all() if any(map(s._limit, ("tokens", "cost", "requests")))]

    def learn(self, model: str, usage: Usage) -> None:
        """A reply of that model took this: later requests reserve accordingly."""
        for spending in self.limited:
            spending._seen[model].add(_believed(usage))

    @asynccontextmanager
    async def place(self, request: Request, model: Model) -> AsyncGenerator[None]:
        """A place for a request, which reserves what it may take: waits until that fits beside the requests under way.

        A single request always fits. Whoever waits is served in order, and holds nothing. A request that a model makes
        to reply to another, of the same spending, is part of that one: it would wait for itself.
        """
        place = _Place()
        held = {spending: other for spending, other in _HELD.get().items() if other in spending._under_way}
        await self._admit(place, request, model, frozenset(held))
        _HELD.set(dict.fromkeys(self.limited, place) | held)
        try:
            yield
        finally:
            _HELD.set(held)
            for spending in self.limited:
                spending._under_way.pop(place, None)
                spending._call_next()

    def check_again(self) -> None:
        """`BudgetSpent` if a request under way, whose reply broke off, may not be made once more."""
        self.check()
        for spending in self.limited:
            left = spending.left("requests")
            if left is not None and left < len(spending._under_way):
                raise spending._spent("requests")

    async def _admit(self, place: _Place, request: Request, model: Model, held: frozenset[Spending]) -> None:
        waits_at: Spending | None = None
        try:
            while True:
                self.check()
                free = [s for s in self.limited if s not in held]
                most = {s: s._seen[model.name].most(request, model.traits.window) for s in free}
                full = next((s for s in most if not s._has_room(place, most[s])), None)
                if full is None:
                    for spending in most:
                        spending._under_way[place] = most[spending]
                    return
                if full is not waits_at:
                    if waits_at is not None:
                        waits_at._leave(place)
                    waits_at = full
                    bisect.insort(full._line, place, key=lambda other: other.ticket)
                place.called = asyncio.get_running_loop().create_future()
                await place.called
        finally:
            if waits_at is not None:
                waits_at._leave(place)

    def _has_room(self, place: _Place, most: Reservation) -> bool:
        if self._line and self._line[0].ticket < place.ticket:
            return False
        under_way = self._under_way.values()
        wanted = {
            "tokens": most.tokens + sum(other.tokens for other in under_way),
            "requests": 1 + len(under_way),
            "cost": most.cost + sum(other.cost for other in under_way),
        }
        return not under_way or all((left := self.left(what)) is None or wanted[what] <= left for what in wanted)

    def _leave(self, place: _Place) -> None:
        self._line.remove(place)
        self._call_next()

    def _call_next(self) -> None:
        if self._line and not self._line[0].called.done():
            self._line[0].called.set_result(None)

    def _limit(self, what: str) -> float | None:
        return getattr(self.budget, what)

    def _all(self) -> Iterator[Spending]:
        spending: Spending | None = self
        while spending is not None:
            yield spending
            spending = spending.within

    def _price(self) -> float:
        return (self.usage.cost or 0.0) / self._priced if self._priced else 0.0

    def _used(self, what: str) -> float:
        match what:
            case "tokens":
                return self.usage.tokens
            case "requests":
                return self.usage.requests
            case "cost":
                return self.cost or 0.0
            case "steps":
                return self.steps
            case "seconds":
                return self.seconds
            case other:
                raise UsageError(f"{other!r} is no limit of a Budget")

    def _spent(self, what: str) -> BudgetSpent:
        used, limit = self._used(what), self._limit(what) or 0
        match what:
            case "cost":
                text = f"spent ${used:.4f} of ${limit:.4f}"
            case "seconds":
                text = f"spent {used:,.1f} of {limit:,.1f} seconds"
            case _:
                text = f"spent {used:,} of {limit:,} {what}"
        after = "" if what == "steps" else f" after {self.steps:,} step{'s' * (self.steps != 1)}"
        return BudgetSpent(f"{text}{after}; raise Budget({what}=…)", what=what)


_HELD: ContextVar[Mapping[Spending, _Place]] = ContextVar("_HELD", default=MappingProxyType({}))
"""The places of the request that is made here. A task that is started meanwhile inherits them, and may outlive them."""


class Budgeted(ModelWrapper):
    """See `Model`. Raises `BudgetSpent` before a request that may not be made, and when the time is over during one.

    A request reserves what it may take, and waits until that fits beside the requests under way: so a limit is overrun
    by at most one request, however many share it. The pieces of a reply that broke off or was cancelled are charged as
    an estimate; so a reply that is limited is always told in pieces.
    """

    def __init__(self, inner: Model, spending: Spending) -> None:
        super().__init__(inner)
        self.spending = spending
        behind: object = inner
        while behind is not None:  # the outer wrapper would hold the place that the inner one waits for
            if isinstance(behind, Budgeted) and set(behind.spending._all()) & set(spending._all()):  # pyright: ignore[reportPrivateUsage] - of this module
                raise UsageError("this model is charged to the same Spending already; wrap it once")
            behind = getattr(behind, "inner", None)

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        self.spending.check()
        async with self.spending.in_time(), self.spending.place(request, self.inner):
            return await self._charged(request, on_piece)

    async def _charged(self, request: Request, on_piece: OnPiece | None) -> Reply:
        with self._told(request, on_piece) as hear:
            reply = await self.inner.request(request, hear)
        usage = reply.usage
        if usage.requests and not usage.tokens and self.spending.limited:  # not every provider counts what it streams
            counted = estimated_tokens(reply.message)
            usage = replace(usage, input_tokens=asked_tokens(request), output_tokens=counted)
        self.spending.learn(self.name, usage)
        self.spending.add(usage, model=reply.model or self.name)
        return reply

    @contextmanager
    def _told(self, request: Request, on_piece: OnPiece | None) -> Generator[OnPiece | None]:
        """Charges pieces of replies that were taken back, and of the last reply if the request raises."""
        arrived: list[str] = []

        def charge() -> None:
            if arrived:
                told = estimated_tokens("".join(arrived))
                self.spending.add_broken(Usage(requests=1, input_tokens=asked_tokens(request), output_tokens=told))
            arrived.clear()

        def hear(piece: Piece) -> None:
            if piece.restart:
                charge()
                self.spending.check_again()
            if piece.text:
                arrived.append(piece.text)
            if on_piece is not None:
                on_piece(piece)

        try:
            yield hear if on_piece is not None or self.spending.limited else None
        except BaseException:
            charge()
            raise


def _believed(usage: Usage) -> Usage:
    """The usage that a provider reports, without negative numbers; a price that is no number counts as unknown."""
    cost = usage.cost if usage.cost is None or math.isfinite(usage.cost) else None
    return replace(
        usage,
        requests=max(0, usage.requests),
        input_tokens=max(0, usage.input_tokens),
        output_tokens=max(0, usage.output_tokens),
        cached_tokens=max(0, usage.cached_tokens),
        cost=None if cost is None else max(cost, 0.0),
    )
