"""`Fallback`: several models as one; if one does not reply, the next is asked. Knows no provider."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace

from cellwright.doors import Model, Reply, Request
from cellwright.errors import ModelBusy, ModelError, ModelMissing, ModelRefused, UsageError
from cellwright.messages import OnPiece, Traits
from cellwright.models.model_retries import PieceRelay


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
