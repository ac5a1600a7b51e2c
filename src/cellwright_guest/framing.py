"""Frames: a message (JSON) and its blobs as one run of bytes, and the way back.

What a message's trees stand for is `wire`'s business. Reading is bounded; what breaks a bound raises `WireError`.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable
from typing import Any

from cellwright_guest.wire import Bounds, WireError, type_of

DIGITS = 4300
PIECE, LARGE_PIECE = 1 << 12, 1 << 18
AT_ONCE = 10_000  # values that are encoded in one step beside other threads
BEHIND = 1 << 20  # bytes of blobs that are copied by `parse`, which may run in a thread, and not by the reader
_head = struct.Struct("<II")
_encoder = json.JSONEncoder(ensure_ascii=True, check_circular=False, separators=(",", ":"))
# What json itself makes anew for every text: made once, half of the time of a short message is saved.
_chunks: Any = getattr(json.encoder, "c_make_encoder", None)
if _chunks is not None:
    _escape: Any = getattr(json.encoder, "c_encode_basestring_ascii")  # noqa: B009  no public name
    _chunks = _chunks(None, _encoder.default, _escape, None, ":", ",", False, False, True)
_scan: Any = getattr(json.JSONDecoder(), "scan_once")  # noqa: B009  no public name


def frame(message: list[Any], blobs: list[Any], bounds: Bounds | None = None) -> list[Any]:
    """The buffers of one frame, to be sent in a row. `message` ends with the packed trees it carries.

    With the reader's `bounds`, a frame that the reader would refuse is refused here, where it does not end the session.
    """
    sizes = [len(b) for b in blobs]
    whole = [message, sizes]
    text = "".join(_chunks(whole, 0)) if _chunks is not None else _encoder.encode(whole)
    header = text.encode("ascii")
    if bounds is not None and (blobs or len(header) > PIECE):
        _check_sizes(len(header), sum(sizes), bounds)
        _check_header(header, bounds)
    return [_head.pack(len(header), sum(sizes)) + header, *blobs]


def large_frame(message: list[Any], blobs: list[Any]) -> list[Any]:
    """The same as `frame`, for a thread beside others: no step of it keeps them waiting."""
    sizes = [len(b) for b in blobs]
    header = encoded([message, sizes]).encode("ascii")
    return [_head.pack(len(header), sum(sizes)) + header, *blobs]


def encoded(tree: Any) -> str:
    """A large tree as JSON, for a thread beside others."""
    pieces: list[str] = []
    _encode(tree, pieces)
    return "".join(pieces)


def _encode(tree: Any, pieces: list[str]) -> None:
    """Append the JSON of a tree; a large one is taken apart, because the encoder of C gives no other thread a turn."""
    kind = type_of(tree)
    if kind not in (list, dict) or _weight(tree) <= AT_ONCE:
        pieces.append(_encoder.encode(tree))
        return
    pieces.append("[" if kind is list else "{")
    some: list[Any] = []
    weight = 0
    items: Any = tree.items() if kind is dict else tree

    def flush() -> None:
        if some:
            pieces.append(_encoder.encode(dict(some) if kind is dict else some)[1:-1])
            pieces.append(",")
            some.clear()

    for item in items:
        part = item[1] if kind is dict else item
        inner = 1 + (_weight(part) if type_of(part) in (list, dict) else 0)
        weight += inner
        if inner > AT_ONCE or weight > AT_ONCE:
            flush()
            weight = inner
        if inner > AT_ONCE:
            if kind is dict:
                pieces.append(_encoder.encode(item[0]) + ":")
            _encode(part, pieces)
            pieces.append(",")
            weight = 0
        else:
            some.append(item)
    flush()
    pieces[-1] = "]" if kind is list else "}"  # in the place of the last comma


def _weight(tree: Any) -> int:
    """How many values a tree holds; no more are counted than are encoded at once."""
    pending: list[Any] = [tree]
    weight = 0
    while pending and weight <= AT_ONCE:
        part: Any = pending.pop()
        weight += len(part)
        inner = part.values() if type_of(part) is dict else part
        if weight <= AT_ONCE:
            pending.extend(p for p in inner if type_of(p) in (list, dict))
    return weight


def _check_sizes(header: int, blobs: int, bounds: Bounds) -> None:
    if header > bounds.header_bytes or blobs > bounds.blob_bytes:
        raise WireError(f"a message of {header + blobs} bytes is over the bound; send less at a time")


class FrameReader:
    """Bytes in, complete frames out. Keeps incomplete ones; copies a blob once."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self.piece = PIECE  # how much to read at once
        self._buffer = bytearray()
        self._need = _head.size

    def feed(self, piece: bytes) -> list[tuple[bytes, Any]]:
        """The raw frames that are complete now: (header, blob bytes). `parse` reads one."""
        # A buffer costs its size to make: it grows while there is more to read than it holds.
        self.piece = min(self.piece << 2, LARGE_PIECE) if len(piece) == self.piece else PIECE
        buffer = self._buffer
        if not buffer and len(piece) >= _head.size:
            header, blobs = _head.unpack_from(piece)
            if not blobs and len(piece) == _head.size + header:  # one small frame, as nearly all are
                return [(piece[_head.size :], b"")]
        buffer += piece
        frames: list[tuple[bytes, Any]] = []
        start = 0
        while len(buffer) - start >= self._need:
            header, blobs = _head.unpack_from(buffer, start)
            _check_sizes(header, blobs, self._bounds)
            end = start + _head.size + header + blobs
            if len(buffer) < end:
                self._need = end - start
                break
            middle = start + _head.size + header
            if blobs > BEHIND:
                self._buffer = bytearray(memoryview(buffer)[end:])
                frames.append((bytes(memoryview(buffer)[start + _head.size : middle]), memoryview(buffer)[middle:end]))
                buffer, start, self._need = self._buffer, 0, _head.size
                continue
            with memoryview(buffer) as view:
                frames.append((bytes(view[start + _head.size : middle]), bytes(view[middle:end])))
            start = end
            self._need = _head.size
        if start:
            del buffer[:start]
        return frames


