"""The image that `make container` tries: the Dockerfile of this clone, built offline from a base and wheels."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from tests.container.engines import FAILURES, Engine, Skipped, last_line, need, run

CLONE = Path(__file__).resolve().parent.parent.parent
NAME, BASE = "cellwright-tried", "cellwright-tried-base"
EXTRAS = ("connect", "check", "postgres")  # those of the Dockerfile
SENT = ("Dockerfile", ".dockerignore", "LICENSE", "README.md", "pyproject.toml", "requirements", "src")
# A Debian without its package manager: extracted and not set up, 13 s where debootstrap takes minutes.
MIRROR = "http://deb.debian.org/debian"
DEBIAN = "base-files,base-passwd,dash,coreutils,libc-bin,python3-venv"


def base(engine: Engine, directory: Path, install: bool) -> str:
    """The Dockerfile's own where it is here, else a small Debian with Python that mmdebstrap makes."""
    own = re.findall(r"^ARG BASE=(.*)", (CLONE / "Dockerfile").read_text(), re.MULTILINE)[0]
    if subprocess.run([*engine.prefix, "image", "inspect", own], capture_output=True).returncode == 0:
        return own
    need("mmdebstrap", install=install)
    print("· making a base", flush=True)
    tar = directory / "base.tar"
    try:
        run(["mmdebstrap", "--quiet", "--variant=extract", f"--include={DEBIAN}", "bookworm", tar, MIRROR])
    except FAILURES as error:
        raise Skipped(f"no base image: mmdebstrap: {last_line(error)}") from None
    run([*engine.prefix, "import", tar, BASE])
    tar.unlink()
    return BASE


def wheels(python: str, target: Path) -> None:
    """What the image installs, for that version of Python, by the pip of this machine and its cache."""
    project = tomllib.loads((CLONE / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], "hatchling"]
    needed += [name for extra in EXTRAS for name in project["optional-dependencies"][extra]]
    pips = [[python, "-m", "pip"] for python in (sys.executable, "python3") if shutil.which(python)]
    pips += [["uv", "tool", "run", "pip"]] * (shutil.which("uv") is not None)
    for pip in pips:
        if subprocess.run([*pip, "--version"], capture_output=True).returncode == 0:
            break
    else:
        raise Skipped("no pip is here that could download wheels")
    options = ["--quiet", "--only-binary", ":all:", "--python-version", python, "--constraint", "requirements/dev.txt"]
    try:
        run([*pip, "download", *options, "--dest", target, *needed])
    except FAILURES as error:
        raise Skipped(f"pip could not download wheels for Python {python}: {last_line(error)}") from None


def build(engine: Engine, directory: Path, below: str) -> tuple[float, int]:
    """Builds `NAME` on the image `below`; gives the seconds of the build, without the wheels, and the image's bytes."""
    version = "import sys; print('%d.%d' % sys.version_info[:2])"
    python = run(
        [*engine.prefix, "run", "--rm", "--network", "none", *engine.flags, below, "python3", "-c", version], 60
    )
    context = directory / "context"
    context.mkdir()
    print(f"· downloading wheels for Python {python.strip()}", flush=True)
    wheels(python.strip(), context / "wheels")
    for name in SENT:
        source = CLONE / name
        if source.is_dir():
            shutil.copytree(source, context / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, context / name)
    print("· building", flush=True)
    began = time.monotonic()
    arguments = [f"--build-arg=BASE={below}", "--build-arg=PIP=--no-index --find-links /wheels"]
    run(
        [*engine.prefix, "build", "--tag", NAME, "--network", "none", *arguments, context],
        DOCKER_BUILDKIT="0",  # the other builder needs a program that Debian does not have
    )
    took = time.monotonic() - began
    shutil.rmtree(context)
    return took, int(run([*engine.prefix, "image", "inspect", "--format", "{{.Size}}", NAME]))


def stage(directory: Path) -> Path:
    """What is run in the containers, where every user can read it."""
    place = directory / "stage"
    without = shutil.ignore_patterns("__pycache__")
    for name in ("tests/attacks", "tests/container", "examples"):
        shutil.copytree(CLONE / name, place / name, ignore=without)
    shutil.copy(CLONE / "tests" / "layers.py", place / "tests")
    packages = Path(pytest.__file__).parent.parent
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"):  # the harness imports it
        shutil.copytree(packages / name, place / name, ignore=without)
    shutil.copy(packages / "py.py", place)
    (place / "served").mkdir()
    shutil.copy(CLONE / "docs" / "snippets" / "live.py", place / "served")
    (place / "served" / "gateway.toml").write_text('[sources.stock]\npython = "live:stock"\n')
    (place / "served" / "tokens").write_text(f"tester: {'t' * 16}\n")
    run(["chmod", "-R", "a+rX", place])
    return place
