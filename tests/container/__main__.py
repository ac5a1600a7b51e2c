"""Builds the image of the Dockerfile offline and tries it in the containers that this machine can make.

python -m tests.container              everything; prints a table; exit code 1 where something did not hold
python -m tests.container --quick      the half that CI runs: docker, or podman where docker is not
python -m tests.container --install    as root, installs what is missing by apt
python -m tests.container --only TEXT  the places whose name has this
python -m tests.container --base IMAGE builds on an image that is here, with Python 3.11 to 3.13

What this machine cannot do is in the table as skipped, with the reason, and is no failure.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.container import image, serving
from tests.container.engines import FAILURES, Engine, Skipped, docker, last_line, need, podman, run

PLACE_S, QUICK_S = 100.0, 240
RESTRICTED = tuple("--user 1000 --cap-drop ALL --security-opt no-new-privileges --read-only --tmpfs /tmp".split())
GVISOR = ("--runtime-flag", "network=none", "--runtime-flag", "platform=systrap")
HEAD = ("place", "sandbox", "outcome", "open a session", "20 sessions", "attacks held", "time")


class TooLong(Exception):
    """The quick half has its time."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """One way to run the image. `refusal` is what it must say where no session may open; "" where all must hold."""

    engine: str
    flags: tuple[str, ...] = ()
    profile: bool = False
    sandbox: str = "process"
    refusal: str = ""
    quick: bool = False

    @property
    def name(self) -> str:
        words = [self.engine, *(("restricted",) if self.flags == RESTRICTED else self.flags)]
        return " ".join(words + ["+ profile"] * self.profile)


ROOT, OTHER = ("--user", "0"), ("--user", "12345")
PLACES = (
    Place(engine="host"),
    Place(engine="docker", profile=True, quick=True),
    Place(engine="docker", flags=ROOT, profile=True),
    Place(engine="docker", flags=OTHER, profile=True),
    Place(engine="docker", flags=RESTRICTED, profile=True, quick=True),
    Place(engine="docker", refusal="CELLWRIGHT_SANDBOX=landlock", quick=True),
    Place(engine="docker", sandbox="landlock", quick=True),
    Place(engine="docker", flags=ROOT, sandbox="landlock"),
    Place(engine="docker", flags=RESTRICTED, sandbox="landlock"),
    Place(engine="podman", quick=True),
    Place(engine="podman", flags=ROOT),
    Place(engine="podman", flags=RESTRICTED, quick=True),
    Place(engine="podman", flags=RESTRICTED, sandbox="landlock"),
    Place(engine="podman rootless"),
    Place(engine="podman rootless", flags=ROOT),
    Place(engine="bwrap"),
    Place(engine="gvisor", refusal="`cellwright doctor`"),
    Place(engine="gvisor", sandbox="landlock", refusal="Landlock's ABI"),
)


class Engines:
    """Found when they are asked for, with the image in them; what is not here raises `Skipped` each time."""

    def __init__(self, directory: Path, builder: Engine, install: bool) -> None:
        self._directory, self._builder, self._install = directory, builder, install
        self._known: dict[str, Engine | Skipped | None] = {builder.name: builder, "host": None}
        self._archive = directory / "image.tar"

    def get(self, name: str) -> Engine | None:
        """None for what has no images: the host, bwrap."""
        if name not in self._known:
            try:
                self._known[name] = self._find(name)
            except Skipped as why:
                self._known[name] = why
            except FAILURES as error:
                self._known[name] = Skipped(f"cannot be used here: {last_line(error)}")
        found = self._known[name]
        if isinstance(found, Skipped):
            raise found
        return found

    def _find(self, name: str) -> Engine | None:
        if name == "docker":
            raise Skipped("docker is not here, or its daemon does not start")
        if name == "bwrap":
            return self._unpack()
        runtime: tuple[str, ...] = ()
        if name == "gvisor":
            need("runsc")
            runtime = ("--runtime", shutil.which("runsc") or "", *GVISOR)
        engine = podman(self._directory, install=self._install, rootless=name == "podman rootless", runtime=runtime)
        if not self._archive.exists():
            run([*self._builder.prefix, "save", "--output", self._archive, image.NAME])
            self._archive.chmod(0o644)
        run([*engine.prefix, "load", "--input", self._archive])
        return engine

    def _unpack(self) -> None:
        need("bwrap", install=self._install)
        prefix, root, tar = self._builder.prefix, self._directory / "image", self._directory / "files.tar"
        container = run([*prefix, "create", image.NAME]).strip()
        run([*prefix, "export", "--output", tar, container])
        run([*prefix, "rm", container])
        (root / "src").mkdir(parents=True)
        run(["tar", "-C", root, "--exclude=dev/*", "-xf", tar])


@dataclass(kw_only=True)
class Trial:
    """What came of the places so far."""

    directory: Path
    stage: Path
    profile: Path
    rows: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    failed: list[str] = field(default_factory=list[str])
    host_ms: float = 0.0

    def command(self, place: Place, engine: Engine | None, name: str) -> list[str]:
        inside = "tests/container/inside.py"
        if engine is None and place.engine == "host":
            return [sys.executable, str(image.CLONE / inside)]
        if engine is None:
            return [*bwrap(self.directory / "image", self.stage), "python3", f"/src/{inside}"]
        command = [*engine.prefix, "run", "--rm", "--name", name, "--network", "none", *engine.flags, *place.flags]
        command += ["--security-opt", f"seccomp={self.profile}"] * place.profile
        command += ["-v", f"{self.stage}:/src:ro", "-e", f"CELLWRIGHT_SANDBOX={place.sandbox}"]
        return [*command, "--entrypoint", "python3", image.NAME, f"/src/{inside}"]

    def attempt(self, place: Place, engine: Engine | None) -> None:
        began, name = time.monotonic(), f"cellwright-tried-{time.time_ns()}"
        try:
            said = run(self.command(place, engine, name), PLACE_S, CELLWRIGHT_SANDBOX=place.sandbox)
            report: dict[str, Any] = json.loads(said.strip().splitlines()[-1])
        except (*FAILURES, ValueError, IndexError) as error:
            report = {"broke": last_line(error)}
        finally:
            if engine is not None:  # the program that was ended may have left it running
                subprocess.run([*engine.prefix, "rm", "--force", name], capture_output=True, timeout=60)
        self.judge(place, report, time.monotonic() - began)

    def judge(self, place: Place, report: dict[str, Any], took_s: float) -> None:
        attacks, refused = report.get("attacks", {}), report.get("refused", "")
        wrong = [f"{name}: {what}" for name, what in attacks.items() if what]
        held = len(attacks) - len(wrong)
        wrong += [what for what in (report.get("cells"), report.get("broke")) if what]
        if refused and not (place.refusal and place.refusal in refused):
            wrong.append(f"refused: {refused}")
        self.failed += [f"{place.name} ({place.sandbox}): {what}" for what in wrong]
        numbers = ("", "", "")
        if "open_ms" in report:
            host, took_ms = place.engine == "host", report["open_ms"]
            self.host_ms = took_ms if host else self.host_ms
            ratio = f", {took_ms / self.host_ms:.2f} ×" if self.host_ms and not host else ""
            memory = f"{report['held_mb']:.0f} MB" if report["held_mb"] and not host else ""
            numbers = (f"{took_ms:.1f} ms{ratio}", memory, str(held))
        self.row(place, "FAILED" if wrong else "refused" if refused else "held", *numbers, f"{took_s:.0f} s")
        if refused and not wrong:
            print(f"    {refused}", flush=True)

    def row(self, place: Place, *words: str) -> None:
        self.rows.append((place.name, place.sandbox, *words))
        print("  " + "  ".join(word for word in self.rows[-1] if word), flush=True)

    def table(self) -> str:
        rows = [HEAD, ("---",) * len(HEAD), *(row + ("",) * (len(HEAD) - len(row)) for row in self.rows)]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def bwrap(root: Path, stage: Path) -> list[str]:
    options = f"--unshare-all --uid 1000 --gid 1000 --die-with-parent --ro-bind {root} / --ro-bind {stage} /src"
    options += (
        " --proc /proc --dev /dev --tmpfs /tmp --setenv PATH /opt/cellwright/bin:/usr/bin:/bin --setenv HOME /tmp"
    )
    return ["bwrap", *options.split()]


def tried(options: argparse.Namespace, directory: Path, builder: Engine) -> list[str]:
    """What did not hold."""
    below = options.base or image.base(builder, directory, options.install)
    build_s, size = image.build(builder, directory, below)
    start = [*builder.prefix, "run", "--rm", "--network", "none", *builder.flags, image.NAME]
    profile = directory / "cellwright.json"
    profile.write_text(run([*start, "doctor", "--seccomp"]))
    version = f"{builder.name} {builder.version()}, Linux {platform.release()}"
    print(f"· image: {size / 1e6:.0f} MB, built in {build_s:.0f} s; {version}", flush=True)
    trial = Trial(directory=directory, stage=image.stage(directory), profile=profile)
    engines = Engines(directory, builder, options.install)
    quick = [place for place in PLACES if place.quick and place.engine == builder.name]
    try:
        for place in quick if options.quick else PLACES:
            if options.only in place.name:
                try:
                    trial.attempt(place, engines.get(place.engine))
                except Skipped as why:
                    trial.row(place, f"skipped: {why}")
        flags = (*builder.flags, *RESTRICTED, "--security-opt", f"seccomp={profile}")
        healthy_s, stop_s = serving.served(builder.prefix, image.NAME, flags, trial.stage)
        print(f"· gateway, restricted + profile: healthy after {healthy_s:.1f} s, ended in {stop_s:.1f} s", flush=True)
    except TooLong:
        print(f"· the rest is skipped: {QUICK_S} s are over")
    except (AssertionError, *FAILURES) as error:
        trial.failed.append(f"gateway: {last_line(error)}")
    print(trial.table())
    return trial.failed


def found(directory: Path, install: bool, stack: contextlib.ExitStack) -> Engine:
    """Docker, else podman."""
    try:
        return stack.enter_context(docker(directory, install=install and shutil.which("podman") is None))
    except Skipped as why:
        try:
            return podman(directory, install=False, rootless=os.geteuid() != 0)
        except Skipped as other:
            raise Skipped(f"{why}; {other}") from None


def removed(builder: Engine) -> None:
    subprocess.run([*builder.prefix, "image", "rm", image.NAME, image.BASE], capture_output=True, timeout=60)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.container", description=__doc__)
    for flag in ("--quick", "--install"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--base")
    options = parser.parse_args()

    def too_long(number: int, frame: object) -> None:
        raise TooLong

    def ended(number: int, frame: object) -> None:
        sys.exit(128 + number)  # the daemon and the directory go with it

    signal.signal(signal.SIGTERM, ended)
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(QUICK_S if options.quick else 0)
    directory = Path(tempfile.mkdtemp(prefix="cellwright-", dir="/var/tmp"))
    directory.chmod(0o755)
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        stack.callback(signal.alarm, 0)
        try:
            builder = found(directory, options.install, stack)
            stack.callback(removed, builder)
            failed = tried(options, directory, builder)
        except (Skipped, TooLong) as why:
            print(f"container: skipped: {str(why) or f'not done after {QUICK_S} s'}")
            return 0
        except FAILURES as error:
            failed = [f"{' '.join(map(str, error.cmd))[:200]}: {last_line(error)}"]
    for what in failed:
        print(f"FAILED {what}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
