"""`Fallback`: several models as one; the next is asked where one does not reply. Knows no provider."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cellwright.doors import Model, Reply, Request
from cellwright.errors import ModelBusy, ModelError, ModelMissing, ModelRefused, UsageError
from cellwright.messages import OnPiece, Traits
from cellwright.models.retrying import Retelling


class Fallback:
    """See `Model`. Asks in order until one replies; `Reply.model` says which it was.

    Every `ModelError` falls through, a refusal too: a wrong key, a name that is gone or a request that one provider
    does not take says nothing of the next provider. A request that is wrong for all of them is refused by all, which
    costs nothing. When none replies, the error tells what each of them said, and is a `ModelBusy` if one of them was:
    then it may help to ask again. Every request begins with the first model. `on_fall` is told the model that failed,
    its error, and the next.
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
        """What all of them can do, for nobody knows which will reply."""
        each = [model.traits for model in self.models]
        return Traits(calls=all(traits.calls for traits in each), window=min(traits.window for traits in each))

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        telling = Retelling(on_piece)
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
        """All of them, also when closing one fails."""
        await _close(self.models)


async def _close(models: tuple[Model, ...]) -> None:
    if models:
        try:
            await models[0].close()
        finally:
            await _close(models[1:])


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
