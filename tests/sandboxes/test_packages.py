"""Interpreter and packages of the guest. Wheels are made here, so nothing is asked of a network."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from cellwright.errors import PackagesFailed, UsageError
from cellwright.sandboxes.packages import Environment, environment

LIBRARY = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"


def wheel(where: Path, name: str, files: Mapping[str, str]) -> str:
    """Make a wheel and give the requirement that installs it."""
    path = where / f"{name}-1.0-py3-none-any.whl"
    about = f"{name}-1.0.dist-info"
    files = {
        **files,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
        archive.writestr(f"{about}/RECORD", "".join(f"{file},,\n" for file in [*files, f"{about}/RECORD"]))
    return f"{name} @ file://{path}"


def seen(found: Environment, code: str) -> str:
    """What the guest's interpreter prints, with the environment's directories and no others."""
    start = f"import sys; sys.path += {[str(path) for path in found.site]}; {code}"
    return subprocess.run(
        [found.python, "-I", "-S", "-c", start], env={}, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture(params=["pip", "uv"])
def installer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "pip":
        monkeypatch.setenv("PATH", "/nowhere")
    elif shutil.which("uv") is None:
        pytest.skip("uv is not on this machine")
    return str(request.param)


def shelf(cache: Path) -> list[str]:
    """What the cache holds beside its lock files."""
    return sorted(name for name in os.listdir(cache / "environments") if not name.endswith(".lock"))


# --- nothing, and environments that are there ---


@pytest.mark.parametrize("packages", [None, [], ()])
async def test_without_packages_the_guest_has_the_standard_library_alone(
    packages: list[str] | None, tmp_path: Path
) -> None:
    found = await environment(packages, cache=tmp_path)
    assert (found.site, found.preload) == ((), ())
    assert found.python == found.python.resolve()
    assert not found.python.is_relative_to(sys.prefix) or sys.prefix == sys.base_prefix
    assert "site-packages" not in seen(found, "print(sys.path)")


@pytest.mark.parametrize("symlinks", [True, False])
async def test_a_virtual_environment_gives_its_packages_and_the_interpreter_below_it(
    tmp_path: Path, symlinks: bool
) -> None:
    venv.create(tmp_path / "env", symlinks=symlinks)
    site = tmp_path / "env" / LIBRARY
    (site / "inside.py").write_text("x = 1")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "edited.py").write_text("x = 2")
    (site / "added.pth").write_text(f"# a comment\n{tmp_path / 'src'}\n/no/such/directory\n\n")
    (site / "code.pth").write_text(f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()\n")
    for given in (tmp_path / "env", str(tmp_path / "env")):
        found = await environment(given, cache=tmp_path)
        assert found.site == (site.resolve(), (tmp_path / "src").resolve())
        assert not found.python.is_relative_to(tmp_path)
        assert found.preload == ()
        assert seen(found, "import inside, edited; print(inside.x + edited.x)") == "3\n"
    assert not (tmp_path / "ran").exists()


async def test_an_environment_that_sees_the_systems_packages_gives_those_too(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", system_site_packages=True)
    alone = (tmp_path / "env" / LIBRARY).resolve()
    found = await environment(tmp_path / "env", cache=tmp_path)
    assert found.site[0] == alone
    assert not any(path.is_relative_to(tmp_path) for path in found.site[1:])


async def test_a_path_that_is_no_environment_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    venv.create(tmp_path / "env")
    for path, said in [
        (tmp_path / "absent", "python -m venv"),
        (tmp_path / "plain", "has no bin/python"),
        (tmp_path / "env/bin/python", "give the environment's directory"),
        ("polars @ https://example.com/x.whl", "give requirements in a list"),
    ]:
        with pytest.raises(UsageError, match=said):
            await environment(path, cache=tmp_path)


async def test_an_environment_whose_interpreter_is_gone_is_named(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to("/nowhere/python3.11")
    with pytest.raises(UsageError, match=r"/nowhere/python3\.11 is gone; make the environment again"):
        await environment(tmp_path, cache=tmp_path)


@pytest.mark.parametrize(
    ("answer", "said"),
    [('[3, 9, "", []]', "is 3.9; guests need 3.11 to 3.13"), ("hello", "does not answer as Python 3")],
)
async def test_another_python_is_refused(tmp_path: Path, answer: str, said: str) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").write_text(f"#!/bin/sh\necho '{answer}'\n")
    (tmp_path / "bin/python").chmod(0o755)
    with pytest.raises(UsageError, match=said):
        await environment(tmp_path, cache=tmp_path)


# --- requirements ---


@pytest.mark.parametrize(
    "bad",
    [
        "",
        " ",
        "-r x.txt",
        "--index-url=http://x",
        "polars --pre",
        "a b",
        "./x.whl",
        "dir/x",
        ".venv",
        "a\nb",
        "a>=1\0",
        "a @ https://example.com/a.tar.gz",
        "a @ git+https://example.com/a",
        7,
    ],
)
async def test_what_is_no_requirement_is_refused(bad: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no requirement"):
        await environment(["fine", bad], cache=tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
async def test_requirements_are_installed_once_and_kept(tmp_path: Path, installer: str) -> None:
    first = wheel(tmp_path, "First_Thing", {"first/__init__.py": "x = 1", "_first.py": "", "tests/__init__.py": ""})
    second = wheel(tmp_path, "second", {"second.py": "x = 2", "space/inner/__init__.py": "", "second-data/a.py": ""})
    lines: list[str] = []
    found = await environment([second, first], cache=tmp_path / "cache", progress=lines.append)
    assert lines[0].startswith("installing First_Thing, second (first time; kept in ")
    assert len(lines) > 1
    assert found.preload == ("first", "second")
    assert seen(found, "import first, second, space.inner; print(first.x + second.x)") == "3\n"
    lines.clear()
    assert await environment([first, second, first], cache=tmp_path / "cache", progress=lines.append) == found
    assert lines == []
    assert [path.name for path in found.site] == ["site"]
    assert len(shelf(tmp_path / "cache")) == 1
    assert list(found.site[0].rglob("*.pyc")), "the guest cannot write bytecode, so installing must"


@pytest.mark.slow
async def test_a_failed_install_says_why_and_keeps_nothing(tmp_path: Path, installer: str) -> None:
    broken = wheel(tmp_path, "broken", {"broken.py": ""})
    (tmp_path / "broken-1.0-py3-none-any.whl").write_bytes(b"no archive")
    with pytest.raises(PackagesFailed, match=r"broken could not be installed: .*broken.*Check names") as raised:
        await environment([broken], cache=tmp_path / "cache")
    assert "\n" not in str(raised.value)
    assert shelf(tmp_path / "cache") == []


@pytest.mark.slow
async def test_a_source_distribution_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installer: str
) -> None:
    (tmp_path / "links").mkdir()
    shutil.make_archive(str(tmp_path / "links/onlysource-1.0"), "gztar", _project(tmp_path))
    for name in ("PIP_NO_INDEX", "UV_NO_INDEX"):
        monkeypatch.setenv(name, "1")
    for name in ("PIP_FIND_LINKS", "UV_FIND_LINKS"):
        monkeypatch.setenv(name, str(tmp_path / "links"))
    with pytest.raises(PackagesFailed, match="onlysource could not be installed"):
        await environment("onlysource", cache=tmp_path / "cache")
    assert not (tmp_path / "ran").exists()


def _project(tmp_path: Path) -> Path:
    project = tmp_path / "project/onlysource-1.0"
    project.mkdir(parents=True)
    (project / "setup.py").write_text(f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()\n")
    (project / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: onlysource\nVersion: 1.0\n")
    return project.parent


@pytest.mark.slow
async def test_two_at_once_install_once(tmp_path: Path) -> None:
    requirement = wheel(tmp_path, "once", {"once.py": ""})
    lines: list[str] = []
    one, two = await asyncio.gather(
        environment([requirement], cache=tmp_path / "cache", progress=lines.append),
        environment([requirement], cache=tmp_path / "cache", progress=lines.append),
    )
    assert one == two
    assert len([line for line in lines if line.startswith("installing once")]) == 1
    assert len([line for line in lines if line.startswith("waiting for another process that installs once")]) == 1


@pytest.mark.slow
async def test_what_a_killed_install_left_is_cleared(tmp_path: Path) -> None:
    requirement = wheel(tmp_path, "once", {"once.py": ""})
    found = await environment([requirement], cache=tmp_path / "cache")
    kept = found.site[0].parent
    os.rename(kept, f"{kept}.new-killed")
    assert await environment([requirement], cache=tmp_path / "cache") == found
    assert shelf(tmp_path / "cache") == [kept.name]


async def test_a_cancelled_install_keeps_nothing(tmp_path: Path) -> None:
    requirement = wheel(tmp_path, "once", {"once.py": ""})
    lines: list[str] = []
    began = asyncio.Event()

    def heard(line: str) -> None:
        lines.append(line)
        if len(lines) == 2:  # the first line is ours; now the installer talks
            began.set()

    task = asyncio.create_task(environment([requirement], cache=tmp_path / "cache", progress=heard))
    async with asyncio.timeout(60):
        await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert shelf(tmp_path / "cache") == []


async def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(PackagesFailed, match="give a cache directory"):
        await environment("polars", cache=tmp_path / "cache")
