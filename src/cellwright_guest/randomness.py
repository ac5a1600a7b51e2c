"""The guest's randomness. Where the session is journaled all of it comes from the session's seed.

A stream of SHA-256 blocks stands behind `os.urandom`, and with it behind `random`, `secrets`, `uuid`, `tempfile` and
numpy. Without a journal it is the machine's own. It is repeatable, and so no source of secrets that leave the session.
"""

from __future__ import annotations

import importlib
import operator
import os
import random
import struct
import sys
import tempfile
import threading
import uuid
from hashlib import sha256
from typing import Any

from cellwright_guest.builtin import put

BLOCK = 32

_real_urandom = os.urandom
_real_getrandom = os.getrandom
_real_seed = random.Random.seed
_seed = b""  # empty: the machine's randomness
_counter = 0
_lock = threading.Lock()


def install() -> None:
    """In the zygote, before packages are imported."""
    put(os, "urandom", _urandom)
    put(os, "getrandom", _getrandom)
    random.__dict__["_urandom"] = os.urandom
    random.Random.seed = _seed_random
    random.seed = random.__dict__["_inst"].seed


def begin(seed: bytes) -> None:
    """From here on the stream of `seed`."""
    global _seed, _counter
    _seed, _counter = seed, 0
    random.seed()
    _vary_uuid(int.from_bytes(take(6)) | 1 << 40)  # that bit: no address of a card
    tempfile.__dict__["_name_sequence"] = None
    words = list(struct.unpack("<8I", take(BLOCK)))  # taken in any case: with numpy or without, the rest is the same
    if "numpy.random" in sys.modules:
        importlib.import_module("numpy.random").seed(words)


def vary(seed: bytes, cell: int) -> None:
    """For a cell of a fork: a stream of its own, so that two forks do not make the same ids."""
    global _seed, _counter
    _seed, _counter = sha256(seed + cell.to_bytes(8)).digest(), 0


def take(size: int) -> bytes:
    """The next bytes of the stream; the rest of the last block is dropped."""
    global _counter
    with _lock:
        first = _counter
        _counter += -(-size // BLOCK)
        last = _counter
    return b"".join(sha256(_seed + number.to_bytes(8)).digest() for number in range(first, last))[:size]


def state() -> tuple[Any, ...]:
    """What a checkpoint keeps: the position in the stream, and the generators inside modules."""
    names = tempfile.__dict__["_name_sequence"]
    numpy = importlib.import_module("numpy.random").get_state() if "numpy.random" in sys.modules else None
    return (
        _seed,
        _counter,
        random.getstate(),
        None if names is None else names.rng.getstate(),
        uuid.__dict__["_node"],
        uuid.__dict__["_last_timestamp"],
        numpy,
    )


def restore(kept: tuple[Any, ...]) -> None:
    global _seed, _counter
    seed, counter, module, names, node, timestamp, numpy = kept
    random.setstate(module)
    if names is not None:
        tempfile.__dict__["_name_sequence"] = None
        tempfile.__dict__["_get_candidate_names"]().rng.setstate(names)
    uuid.__dict__.update(_node=node, _last_timestamp=timestamp)
    if numpy is not None:
        importlib.import_module("numpy.random").set_state(numpy)
    _seed, _counter = seed, counter  # last: what was made above may have read the stream


def _vary_uuid(node: int) -> None:
    uuid.__dict__.update(_generate_time_safe=None, _UuidCreate=None, _node=node)  # C would ask the machine


def _urandom(size: Any, /) -> bytes:
    if not _seed:
        return _real_urandom(size)
    size = operator.index(size)
    if size < 0:
        raise ValueError("negative argument not allowed")
    return take(size)


def _getrandom(size: Any, flags: int = 0) -> bytes:
    return _urandom(size) if _seed else _real_getrandom(size, flags)


def _seed_random(self: random.Random, a: Any = None, version: int = 2) -> None:
    """`random.Random.seed`."""
    if a is None and _seed:
        a = int.from_bytes(take(BLOCK))
    _real_seed(self, a, version)
