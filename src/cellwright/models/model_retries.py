"""`Retrying`: a model that is asked again after `ModelBusy`. `Fallback`: several models as one. Knows no provider."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from cellwright.doors import Model, ModelWrapper, Reply, Request
from cellwright.errors import ModelBusy, ModelError, ModelMissing, ModelRefused, UsageError
from cellwright.messages import OnPiece, Piece, Traits

END_S = 2.0  # for a cancelled request to end


class PieceRelay:
    """Passes on the pieces of each attempt, and takes back the pieces of a failed attempt.

    They are taken back when the next attempt begins, and not before: without one the listener keeps the beginning of
    the reply.
    """

    def __init__(self, on_piece: OnPiece | None) -> None:
        self._on_piece = on_piece
        self._told = False

    @property
    def hear(self) -> OnPiece | None:
        """For the model: None without a listener, so that it need not stream."""
        return None if self._on_piece is None else self._hear

    def again(self) -> None:
        """Another attempt begins."""
        if self._told and self._on_piece is not None:
            self._told = False
            self._on_piece(Piece(text="", restart=True))

    def _hear(self, piece: Piece) -> None:
        self._told = bool(piece.text) or not piece.restart
        if self._on_piece is not None:
            self._on_piece(piece)


class Retrying(ModelWrapper):
    """See `Model`. After `ModelBusy` it waits a random time up to `base_s`, then twice that, and so on to `cap_s`.

    A delay that the provider asks for is waited first; a delay above `cap_s` is raised at once. `on_retry` gets the
    error and the seconds until the next attempt. The error of the last of `attempts` is raised, with their number.
    """

    def __init__(
        self,
        inner: Model,
        *,
        attempts: int = 5,
        base_s: float = 0.5,
        cap_s: float = 30.0,
        on_retry: Callable[[Exception, float], None] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(inner)
        if attempts < 1 or not base_s >= 0 or not cap_s >= 0:
            raise UsageError(f"{attempts=}, {base_s=}, {cap_s=}: give at least one attempt, and no negative times")
        self._attempts = attempts
        self._base_s = base_s
        self._cap_s = cap_s
        self._on_retry = on_retry
        self._sleep = sleep
        self._jitter = jitter

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        telling = PieceRelay(on_piece)
        attempt = 1
        while True:
            try:
                return await _ended_with_me(self.inner.request(request, telling.hear))
            except ModelBusy as busy:
                delay_s = self._delay_s(attempt, busy)
                if self._on_retry is not None:
                    self._on_retry(busy, delay_s)
            await self._sleep(delay_s)
            telling.again()
            attempt += 1

    def _delay_s(self, attempt: int, busy: ModelBusy) -> float:
        wish = busy.retry_after_s or 0.0
        if wish > self._cap_s:
            text = f"{busy}; it asks to be left alone for {wish:,.0f} s, and {self._cap_s:,.0f} s are waited at most"
            raise ModelBusy(text, retry_after_s=wish) from busy
        if attempt >= self._attempts:
            times = f"{attempt} attempt{'s' * (attempt != 1)}"
            raise ModelBusy(f"{busy} (after {times})", retry_after_s=busy.retry_after_s) from busy
        grown = self._base_s * 2.0 ** min(attempt - 1, 60)  # beyond that a float has no room
        return min(self._cap_s, wish + self._jitter() * min(self._cap_s, grown))


async def _ended_with_me(request: Coroutine[Any, Any, Reply]) -> Reply:
    """The reply. A cancellation is passed on, and raised also where the request ignores it."""
    asking = asyncio.ensure_future(request)
    try:
        return await asyncio.shield(asking)
    except asyncio.CancelledError:
        asking.cancel()
        await asyncio.wait({asking}, timeout=END_S)
        raise


class Fallback:
    """See `Model`. Asks in order until one replies; `Reply.model` says which it was.

    Every `ModelError` leads to the next model, a refusal too: a wrong key or name, or a refused request, says nothing
    about the next provider. A request that is wrong for all is refused by all, which costs nothing. If none replies,
    the error names the error of each, and is a `ModelBusy` if one of them was: then a retry may help. Every request
    begins with the first model. `on_fall` gets the model that failed, its error, and the next model.
    """

    def __init__(
        self,
        *models: Model,
        on_fall: Callable[[Model, ModelError, Model], None] | None = None,
    ) -> None:
        if not models:
            raise UsageError("Fallback() has no model; give at least one")
        self.models = models
        self._on_fall = on_fall

    @property
    def name(self) -> str:
        return self.models[0].name

    @property
    def traits(self) -> Traits:
        """What all of them can do, because any of them may reply."""
        each = [model.traits for model in self.models]
        return Traits(calls=all(traits.calls for traits in each), window=min(traits.window for traits in each))

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        telling = PieceRelay(on_piece)
        failures: list[tuple[Model, ModelError]] = []
        for model in self.models:
            if failures:
                if self._on_fall is not None:
                    self._on_fall(*failures[-1], model)
                telling.again()
            try:
                reply = await model.request(request, telling.hear)
            except ModelError as error:
                failures.append((model, error))
            else:
                return replace(reply, model=reply.model or model.name)
        raise _all_of(failures)

    async def close(self) -> None:
        """Close all models, also if closing one fails."""
        async with AsyncExitStack() as stack:
            for model in reversed(self.models):
                stack.push_async_callback(model.close)


def _all_of(failures: list[tuple[Model, ModelError]]) -> ModelError:
    errors = [error for _, error in failures]
    if len(errors) == 1:
        return errors[0]
    text = f"none of {len(errors)} models replied: " + "; ".join(f"{model.name}: {error}" for model, error in failures)
    busy = [error for error in errors if isinstance(error, ModelBusy)]
    if busy:
        wishes = [error.retry_after_s for error in busy]
        return ModelBusy(
            text, retry_after_s=None if None in wishes else min(wish for wish in wishes if wish is not None)
        )
    for kind in (ModelRefused, ModelMissing):
        if all(isinstance(error, kind) for error in errors):
            return kind(text)
    return ModelError(text)
