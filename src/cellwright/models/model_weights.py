"""The embedded model's file: its place, size and hash, and the package parts that it can be assembled from.

Knows nothing of fetching it (`pull`) or of running it (`engine`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from cellwright.settings import Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightsPart:
    """A package that holds a piece of the file: its requirement with hash, as pip reads it, and the piece's size."""

    name: str
    requirement: str
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightsState:
    """The state of the file on this machine: its bytes so far, and its place."""

    state: Literal["not pulled", "partial", "pulled", "damaged"]
    path: Path
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelWeights:
    """A model file: its name in the cache, size, hash and source."""

    name: str
    size: int
    sha256: str
    hub: str

    def path(self, settings: Settings | None = None) -> Path:
        """Where the file is kept, whether or not it is there."""
        return (settings or Settings.from_environment()).cache_dir / "models" / self.name

    def held(self, settings: Settings) -> WeightsState:
        """The state of the file, judged by its size: its hash is checked when it is pulled."""
        path = self.path(settings)
        if path.is_file():
            size = path.stat().st_size
            return WeightsState(state="pulled" if size == self.size else "damaged", path=path, size=size)
        partial = partial_of(path)
        size = partial.stat().st_size if partial.is_file() else 0
        return WeightsState(state="partial" if size else "not pulled", path=path, size=size)


QWEN = ModelWeights(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    hub="https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
)


def parts() -> tuple[WeightsPart, ...]:
    """The packages that the file can be assembled from, in order."""
    text = files("cellwright.models").joinpath("parts.txt").read_text(encoding="utf-8")
    return tuple(_part(line) for line in text.splitlines() if line and not line.startswith("#"))


def _part(line: str) -> WeightsPart:
    requirement, _, size = line.partition("#")
    return WeightsPart(name=requirement.partition("==")[0], requirement=requirement.strip(), size=int(size))


def partial_of(path: Path) -> Path:
    """The path of the incomplete file."""
    return path.with_name(path.name + ".partial")


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def size_text(size: int) -> str:
    """Bytes as people write them: 1.1 GB, 52 MB, 512 bytes."""
    for unit, name in ((10**9, "GB"), (10**6, "MB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}" if size < 10 * unit else f"{size / unit:.0f} {name}"
    return f"{size} bytes"
