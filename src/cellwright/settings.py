"""What the environment says. The only module that reads it, and only when asked: importing reads nothing.

It names directories and does not make them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellwright.errors import PlatformError

KEY_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "mistral": ("MISTRAL_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "bedrock": ("AWS_BEARER_TOKEN_BEDROCK",),  # other AWS credentials do not say that Bedrock is meant
}
"""Providers of language models, and the variables that hold their keys."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Where Cellwright keeps things on this machine.

    `cache_dir` may be deleted at any time at the cost of making its contents again: installed packages, probes.
    `state_dir` holds what cannot be made again. `keys` names the providers whose key is set; the keys are not here.
    `sandbox` is the rung that the operator chose for programs that chose none.
    """

    cache_dir: Path
    state_dir: Path
    keys: frozenset[str] = frozenset()
    sandbox: str = "auto"

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """`CELLWRIGHT_CACHE` and `CELLWRIGHT_STATE`, else the XDG directories, else their defaults below the home.

        `CELLWRIGHT_SANDBOX`, else "auto".
        """
        environ = os.environ if environ is None else environ
        return cls(
            cache_dir=_directory(environ, "CELLWRIGHT_CACHE", "XDG_CACHE_HOME", ".cache"),
            state_dir=_directory(environ, "CELLWRIGHT_STATE", "XDG_STATE_HOME", ".local/state"),
            keys=frozenset(provider for provider in KEY_VARIABLES if key_of(provider, environ) is not None),
            sandbox=environ.get("CELLWRIGHT_SANDBOX") or "auto",
        )


def key_of(provider: str, environ: Mapping[str, str] | None = None) -> str | None:
    """The key itself: for the client that sends it, and for taking it out of what a server says."""
    environ = os.environ if environ is None else environ
    return next((key for variable in KEY_VARIABLES[provider] if (key := environ.get(variable))), None)


def variable(name: str, environ: Mapping[str, str] | None = None) -> str | None:
    """One variable that somebody named: a connector's "env:NAME". None where it is not set."""
    return (os.environ if environ is None else environ).get(name)


def install_command(extra: str) -> str:
    """The command that adds an extra where this Cellwright came from: the clone it was installed from, or the index."""
    import json  # all of these only for a message
    import shlex
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    origin: dict[str, Any] = {}
    try:
        origin = json.loads(distribution("cellwright").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        pass  # on the path, and not installed
    url: str = origin.get("url", "")
    clone = Path(unquote(urlsplit(url).path))
    if "dir_info" not in origin or not (clone / "pyproject.toml").is_file():
        return f"pip install 'cellwright[{extra}]'"
    editable = "--editable " if origin["dir_info"].get("editable") else ""
    return f"pip install {editable}{shlex.quote(f'{clone}[{extra}]')}"


def _directory(environ: Mapping[str, str], own: str, xdg: str, below_home: str) -> Path:
    if chosen := environ.get(own):
        return Path(chosen).absolute()
    root = Path(environ.get(xdg, ""))
    if not root.is_absolute():  # unset, or relative, which the XDG specification says to ignore
        root = _home(environ, own) / below_home
    return root / "cellwright"


def _home(environ: Mapping[str, str], own: str) -> Path:
    home = Path(environ.get("HOME", ""))
    if home.is_absolute():
        return home
    try:
        return Path.home()
    except RuntimeError:
        raise PlatformError(f"this user has no home directory; set {own} to a directory that may be written") from None
