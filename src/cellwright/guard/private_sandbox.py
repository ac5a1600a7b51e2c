"""`PrivateSandbox`: a sandbox whose guests' prints, errors and values reach nobody but with tokens.

A guest may have private values that came through no call: in a file of the workspace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from cellwright.errors import CodeError, GuestError
from cellwright.events import Event, Printed
from cellwright.guard.privacy import SessionPrivacy
from cellwright.guard.private import PrivateEntry
from cellwright.sandboxes import GuestValue, Interpreter, OnEvent, Opening, Outcome, Sandbox, SavedState
from cellwright.scope import ScopeHost

BEFORE = 4_000  # characters of what was printed before
LARGE = 20_000  # characters of output that are looked through on a thread


class PrivateSandbox:
    """See `Sandbox`. It is closed with the one inside."""

    def __init__(self, inner: Sandbox, host: ScopeHost, privacy: SessionPrivacy) -> None:
        self._inner = inner
        self._host = host
        self._privacy = privacy

    @property
    def rung(self) -> str:
        return self._inner.rung

    async def open(self, opening: Opening) -> Interpreter:
        entry = PrivateEntry(opening.host, self._host, self._privacy)
        inner = await self._inner.open(replace(opening, host=entry))
        return _PrivateInterpreter(inner, self._privacy)

    async def pins(self) -> dict[str, str]:
        return await self._inner.pins()

    async def close(self) -> None:
        await self._inner.close()


class _PrivateInterpreter:
    """See `Interpreter`."""

    def __init__(self, inner: Interpreter, privacy: SessionPrivacy) -> None:
        self._inner = inner
        self._privacy = privacy

    @property
    def alive(self) -> bool:
        return self._inner.alive

    @property
    def reason(self) -> GuestError | None:
        return self._inner.reason

    async def run(
        self, cell: int, code: str, on_event: OnEvent | None = None, *, at: float = 0.0, seed: bytes = b""
    ) -> Outcome:
        self._privacy.keep()  # what the names that the guest began with brought
        hears = None if on_event is None else _Lines(on_event, self._text)
        outcome = await self._inner.run(cell, code, hears, at=at, seed=seed)
        if hears is not None:
            hears.end()
        large = len(outcome.stdout) > LARGE
        outcome = await asyncio.to_thread(self._hidden, outcome) if large else self._hidden(outcome)
        self._privacy.keep()
        return outcome

    def _text(self, text: str) -> str:
        return self._privacy.hide_text(text, guessed=True)

    def _hidden(self, outcome: Outcome) -> Outcome:
        value, error = outcome.value, outcome.error
        if isinstance(value, GuestValue):
            value = replace(value, text=self._text(value.text))
        return replace(
            outcome,
            value=value,
            stdout=self._text(outcome.stdout),
            error=None if error is None else self._hidden_error(error),
            calls=tuple(
                call if call.error is None else replace(call, error=self._text(call.error)) for call in outcome.calls
            ),
        )

    def _hidden_error(self, error: GuestError) -> GuestError:
        text = self._text(str(error))
        if text == str(error):
            return error
        if isinstance(error, CodeError):
            return CodeError(text, type=error.type, message=self._text(error.message), line=error.line)
        return type(error)(text)

    async def reveal(self) -> None:
        await self._inner.reveal()

    async def save(self) -> SavedState | None:
        return await self._inner.save()

    async def load(self, content: bytes) -> None:
        await self._inner.load(content)

    async def close(self) -> None:
        await self._inner.close()


class _Lines:
    """Tells a listener what is printed, in whole lines: a value that is cut in two would not be found.

    Each is looked at with what stands before it: the header of a table says what is in its lines.
    """

    def __init__(self, tell: OnEvent, text: Callable[[str], str]) -> None:
        self._tell = tell
        self._text = text
        self._last: Printed | None = None
        self._before = ""

    def __call__(self, event: Event) -> None:
        if not isinstance(event, Printed):
            self._tell(event)
            return
        text = event.text if self._last is None else self._last.text + event.text
        whole, newline, rest = text.rpartition("\n")
        self._last = replace(event, text=rest) if rest else None
        if newline:
            self._tell(replace(event, text=self._hidden(whole + newline)))

    def _hidden(self, text: str) -> str:
        before, together = self._text(self._before), self._text(self._before + text)
        self._before = (self._before + text)[-BEFORE:]
        return together[len(before) :] if together.startswith(before) else self._text(text)

    def end(self) -> None:
        if self._last is not None:
            self._tell(replace(self._last, text=self._hidden(self._last.text)))
            self._last = None
