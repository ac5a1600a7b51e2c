"""`ReplayedCallbacks`: calls of host code into the guest. They are rows too, and are made again at the same point."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace

from cellwright.doors import Answer, GuestDoor, Made
from cellwright.journal.call_rows import is_same_answer
from cellwright.journal.divergence import Divergence
from cellwright.journal.replay import Replay
from cellwright.store import Row, fingerprint
from cellwright_guest.wire import Packed


class ReplayedCallbacks:
    """See `GuestDoor`. What host code lets go of is told with the next answer, so that it is repeatable."""

    def __init__(self, guest: GuestDoor, replay: Replay) -> None:
        self._guest = guest
        self._replay = replay
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._counts: Counter[str] = Counter()
        self._again: dict[str, Future[Answer]] = {}
        self._paths: dict[tuple[str, int, str], deque[str]] | None = None  # of recorded calls that are the same
        self._held_back: list[Callable[[], None]] = []

    def give_back(self, lent: int, count: int) -> None:
        self._replay.back.append((lent, count))

    def invoke(
        self,
        lent: int,
        parent: int,
        arguments: Packed,
        path: str = "",
        at: float = 0.0,
        made: tuple[Made, ...] = (),
    ) -> Future[Answer]:
        future: Future[Answer] = Future()
        future.set_running_or_notify_cancel()
        if threading.get_ident() == self._thread:
            self._invoke(lent, parent, arguments, made, future)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._invoke, lent, parent, arguments, made, future)
        return future

    def _invoke(
        self, lent: int, parent: int, arguments: Packed, made: tuple[Made, ...], future: Future[Answer]
    ) -> None:
        replay = self._replay
        within = replay.under_way.get(parent)
        above = within.path if within is not None else ""
        recorded = self._recorded_path(above, lent, arguments) if above else None
        if recorded is not None:
            _follow(
                self._again.setdefault(recorded, _fresh()), future
            )  # the guest was called then, and is called again
            return
        row = Row(
            cell=within.cell if within is not None else replay.cell,
            path=self._next(above) if above else "",
            door="guest",
            title="callback",
            target=lent,
            arguments=arguments,
            made=made,
        )
        if replay.live:
            self._send(row, parent, future)
        else:
            self._held_back.append(lambda: self._send(row, parent, future))
            if len(self._held_back) == 1:
                waiting = self._loop.create_task(replay.caught_up())
                waiting.add_done_callback(lambda _: self._release())

    def _recorded_path(self, above: str, lent: int, arguments: Packed) -> str | None:
        """The path of the same call of the guest, where it is recorded and nobody has waited for it yet."""
        if not self._replay.guest_rows:
            return None
        paths = self._recorded().get((above, lent, fingerprint(arguments)))
        return paths.popleft() if paths else None

    def _recorded(self) -> dict[tuple[str, int, str], deque[str]]:
        if self._paths is None:
            self._paths = {}
            for path, row in self._replay.guest_rows.items():
                same = path.rpartition("!")[0], row.target, fingerprint(row.arguments)
                self._paths.setdefault(same, deque()).append(path)
        return self._paths

    def _next(self, above: str) -> str:
        """A path that no recorded call has: one that goes another way this time takes nothing from the record."""
        while True:
            self._counts[above] += 1
            path = f"{above}!{self._counts[above]}"
            if path not in self._replay.guest_rows:
                return path

    def _release(self) -> None:
        held_back, self._held_back = self._held_back, []
        for send in held_back:
            send()

    def _send(self, row: Row, parent: int, future: Future[Answer]) -> None:
        replay = self._replay
        number, at = replay.number()
        row = replace(row, path=row.path or f"!{number}", delivered=number, at=at, after=replay.last_asked)
        replay.writer.soon(row)
        answer = self._guest.invoke(row.target, parent, row.arguments, row.path, at)
        answer.add_done_callback(lambda done: self._answered(row, done))
        self._note(row, answer)
        _follow(answer, future)

    def _note(self, row: Row, answer: Future[Answer]) -> None:
        if row.path.startswith("!"):
            self._replay.callbacks.add(answer)
            answer.add_done_callback(self._replay.callbacks.discard)

    def _answered(self, row: Row, done: Future[Answer]) -> None:
        if done.exception() is not None or self._loop.is_closed():
            return
        answer = done.result()
        self._replay.writer.soon(replace(row, status="failed" if answer.failed else "done", value=answer.value))

    def invoke_again(self, row: Row) -> None:
        replay = self._replay
        above = row.path.rpartition("!")[0]
        parent = next((number for number, call in replay.under_way.items() if call.path == above), 0)
        answer = self._guest.invoke(row.target, parent, row.arguments, row.path, row.at)
        answer.add_done_callback(lambda done: self._compare(row, done))
        self._note(row, answer)
        _follow(answer, self._again.setdefault(row.path, _fresh()))

    def _compare(self, row: Row, done: Future[Answer]) -> None:
        if done.exception() is not None:
            return
        answer = done.result()
        if row.value is None:  # the process died before the guest's answer was kept: this one is
            self._answered(row, done)
        elif not is_same_answer(answer, row.value, row.status == "failed"):
            recorded = "the callback's recorded answer"
            self._replay.diverge(Divergence(cell=row.cell, line=0, recorded=recorded, asked="another answer"))


def _fresh() -> Future[Answer]:
    future: Future[Answer] = Future()
    future.set_running_or_notify_cancel()
    return future


def _follow(first: Future[Answer], second: Future[Answer]) -> None:
    """The second comes to what the first comes to."""

    def settle(done: Future[Answer]) -> None:
        error = done.exception()
        if second.done():
            return
        if error is not None:
            second.set_exception(error)
        else:
            second.set_result(done.result())

    first.add_done_callback(settle)
