"""The rung without namespaces: its promises, what code finds there, and who gets it."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from errno import EAGAIN
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.attacks import witnesses
from tests.sandboxes.jails import landlock_sandbox, open_python
from tests.sandboxes.refusing import refusing

from cellwright import Limits, Runtime, replay
from cellwright.errors import IsolationMissing, PlatformError, ProcessLimit, UsageError
from cellwright.sandboxes import GUEST_UID, STANDARD, Environment, LandlockSandbox, ProcessSandbox, choose, zygotes
from cellwright.sandboxes.jail import InterpreterPaths, JailPlan, render
from cellwright.testing import check_sandbox
from cellwright_guest import kernel

NAMESPACE_CALLS = ("unshare", "setns", "mount", "umount2", "pivot_root", "sethostname")
HOME = "/proc/self/fd/4"


@pytest.fixture(scope="module")
async def landlock() -> AsyncIterator[LandlockSandbox]:
    async with landlock_sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def refused(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Environment:
    """A Python below a filter that refuses what a container's default profile refuses."""
    monkeypatch.setattr("tests.sandboxes.refusing.PYTHON", open_python())
    directory = tmp_path_factory.mktemp("refusing")
    return Environment(python=refusing(directory, *NAMESPACE_CALLS))


async def value(sandbox: LandlockSandbox, *cells: str, **options: Any) -> Any:
    """Of the last of these cells."""
    async with Runtime(sandbox=sandbox, **options) as runtime:
        outcomes = [await runtime.execute(dedent(cell)) for cell in cells]
    assert {outcome.rung for outcome in outcomes} == {"landlock"}
    return [outcome.unwrap() for outcome in outcomes][-1]


async def test_it_keeps_the_promises_of_a_sandbox(landlock: LandlockSandbox) -> None:
    secrets = [text for name, text in os.environ.items() if len(text) > 8 and name != "PATH"]
    await check_sandbox(landlock, secrets=secrets)


# what code finds


async def test_the_workspace_has_one_name_whatever_it_is_called_outside(landlock: LandlockSandbox) -> None:
    code = """
        import os, tempfile
        from pathlib import Path
        os.makedirs("a/b")
        os.symlink("a", "link")
        os.chdir("a/b")
        here = os.getcwd(), os.getcwdb().decode(), str(Path.cwd())
        here += os.path.abspath("x"), str(Path("../../link/b").resolve())
        os.chdir(os.environ["HOME"])
        Path(os.getcwd(), "made").write_text("x")
        [*here, os.path.realpath("/usr"), tempfile.gettempdir(), sorted(os.listdir())]
    """
    inside = f"{HOME}/a/b"
    found = await value(landlock, code)
    assert found == [inside, inside, inside, f"{inside}/x", inside, "/usr", HOME, ["a", "link", "made"]]


async def test_copies_archives_and_databases_work_though_modes_and_times_stay(landlock: LandlockSandbox) -> None:
    code = """
        import os, shutil, sqlite3, tarfile, zipfile
        from pathlib import Path
        Path("one").touch()
        Path("one").write_text("1")
        shutil.copy2("one", "two")
        shutil.make_archive("all", "zip", ".", "one")
        with tarfile.open("all.tar", "w") as tar:
            tar.add("one")
        for name in ("all.zip", "all.tar"):
            shutil.unpack_archive(name, "out")
        db = sqlite3.connect("x.db")
        db.execute("create table t (x)")
        db.commit()
        before = os.stat("one").st_mode, os.stat("one").st_mtime
        os.chmod("one", 0o600), os.utime("one", (1, 1))
        after = os.stat("one").st_mode, os.stat("one").st_mtime
        missing = []
        for change in (os.utime, lambda path: os.chmod(path, 0o600), lambda path: Path(path).chmod(0o600)):
            try:
                change("none")
            except FileNotFoundError as error:
                missing.append(error.filename)
        before == after, missing, sorted(os.listdir()), os.listdir("out")
    """
    names = ["all.tar", "all.zip", "one", "out", "two", "x.db"]
    assert await value(landlock, code) == (True, ["none"] * 3, names, ["one"])


async def test_code_that_names_tmp_is_told_what_to_use(landlock: LandlockSandbox) -> None:
    async with Runtime(sandbox=landlock) as runtime:
        outcome = await runtime.execute("open('/tmp/x', 'w')")
    assert str(outcome.error).endswith("nor a /tmp of its own: use relative paths and tempfile.")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become root in part")
