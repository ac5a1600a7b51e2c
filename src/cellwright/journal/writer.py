"""Writes for one session, in order. What must be known before an effect is written at once; the rest a moment later.

A row written `soon` is on disk before anything written `now`, and before the session's next call does anything. The
event loop waits for neither: where a write would have to wait, a thread of the store makes it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from cellwright.errors import Fenced, JournalFailed, UsageError
from cellwright.journal.heartbeat import HEART, abandon_session, claimed, release_session
from cellwright.store import Change, Claim, PromptStore, Store, fenced, off_loop, threads_of, unstopped
from cellwright_guest.wire import Packed, is_large, type_of

AT_ONCE = 256  # changes that are written on the loop


@dataclass(frozen=True, kw_only=True, slots=True)
class QueuedWrite:
    """One write: what was to be written soon, and then `changes`, for which somebody waits if `done` is there."""

    soon: list[Change]
    changes: tuple[Change, ...] = ()
    done: asyncio.Future[None] | None = field(default=None)


class JournalWriter:
    """Writes under the claim that `hold` was given, which it keeps alive until `release`.

    After the first failure nothing is written any more, until it holds another claim: `failed` says why, and `broken`
    wakes whoever waits for it. A session that cannot be written is given up, so that others can have it.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.written = 0  # bytes
        self.failed: Fenced | JournalFailed | None = None
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._claim: Claim | None = None
        self._loop = asyncio.get_running_loop()
        self._try = store.try_write if isinstance(store, PromptStore) else None
        self._soon: list[Change] = []
        self._queue: deque[QueuedWrite] = deque()  # the first is in a thread
        self._on_disk = asyncio.Event()
        self._on_disk.set()

    @property
    def claim(self) -> Claim:
        if self._claim is None:
            raise UsageError("nothing can be written to a session that was not begun")
        return self._claim

    @property
    def can_write(self) -> bool:
        return self._claim is not None and self.failed is None

    @property
    def is_behind(self) -> bool:
        """Whether a thread writes, and somebody has been told what is not on disk yet."""
        return bool(self._queue)

    def hold(self, claim: Claim) -> None:
        """Write under this claim from now on."""
        self._claim, self.failed = claim, None
        if self.broken.done():
            self.broken = self._loop.create_future()
            self._soon.clear()  # as what failed: nobody was told that it is on disk
        HEART.add(self.store, claim, self.lose)

    async def take(self, claim: Callable[[], Claim]) -> None:
        """Write under the claim that this gives, in a thread, from now on."""
        await self._on_disk.wait()  # what is under way belongs to the claim before
        self.hold(await claimed(self.store, claim))

    async def release(self) -> None:
        """Write no more, when what is under way is written: another process may claim the session at once."""
        if self._claim is not None:
            await asyncio.shield(self._loop.create_task(self._release(self._claim)))

    async def _release(self, claim: Claim) -> None:
        await self._on_disk.wait()
        await off_loop(self.store, release_session, self.store, claim)

    async def now(self, *changes: Change) -> None:
        """Write what waits and then these: they are on disk when this returns. Raises what the store raises.

        To stop waiting does not stop the write.
        """
        if self.failed is not None:
            raise self.failed
        soon, self._soon = self._soon, []
        if not self._queue:
            try:
                if self._is_prompt(soon, changes):
                    return
            except UsageError:  # about these changes: what waited was not written with them, and is written next
                self._soon = soon
                raise
        done = self._loop.create_future()
        self._add(QueuedWrite(soon=soon, changes=changes, done=done))
        await unstopped(done)

    def soon(self, change: Change) -> None:
        """Write it before anything else is written, and before the next call does anything."""
        if not self._soon:
            self._loop.call_soon(self._flush)
        self._soon.append(change)

    async def caught_up(self) -> None:
        """Until all is on disk that somebody was told. Raises what the store raised."""
        while self._queue:
            await self._on_disk.wait()
        if self.failed is not None:
            raise self.failed

    def _flush(self) -> None:
        if not self._soon or self.failed is not None or self._queue:
            return  # what waits is written with what is written next, or after the write that is under way
        soon, self._soon = self._soon, []
        try:
            if not self._is_prompt(soon, ()):
                self._add(QueuedWrite(soon=soon))
        except UsageError as error:  # a row that cannot be written: nobody waits for it here
            self.fail(JournalFailed(str(error)))
        except (Fenced, JournalFailed):
            return  # kept in `failed`, and `broken` tells whoever runs the cell

    def _is_prompt(self, soon: list[Change], changes: tuple[Change, ...]) -> bool:
        """Write without waiting. False where that cannot be."""
        if self._try is None or len(soon) > AT_ONCE or any(map(_is_large, soon)) or any(map(_is_large, changes)):
            return False
        try:
            written = self._try(self.claim, *soon, *changes)
        except (Fenced, JournalFailed) as error:
            self.fail(error)
            raise
        self.written += written or 0
        return written is not None

    # in a thread

    def _add(self, write: QueuedWrite) -> None:
        self._queue.append(write)
        if len(self._queue) == 1:
            self._begin()

    def _begin(self) -> None:
        """The first of the queue; the next begins when it is on disk."""
        self._on_disk.clear()
        write = self._queue[0]
        try:
            future = threads_of(self.store).submit(self.store.write, self.claim, *write.soon, *write.changes)
        except RuntimeError as error:  # no thread can be started: the process has too many, or ends
            future = Future[int]()
            future.set_exception(JournalFailed(f"journal: nothing can be written now: {error}"))
        future.add_done_callback(self._wrote)

    def _wrote(self, future: Future[int]) -> None:
        with suppress(RuntimeError):  # of a loop that is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._go_on, future)

    def _go_on(self, future: Future[int]) -> None:
        write, error = self._queue.popleft(), future.exception()
        if error is None:
            self.written += future.result()
        elif isinstance(error, UsageError) and write.done is not None:  # about its changes alone, as in `now`
            if write.soon:
                self._queue.appendleft(QueuedWrite(soon=write.soon))
        else:
            self.fail(error if isinstance(error, Fenced | JournalFailed) else JournalFailed(str(error)))
        _settle(write, error)
        if self.failed is not None:
            while self._queue:
                _settle(self._queue.popleft(), self.failed)
        elif self._queue:
            return self._begin()
        self._flush()
        if not self._queue:
            self._on_disk.set()

    def fail(self, error: Fenced | JournalFailed) -> None:
        """Something that belongs to the session could not be kept or read: nothing more is written."""
        if self.failed is None:
            self.failed = error
            self.broken.set_result(None)
            if self._claim is not None and isinstance(error, JournalFailed):
                abandon_session(self.store, self._claim)

    async def stop(self, error: Fenced | JournalFailed) -> Any:
        """For a call that cannot be answered any more: whoever runs the cell is told, and ends the guest."""
        self.fail(error)
        return await self._loop.create_future()

    def lose(self) -> None:
        """Another process has the claim. May be called from any thread."""
        with suppress(RuntimeError):  # of a loop that is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._lost)

    def _lost(self) -> None:
        self.fail(fenced(self.claim))


def _is_large(change: Change) -> bool:
    """Whether making a row's text takes so long that the loop would stand still."""
    parts: tuple[Any, ...] = (getattr(change, "arguments", None), getattr(change, "value", None))
    return any(type_of(part) is Packed and is_large(part) for part in parts)


def _settle(write: QueuedWrite, error: BaseException | None) -> None:
    if write.done is None or write.done.done():
        return
    if error is None:
        write.done.set_result(None)
    else:
        write.done.set_exception(error)


class DryWriter(JournalWriter):
    """Writes nothing: of a session that is only compared with its journal."""

    async def now(self, *changes: Change) -> None:
        return None

    def soon(self, change: Change) -> None:
        return None
