"""The embedded model: a small coder that runs in this process, with no key and no network.

A Model like any other. Loading and generating happen on the engine's thread; this is the event loop's side of it.
"""

from __future__ import annotations

import asyncio
import re
import weakref
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

from cellwright.doors import Reply, Request
from cellwright.errors import ModelBusy, ModelMissing, UsageError
from cellwright.messages import OnPiece, Traits
from cellwright.models.engine import Engine, EngineSettings, acquire, release
from cellwright.models.engine_messages import ReplyReader, to_body
from cellwright.models.model_weights import QWEN, size_text

# What this model's vocabulary never joins: each digit, a word, a run of signs, a run of white space with its newlines.
_UNITS = re.compile(r"\d|[a-zA-Z]+|[^\W\d_a-zA-Z]+|(?:[^\w\s]|_)+|\s*\n\s*|\s{2,}|\s(?=\d)")


class EmbeddedModel:
    """`path` is a GGUF file, or None for the one of `cellwright models pull`; `threads` None is the idle cores.

    The file is loaded at the first request, and `say` is told so in one line. Objects of the same file and settings
    share what is loaded; it is freed with the last of them, by `close` or when they are forgotten. Requests wait for
    one another. `window` is in tokens and holds the prompt and the reply.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        threads: int | None = None,
        window: int = 8192,
        say: Callable[[str], None] | None = None,
    ) -> None:
        if window < 256:
            raise UsageError(f"window={window!r}: give 256 tokens or more")
        if threads is not None and threads < 1:
            raise UsageError(f"threads={threads!r}: give 1 or more, or leave it out")
        self.path = Path(path) if path is not None else QWEN.path()
        self._threads = threads
        self._window = window
        self._say = say
        self._engine: Engine | None = None
        self._let_go: weakref.finalize[[Engine], EmbeddedModel] | None = None

    @property
    def name(self) -> str:
        return "local"

    @property
    def traits(self) -> Traits:
        return Traits(calls=False, window=self._window)

    def count(self, text: str) -> int:
        """About how many tokens a text has: the engine counts only while it evaluates."""
        return sum(_tokens(unit) for unit in _UNITS.findall(text))

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        engine = self._opened()
        if self._say is not None and not engine.begun:
            self._say(f"loading the embedded model ({self.path.stem}): some seconds, once")
        reading = ReplyReader(request)
        limit_s = request.generation.timeout_s
        clock = asyncio.timeout(None)
        try:
            async with clock, aclosing(engine.stream(to_body(request))) as chunks:
                async for chunk in chunks:
                    if not chunk and limit_s is not None:  # its turn has come: the wait before does not count
                        clock.reschedule(asyncio.get_running_loop().time() + limit_s)
                    for piece in reading.take(chunk):
                        if on_piece is not None:
                            on_piece(piece)
        except TimeoutError:
            if not clock.expired():
                raise
            raise ModelBusy(f"the embedded model did not come to an end in {limit_s:g} s") from None
        reply, held_back = reading.end(self.path.stem)
        if on_piece is not None:
            for piece in held_back:
                on_piece(piece)
        return reply

    async def close(self) -> None:
        """Closing the last object of an engine frees the memory. A later request loads the file again."""
        engine, let_go = self._engine, self._let_go
        self._engine = self._let_go = None
        if engine is None or let_go is None:
            return
        let_go()
        if engine.users == 0:
            await asyncio.to_thread(engine.thread.join)

    def _opened(self) -> Engine:
        if self._engine is None:
            if not self.path.is_file():
                pull = f"the embedded model is not here yet: run `cellwright models pull` ({size_text(QWEN.size)})"
                raise ModelMissing(pull if self.path.name == QWEN.name else f"there is no model file {self.path}")
            self._engine = acquire(EngineSettings(path=self.path.resolve(), threads=self._threads, window=self._window))
            self._let_go = weakref.finalize(self, release, self._engine)
            self._let_go.atexit = False  # the engine has its own end there, which waits
        return self._engine


def _tokens(unit: str) -> int:
    if not unit.isascii():
        return len(unit)
    return 1 if unit.isspace() else (len(unit) + 6) // 7 if unit.isalpha() else (len(unit) + 2) // 3
