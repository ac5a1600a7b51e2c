"""The guest's Python: which interpreter runs it, and which packages it can import.

`environment` answers for the three things a developer may give: nothing, an environment that is there, or requirements
(which `installs` keeps in a cache). Nothing of an environment is imported or run here: its metadata and `.pth` files
are read as text, and its base interpreter is asked for its version, in a process of its own and without `site`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from keyword import iskeyword
from pathlib import Path

from cellwright.errors import PlatformError, UsageError
from cellwright.sandboxes.installs import installed

OLDEST, NEWEST = (3, 11), (3, 13)
REQUIREMENT = re.compile(
    r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\]\s*)?(?:[<>=!~;(].*|@\s*[^;\s]+\.whl(?:[#?;\s].*)?)?"
)
NOT_PRELOADED = frozenset({"test", "tests", "testing", "docs", "examples", "benchmarks", "setup", "conftest"})
ASK = "import json, site, sys; print(json.dumps([*sys.version_info[:2], sys.abiflags, site.getsitepackages()]))"


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """What a guest's interpreter is started with. Start it with `-I -S`: `site` is all that it may see of packages."""

    python: Path
    site: tuple[Path, ...] = ()
    preload: tuple[str, ...] = ()  # modules worth importing before the fork


async def environment(
    packages: Path | str | Sequence[str] | None, *, cache: Path, progress: Callable[[str], None] | None = None
) -> Environment:
    """The environment for `packages`: None is the standard library alone; a path is a virtual environment of Python
    3.11 to 3.13; anything else is one requirement or a list of them, installed on first use and kept in `cache`.

    Raises `UsageError` for an invalid path or requirement, `PackagesFailed` where installing did not work.
    """
    if packages is None:
        return Environment(python=host_python())
    if isinstance(packages, Path) or (isinstance(packages, str) and os.sep in packages):
        return await asyncio.to_thread(_existing, packages)
    requirements = _requirements([packages] if isinstance(packages, str) else packages)
    if not requirements:
        return Environment(python=host_python())
    python = host_python()
    site = await installed(requirements, python=python, cache=cache, progress=progress or (lambda line: None))
    return await asyncio.to_thread(_described, python, site, requirements)


def host_python() -> Path:
    """The real interpreter below the host's own virtual environment."""
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        raise PlatformError(_unfit("the host's Python", sys.version_info[0], sys.version_info[1]))
    return Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()


def _unfit(what: str, major: int, minor: int) -> str:
    return f"{what} is {major}.{minor}; guests need 3.11 to 3.13, so make the environment with one of these"


def _requirements(given: Iterable[str]) -> dict[str, str]:
    """Each requirement with the name of its distribution, sorted and without duplicates."""
    requirements: dict[str, str] = {}
    for text in given:
        requirement = " ".join(text.split()) if isinstance(text, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be untyped
        match = REQUIREMENT.fullmatch(requirement)
        if match is None or re.search(r"\s-", requirement) or not requirement.isprintable():
            raise UsageError(
                f"packages: {text!r} is no requirement; give names such as 'polars' or 'polars>=1', "
                "'name @ file:///…' for a wheel, or a Path for an environment"
            )
        requirements[requirement] = match[1]
    return dict(sorted(requirements.items()))


def _described(python: Path, site: Path, requirements: dict[str, str]) -> Environment:
    names = {_normal(name) for name in requirements.values()}
    found = (dist for dist in metadata.distributions(path=[str(site)]) if _normal(dist.name) in names)
    modules = {module for dist in found for module in _modules(dist)}
    return Environment(python=python, site=_unique(_with_pth(site)), preload=tuple(sorted(modules)))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _modules(dist: metadata.Distribution) -> Iterator[str]:
    """The top-level modules of a distribution, but for private ones and tests."""
    names = (dist.read_text("top_level.txt") or "").split()
    if dist.files is not None:
        names = [file.parts[0].partition(".")[0] for file in dist.files if _is_top_level(file)]
    for name in names:
        if name.isidentifier() and not iskeyword(name) and not name.startswith("_") and name not in NOT_PRELOADED:
            yield name


def _is_top_level(file: metadata.PackagePath) -> bool:
    if file.suffix not in (".py", ".so"):
        return False
    return len(file.parts) == 1 or (len(file.parts) == 2 and file.name.partition(".")[0] == "__init__")


def _existing(given: Path | str) -> Environment:
    path = Path(given).expanduser().absolute()
    if path.parent.name == "bin" and path.is_file():
        raise UsageError(
            f"packages={str(path)!r} is a file; give the environment's directory, {str(path.parent.parent)!r}"
        )
    if not path.is_dir():
        raise UsageError(
            f"packages={str(path)!r} is no directory; make it with `python -m venv`, or give requirements in a list"
        )
    settings = _settings(path / "pyvenv.cfg")
    python = _interpreter(path, settings)
    major, minor, flags, base_sites = _ask(python)
    if not OLDEST <= (major, minor) <= NEWEST:
        raise UsageError(_unfit(f"the Python of {path}", major, minor))
    sites = base_sites
    if settings:
        library = f"python{major}.{minor}{'t' if 't' in flags else ''}"
        sites = [path / place / library / "site-packages" for place in ("lib", "lib64")]
        if settings.get("include-system-site-packages") == "true":
            sites += base_sites
    return Environment(
        python=python, site=_unique(extra for site in sites if site.is_dir() for extra in _with_pth(site))
    )


def _settings(file: Path) -> dict[str, str]:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _interpreter(path: Path, settings: dict[str, str]) -> Path:
    """The environment's interpreter; for a virtual environment the real one below it, also when it holds a copy."""
    link = next((path / "bin" / name for name in ("python", "python3") if os.path.lexists(path / "bin" / name)), None)
    if link is None:
        raise UsageError(f"packages={str(path)!r} has no bin/python; give the directory of a virtual environment")
    real = link.resolve()
    candidates = [real]
    if settings and real.is_relative_to(path.resolve()):
        home = Path(settings.get("home", ""))
        named = [Path(settings[key]) for key in ("base-executable", "executable") if key in settings]
        candidates = [*named, home / link.name, home / "python3"]
    python = next((candidate for candidate in candidates if candidate.is_file()), None)
    if python is None:
        raise UsageError(f"packages={str(path)!r}: its interpreter {candidates[0]} is gone; make the environment again")
    return python.resolve()


def _ask(python: Path) -> tuple[int, int, str, list[Path]]:
    try:
        answer = subprocess.run([python, "-I", "-S", "-c", ASK], env={}, capture_output=True, timeout=30, check=True)
        major, minor, flags, sites = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise UsageError(
            f"{python} does not answer as Python 3 does ({type(error).__name__}); make the environment again"
        ) from None
    return int(major), int(minor), str(flags), [Path(site) for site in sites]


def versions(site: tuple[Path, ...]) -> str:
    """A short hash of the installed distributions and their versions."""
    names = sorted(entry.name for path in site for entry in path.glob("*.dist-info"))
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16] if names else "none"


def _with_pth(site: Path) -> Iterator[Path]:
    """A directory of packages and those that its `.pth` files add. Their `import` lines are code, and are not run."""
    yield site
    for file in sorted(site.glob("*.pth")):
        for line in file.read_text(encoding="utf-8-sig", errors="replace").splitlines():
            added = line.rstrip()
            if added and not added.startswith(("#", "import ", "import\t")) and (site / added).is_dir():
                yield site / added


def _unique(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(path.resolve() for path in paths))
