"""`Heart`: renews the leases of open sessions, so that other processes know that this one is alive.

One thread sees to all of them, and there is none where nothing is open. It does not keep the process alive. Each store
is renewed in a thread of its own: one that is silent does not cost the others their leases.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from weakref import WeakValueDictionary

from cellwright.errors import Fenced, JournalFailed, SessionBusy, UsageError
from cellwright.store import LEASE_S, Claim, Store, this_process, threads_of

AGAIN_S = 0.5


class Heart:
    """Renews leases every `every_s` seconds. Whoever added a claim is told once when another process has taken it."""

    def __init__(self, every_s: float = LEASE_S / 3) -> None:
        self._every_s = every_s
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._kept: dict[tuple[int, Claim], tuple[Store, Callable[[], object]]] = {}
        self._renewing: set[int] = set()  # the stores that have not answered yet
        self.thread: threading.Thread | None = None

    def add(self, store: Store, claim: Claim, lost: Callable[[], object]) -> None:
        """Renew this lease from now on. `lost` is called from another thread."""
        with self._lock:
            self._kept[id(store), claim] = (store, lost)
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self._run, name="cellwright-leases", daemon=True)
                self.thread.start()

    def remove(self, store: Store, claim: Claim) -> None:
        """Renew it no more. A beat that is under way does not bring back a lease that was released."""
        with self._lock:
            self._kept.pop((id(store), claim), None)
            if not self._kept:
                self._changed.notify_all()

    def forked(self) -> None:
        """In a forked child: the leases are the parent's. The stores stay referenced, for a store that is closed here
        would end the parent's locks.
        """
        self._parents, self._kept = self._kept, {}
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._renewing, self.thread = set(), None

    @property
    def beats(self) -> bool:
        """Whether the thread runs."""
        thread = self.thread
        return thread is not None and thread.is_alive()

    def holds(self, store: Store, session: str) -> bool:
        """Whether this process has that session open, by this object of the store or by another."""
        with self._lock:
            stores = [kept for (_, claim), (kept, _) in self._kept.items() if claim.session == session]
        return any(_place(kept) == _place(store) for kept in stores)

    def beat(self) -> None:
        """Renew all leases once; waits for all stores."""
        with self._lock:
            threads = self._beat()
        for thread in threads:
            thread.join()

    def _run(self) -> None:
        with self._lock:
            while self._kept:
                self._changed.wait(self._every_s)
                self._beat()
            self.thread = None

    def _beat(self) -> list[threading.Thread]:
        stores = {id(store): store for store, _ in self._kept.values()}.values()
        threads: list[threading.Thread] = []
        with suppress(RuntimeError):  # there are too many threads: this one goes on, and the next beat tries again
            for store in stores:
                thread = threading.Thread(target=self._renew, args=(store,), daemon=True)
                thread.start()
                threads.append(thread)
        return threads

    def _renew(self, store: Store) -> None:
        with self._lock:
            key = id(store)
            claims = [claim for place, claim in self._kept if place == key]
            if key in self._renewing or not claims:
                return
            self._renewing.add(key)
        try:
            held = set(store.renew(*claims))
        except JournalFailed:
            return  # the next beat tries again; the writer tells what cannot be written
        except UsageError:
            held = set[Claim]()  # the store was closed: nothing is held in it any more
        finally:
            with self._lock:
                self._renewing.discard(key)
        for claim in claims:
            if claim not in held:
                with self._lock:
                    kept = self._kept.pop((key, claim), None)
                if kept is not None:
                    kept[1]()


HEART = Heart()
"""Of this process."""
_CLAIMING: WeakValueDictionary[str, threading.Semaphore] = WeakValueDictionary()
_GUARD = threading.Lock()
os.register_at_fork(after_in_child=HEART.forked)


def claim_session(store: Store, session: str, *, take_over: bool = False) -> Claim:
    """The right to write to a session, for this process; its lease is renewed until `release_session`.

    `SessionBusy` where another process has it, or somebody in this one. Blocks: call it in a thread.
    """
    with _GUARD:
        alone = _CLAIMING.setdefault(session, threading.Semaphore())
    with alone:
        if not take_over and store.summary(session).holder == this_process() and HEART.holds(store, session):
            words = f"session {session!r} is open in this process; close it there, or take it over with take_over=True"
            raise SessionBusy(words)
        claim = store.claim(session, this_process(), take_over=take_over)
        HEART.add(store, claim, lambda: None)
        return claim


async def claimed(store: Store, claim: Callable[[], Claim]) -> Claim:
    """The claim that this gives, in a thread. One that nobody waits for any more is given back."""
    claiming = threads_of(store).submit(claim)
    try:
        return await asyncio.wrap_future(claiming)
    except asyncio.CancelledError:
        claiming.add_done_callback(partial(_give_back, store))
        raise


def _give_back(store: Store, claiming: Future[Claim]) -> None:
    if not claiming.cancelled() and claiming.exception() is None:
        release_session(store, claiming.result())


def _place(store: Store) -> object:
    """The same for all objects of one file, or of one database."""
    path: object = getattr(store, "path", None)
    return os.path.realpath(str(path)) if path is not None else getattr(store, "id", None) or id(store)


def abandon_session(store: Store, claim: Claim) -> None:
    """Give that right up, of a session that cannot be written now: as soon as the store takes it. Does not block."""
    HEART.remove(store, claim)
    with suppress(RuntimeError):  # no thread can be started: the lease runs out by itself
        threading.Thread(target=_abandon, args=(store, claim), name="cellwright-release", daemon=True).start()


def _abandon(store: Store, claim: Claim) -> None:
    until = time.monotonic() + LEASE_S  # then the lease has run out by itself
    while time.monotonic() < until:
        try:
            return store.release(claim)
        except JournalFailed:
            time.sleep(AGAIN_S)  # the disk may be full: until somebody makes room
        except (Fenced, UsageError):
            return  # somebody has it, or the store was closed


def release_session(store: Store, claim: Claim) -> None:
    """Give that right up. Blocks: call it in a thread."""
    HEART.remove(store, claim)
    with suppress(Fenced, JournalFailed, UsageError):  # the lease runs out by itself, also of a store that was closed
        store.release(claim)
