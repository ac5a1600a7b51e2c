"""A scratch workspace on top of the live one: what a guest sees before `reveal`, what after, and what it keeps."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.cells import PATIENCE_S, eventually
from tests.sandboxes.jails import PLAN, landlock_sandbox, started
from tests.sandboxes.jails import Jailed as PlainJailed

from cellwright import Limits
from cellwright.errors import SandboxDied, UsageError, WorkspaceLimit
from cellwright.sandboxes import (
    GUEST_UID,
    STANDARD,
    Environment,
    Interpreter,
    Opening,
    ProcessSandbox,
    Workspace,
)
from cellwright.sandboxes.zygotes import Zygote
from cellwright.scope import Scope, ScopeHost
from cellwright_guest import cloudpickle_copy

PYTHON = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
SRC = Path(__file__).parents[2] / "src"


@dataclass
class Covered:
    """A session whose live workspace, with the file `live.txt`, is covered by a scratch."""

    interpreter: Interpreter
    live: Path
    scratch: Path
    cells: int = 0

    async def value(self, code: str) -> Any:
        self.cells += 1
        return (await self.interpreter.run(self.cells, dedent(code))).unwrap()


async def limit_of(session: Covered, code: str) -> object:
    session.cells += 1
    return (await session.interpreter.run(session.cells, dedent(code))).error


@asynccontextmanager
async def covered(
    limits: Limits | None = None, sandbox: ProcessSandbox | None = None, **names: Any
) -> AsyncGenerator[Covered]:
    live, scratch = [await asyncio.to_thread(Workspace.create, None, GUEST_UID) for _ in range(2)]
    (live.path / "live.txt").write_text("live")
    sandbox, host = sandbox or ProcessSandbox(Environment(python=PYTHON)), ScopeHost(Scope(names))
    opening = Opening(host=host, limits=limits or Limits(wall_s=PATIENCE_S), workspace=live, scratch=scratch)
    try:
        yield Covered(await sandbox.open(opening), live.path, scratch.path)
    finally:
        await sandbox.close()
        host.close()
        await asyncio.to_thread(live.remove)
        await asyncio.to_thread(scratch.remove)


@pytest.fixture(autouse=True)
def zygote(warm: None) -> None:
    """One for all tests."""


async def test_before_reveal_a_guest_sees_and_writes_the_scratch_alone() -> None:
    async with covered() as session:
        (session.scratch / "copy.txt").write_text("copy")
        listing = "open('made', 'w').write('x')\nimport os\nos.getcwd(), sorted(os.listdir('/workspace'))"
        assert await session.value(listing) == ("/workspace", ["copy.txt", "made"])
        assert os.listdir(session.live) == ["live.txt"]
        assert (session.scratch / "made").read_text() == "x"


async def test_after_reveal_the_same_guest_goes_on_in_the_live_workspace_with_its_names() -> None:
    async with covered() as session:
        await session.value("x = 41\nopen('made', 'w').write('x')")
        await session.interpreter.reveal()
        code = "open('later', 'w').write('y')\nimport os\nx + 1, os.getcwd(), sorted(os.listdir('.'))"
        assert await session.value(code) == (42, "/workspace", ["later", "live.txt"])
        assert await session.value("open('live.txt').read()") == "live"
        assert (session.live / "later").read_text() == "y"


async def test_reveal_removes_the_scratch() -> None:
    async with covered() as session:
        await session.value("import os\nos.makedirs('a/b/c')\nopen('a/b/f', 'w').write('x')")
        await session.interpreter.reveal()
        assert not session.scratch.exists()


async def test_reveal_before_the_first_cell_waits_for_the_guest() -> None:
    async with covered() as session:
        await session.interpreter.reveal()
        assert await session.value("open('live.txt').read()") == "live"


async def test_reveal_twice_or_at_once_is_one_reveal() -> None:
    async with covered() as session:
        await asyncio.gather(session.interpreter.reveal(), session.interpreter.reveal())
        await session.interpreter.reveal()
        assert await session.value("open('live.txt').read()") == "live"


async def test_reveal_without_a_scratch_does_nothing() -> None:
    live = await asyncio.to_thread(Workspace.create, None, GUEST_UID)
    sandbox = ProcessSandbox(Environment(python=PYTHON))
    interpreter = await sandbox.open(Opening(host=ScopeHost(Scope({})), workspace=live))
    await interpreter.run(1, "open('f', 'w').write('x')")
    await interpreter.reveal()
    assert (await interpreter.run(2, "open('f').read()")).unwrap() == "x"
    await sandbox.close()
    await asyncio.to_thread(live.remove)


PLACES = {
    "a directory that the live one has": ("os.makedirs('sub/deep')\nos.chdir('sub/deep')", "/workspace/sub/deep"),
    "one whose name is no text": ("os.makedirs(b'b\\xff/c')\nos.chdir(b'b\\xff/c')", "/workspace/b\udcff/c"),
    "one that it lacks": ("os.mkdir('mine')\nos.chdir('mine')", "/workspace"),
    "one that was deleted": ("os.mkdir('x')\nos.chdir('x')\nos.rmdir('../x')", "/workspace"),
    "one that is closed": ("os.mkdir('sub')\nos.chdir('sub')\nos.chmod('..', 0)", "/workspace"),
    "/tmp": ("os.mkdir('/tmp/x')\nos.chdir('/tmp/x')", "/tmp/x"),
    "the root": ("os.chdir('/')", "/"),
}


@pytest.mark.parametrize(("code", "place"), PLACES.values(), ids=PLACES)
async def test_the_guest_keeps_its_place(code: str, place: str) -> None:
    async with covered() as session:
        os.makedirs(session.live / "sub" / "deep")
        os.makedirs(os.fsencode(session.live) + b"/b\xff/c")
        await session.value(f"import os\n{code}")
        await session.interpreter.reveal()
        assert await session.value("os.fsencode(os.getcwd())") == os.fsencode(place)


@pytest.mark.parametrize("which", ["a directory that the live one has", "one whose name is no text", "the root"])
@pytest.mark.parametrize("deleted", [False, True])
async def test_a_guest_without_a_root_of_its_own_keeps_its_place(which: str, deleted: bool) -> None:
    code, place = PLACES[which]
    async with landlock_sandbox() as sandbox, covered(sandbox=sandbox) as session:
        if not deleted:
            os.makedirs(session.live / "sub" / "deep")
            os.makedirs(os.fsencode(session.live) + b"/b\xff/c")
        await session.value(f"import os\n{code}\nheld = open('f', 'w') if os.getcwd() != '/' else None")
        await session.interpreter.reveal()
        inside = "/proc/self/fd/4" if deleted else place.replace("/workspace", "/proc/self/fd/4")
        assert await session.value("os.fsencode(os.getcwd())") == os.fsencode("/" if place == "/" else inside)
        assert await session.value("held is None or held.write('x')") in (True, 1)
        assert not session.scratch.exists()


async def test_a_guest_that_can_reach_both_workspaces_is_measured_in_both() -> None:
    fill = "import os\nfd = os.open('x', os.O_CREAT | os.O_RDWR, dir_fd=5)\nos.write(fd, bytes(8 << 20))\nwhile 1: pass"
    limits = Limits(wall_s=PATIENCE_S, workspace_mb=4)
    async with landlock_sandbox() as sandbox, covered(limits, sandbox) as session:
        assert isinstance(await limit_of(session, fill), WorkspaceLimit)


async def test_a_deleted_directory_of_tmp_is_left_where_it_is() -> None:
    async with covered() as session:
        await session.value("import os\nos.mkdir('/tmp/x')\nos.chdir('/tmp/x')\nos.rmdir('/tmp/x')")
        await session.interpreter.reveal()
        assert await session.value("os.stat('.').st_dev == os.stat('/tmp').st_dev") is True


@pytest.mark.parametrize("call", ["uncover()", "await uncover_async()"])
async def test_reveal_while_a_call_is_under_way_is_done_when_the_call_returns(call: str) -> None:
    async def uncover_async() -> None:
        await session.interpreter.reveal()

    def uncover() -> None:
        asyncio.run_coroutine_threadsafe(uncover_async(), loop).result(PATIENCE_S)

    loop = asyncio.get_running_loop()
    async with covered(uncover=uncover, uncover_async=uncover_async) as session:
        before = "import os\nopen('a', 'w').write('x')\nbefore = os.listdir('.')"
        assert await session.value(f"{before}\n{call}\n(before, os.listdir('.'))") == (["a"], ["live.txt"])


async def test_reveal_reaches_a_guest_that_has_threads_beside_its_call() -> None:
    started_, go_on = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        started_.set()
        await go_on.wait()

    code = """
        import os, threading
        stop = threading.Event()
        spinning = threading.Thread(target=lambda: stop.wait())
        spinning.start()
        await hold()
        stop.set(); spinning.join()
        open('live.txt').read()
    """
    async with covered(hold=hold) as session:
        run = asyncio.create_task(session.value(code))
        await started_.wait()
        await session.interpreter.reveal()
        go_on.set()
        assert await run == "live"


async def test_programs_that_the_guest_starts_see_what_it_sees() -> None:
    look = "import subprocess\nsubprocess.run(['/bin/ls'], capture_output=True, text=True, check=True).stdout.split()"
    async with covered(Limits(processes=2, wall_s=PATIENCE_S)) as session:
        (session.scratch / "copy.txt").write_text("copy")
        assert await session.value(look) == ["copy.txt"]
        await session.interpreter.reveal()
        assert await session.value(look) == ["live.txt"]


async def test_a_file_that_is_open_in_the_scratch_stays_there() -> None:
    async with covered() as session:
        await session.value("f = open('log', 'w+')\nf.write('before')")
        await session.interpreter.reveal()
        assert await session.value("f.write(' after')\nf.seek(0)\nf.read()") == "before after"
        assert not (session.live / "log").exists()


async def test_nothing_can_be_made_in_a_scratch_that_was_taken_away() -> None:
    code = """
        found = []
        for make in (lambda: os.open('x', os.O_CREAT | os.O_WRONLY, dir_fd=top), lambda: os.mkdir('y', dir_fd=below)):
            try: make(); found.append('made')
            except OSError as error: found.append(error.strerror)
        found, os.listdir(top)
    """
    async with covered() as session:
        await session.value("import os\nos.mkdir('d')\ntop, below = os.open('.', 0), os.open('d', 0)")
        await session.interpreter.reveal()
        assert await session.value(code) == (["No such file or directory"] * 2, [])


async def test_the_scratch_counts_before_reveal_and_the_live_workspace_after() -> None:
    limits = Limits(workspace_mb=8, wall_s=PATIENCE_S)
    fill = "for i in range({}):\n    open(f'f{{i}}', 'wb').write(b'x' * (1 << 20))"
    async with covered(limits) as session:
        assert isinstance(await limit_of(session, fill.format(12)), WorkspaceLimit)
    async with covered(limits) as session:
        assert await limit_of(session, fill.format(6)) is None
        await session.interpreter.reveal()
        assert await limit_of(session, fill.format(6)) is None  # six there and six here are not twelve
        assert isinstance(await limit_of(session, fill.format(12)), WorkspaceLimit)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees deleted files")
async def test_deleted_files_of_the_scratch_count_while_they_are_open() -> None:
    limits = Limits(workspace_mb=8, wall_s=PATIENCE_S)
    async with covered(limits) as session:
        await session.value("f = [open(f'f{i}', 'wb') for i in range(3)]")
        await session.interpreter.reveal()
        growing = "for one in f:\n    one.write(b'x' * (4 << 20)); one.flush()"
        assert isinstance(await limit_of(session, growing), WorkspaceLimit)


async def test_a_guest_that_goes_on_writing_to_the_scratch_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cellwright.sandboxes.workspace_stack.REMOVE_S", 0.2)
    code = """
        import os, threading
        top = os.open('.', 0)
        def fight():
            i = 0
            while True:
                i += 1
                try: os.mkdir(str(i), dir_fd=top)
                except OSError: pass
        for _ in range(4):
            threading.Thread(target=fight, daemon=True).start()
    """
    async with covered() as session:
        await session.value(code)
        await session.interpreter.reveal()
        # the host may win: then nothing can be made there any more
        assert not session.scratch.exists() or isinstance(session.interpreter.reason, WorkspaceLimit)


async def test_a_guest_that_dies_during_reveal_is_told_by_alive() -> None:
    async with covered() as session:
        await session.value("import os, threading, signal")
        await asyncio.gather(session.interpreter.reveal(), session.interpreter.close())
        assert not session.interpreter.alive
        with pytest.raises(UsageError, match="has ended"):
            await session.interpreter.reveal()


async def test_a_guest_that_says_unasked_that_it_moved_is_ended() -> None:
    async with covered() as session:
        await session.value("import socket\nfrom cellwright_guest.framing import frame\nconn = socket.socket(fileno=3)")
        session.cells += 1
        outcome = await session.interpreter.run(session.cells, "conn.sendall(frame(['w'], [])[0])\nwhile True: pass")
        assert type(outcome.error).__name__ == "ProtocolError"


# below the level of cells


class Jailed:
    """A child of the zygote that sends "up" and then, told to go on, the names in its workspace."""

    def __init__(self, zygote: Zygote, live: Workspace, scratch: Workspace) -> None:
        self.conn, theirs = socket.socketpair()
        self.conn.setblocking(False)
        self.child = zygote.spawn(
            conn=theirs,
            output=os.open(os.devnull, os.O_WRONLY),
            workspace=live.path,
            scratch=scratch.path,
            limits=Limits(),
            entry="run_code",
            code=f"import os; {OPEN}; conn.sendall(b'up'); conn.recv(1); answer = [os.listdir('/workspace'), fds]",
        )

    async def receive(self) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            return await asyncio.get_running_loop().sock_recv(self.conn, 1 << 16)

    async def close(self) -> None:
        self.conn.close()
        async with asyncio.timeout(PATIENCE_S):
            await self.child.exited


OPEN = "fds = [fd for fd in range(64) if os.path.exists(fd)]"


@asynccontextmanager
async def two_workspaces() -> AsyncGenerator[tuple[Workspace, Workspace]]:
    live, scratch = [await asyncio.to_thread(Workspace.create, None, GUEST_UID) for _ in range(2)]
    (live.path / "live.txt").write_text("live")
    (scratch.path / "copy.txt").write_text("copy")
    yield live, scratch
    await asyncio.to_thread(live.remove)
    await asyncio.to_thread(scratch.remove)


def mount_namespaces(zygote: Zygote) -> int:
    count = 0
    for fd in Path(f"/proc/{zygote.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            count += os.readlink(fd).startswith("mnt:")
    return count


@pytest.mark.parametrize("revealed", [True, False])
async def test_the_zygote_lets_go_of_a_namespace_at_reveal_or_at_the_end(revealed: bool) -> None:
    async def holds(count: int) -> None:
        async def does() -> bool:
            return mount_namespaces(zygote) == count

        await eventually(does)

    async with started() as zygote, two_workspaces() as (live, scratch):
        await holds(2)  # its own, and that of the child that waits for its request
        jailed = Jailed(zygote, live, scratch)
        assert await jailed.receive() == b"up"
        await holds(3)
        if revealed:
            await jailed.child.reveal()
            await holds(2)
        await jailed.close()
        await holds(2)


NO_USER = pytest.param(
    frozenset({"user", "landlock"}),
    marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root makes the other namespaces without one of users"),
)


@pytest.mark.parametrize("without", [frozenset[str](), frozenset({"landlock"}), NO_USER])
async def test_the_mounts_alone_do_it_and_no_descriptor_of_a_namespace_reaches_a_guest(without: frozenset[str]) -> None:
    plan = replace(PLAN, without=without, required=STANDARD - without)
    async with started(plan) as zygote, two_workspaces() as (live, scratch):
        first, second = Jailed(zygote, live, scratch), Jailed(zygote, live, scratch)
        for jailed in (first, second):
            assert await jailed.receive() == b"up"
        await first.child.reveal()
        for jailed, name in ((first, "live.txt"), (second, "copy.txt")):
            jailed.conn.send(b"x")
            assert json.loads(await jailed.receive()) == {"answer": [[name], [0, 1, 2, 3]]}
            await jailed.close()


async def test_a_child_without_a_scratch_cannot_be_revealed(tmp_path: Path) -> None:
    async with started() as zygote:
        jailed = PlainJailed(zygote, tmp_path, "conn.sendall(b'up'); conn.recv(1)")
        assert await jailed.line() == b"up"
        with pytest.raises(SandboxDied, match="no scratch"):
            await jailed.child.reveal()
        await jailed.close()


# as an ordinary user

ORDINARY = """
import asyncio, os
from pathlib import Path
from cellwright.sandboxes import Environment, Opening, ProcessSandbox, Workspace
from cellwright.scope import Scope, ScopeHost
async def main():
    assert os.getuid() != 0
    live, scratch = Workspace.create(), Workspace.create()
    (live.path / "live.txt").write_text("live")
    sandbox = ProcessSandbox(Environment(python=Path("/usr/bin/python3").resolve()))
    guest = await sandbox.open(Opening(host=ScopeHost(Scope({})), workspace=live, scratch=scratch))
    print((await guest.run(1, "import os\\nopen('made', 'w').write('x')\\nos.listdir('.')")).unwrap())
    await guest.reveal()
    print((await guest.run(2, "open('later', 'w').write('x')\\nos.getcwd(), sorted(os.listdir('.'))")).unwrap())
    print(sorted(os.listdir(live.path)), scratch.path.exists())
    await sandbox.close()
    live.remove()