async def test_a_host_that_is_root_in_part_gives_guests_a_uid_of_their_own() -> None:
    code = f"""
        import asyncio, os
        from pathlib import Path
        from cellwright import Runtime
        from cellwright.sandboxes import Environment, LandlockSandbox

        async def main():
            async with Runtime(sandbox=LandlockSandbox(Environment(python=Path({str(open_python())!r})))) as runtime:
                print((await runtime.execute("import os; os.getresuid() + os.getresgid()")).unwrap())

        os.setresuid(1000, 0, 0)
        asyncio.run(main())
    """
    command = [sys.executable, "-c", dedent(code)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
    assert done.stdout == f"{(GUEST_UID,) * 6}\n", done.stderr


async def test_the_packages_of_the_host_cannot_be_read(landlock: LandlockSandbox, tmp_path: Path) -> None:
    code = """
        import os, sys
        readable = []
        for place in sys.path:
            for name in ("site-packages", "dist-packages"):
                for where, _, files in os.walk(os.path.join(place, name)):
                    for file in files:
                        try:
                            open(os.path.join(where, file), "rb").read(1)
                            readable.append(os.path.join(where, file))
                        except PermissionError:
                            pass
        import wave
        readable
    """
    assert await value(landlock, code) == []


@pytest.mark.parametrize("then", ["import time\ntime.sleep(30)", "'the cell ends'"])
async def test_more_threads_than_allowed_end_the_guest(landlock: LandlockSandbox, then: str) -> None:
    code = """
        import threading
        threading.stack_size(1 << 16)
        stay = threading.Event()
        for _ in range(300):
            threading.Thread(target=stay.wait, daemon=True).start()
    """
    async with Runtime(sandbox=landlock, limits=Limits(threads=100)) as runtime:
        outcome = await runtime.execute(dedent(code) + then)
        if outcome.error is None:
            assert await witnesses.until(lambda: not alive(runtime))
            outcome = await runtime.execute("1")
    assert isinstance(outcome.error, ProcessLimit)


def alive(runtime: Runtime) -> bool:
    session: Any = runtime.__dict__["_open"].session
    return session.__dict__["_interpreter"].alive


def test_a_plan_stays_small_however_much_lies_beside_the_packages_that_it_hides(tmp_path: Path) -> None:
    (tmp_path / "lib/python3.11/site-packages").mkdir(parents=True)
    for i in range(2000):
        (tmp_path / f"lib/lib-with-a-name-of-some-length-{i}.so").touch()
    plan = render(JailPlan(python=Path("/p")), InterpreterPaths(path=(), base=str(tmp_path), executable="/p"))
    assert len(json.dumps(plan)) < 1 << 16  # it is sent in one message


# sessions that are kept


async def test_a_session_is_repeated_and_resumed_with_its_files_and_its_place(
    landlock: LandlockSandbox, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path}/kept.db"  # workspaces are beside it, in a directory that is closed to other users
    cells = (
        "import os\nfrom pathlib import Path\nos.mkdir('d')\nos.chdir('d')\nopen('f', 'a').write('x')",
        "place = os.getcwd(), str(Path('f').resolve())\nplace",
        "file = open('f')\nfile.fileno()",
        "open(place[1], 'a').write('y')\nos.environ['HOME'], sorted(os.listdir(os.environ['HOME']))",
    )
    assert await value(landlock, *cells, store=store, session="s") == (HOME, ["d"])
    assert (await replay("s", store=store, sandbox=landlock)).same
    lines: list[str] = []
    async with Runtime.resume("s", store=store, sandbox=landlock, progress=lines.append) as runtime:
        after = "place, os.getcwd(), open(place[1]).read(), open('f').read()"
        found = (await runtime.execute(after)).unwrap()
        assert [entry.path for entry in await runtime.files.list()] == ["d", "d/f"]
    assert found == ((f"{HOME}/d", f"{HOME}/d/f"), f"{HOME}/d", "xy", "xy")
    assert lines == []


# who gets it


async def test_programs_are_refused(landlock: LandlockSandbox) -> None:
    with pytest.raises(IsolationMissing, match="give processes=0"):
        await value(landlock, "1", limits=Limits(processes=1))


async def test_a_kernel_whose_landlock_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "landlock_abi", lambda: 5)
    sandbox = LandlockSandbox(Environment(python=open_python()))
    with pytest.raises(IsolationMissing, match=r"ABI 6, and this kernel has 5: use Linux 6\.12"):
        await value(sandbox, "1")


