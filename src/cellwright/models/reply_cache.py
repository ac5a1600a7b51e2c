"""`Cached`: a model that is asked each request once. Its replies are kept in memory or in files.

The key of a request is a hash of all that may change its reply: the model's name, instructions, messages, tools and
generation options. Knows no session: a reply of one session serves another.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import time
from collections import OrderedDict
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol

from cellwright.atomic import write_atomic
from cellwright.doors import Model, ModelWrapper, Reply, Request
from cellwright.errors import UsageError
from cellwright.messages import (
    AssistantMessage,
    OnPiece,
    Piece,
    Usage,
    from_plain,
    pieces_of,
    to_plain,
    usage_from_plain,
)

FORMAT = 1
OLD_S = 3600.0  # a half-written file of this age was abandoned


class ReplyCache(Protocol):
    """Texts by key. `read` gives None for an unknown key; `write` replaces, and may remove others to make room."""

    async def read(self, key: str) -> str | None: ...
    async def write(self, key: str, text: str) -> None: ...


class MemoryCache:
    """See `ReplyCache`. The last `most` texts, in the memory of this process."""

    def __init__(self, most: int = 1_000) -> None:
        self._most = most
        self._texts: OrderedDict[str, str] = OrderedDict()

    async def read(self, key: str) -> str | None:
        return self._texts.get(key)

    async def write(self, key: str, text: str) -> None:
        self._texts.pop(key, None)
        self._texts[key] = text
        while len(self._texts) > self._most:
            self._texts.popitem(last=False)


class FileCache:
    """See `ReplyCache`. One file for each text in `directory`, for its owner alone; `most_mb` in all: the oldest go.

    Many processes may use it at once. Other files in the directory are left alone. A text that cannot be written is not
    kept, and `failed` has the error: a full disk must not cost a reply that was paid for.
    """

    _NAME = re.compile(r"[0-9a-f]{64}\.json|\..+\.writing")

    def __init__(self, directory: str | Path, *, most_mb: float = 256.0) -> None:
        if not most_mb > 0:
            raise UsageError(f"{most_mb=}: give megabytes above zero")
        self.directory = Path(directory)
        self.failed: OSError | None = None
        self._most = int(most_mb * 1_000_000)
        self._size: int | None = None  # as far as this process knows; others may have added

    async def read(self, key: str) -> str | None:
        return await asyncio.to_thread(self._read, key)

    async def write(self, key: str, text: str) -> None:
        try:
            await asyncio.to_thread(self._write, self._path(key), text.encode())
        except OSError as error:
            self.failed = error

    def _path(self, key: str) -> Path:
        return self.directory / f"{key}.json"

    def _read(self, key: str) -> str | None:
        try:
            return self._path(key).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):  # not there, or nothing that was written here
            return None

    def _write(self, path: Path, content: bytes) -> None:
        if len(content) > self._most:
            return
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(path, content)
        self._size = None if self._size is None else self._size + len(content)
        if self._size is None or self._size > self._most:
            self._make_room(path)

    def _make_room(self, newest: Path) -> None:
        """Remove the oldest files down to nine tenths, so that not every write has to make room."""
        found: list[tuple[float, int, Path]] = []
        for entry in os.scandir(self.directory):
            try:
                if self._NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    about = entry.stat(follow_symlinks=False)
                    found.append((about.st_mtime, about.st_size, Path(entry.path)))
            except FileNotFoundError:  # another process made room
                continue
        self._size = sum(size for _, size, _ in found)
        goal = self._most if self._size <= self._most else int(self._most * 0.9)
        for written, size, path in sorted(found):
            under_way = path.suffix == ".writing" and written > time.time() - OLD_S
            abandoned = path.suffix == ".writing" and not under_way
            if abandoned or (self._size > goal and path != newest and not under_way):
                path.unlink(missing_ok=True)
                self._size -= size


class Cached(ModelWrapper):
    """See `Model`. A reply from the cache has an empty usage; `saved` adds up the original usage.

    Only replies at temperature 0 are cached: at another temperature replies should differ. `always=True` caches all.
    Replies are stored unencrypted. Who makes a request that is under way waits for its reply; if it fails or is
    cancelled, the next one asks.
    """

    def __init__(self, inner: Model, store: ReplyCache, *, always: bool = False) -> None:
        super().__init__(inner)
        self.hits = 0
        self.saved = Usage()
        self._store = store
        self._always = always
        self._under_way: dict[tuple[asyncio.AbstractEventLoop, str], _SharedRequest] = {}

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        key = _key(self.name, request) if self._always or request.generation.temperature == 0 else None
        if key is None:
            return await self.inner.request(request, on_piece)
        here = (asyncio.get_running_loop(), key)
        while (cached := _decoded(await self._store.read(key))) is None:
            shared = self._under_way.get(here)
            if shared is None:
                return await self._ask(here, request, on_piece)
            await shared.wait()
            if (reply := shared.reply) is None:
                continue
            if shared.is_unpaid:  # whoever asked left before the reply came
                shared.is_unpaid = False
                return _told(reply, on_piece)
            cached = replace(reply, usage=Usage()), reply.usage
            break
        reply, usage = cached
        self.hits += 1
        self.saved += usage
        return _told(reply, on_piece)

    async def _ask(
        self, here: tuple[asyncio.AbstractEventLoop, str], request: Request, on_piece: OnPiece | None
    ) -> Reply:
        shared = self._under_way[here] = _SharedRequest(on_piece)

        async def ask() -> Reply:
            reply = await self.inner.request(request, None if on_piece is None else shared.hear)
            if (text := _encoded(reply)) is not None:
                await self._store.write(here[1], text)
            return reply

        task = shared.task = asyncio.ensure_future(ask())
        task.add_done_callback(lambda _: self._under_way.pop(here))
        try:
            await shared.wait()
        except asyncio.CancelledError:
            shared.listener, shared.is_unpaid = None, True
            raise
        return task.result()


class _SharedRequest:
    """A request under way. Whoever makes it again waits for it; it is cancelled when the last of them is."""

    task: asyncio.Task[Reply]

    def __init__(self, listener: OnPiece | None) -> None:
        self.listener = listener  # of the one who asked: the others are told the reply when it is there
        self.is_unpaid = False  # nobody was given the reply with its usage
        self._waiting = 0

    @property
    def reply(self) -> Reply | None:
        """None where the request failed."""
        return None if self.task.cancelled() or self.task.exception() is not None else self.task.result()

    def hear(self, piece: Piece) -> None:
        if self.listener is not None:
            self.listener(piece)

    async def wait(self) -> None:
        self._waiting += 1
        try:
            await asyncio.wait({self.task})
        finally:
            self._waiting -= 1
            if not self._waiting and not self.task.done():
                self.task.cancel()
                await asyncio.wait({self.task})


def _told(reply: Reply, on_piece: OnPiece | None) -> Reply:
    if on_piece is not None:
        for piece in pieces_of(reply.message):
            on_piece(piece)
    return reply


def _key(name: str, request: Request) -> str | None:
    """None if the request holds something that is not plain data: then two requests cannot be compared."""
    how = request.generation
    asked = [
        FORMAT,
        name,
        request.instructions,
        [to_plain(message) for message in request.messages],
        [[tool.name, tool.description, dict(tool.parameters)] for tool in request.tools],
        [how.temperature, how.max_tokens, how.stop, dict(how.extra)],
    ]
    try:
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()
    except (TypeError, ValueError):
        return None


def _encoded(reply: Reply) -> str | None:
    """None for a reply that is not plain data: it could not be read back."""
    kept = {"message": to_plain(reply.message), "usage": asdict(reply.usage), "model": reply.model, "cut": reply.cut}
    try:
        return json.dumps({"format": FORMAT, **kept})
    except (TypeError, ValueError):
        return None


def _decoded(text: str | None) -> tuple[Reply, Usage] | None:
    """The reply with an empty usage, and its original usage; None if the text is no reply."""
    try:
        kept: dict[str, Any] = json.loads(text or "null")
        message, usage = from_plain(kept["message"]), usage_from_plain(kept["usage"])
        if kept["format"] != FORMAT or not isinstance(message, AssistantMessage):
            return None
        return Reply(message=message, model=str(kept["model"]), cut=bool(kept["cut"])), usage
    except (ValueError, TypeError, LookupError):
        return None