def parse(
    header: bytes, blob_bytes: Any, bounds: Bounds, read: Callable[[str], Any] | None = None
) -> tuple[list[Any], list[Any]]:
    """The message of a raw frame and its blobs. `read` reads the JSON text of a large one, instead of `load`."""
    text = _check_header(header, bounds)
    try:
        message, sizes = (read or load)(text)
    except (ValueError, TypeError, RecursionError, StopIteration):
        raise WireError("a frame that is not a message") from None
    if type_of(message) is not list or not message or type_of(sizes) is not list or len(sizes) > bounds.blobs:
        raise WireError("a frame that is not a message")
    blobs: list[Any] = []
    if not sizes and not blob_bytes:
        return message, blobs
    at = 0
    for size in sizes:
        if type(size) is not int or size < 0:
            raise WireError("a blob without a size")
        blobs.append(bytes(blob_bytes[at : at + size]))
        at += size
    if at != len(blob_bytes):
        raise WireError("blobs that do not fill their frame")
    return message, blobs


def _check_header(header: bytes, bounds: Bounds) -> str:
    if len(header) > 4096:
        nodes = header.count(b",") + header.count(b"[") + header.count(b"{")
        if nodes > bounds.nodes:
            raise WireError(f"a message of {nodes} values is over the bound of {bounds.nodes}; send less at a time")
    try:
        text = header.decode("ascii")
    except UnicodeDecodeError:
        raise WireError("a frame that is not a message") from None
    return text


def load(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """A JSON text without white space around it. `pairs` makes the objects in it, instead of dicts."""
    # CPython reads an integer's digits in quadratic time, and refuses to beyond a limit, which a program may turn off.
    if pairs is None and 0 < sys.get_int_max_str_digits() <= DIGITS:
        value, end = _scan(text, 0)
        if end != len(text):
            raise ValueError
        return value
    return json.loads(text, parse_int=_bounded_int, object_pairs_hook=pairs)


def _bounded_int(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError
    return int(digits)
