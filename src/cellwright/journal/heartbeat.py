"""`Heart`: renews the leases of open sessions, so that other processes know that this one is alive.

One thread renews all of them, and there is none where nothing is open. It does not keep the process alive.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from cellwright.errors import JournalFailed, SessionBusy, UsageError
from cellwright.store import LEASE_S, Claim, Store, this_process


class Heart:
    """Renews leases every `every_s` seconds. Whoever added a claim is told once when another process has taken it."""

    def __init__(self, every_s: float = LEASE_S / 3) -> None:
        self._every_s = every_s
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._kept: dict[tuple[int, Claim], tuple[Store, Callable[[], object]]] = {}
        self.thread: threading.Thread | None = None

    def add(self, store: Store, claim: Claim, lost: Callable[[], object]) -> None:
        """Renew this lease from now on. `lost` is called from another thread."""
        with self._lock:
            self._kept[id(store), claim] = (store, lost)
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self._run, name="cellwright-leases", daemon=True)
                self.thread.start()

    def remove(self, store: Store, claim: Claim) -> None:
        """Renew it no more. No beat is under way with it when this returns."""
        with self._lock:
            self._kept.pop((id(store), claim), None)
            if not self._kept:
                self._changed.notify_all()

    @property
    def beats(self) -> bool:
        """Whether the thread runs."""
        thread = self.thread
        return thread is not None and thread.is_alive()

    def beat(self) -> None:
        """Renew all leases once."""
        with self._lock:
            self._beat()

    def _run(self) -> None:
        with self._lock:
            while self._kept:
                self._changed.wait(self._every_s)
                self._beat()
            self.thread = None

    def _beat(self) -> None:
        stores = {id(store): store for store, _ in self._kept.values()}
        for key, store in stores.items():
            claims = [claim for place, claim in self._kept if place == key]
            try:
                held = set(store.renew(*claims))
            except JournalFailed:
                continue  # the next beat tries again; the writer tells what cannot be written
            except UsageError:
                held = set[Claim]()  # the store was closed: nothing is held in it any more, and the others go on
            for claim in claims:
                if claim not in held:
                    _, lost = self._kept.pop((key, claim))
                    lost()


HEART = Heart()
"""Of this process."""
_CLAIMING = threading.Lock()


def claim_session(store: Store, session: str, *, take_over: bool = False) -> Claim:
    """The right to write to a session, for this process. `SessionBusy` where another has it, or this one has."""
    with _CLAIMING:
        if not take_over and store.summary(session).holder == this_process():
            words = f"session {session!r} is open in this process; close it there, or take it over with take_over=True"
            raise SessionBusy(words)
        return store.claim(session, this_process(), take_over=take_over)
