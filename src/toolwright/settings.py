"""What the environment says. The only module that reads it, and only when asked: importing reads nothing.

It names directories and does not make them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from toolwright.errors import PlatformError


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Where Toolwright keeps things on this machine.

    `cache_dir` may be deleted at any time at the cost of making its contents again: installed packages, probes.
    `state_dir` holds what cannot be made again.
    """

    cache_dir: Path
    state_dir: Path

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """`TOOLWRIGHT_CACHE` and `TOOLWRIGHT_STATE`, else the XDG directories, else their defaults below the home."""
        environ = os.environ if environ is None else environ
        return cls(
            cache_dir=_directory(environ, "TOOLWRIGHT_CACHE", "XDG_CACHE_HOME", ".cache"),
            state_dir=_directory(environ, "TOOLWRIGHT_STATE", "XDG_STATE_HOME", ".local/state"),
        )


def _directory(environ: Mapping[str, str], own: str, xdg: str, below_home: str) -> Path:
    if chosen := environ.get(own):
        return Path(chosen).absolute()
    root = Path(environ.get(xdg, ""))
    if not root.is_absolute():  # unset, or relative, which the XDG specification says to ignore
        root = _home(environ, own) / below_home
    return root / "toolwright"


def _home(environ: Mapping[str, str], own: str) -> Path:
    home = Path(environ.get("HOME", ""))
    if home.is_absolute():
        return home
    try:
        return Path.home()
    except RuntimeError:
        raise PlatformError(f"this user has no home directory; set {own} to a directory that may be written") from None
