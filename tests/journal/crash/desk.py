"""The host objects of the crash tests. Each effect is a line of a file, so that it is known whoever dies.

What a method returns depends on its arguments alone: a second process gives the same answers as the first.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellwright import operation
from cellwright.errors import GuestGone
from cellwright.scope import current_call


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """One line of the file."""

    name: str
    args: list[Any]
    key: str
    idempotent: bool = False

    @property
    def what(self) -> str:
        return f"{self.name}{json.dumps(self.args)}"


class Effects:
    """An append-only file. `alive` says whether the process that writes is meant to be alive."""

    def __init__(self, path: Path, alive: Callable[[], bool] = lambda: True) -> None:
        self.path = path
        self._alive = alive

    def append(self, name: str, args: list[Any], *, idempotent: bool = False) -> None:
        if not self._alive():
            raise SystemExit("dead")  # the dead do nothing
        line = json.dumps({"name": name, "args": args, "key": current_call().idempotency_key, "idempotent": idempotent})
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(fd, line.encode() + b"\n")
        finally:
            os.close(fd)

    def read(self) -> list[Effect]:
        if not self.path.exists():
            return []
        return [Effect(**json.loads(line)) for line in self.path.read_text().splitlines()]


class Row:
    """A host object that a call returns."""

    def __init__(self, effects: Effects, name: str) -> None:
        self._effects = effects
        self.name = name

    def rename(self, name: str) -> str:
        self._effects.append("rename", [self.name, name])
        return f"{self.name}->{name}"

    def to_journal(self) -> str:
        return self.name

    @classmethod
    def from_journal(cls, kept: str, root: Desk) -> Row:
        return Row(root.effects, kept)


class Desk:
    """What guest code calls. `delay` is in milliseconds."""

    def __init__(self, effects: Effects) -> None:
        self.effects = effects
        self.told: list[str] = []
        self._listener: Any = None

    # effects

    def add(self, what: Any) -> str:
        self.effects.append("add", [what])
        return f"added {what}"

    async def send(self, what: Any, delay: int = 0) -> str:
        await asyncio.sleep(delay / 1000)
        self.effects.append("send", [what])
        return f"sent {what}"

    @operation(idempotent=True)
    async def put(self, what: Any, delay: int = 0) -> str:
        await asyncio.sleep(delay / 1000)
        self.effects.append("put", [what], idempotent=True)
        return f"put {what}"

    @operation(idempotent=True)
    def put_now(self, what: Any) -> str:
        self.effects.append("put", [what], idempotent=True)
        return f"put {what}"

    def refuse(self, what: Any) -> None:
        self.effects.append("refuse", [what])
        raise LookupError(f"no {what} here")

    def row(self, name: str) -> Row:
        self.effects.append("row", [name])
        return Row(self.effects, name)

    def blob(self, content: bytes) -> bytes:
        self.effects.append("blob", [len(content)])
        return content[::-1]

    # guest code in the middle of an effect

    def each(self, what: Any, rows: Iterable[Any]) -> int:
        count = 0
        for row in rows:
            self.effects.append("insert", [what, row])
            count += 1
        return count

    def apply(self, what: Any, function: Callable[[Any], Any]) -> Any:
        self.effects.append("apply", [what])
        return ["applied", function(what), function([what])]

    async def aapply(self, what: Any, function: Callable[[Any], Any]) -> Any:
        self.effects.append("aapply", [what])
        return ["applied", *await asyncio.gather(function(what), function([what]))]

    @operation(idempotent=True)
    async def both(self, what: Any, function: Callable[[Any], Any]) -> Any:
        self.effects.append("both", [what], idempotent=True)
        return ["both", await function(what)]

    @operation(reads=True)
    def listen(self, function: Any) -> None:
        self._listener = function

    @operation(reads=True)
    async def ring(self, what: list[str], delay: int) -> None:
        """The listener, if the process that heard of it still lives, hears each of these after this call is over."""

        async def ringing() -> None:
            for one in what:
                await asyncio.sleep(delay / 1000)
                try:
                    await asyncio.to_thread(self._listener, one)
                except GuestGone:
                    return

        if self._listener is not None:
            context = contextvars.Context()  # not that of this call: it is over then
            self._ringing = asyncio.get_running_loop().create_task(ringing(), context=context)

    # reads

    @operation(reads=True)
    async def look(self, what: Any, delay: int = 0) -> str:
        await asyncio.sleep(delay / 1000)
        return f"seen {what}"

    @operation(reads=True)
    def find(self, name: str) -> Row:
        return Row(self.effects, name)

    @operation(reads=True)
    def look_now(self, what: Any) -> str:
        return f"seen {what}"

    @operation(reads=True)
    def pages(self, count: int) -> Iterator[int]:
        yield from range(count)

    @operation(reads=True)
    async def apages(self, count: int) -> AsyncIterator[int]:
        for page in range(count):
            await asyncio.sleep(0)
            yield page

    @operation(reads=True)
    async def happened(self, name: str, args: list[Any]) -> bool:
        return any(effect.name == name and effect.args == args for effect in self.effects.read())

    @operation(reads=True)
    async def done(self) -> list[Any]:
        return [[effect.name, *effect.args] for effect in self.effects.read()]

    @operation(reads=True)
    async def unknown(self, text: str) -> None:
        """Guest code was told `OutcomeUnknown`."""
        self.told.append(text)
