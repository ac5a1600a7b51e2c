"""What a request may take at most, judged by earlier replies of its model. Knows no budget."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cellwright.doors import Request
from cellwright.messages import Usage, estimated_tokens

REPLY = 16_384  # tokens of a reply without `max_tokens`, unless a longer one was seen
INPUT_PRICE = 1 / 8  # of the price of output, at least: no provider asks for less
CACHED_PRICE = 1 / 10  # of the price of input, at least


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """`cost` is in dollars, infinite while the price is not known."""

    tokens: int
    cost: float


class SeenReplies:
    """The replies of one model so far."""

    def __init__(self) -> None:
        self._longest = self._largest = 0  # tokens of a reply, and of a reply with its request
        self._dearest = 0.0
        self._input_price = self._output_price = math.inf  # upper bounds, in dollars a token

    def add(self, usage: Usage) -> None:
        self._longest = max(self._longest, usage.output_tokens)
        self._largest = max(self._largest, usage.tokens)
        if not usage.cost or not usage.tokens:  # a reply that cost nothing says nothing about the next
            return
        self._dearest = max(self._dearest, usage.cost)
        cached = min(usage.cached_tokens, usage.input_tokens)
        paid = usage.input_tokens - cached * (1 - CACHED_PRICE)  # tokens at the full price of input, at least
        self._input_price = min(self._input_price, usage.cost / paid if paid else math.inf)
        self._output_price = min(self._output_price, usage.cost / (usage.output_tokens + paid * INPUT_PRICE))

    def most(self, request: Request, window: int) -> Reservation:
        """What this request and its reply may take."""
        asked = 2 * asked_tokens(request)  # the estimate is low for other text than English prose
        said = request.generation.max_tokens or min(max(REPLY, 2 * self._longest), window)
        if math.isinf(self._output_price):
            cost = math.inf
        else:
            cost = asked * min(self._input_price, self._output_price) + said * self._output_price
        return Reservation(tokens=max(asked + said, self._largest), cost=max(cost, self._dearest))


def asked_tokens(request: Request) -> int:
    """The estimated tokens of a request without its reply."""
    return estimated_tokens(request.instructions, *request.tools, *request.messages)
