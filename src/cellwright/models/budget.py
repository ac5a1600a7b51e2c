"""`Budgeted`: a model that stops when its budget is used up. Knows no agent; a turn counts its own steps.

`Budget` is the limits, `Spending` what was used of them. An agent and its children share one `Spending`. It can be
shared by tasks, not by threads.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, fields, replace

from cellwright.doors import Model, ModelWrapper, Reply, Request
from cellwright.errors import BudgetSpent, UsageError
from cellwright.messages import OnPiece, Piece, Usage, estimated_tokens


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
        self._under_way: list[int] = []  # estimated tokens of each request under way
        self._waiting: list[asyncio.Future[None]] = []
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
        limit = getattr(self.budget, what)
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
    async def place(self, request: Request) -> AsyncGenerator[None]:
        """A place for a request: waits until it fits beside the requests under way. A single request always fits."""
        while True:
            self.check()
            tokens = self._guess(request)
            full = next((s for s in self._all() if s._under_way and not s._fits(tokens)), None)
            if full is None:
                break
            turn = asyncio.get_running_loop().create_future()
            full._waiting.append(turn)
            await turn
        for spending in self._all():
            spending._under_way.append(tokens)
        try:
            yield
        finally:
            for spending in self._all():
                spending._under_way.remove(tokens)
                spending._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():  # it was cancelled
                turn.set_result(None)

    def _all(self) -> Iterator[Spending]:
        spending: Spending | None = self
        while spending is not None:
            yield spending
            spending = spending.within

    def _guess(self, request: Request) -> int:
        mean = self.usage.output_tokens // self.usage.requests if self.usage.requests else 0
        return _asked(request) + (request.generation.max_tokens or mean)

    def _fits(self, tokens: int) -> bool:
        tokens += sum(self._under_way)
        wanted = {"tokens": tokens, "requests": 1 + len(self._under_way), "cost": tokens * self._price()}
        return all((left := self.left(what)) is None or amount <= left for what, amount in wanted.items())

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
        used, limit = self._used(what), getattr(self.budget, what)
        match what:
            case "cost":
                text = f"spent ${used:.4f} of ${limit:.4f}"
            case "seconds":
                text = f"spent {used:,.1f} of {limit:,.1f} seconds"
            case _:
                text = f"spent {used:,} of {limit:,} {what}"
        after = "" if what == "steps" else f" after {self.steps:,} step{'s' * (self.steps != 1)}"
        return BudgetSpent(f"{text}{after}; raise Budget({what}=…)", what=what)


class Budgeted(ModelWrapper):
    """See `Model`. Raises `BudgetSpent` before a request that may not be made, and when the time is over during one.

    A request that does not fit beside the requests under way waits for one of them to end: so a limit is overrun by at
    most one request. The pieces of a reply that broke off or was cancelled are charged as an estimate.
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
        time_left = asyncio.timeout(self.spending.seconds_left())
        try:
            async with time_left, self.spending.place(request):
                return await self._charged(request, on_piece)
        except TimeoutError:
            if time_left.expired():
                raise self.spending.out_of_time() from None
            raise

    async def _charged(self, request: Request, on_piece: OnPiece | None) -> Reply:
        with self._told(request, on_piece) as hear:
            reply = await self.inner.request(request, hear)
        self.spending.add(reply.usage, model=reply.model or self.name)
        return reply

    @contextmanager
    def _told(self, request: Request, on_piece: OnPiece | None) -> Generator[OnPiece | None]:
        """Charges pieces of replies that were taken back, and of the last reply if the request raises."""
        arrived: list[str] = []

        def charge() -> None:
            if arrived:
                told = estimated_tokens("".join(arrived))
                self.spending.add_broken(Usage(requests=1, input_tokens=_asked(request), output_tokens=told))
            arrived.clear()

        def hear(piece: Piece) -> None:
            if piece.restart:
                charge()
            if piece.text:
                arrived.append(piece.text)
            if on_piece is not None:
                on_piece(piece)

        try:
            yield None if on_piece is None else hear
        except BaseException:
            charge()
            raise


def _believed(usage: Usage) -> Usage:
    """The usage that a provider reports, without negative numbers; a price that is no number counts as unknown."""
    cost = usage.cost if usage.cost is None or math.isfinite(usage.cost) else None
    return replace(
        usage,
        requests=max(usage.requests, 0),
        input_tokens=max(usage.input_tokens, 0),
        output_tokens=max(usage.output_tokens, 0),
        cached_tokens=max(usage.cached_tokens, 0),
        cost=None if cost is None else max(cost, 0.0),
    )


def _asked(request: Request) -> int:
    return estimated_tokens(request.instructions, *request.tools, *request.messages)
