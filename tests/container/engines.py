"""What runs containers here: docker, podman as root and as another user, bubblewrap, gVisor. Each is a prefix of `run`.

A daemon that was there is used and left alone. One that is started here lives in the directory given, and ends with it.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

START_S, STEP_S = 30.0, 300.0
FAILURES = (subprocess.CalledProcessError, subprocess.TimeoutExpired)
PACKAGES = {
    "docker": "docker.io",
    "podman": "podman runc",
    "bwrap": "bubblewrap",
    "mmdebstrap": "mmdebstrap",
    "runsc": "runsc",
}


class Skipped(Exception):
    """Something that this machine cannot do; the text says what and why. It is shown, and is no failure."""


def run(command: Sequence[str | Path], timeout_s: float = STEP_S, **environ: str) -> str:
    """The command's output. Raises `CalledProcessError`, with what it said, and `TimeoutExpired`."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout_s, env=os.environ | environ, errors="replace"
    )
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, list(map(str, command)), done.stdout, done.stderr)
    return done.stdout


def need(program: str, *, install: bool = False) -> None:
    """Raises `Skipped` where a program is neither here nor may and can be installed by apt."""
    if shutil.which(program):
        return
    names = PACKAGES[program]
    if not install or os.geteuid() or shutil.which("apt-get") is None:
        raise Skipped(f"{program} is not installed (apt-get install {names})")
    print(f"· installing {names}", flush=True)
    try:
        run(["apt-get", "update", "-qq"])
        # RUNLEVEL: Debian's packages then start no daemon
        run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *names.split()], RUNLEVEL="1")
    except FAILURES as error:
        raise Skipped(f"apt-get could not install {names}: {last_line(error)}") from None


def last_line(error: BaseException) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"not done after {error.timeout:.0f} s"
    said = str(error)
    if isinstance(error, subprocess.CalledProcessError):
        said = (error.stderr or error.stdout or "").strip() or f"exit code {error.returncode}"
    return said.splitlines()[-1]


@dataclass(frozen=True, kw_only=True)
class Engine:
    """`prefix` is the command before `run`, `build` and the like; `flags` are those that each run here needs."""

    name: str
    prefix: tuple[str, ...]
    flags: tuple[str, ...] = ()

    def version(self) -> str:
        said = "{{.Server.Version}}" if self.name == "docker" else "{{.Client.Version}}"
        return run([*self.prefix, "version", "--format", said], 30).strip()


@contextlib.contextmanager
def docker(directory: Path, *, install: bool) -> Generator[Engine]:
    """The daemon that answers here, or one of its own where this runs as root."""
    need("docker", install=install)
    try:
        run(["docker", "version"], 20)
        yield Engine(name="docker", prefix=("docker",))
        return
    except FAILURES:
        pass
    dockerd = shutil.which("dockerd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if os.geteuid() or dockerd is None:
        raise Skipped("no docker daemon answers, and one can be started only as root, where dockerd is installed")
    address = f"unix://{directory}/docker.sock"
    places = [f"--{name}={directory}/{name}" for name in ("data-root", "exec-root", "pidfile")]
    closed = ["--bridge=none", "--iptables=false", "--ip6tables=false"]
    with open(directory / "dockerd.log", "wb") as log:
        daemon = subprocess.Popen(
            [dockerd, *places, *closed, "-H", address], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    engine = Engine(name="docker", prefix=("docker", "-H", address))
    try:
        end = time.monotonic() + START_S
        while daemon.poll() is None and time.monotonic() < end:
            with contextlib.suppress(*FAILURES):
                run([*engine.prefix, "info"], 20)
                break
            time.sleep(0.2)
        else:
            said = (directory / "dockerd.log").read_text(errors="replace").strip().splitlines()[-1:]
            raise Skipped(f"dockerd does not start here: {' '.join(said)[-300:]}")
        yield engine
    finally:
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(30)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


def podman(directory: Path, *, install: bool, rootless: bool = False, runtime: Sequence[str] = ()) -> Engine:
    """Images and containers below `directory`. `rootless` as root: by a user who has subordinate uids."""
    need("podman", install=install)
    place = directory / ("user" if rootless else "root")  # short: it refuses paths from 50 characters on
    for part in ("", "run", "home"):
        (place / part).mkdir(mode=0o700, parents=True, exist_ok=True)
    # runc, because crun does not know version 1 of control groups beside version 2
    given = [*runtime] or (["--runtime", "runc"] if shutil.which("runc") else [])
    options = ["--root", f"{place}/storage", "--runroot", f"{place}/run", "--cgroup-manager", "cgroupfs"]
    options += ["--events-backend", "file", "--storage-driver", "overlay", *given]
    if not rootless and os.geteuid():
        raise Skipped("this is not root")
    if not rootless:
        limits = ("--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096")  # its own ask for CAP_SYS_RESOURCE
        return Engine(name="podman", prefix=("podman", *options), flags=limits)
    if os.geteuid():
        return Engine(name="podman rootless", prefix=("podman", *options))
    user = next((line.split(":")[0] for line in lines_of("/etc/subuid") if line.split(":")[0] != "root"), None)
    if user is None or shutil.which("newuidmap") is None or shutil.which("setpriv") is None:
        raise Skipped("no user with subordinate uids is here (/etc/subuid, newuidmap)")
    known = pwd.getpwnam(user)
    run(["chown", "-R", f"{known.pw_uid}:{known.pw_gid}", place])
    become = f"setpriv --reuid={known.pw_uid} --regid={known.pw_gid} --clear-groups env -C {place}".split()
    return Engine(
        name="podman rootless",
        prefix=(*become, f"HOME={place}/home", f"XDG_RUNTIME_DIR={place}/run", "podman", *options),
    )


def lines_of(path: str) -> list[str]:
    try:
        return Path(path).read_text().split()
    except OSError:
        return []
