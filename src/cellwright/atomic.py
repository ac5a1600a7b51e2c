"""Files that are written whole or not at all: the content goes to a file beside, which then takes the place.

A reader sees the old file or the new one. Nothing here waits for the disk: after a power cut either may be there.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

DRAFT = ".writing"  # how the name of a file ends whose writer is at work, or was killed


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """The path of a file to be made beside `path`. It takes that place at the end, and is removed after an error."""
    draft = path.with_name(f".{path.name[:64]}.{os.urandom(8).hex()}{DRAFT}")
    try:
        yield draft
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


@contextmanager
def open_atomic(path: Path, *, mode: int = 0o600) -> Generator[BinaryIO]:
    """A file to be written, as `replacing` has it. Nobody but its owner can read the draft."""
    with replacing(path) as draft, open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        yield file
        if mode != 0o600:
            os.fchmod(file.fileno(), mode)


def write_atomic(path: Path, content: bytes | str, *, mode: int = 0o600) -> None:
    """Write a file whole or not at all."""
    with open_atomic(path, mode=mode) as file:
        file.write(content.encode() if isinstance(content, str) else content)
