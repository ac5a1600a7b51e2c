"""`transaction`: what guest code does to host objects and files inside of it stays, or is undone together.

Calls made inside have the block's path, and the host is told when it begins and how it ends; the host undoes. It does
not know which operations have an undo, nor how one is done.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

from cellwright_guest import paths
from cellwright_guest.refusals import NotSupported

LONGEST = 800  # characters of a block's path: the host takes a little more

_world: Any = None


class RollbackFailed(RuntimeError):
    """An undo failed: the transaction is neither done nor undone. Its text says what is undone and what is not."""

    def __init__(self, text: str, undone: list[str], failed: str, not_tried: list[str], left: list[str]) -> None:
        super().__init__(text)
        self.undone = undone
        self.failed = failed
        self.not_tried = not_tried
        self.left = left


RollbackFailed.__module__ = "cellwright"


def install(world: Any) -> None:
    """Set the world that transactions call."""
    global _world
    _world = world


def transaction(*, anyway: bool = False) -> Transaction:
    """All or nothing: `with transaction():` or `async with transaction():`.

    When the block ends with an exception, what it did to host objects is undone, last first, and the files in the
    workspace are as they were; then the exception goes on. Variables stay as they are. An operation that cannot be
    undone is refused inside of it; with `anyway=True` it runs, and is listed when the rest is undone.
    """
    if _world is None or not _world.door.journaled:
        raise NotSupported('transaction() needs a journal: have the operator open the Runtime with store="sqlite:///…"')
    return Transaction(bool(anyway))


class Transaction:
    """See `transaction`."""

    def __init__(self, anyway: bool) -> None:
        self._anyway = anyway
        self._block: paths.PathBlock | None = None

    def __enter__(self) -> Transaction:
        prefix = self._open()
        try:
            _world.call("begin", 0, prefix, self._anyway)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        verb, prefix = self._ending(error)
        try:
            _tell(_world.call(verb, 0, prefix), error)
        finally:
            self._close()

    async def __aenter__(self) -> Transaction:
        prefix = self._open()
        try:
            await _world.call_async("begin", 0, prefix, self._anyway)
        except BaseException:
            self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        verb, prefix = self._ending(error)
        try:
            _tell(await _to_its_end(verb, prefix), error)
        finally:
            self._close()

    def _open(self) -> str:
        if self._block is not None:
            raise RuntimeError("this transaction is open already; make another with transaction()")
        block = paths.block()
        if len(block.prefix) > LONGEST:
            block.close()
            raise RecursionError("transactions are nested too deeply")
        self._block = block
        return block.prefix

    def _ending(self, error: BaseException | None) -> tuple[str, str]:
        if self._block is None:
            raise RuntimeError("this transaction is not open; use it as `with transaction():`")
        return "commit" if error is None else "undo", self._block.prefix

    def _close(self) -> None:
        block, self._block = self._block, None
        if block is not None:
            block.close()


async def _to_its_end(verb: str, prefix: str) -> Any:
    """The host's answer. A task that is cancelled meanwhile still waits: a commit or undo must not stop half way."""
    asked = asyncio.ensure_future(_world.call_async(verb, 0, prefix))
    cancelled: asyncio.CancelledError | None = None
    while not asked.done():
        try:
            await asyncio.shield(asked)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return asked.result()


def _tell(report: Any, error: BaseException | None) -> None:
    if report is None or error is None:
        return
    if report["failed"]:
        raise RollbackFailed(
            report["text"], report["undone"], report["failed"], report["not_tried"], report["left"]
        ) from error
    if report["text"]:
        error.add_note(report["text"])
