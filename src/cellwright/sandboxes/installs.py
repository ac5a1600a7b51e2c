"""Requirements, installed once and kept: a directory of packages for each set of them.

Built in a directory beside the final one and renamed, under a file lock, so what has its final name is whole.
Only wheels are installed: building a source distribution would run its code on the host, with the host's rights.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import sys
import sysconfig
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from pathlib import Path

from cellwright.errors import PackagesFailed
from cellwright.short_texts import cut

Progress = Callable[[str], None]

LAYOUT = 1  # raise it when what is kept changes
NOISE = ("WARNING", "DEPRECATION", "Looking in", "[notice]", "hint:", "Using Python", "Using CPython")


async def installed(requirements: Mapping[str, str], *, python: Path, cache: Path, progress: Progress) -> Path:
    """The directory that holds `requirements` (each with its distribution's name), installed now if it is not there."""
    kept = _place(cache, requirements)
    names = ", ".join(dict.fromkeys(requirements.values()))
    if not kept.is_dir():
        try:
            kept.parent.mkdir(parents=True, exist_ok=True)
            async with _locked(
                kept.with_suffix(".lock"), lambda: progress(f"waiting for another process that installs {names}")
            ):
                if not kept.is_dir():
                    progress(f"installing {names} (first time; kept in {kept})")
                    await _build(kept, requirements, python, progress)
        except OSError as error:
            raise PackagesFailed(
                f"{names}: {error.strerror} ({error.filename}); give a cache directory that can be written"
            ) from None
    return kept / "site"


def _place(cache: Path, requirements: Iterable[str]) -> Path:
    machine = [sys.version_info[:2], sysconfig.get_config_var("SOABI"), sysconfig.get_platform()]
    key = hashlib.sha256(json.dumps([LAYOUT, sorted(requirements), machine]).encode()).hexdigest()[:24]
    return cache.absolute() / "environments" / key


@contextlib.asynccontextmanager
async def _locked(path: Path, on_wait: Callable[[], None]) -> AsyncGenerator[None]:
    """Hold the lock file; it dies with the process. The file stays: removing it would let two hold it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        waited = False
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not waited:
                    on_wait()
                waited = True
                await asyncio.sleep(0.1)
        yield
    finally:
        os.close(fd)


async def _build(kept: Path, requirements: Mapping[str, str], python: Path, progress: Progress) -> None:
    new = _beside(kept)
    try:
        await _install(new, requirements, python, progress)
        os.rename(new, kept)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _beside(kept: Path) -> Path:
    """A directory to build in. Older ones are of processes that were killed: the lock is ours now."""
    prefix = f"{kept.name}.new-"
    for left in kept.parent.glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)
    new = Path(tempfile.mkdtemp(prefix=prefix, dir=kept.parent))
    new.chmod(0o755)  # the guest may run under another uid
    return new


async def _install(new: Path, requirements: Mapping[str, str], python: Path, progress: Progress) -> None:
    command = [*await _installer(python), "--target", str(new / "site"), "--only-binary", ":all:", "--", *requirements]
    lines: deque[str] = deque(maxlen=500)

    def heard(line: str) -> None:
        lines.append(line)
        if line and not line.startswith(NOISE):
            progress(cut(line, 100))

    code = await _run(command, new, heard)
    if code != 0 or not (new / "site").is_dir():
        names = ", ".join(dict.fromkeys(requirements.values()))
        reason = _reason(lines) or f"{command[0]} ended with {code}"
        raise PackagesFailed(
            f"{names} could not be installed: {reason}. Check names, versions and network; only wheels are taken, "
            "so for what has none make a virtual environment yourself and give its path"
        )


async def _installer(python: Path) -> list[str]:
    if uv := shutil.which("uv"):
        quiet = ["--no-progress", "--color", "never"]
        # copied, not linked: what a guest sees must not be the inodes of the host's own cache
        return [uv, "pip", "install", *quiet, "--python", str(python), "--compile-bytecode", "--link-mode", "copy"]
    for candidate in dict.fromkeys((sys.executable, str(python))):
        pip = [candidate, "-I", "-u", "-m", "pip"]
        if await _run([*pip, "--version"], python.parent, lambda line: None) == 0:
            quiet = ["--no-input", "--no-color", "--disable-pip-version-check", "--progress-bar", "off"]
            return [*pip, "install", *quiet, "--no-user"]
    raise PackagesFailed(
        f"neither `uv` nor pip is there for {python}; install uv, or give the path of a virtual environment"
    )


async def _run(command: list[str], where: Path, heard: Progress) -> int:
    """Run to the end, each line heard as it comes. Cancelling kills the command and all that it started."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=where,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        umask=0o022,
        start_new_session=True,
        limit=1 << 24,
    )
    assert process.stdout is not None
    try:
        async for line in process.stdout:
            heard(line.decode(errors="replace").strip())
        return await process.wait()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def _reason(lines: Iterable[str]) -> str:
    """Why it failed, in one line: the last error of pip, or the error of uv with the causes below it."""
    said = [line for line in lines if line and "for help visit" not in line]
    errors = [line.removeprefix("ERROR:").strip() for line in said if line.startswith("ERROR:")]
    if errors:
        return errors[-1].rstrip(".")[:300]
    start = next((place for place, line in enumerate(said) if line.startswith(("error:", "×"))), len(said) - 1)
    whole = " ".join(said[max(start, 0) :]).partition("hint:")[0]
    steps = re.split(r"error:|cause:|[×├╰]─?▶?", whole)
    causes = [step.strip(" .:") for step in steps if not step.strip().startswith("No solution found")]
    return ": ".join(cause for cause in causes if cause)[:300]
