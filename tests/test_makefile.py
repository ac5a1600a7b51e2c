"""When `make` builds the environment anew. A stand-in for uv builds one that holds nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cellwright.sandboxes.packages import host_python

pytestmark = pytest.mark.slow  # `make elsewhere` runs these too
CLONE = Path(__file__).parent.parent
MADE = "making .venv"
UV = """#!/bin/sh
test "$1" = venv || exit 0
mkdir -p .venv/bin && echo '#!/bin/sh' >.venv/bin/ruff && chmod +x .venv/bin/ruff
"""
# A Python whose package lacks a library, and the programs that unpack it.
STUBS = {
    "python": """case "$2" in
*xllamacpp*) echo "ImportError: libgomp.so.1: cannot open shared object file" >&2; exit 1 ;;
*prefix*) echo "$PWD/env" ;;
*) echo "$PWD/env/site" ;;
esac""",
    "apt-get": """case "$*" in *download*) echo >libgomp1_12_amd64.deb ;; esac""",
    "dpkg": """mkdir -p package/usr/lib && echo "a library" >package/usr/lib/libgomp.so.1""",
}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone that `make` knows, in a directory with a space in its name."""
    clone = tmp_path / "my clone"
    (clone / "requirements").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "requirements/dev.txt", "requirements/libgomp"):
        shutil.copy(CLONE / name, clone / name)
    uv = clone / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(UV)
    uv.chmod(0o755)
    return clone


def lint(clone: Path, python: Path) -> str:
    environ = os.environ | {"PATH": f"{clone / 'bin'}:{os.environ['PATH']}", "PYTHON": str(python)}
    done = subprocess.run(["make", "lint"], cwd=clone, env=environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_the_environment_is_made_anew_for_another_interpreter_or_place_and_not_otherwise(clone: Path) -> None:
    python = host_python()
    assert MADE in lint(clone, python)
    assert MADE not in lint(clone, python)
    link = clone / "python3"
    link.symlink_to(python)
    assert MADE not in lint(clone, link)
    other = Path(shutil.copy(python, clone / python.name))
    library = clone / "lib" / python.name
    library.parent.mkdir()
    library.symlink_to(Path(os.__file__).parent)
    assert MADE in lint(clone, other)
    assert MADE in lint(clone, python)
    moved = clone.rename(clone.with_name("moved"))
    assert MADE in lint(moved, python)
    assert MADE not in lint(moved, python)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(("home", "used"), [("", ".home"), ("none", ".home"), ("bin", "bin")])
def test_a_user_without_a_home_that_can_be_written_gets_one_in_the_clone(clone: Path, home: str, used: str) -> None:
    environ = os.environ | {"HOME": str(clone / home) if home else ""}
    command = ["make", "--eval", 'home: ; @test -d "$$HOME" && echo "$$HOME"', "home"]
    done = subprocess.run(command, cwd=clone, env=environ, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [str(clone / used)]


def test_a_library_that_slim_images_lack_is_put_into_the_environment(clone: Path) -> None:
    for name, text in STUBS.items():
        (clone / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (clone / "bin" / name).chmod(0o755)
    (clone / "env" / "lib").mkdir(parents=True)
    (clone / "env" / "site").mkdir()
    environ = os.environ | {"PATH": f"{clone / 'bin'}:{os.environ['PATH']}"}
    command = ["requirements/libgomp", "bin/python"]
    done = subprocess.run(command, cwd=clone, env=environ, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert (clone / "env" / "lib" / "libgomp.so.1").read_text() == "a library\n"
    assert "libgomp.so.1" in (clone / "env" / "site" / "libgomp.pth").read_text()
