"""Threads in which a store is read and written, so that the event loop never waits for a disk, a lock or a socket.

Each store has its own: where one store is silent, those of the others go on.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from cellwright.store.contract import Store
from cellwright.store.urls import open_store

P = ParamSpec("P")
T = TypeVar("T")
THREADS = 4  # of one store; each is started when it is needed
_lock = threading.Lock()
_THREADS: WeakKeyDictionary[Any, ThreadPoolExecutor] = WeakKeyDictionary()


def _openers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(64, thread_name_prefix="cellwright-open")  # a server may be silent


_opening = _openers()


def threads_of(store: object) -> ThreadPoolExecutor:
    """The threads of this store."""
    with _lock:
        threads = _THREADS.get(store)
        if threads is None:
            threads = _THREADS[store] = ThreadPoolExecutor(THREADS, thread_name_prefix="cellwright-store")
        return threads


async def off_loop(store: object, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """What `work` gives, in a thread of this store. To stop waiting does not stop it."""
    loop = asyncio.get_running_loop()
    return await unstopped(loop.run_in_executor(threads_of(store), partial(work, *args, **named)))


async def unstopped(future: asyncio.Future[T]) -> T:
    """What the future comes to. To stop waiting does not stop it, and nobody is warned of what it raises then."""
    future.add_done_callback(_seen)
    waiting = asyncio.shield(future)
    try:
        return await waiting
    except asyncio.CancelledError:
        waiting.add_done_callback(_seen)
        raise


def _seen(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()


async def opened_store(url: str, *, make: bool = True) -> Store:
    """See `open_store`."""
    return await asyncio.get_running_loop().run_in_executor(_opening, partial(open_store, url, make=make))


async def close_store(store: Store) -> None:
    """Close a store, and end its threads when they have done what they are at."""
    await off_loop(store, store.close)
    with _lock:
        threads = _THREADS.pop(store, None)
    if threads is not None:
        threads.shutdown(wait=False)


def _forked() -> None:
    """A process that was forked has none of the threads, and would wait for them for ever."""
    global _opening, _lock
    _opening, _lock = _openers(), threading.Lock()
    _THREADS.clear()


os.register_at_fork(after_in_child=_forked)