@pytest.mark.skipif(os.geteuid() != 0, reason="only guests of root have another uid")
async def test_packages_that_the_guests_uid_cannot_reach_are_told(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    os.chmod(tmp_path, 0o700)
    sandbox = LandlockSandbox(Environment(python=open_python(), site=(tmp_path / "site",)))
    with pytest.raises(IsolationMissing, match=f"may not read {tmp_path}/site"):
        await value(sandbox, "1")
    await sandbox.close()


async def test_a_refusal_names_the_lower_rung_but_nobody_gets_it_unasked(refused: Environment) -> None:
    sandbox = await choose("auto", refused, setting="auto")
    assert sandbox.rung == "process"
    with pytest.raises(IsolationMissing, match='sandbox="landlock"'):
        await sandbox.ready()


@pytest.mark.needs_layers
async def test_best_is_the_process_rung_where_the_machine_gives_it() -> None:
    sandbox = await choose("best", Environment(python=open_python()), setting="auto")
    assert sandbox.rung == "process"
    await sandbox.close()


async def test_a_machine_that_is_short_of_something_lowers_nobody(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.sandboxes.refusing.PYTHON", open_python())
    short = refusing(tmp_path_factory.mktemp("short"), "unshare", errno=EAGAIN)
    broken = tmp_path_factory.mktemp("broken") / "python"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    for python in (short, broken):
        with pytest.raises(PlatformError):
            await choose("best", Environment(python=python), setting="auto")


async def test_a_minimum_that_was_asked_for_holds_on_every_rung(refused: Environment) -> None:
    with pytest.raises(IsolationMissing, match=r"nor does the landlock sandbox open: .*mount \(turned off\)"):
        await choose("best", refused, setting="auto", required=STANDARD)


async def test_best_is_the_landlock_rung_elsewhere_and_says_once_what_is_lost(refused: Environment) -> None:
    lines: list[str] = []
    for _ in range(2):
        sandbox = await choose("best", refused, setting="auto", progress=lines.append)
        assert await value_on(sandbox, "6 * 7") == ("landlock", 42)
        await sandbox.close()
    (line,) = lines
    assert line.startswith("cellwright: this machine does not give the layers ipc, mount, net, pid")
    assert "landlock sandbox" in line
    assert "names, sizes and times" in line


async def value_on(sandbox: ProcessSandbox, code: str) -> tuple[str, Any]:
    async with Runtime(sandbox=sandbox) as runtime:
        outcome = await runtime.execute(code)
    return outcome.rung, outcome.unwrap()


async def test_the_operators_word_counts_where_the_program_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Environment(python=open_python())
    assert (await choose("auto", here, setting="landlock")).rung == "landlock"
    assert (await choose("process", here, setting="landlock")).rung == "process"
    monkeypatch.setenv("CELLWRIGHT_SANDBOX", "locked")
    with pytest.raises(PlatformError, match="CELLWRIGHT_SANDBOX='locked': set one of auto, process, landlock, best"):
        async with Runtime():
            pass


def test_a_name_that_is_none_is_told() -> None:
    with pytest.raises(UsageError, match='"landlock", "best", or a Sandbox'):
        Runtime(sandbox="docker")  # pyright: ignore[reportArgumentType] -- what untyped callers do


async def test_an_ended_zygote_leaves_no_process_to_whoever_adopts_orphans(landlock: LandlockSandbox) -> None:
    adopt_orphans = 36  # PR_SET_CHILD_SUBREAPER: what process 1 of a container is
    known = witnesses.descendants().keys()
    ctypes.CDLL(None).prctl(adopt_orphans, 1, 0, 0, 0)
    try:
        sandbox = LandlockSandbox(Environment(python=open_python(), preload=("wave",)))  # a zygote of its own
        assert await value(sandbox, "1") == 1
        assert await witnesses.until(lambda: len(witnesses.descendants().keys() - known) >= 2)  # it and a spare
        await sandbox.close()
        await zygotes.end_idle()
        assert witnesses.descendants().keys() <= known
    finally:
        ctypes.CDLL(None).prctl(adopt_orphans, 0, 0, 0, 0)


async def test_many_sessions_at_once_stay_apart(landlock: LandlockSandbox) -> None:
    code = "import os\nopen('mine', 'x').write({0!r})\nos.listdir(), open(os.getcwd() + '/mine').read()"
    found = await asyncio.gather(*(value(landlock, code.format(str(i))) for i in range(8)))
    assert found == [(["mine"], str(i)) for i in range(8)]
