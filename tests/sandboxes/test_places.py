"""A Python, and Cellwright itself, may be installed below the directories that a guest has of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tests.cells import PATIENT

import cellwright_guest
from cellwright import Runtime
from cellwright.errors import PlatformError
from cellwright.sandboxes import STANDARD, Environment, ProcessSandbox, probe_layers
from cellwright.sandboxes.jail import InterpreterPaths, JailPlan, render
from cellwright.sandboxes.packages import host_python
from cellwright.store import MemoryStore
from cellwright_guest import cloudpickle_copy

pytestmark = [pytest.mark.anyio, pytest.mark.slow]  # `make elsewhere` runs these too
SRC = Path(cellwright_guest.__file__).parent


@pytest.fixture(scope="module")
def below_tmp() -> Iterator[Path]:
    """A directory below /tmp, wherever TMPDIR is."""
    place = Path(tempfile.mkdtemp(prefix="cellwright-place-", dir="/tmp"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def python(below_tmp: Path) -> Path:
    """This interpreter, installed below /tmp: its program, and a link to its library."""
    name = f"python{sysconfig.get_python_version()}"
    program, library = below_tmp / "bin" / name, below_tmp / "lib" / name
    for path in (program, library):
        path.parent.mkdir()
        path.parent.chmod(0o755)
    shutil.copy(host_python(), program)
    library.symlink_to(Path(os.__file__).parent)
    return program


async def session(*cells: str, **options: Any) -> list[Any]:
    async with Runtime(limits=PATIENT, **options) as rt:
        return [(await rt.execute(cell)).unwrap() for cell in cells]


async def test_a_python_below_tmp_has_its_whole_standard_library(python: Path) -> None:
    sandbox = ProcessSandbox(Environment(python=python))
    try:
        later = "import wave, sys\nwave.__name__, wave.__file__.startswith(sys.base_prefix), sys.base_prefix"
        own = "import os\nos.mkdir('/tmp/own'); open('/tmp/own/f', 'w').write('mine'); open('/tmp/own/f').read()"
        found = await session(later, own, sandbox=sandbox)
        assert found == [("wave", True, str(python.parent.parent)), "mine"]
        (written,) = await session(
            "import os, sys\n"
            "def refused(path):\n    try: open(path, 'w')\n    except OSError: return True\n"
            "places = [sys.base_prefix, f'{sys.base_prefix}/lib', os.path.dirname(os.__file__)]\n"
            "[refused(f'{place}/x') for place in places]",
            sandbox=sandbox,
        )
        assert written == [True, True, True]
    finally:
        await sandbox.close()


async def resumed(sandbox: ProcessSandbox, *cells: str, check: str) -> tuple[Any, Any, tuple[str, ...]]:
    """What the check comes to after a resume; the cells that were run again; what the checkpoint lacked."""
    store = MemoryStore()
    async with Runtime(store=store, session="s", sandbox=sandbox, limits=PATIENT) as rt:
        for cell in cells:
            (await rt.execute(cell)).unwrap()
    async with Runtime.resume("s", store=store, sandbox=sandbox, limits=PATIENT) as rt:
        assert rt.restored is not None
        return (await rt.execute(check)).unwrap(), rt.restored.cells, store.checkpoints("s")[-1].missing


async def test_a_checkpoint_is_complete_where_python_and_cellwright_are_below_tmp(
    python: Path, below_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = shutil.copytree(SRC, below_tmp / SRC.name, ignore=shutil.ignore_patterns("__pycache__"))
    cloudpickle = shutil.copy(cloudpickle_copy.file(), below_tmp)
    monkeypatch.setattr(cellwright_guest, "__file__", str(package / "__init__.py"))
    monkeypatch.setattr(cloudpickle_copy, "file", lambda: str(cloudpickle))
    sandbox = ProcessSandbox(Environment(python=python, preload=("colorsys",)))  # a plan, so a zygote, of its own
    try:
        cells = "import wave\nn = 41", "open('/tmp/f', 'w').write('kept')"
        found = await resumed(sandbox, *cells, check="n + 1, open('/tmp/f').read(), wave.__name__")
        assert found == ((42, "kept", "wave"), (), ())
        module = "import sys\nopen('/tmp/own.py', 'w').write('x = 7')\nsys.path.append('/tmp')\nimport own"
        value, again, missing = await resumed(sandbox, module, check="own.x")
        assert (value, again) == (7, (1,))
        assert any("module own" in words for words in missing)
    finally:
        await sandbox.close()


@pytest.mark.parametrize(("place", "programs"), [("/workspace", False), ("/workspace", True), ("/dev/shm", True)])
def test_a_python_where_a_guest_has_its_own_files_is_refused_with_the_reason(
    place: str, programs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os.path, "exists", lambda path: True)  # pyright: ignore[reportUnknownArgumentType,reportUnknownLambdaType]
    there = InterpreterPaths(path=(f"{place}/py/lib/python3.11",), base=f"{place}/py", executable=f"{place}/py/bin/py")
    with pytest.raises(PlatformError, match=f"{place}/py/lib, but {place} is the guest's own"):
        render(JailPlan(python=Path(there.executable), programs=programs), there)


async def test_a_jail_that_cannot_be_started_is_told_as_the_cause_and_no_layer_as_missing(tmp_path: Path) -> None:
    broken = tmp_path / "python3"
    broken.write_text("#!/bin/sh\necho 'no library here' >&2\nexit 1\n")
    broken.chmod(0o755)
    report = await probe_layers(broken)
    for finding in report.findings:
        if finding.name in STANDARD:
            assert (finding.ok, finding.tried) == (False, False)
            assert "no library here" in finding.fix
    assert not any("Expecting value" in str(asdict(finding)) for finding in report.findings)


@pytest.mark.skipif(os.geteuid() != 0, reason="a guest has another uid only where the host is root")
async def test_packages_that_the_guest_may_not_read_are_named(tmp_path: Path) -> None:
    closed = tmp_path / "packages"
    closed.mkdir(mode=0o700)
    sandbox = ProcessSandbox(Environment(python=host_python(), site=(closed,)))
    with pytest.raises(PlatformError, match=rf"may not read .*chmod -R o\+rX {closed}"):
        await session("1", sandbox=sandbox)
    await sandbox.close()


UNDER = """
import asyncio, os, pwd, sys
os.umask(0o077)
def unknown(uid): raise KeyError(uid)
pwd.getpwuid = unknown
os.mkdir("workspace"); workspace = os.path.abspath("workspace")
os.mkdir("gone"); os.chdir("gone"); os.rmdir(os.getcwd())
from cellwright import Runtime
def fail(): raise OSError("/var/lib/secret is locked")
async def main():
    async with Runtime({"fail": fail}, workspace=workspace) as rt:
        print((await rt.execute("import wave; wave.__name__")).unwrap())
        print((await rt.execute("fail()")).error.message)
asyncio.run(main())
"""


def test_a_host_with_a_strict_umask_no_home_no_login_and_no_directory_opens_sessions(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if name not in ("HOME", "TMPDIR")}
    environ |= {"CELLWRIGHT_CACHE": str(tmp_path / "cache"), "CELLWRIGHT_STATE": str(tmp_path / "state")}
    done = subprocess.run(
        [sys.executable, "-c", UNDER], env=environ, capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert (done.stdout, done.stderr) == ("wave\n.../secret is locked\n", "")
