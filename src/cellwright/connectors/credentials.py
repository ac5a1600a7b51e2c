"""Keys to an upstream: where they are kept, read when they are used, and never shown.

A source is "env:NAME", "file:PATH", "command:PROGRAM ARGUMENTS" (run without a shell), or a `Secret` given in code. It
knows neither HTTP nor what a key is good for. `Redactor` removes known keys from what an upstream says.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cellwright.errors import UpstreamRefused, UsageError
from cellwright.settings import variable

LONGEST = 64 * 1024
COMMAND_S = 20.0
ENDING_S = 5.0
_SOURCE = re.compile(r"(env|file|command):(.+)", re.DOTALL)
_FORMS = 'give "env:NAME", "file:PATH", "command:PROGRAM ARGUMENTS", or Secret("…") in code'


class Secret:
    """A key that is given in code. Its repr does not show it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        if type(value) is not str or not value.strip():
            raise UsageError("Secret(…) takes the key itself, a text that is not empty")
        self._value = value.strip()

    def reveal(self) -> str:
        """The key, for the client that sends it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> str:
        raise TypeError("a Secret is not pickled")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Kept:
    """Where a key is kept. `told` names the source in messages, without the key."""

    kind: Literal["env", "file", "command", "code"]
    place: str
    told: str


class Credential:
    """One key and its source. The key is read on first use, and again by `value(fresh=True)`."""

    def __init__(self, source: str | Secret | Credential) -> None:
        self._value: str | None = None
        self._lock = asyncio.Lock()
        self._kept = source._kept if isinstance(source, Credential) else _parsed(source)
        if isinstance(source, Secret):
            self._value = source.reveal()
        elif isinstance(source, Credential) and source._kept.kind == "code":
            self._value = source._value

    def __repr__(self) -> str:
        return f"Credential({self._kept.told})"

    @property
    def told(self) -> str:
        """The source in words, without the key: "the variable GITHUB_TOKEN"."""
        return self._kept.told

    @property
    def path(self) -> Path | None:
        """The file that holds the key, for libraries that read files themselves (certificates); else None."""
        return Path(self._kept.place).expanduser() if self._kept.kind == "file" else None

    @property
    def there(self) -> bool:
        """Whether the variable is set. True for other sources: they are asked when the key is read."""
        return self._kept.kind != "env" or bool((variable(self._kept.place) or "").strip())

    @property
    def renewable(self) -> bool:
        """Whether reading it again may give another key."""
        return self._kept.kind != "code"

    async def value(self, *, fresh: bool = False) -> str:
        """The key. `UpstreamRefused` in one line where its source does not give one."""
        async with self._lock:
            if self._value is None or (fresh and self.renewable):
                self._value = _tidy(await self._read(), self._kept.told)
            return self._value

    async def _read(self) -> str:
        match self._kept.kind:
            case "env":
                return variable(self._kept.place) or _refuse(f"{self._kept.told} is not set; set it and start again")
            case "file":
                return await asyncio.to_thread(_file, self._kept.place)
            case "command":
                return await _command(self._kept.place)
            case "code":
                return self._value or ""

    def warning(self) -> str:
        """A warning to the operator about the source; "" if there is none."""
        path = self.path
        try:
            open_to_all = path is not None and path.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH)
        except OSError:
            return ""
        return f"{path} can be read by every user of this machine; run: chmod 600 {path}" if open_to_all else ""


def _parsed(source: str | Secret) -> _Kept:
    if isinstance(source, Secret):
        return _Kept(kind="code", place="", told="a key given in code")
    found = _SOURCE.fullmatch(source.strip()) if type(source) is str else None
    if found is None:  # the text may be the key itself, so it is not shown
        raise UsageError(f"a credential that names no source; {_FORMS}")
    kind, place = found[1], found[2].strip()
    if kind == "env":
        return _Kept(kind="env", place=place, told=f"the variable {place}")
    if kind == "file":
        return _Kept(kind="file", place=place, told=f"the file {place}")
    try:
        program = shlex.split(place)[0]
    except (ValueError, IndexError):
        raise UsageError("a credential's command cannot be read; quote it as a shell would") from None
    return _Kept(kind="command", place=place, told=f"the command {Path(program).name}")  # its arguments may be secret


def _file(place: str) -> str:
    path = Path(place).expanduser()
    try:
        with path.open("rb") as file:
            found = file.read(LONGEST + 1)
        return found.decode("utf-8")
    except OSError as error:
        return _refuse(f"the file {place} cannot be read: {error.strerror or type(error).__name__}")
    except UnicodeDecodeError:
        return _refuse(f"the file {place} holds no text")


async def _command(place: str) -> str:
    words = shlex.split(place)
    name = Path(words[0]).name
    devnull, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
    try:
        running = await asyncio.create_subprocess_exec(
            *words, stdin=devnull, stdout=pipe, stderr=devnull, start_new_session=True
        )
    except OSError as error:
        return _refuse(f"the command {name} cannot be run: {error.strerror or type(error).__name__}")
    try:
        async with asyncio.timeout(COMMAND_S):
            found = await _bounded(running)
            status = 0 if len(found) > LONGEST else await running.wait()
    except TimeoutError:
        return _refuse(f"the command {name} gave no key within {COMMAND_S:.0f} s")
    finally:
        if running.returncode is None:
            _end(running)
            await _over(running)
    if status:
        return _refuse(f"the command {name} ended with status {status}; run it yourself to see why")
    return found.decode("utf-8", "replace")


async def _bounded(running: asyncio.subprocess.Process) -> bytes:
    """The output of a program. Reading stops above the bound; the caller refuses such a key."""
    found = bytearray()
    while running.stdout is not None and len(found) <= LONGEST and (part := await running.stdout.read(8192)):
        found += part
    return bytes(found)


async def _over(running: asyncio.subprocess.Process) -> None:
    """Wait for the end of a killed program. Its output is read, because `wait` waits for the pipe too."""
    try:
        async with asyncio.timeout(ENDING_S):
            while running.stdout is not None and await running.stdout.read(1 << 16):
                pass
            await running.wait()
    except TimeoutError:
        pass  # a process in another session holds the pipe: nobody waits for it


def _end(running: asyncio.subprocess.Process) -> None:
    try:
        os.killpg(running.pid, 9)  # it leads a session of its own, with the processes that it started
    except ProcessLookupError:
        pass


def _tidy(found: str, told: str) -> str:
    value = found.strip()
    if not value:
        return _refuse(f"{told} is empty")
    if len(value) > LONGEST:
        return _refuse(f"{told} holds more than {LONGEST // 1024} kB, which is no key")
    return value


def _refuse(text: str) -> str:
    raise UpstreamRefused(text)
