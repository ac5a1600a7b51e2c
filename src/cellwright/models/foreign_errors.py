"""`ModelErrorsOnly`: a model of the developer's, held to the contract. `Hearing`: who listens to pieces, told apart.

What a model raises that is no error of ours becomes a `ModelError`; what the listener raises stays what it is.
"""

from __future__ import annotations

from typing import Any

from cellwright.doors import ModelWrapper, Reply, Request
from cellwright.errors import CellwrightError, ModelError
from cellwright.messages import OnPiece, Piece
from cellwright.short_texts import cut, named_error, one_line

LONGEST = 300  # characters of an error


class Hearing:
    """Passes pieces on. `failed` is the exception that the listener raised."""

    def __init__(self, on_piece: OnPiece | None) -> None:
        self.failed: Exception | None = None
        self._on_piece = on_piece

    @property
    def hear(self) -> OnPiece | None:
        """For the model: None without a listener, so that it need not stream."""
        return None if self._on_piece is None else self._hear

    def _hear(self, piece: Piece) -> None:
        assert self._on_piece is not None
        try:
            self._on_piece(piece)
        except Exception as error:
            self.failed = error
            raise


class ModelErrorsOnly(ModelWrapper):
    """See `Model`. An `AssertionError` is let through: it is a test's."""

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        hearing = Hearing(on_piece)
        try:
            reply: Any = await self.inner.request(request, hearing.hear)
        except (CellwrightError, AssertionError):
            raise
        except Exception as error:  # an outer edge: a model is the developer's, and may raise anything
            if error is hearing.failed:
                raise
            raise ModelError(f"{self.name}: {cut(one_line(named_error(error)), LONGEST)}") from error
        if not isinstance(reply, Reply):
            raise ModelError(f"{self.name}: its `request` gave a {type(reply).__name__} and no Reply")
        return reply