asyncio.run(main())
"""


@pytest.mark.skipif(os.getuid() != 0, reason="the tests run as an ordinary user already")
def test_an_ordinary_user_can_do_it_too() -> None:
    setpriv, python = shutil.which("setpriv"), "/usr/bin/python3"
    if setpriv is None or not Path(python).exists():
        pytest.skip("needs setpriv and /usr/bin/python3, which another user can read")
    version = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
    if not (3, 11) <= tuple(map(int, version.stdout.split())) <= (3, 13):
        pytest.skip("/usr/bin/python3 is not Python 3.11 to 3.13")
    source = Path("/tmp") / f"cellwright-scratch-src-{os.getpid()}"
    shutil.copytree(SRC, source, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(
        Path(cloudpickle_copy.file()).parent, source / "cloudpickle", ignore=shutil.ignore_patterns("__pycache__")
    )
    try:
        done = subprocess.run(
            [setpriv, "--reuid=12345", "--regid=12345", "--clear-groups", python, "-c", dedent(ORDINARY)],
            env={"PYTHONPATH": str(source), "HOME": "/tmp", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=60,
            cwd="/tmp",
        )
    finally:
        shutil.rmtree(source)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "['made']",
        "('/workspace', ['later', 'live.txt'])",
        "['later', 'live.txt'] False",
    ]
