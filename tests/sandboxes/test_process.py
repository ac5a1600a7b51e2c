"""The process sandbox through `Runtime`: cells, limits, crashes, cancelling, streaming, packages, files."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.cells import BESIDE, PATIENCE_S, PATIENT, eventually, failure, outcomes, value

from cellwright import CallFinished, CallStarted, Event, Limits, Printed, Runtime
from cellwright.errors import (
    CallLimit,
    CpuLimit,
    Crashed,
    FileSizeLimit,
    GuestError,
    LimitExceeded,
    MemoryLimit,
    OpenFilesLimit,
    OutputLimit,
    ProcessLimit,
    TimeLimit,
    UsageError,
    WorkspaceLimit,
)
from cellwright.sandboxes import GUEST_UID
from cellwright_guest import cloudpickle_copy

SRC = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture(autouse=True)
def opens_sessions(warm: None) -> None:
    """One zygote serves them all."""


# a cell behaves as a notebook's does


async def test_names_imports_functions_and_classes_stay_for_the_next_cell() -> None:
    cells = (
        "import math\nx = 2",
        "def area(r):\n    return math.pi * r ** x",
        "class C:\n    n = x",
        "round(area(1), 2), C.n",
    )
    assert await value(*cells) == (3.14, 2)


async def test_names_stay_after_a_cell_that_raised_also_those_it_set_before() -> None:
    first, second, third = await outcomes("x = 1", "y = 2\n1 / 0", "x, y")
    assert first.ok
    assert second.error is not None
    assert third.unwrap() == (1, 2)


async def test_a_name_in_scope_can_be_rebound_in_the_guest() -> None:
    assert await value("limit = limit + 1", "limit", limit=3) == 4


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("1 + 1", 2),
        ("x = 5", 5),
        ("x = y = 6", 6),
        ("x, y = 1, 2", (1, 2)),
        ("x: int = 7", 7),
        ("x = 1\nx += 2", 3),
        ("(n := 4)", 4),
        ("d = {}\nd['k'] = 8", 8),
        ("x = 1\nx;", 1),
        ("import math", None),
        ("def f(): return 1", None),
        ("for i in range(3): i", None),
        ("if True:\n    3", None),
        ("", None),
        ("# only a comment", None),
        ("'docstring'", "docstring"),
        ("None", None),
        ("print('x')", None),
        ("x = 1\ndel x", None),
        ("[i async for i in agen()]", [0, 1]),
        ("lambda_ = (lambda: 9)()", 9),
    ],
)
async def test_the_value_of_a_cell_is_its_last_expression_or_assignment(code: str, expected: Any) -> None:
    async def agen() -> AsyncIterator[int]:
        yield 0
        yield 1

    assert await value(code, agen=agen) == expected


async def test_top_level_await_async_for_and_async_with_work() -> None:
    code = """
    import asyncio, contextlib
    @contextlib.asynccontextmanager
    async def opened():
        yield 'open'
    async def numbers():
        for i in range(3):
            await asyncio.sleep(0)
            yield i
    async with opened() as state:
        got = [i async for i in numbers()]
    async for last in numbers():
        pass
    state, got, last, await asyncio.sleep(0, 'slept')
    """
    assert await value(code) == ("open", [0, 1, 2], 2, "slept")


async def test_the_module_of_a_cell_is_main_and_its_classes_can_be_pickled_there() -> None:
    code = "import pickle\nclass C:\n    n = 1\nC.__module__, pickle.loads(pickle.dumps(C())).n, __name__"
    assert await value(code) == ("__main__", 1, "__main__")


async def test_the_source_of_a_cell_is_there_for_inspect() -> None:
    assert await value("def f():\n    return 1\nimport inspect", "inspect.getsource(f)") == "def f():\n    return 1\n"


async def test_dataclasses_enums_and_annotations_work_in_cells() -> None:
    code = """
    from dataclasses import dataclass
    import enum
    class E(enum.Enum):
        A = 1
    @dataclass
    class D:
        x: int
        e: E = E.A
    D(1) == D(1), D(2).e.name
    """
    assert await value(code) == (True, "A")


async def test_an_outcome_tells_cell_prints_calls_rung_and_duration() -> None:
    def f(x: Any) -> int:
        return int(x)

    first, second = await outcomes("print('hi'); f(1)", "f('x')", f=f)
    assert (first.cell, first.stdout, first.value, first.rung) == (1, "hi\n", 1, "process")
    assert [call.name for call in first.calls] == ["f"]
    assert first.duration_s > 0
    assert second.cell == 2
    assert second.calls[0].error is not None
    assert "ValueError" in second.calls[0].error


# output


async def test_prints_stream_while_the_cell_runs() -> None:
    printed = asyncio.Event()
    texts: list[str] = []

    def on_event(event: Event) -> None:
        if isinstance(event, Printed):
            texts.append(event.text)
            printed.set()

    async def wait_until_printed() -> str:
        await printed.wait()
        return "".join(texts)

    async with Runtime({"wait_until_printed": wait_until_printed}, limits=PATIENT) as rt:
        out = await rt.execute(
            "print('early')\nseen = await wait_until_printed()\nprint('late')\nseen", on_event=on_event
        )
    assert out.unwrap() == "early\n"
    assert "".join(texts) == out.stdout == "early\nlate\n"


async def test_events_tell_of_each_call_in_order() -> None:
    events: list[Event] = []

    def f(x: int) -> int:
        if x == 2:
            raise ValueError("two")
        return x

    async with Runtime({"f": f}) as rt:
        await rt.execute("f(1)\nprint('between')\nf(2)", on_event=events.append)
    kinds = [type(event) for event in events]
    assert kinds == [CallStarted, CallFinished, Printed, CallStarted, CallFinished]
    last = events[-1]
    assert isinstance(last, CallFinished)
    assert last.name == "f"
    assert last.error is not None


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("import sys; print('e', file=sys.stderr)", "e\n"),
        ("import os; os.write(1, b'raw')", "raw"),
        ("import sys; sys.stdout.write('no newline')", "no newline"),
        ("print('grüße \\N{SNOWMAN}')", "grüße \N{SNOWMAN}\n"),
        ("print('\\ud800')", "\\ud800\n"),
        ("import os; os.write(2, bytes([255, 10]))", "\N{REPLACEMENT CHARACTER}\n"),
        ("import logging; logging.warning('careful')", "WARNING:root:careful\n"),
        ("import warnings; warnings.warn('old')", "old"),
    ],
)
async def test_all_output_arrives(code: str, text: str) -> None:
    out = (await outcomes(code))[0]
    assert out.ok
    assert text in out.stdout


async def test_output_of_many_threads_and_before_an_error_arrives() -> None:
    code = """
    import threading
    threads = [threading.Thread(target=print, args=(i,)) for i in range(20)]
    for t in threads: t.start()
    for t in threads: t.join()
    1 / 0
    """
    out = (await outcomes(code))[0]
    assert sorted(map(int, out.stdout.split())) == list(range(20))
    assert out.error is not None


async def test_output_before_a_crash_arrives_and_none_of_it_in_the_next_cell() -> None:
    first, second = await outcomes("print('last words', flush=True)\nimport os; os._exit(3)", "print('new')")
    assert first.stdout == "last words\n"
    assert second.stdout == "new\n"


# limits: each has an outcome of its own, and leaves the others alone

OVER: list[tuple[Limits, str, type[LimitExceeded], str]] = [
    (Limits(wall_s=0.3), "import time\nwhile True: time.sleep(10)", TimeLimit, "wall_s=0.3"),
    (Limits(wall_s=0.3), "while True: pass", TimeLimit, "wall_s=0.3"),
    (Limits(wall_s=0.3), "import asyncio\nawait asyncio.Event().wait()", TimeLimit, "wall_s=0.3"),
    (Limits(wall_s=0.3), "(1 << 200_000_000) % 7 ** 50_000_000", TimeLimit, "wall_s=0.3"),
    (Limits(wall_s=0.3), "import asyncio\nawait forever()", TimeLimit, "wall_s=0.3"),
    (Limits(cpu_s=0.2), "while True: pass", CpuLimit, "cpu_s=0.2"),
    (Limits(memory_mb=64), "x = bytearray(200 << 20)", MemoryLimit, "memory_mb=64"),
    (Limits(memory_mb=64), "x = []\nwhile True: x.append('a' * 100_000)", MemoryLimit, "memory_mb=64"),
    (Limits(open_files=40), "files = [open('/dev/null') for _ in range(100)]", OpenFilesLimit, "open_files=40"),
    (Limits(file_mb=2), "open('f', 'wb').write(bytes(5 << 20))", FileSizeLimit, "file_mb=2"),
    (Limits(output_kb=64), "while True: print('x' * 1000)", OutputLimit, "output_kb=64"),
    (Limits(host_calls=5), "for i in range(10): f(i)", CallLimit, "host_calls=5"),
    (
        Limits(threads=8),
        "import threading\nhold = threading.Event()\nfor _ in range(50): threading.Thread(target=hold.wait).start()",
        ProcessLimit,
        "threads=8",
    ),
    (
        Limits(workspace_mb=4, file_mb=2),
        "import time\nfor i in range(40): open(f'f{i}', 'wb').write(bytes(1 << 20))\ntime.sleep(30)",
        WorkspaceLimit,
        "workspace_mb=4",
    ),
    (
        Limits(),
        "open('/tmp/f', 'wb').write(bytes(63 << 20))\nopen('/tmp/g', 'wb').write(bytes(63 << 20))",
        WorkspaceLimit,
        "/tmp",
    ),
]


@pytest.mark.parametrize(
    ("limits", "code", "expected", "named"), OVER, ids=lambda v: v[:24] if isinstance(v, str) else ""
)
async def test_a_limit_gives_its_own_outcome_and_another_session_does_not_notice(
    limits: Limits, code: str, expected: type[LimitExceeded], named: str
) -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    def f(x: int) -> int:
        return x

    async with Runtime(limits=PATIENT) as other, Runtime({"forever": forever, "f": f}, limits=limits) as rt:
        (await other.execute("kept = 1")).unwrap()
        (await rt.execute("before = 1")).unwrap()
        out = await rt.execute(code)
        assert type(out.error) is expected, out
        assert named in str(out.error)
        assert (await other.execute("kept + 1")).unwrap() == 2
        assert (await rt.execute("1 + 1")).unwrap() == 2


async def test_after_a_limit_that_ended_the_guest_the_next_cell_starts_afresh_and_says_so() -> None:
    async with Runtime({"bound": 5}, limits=Limits(wall_s=0.3)) as rt:
        (await rt.execute("x = 1")).unwrap()
        out = await rt.execute("while True: pass")
        assert "names of earlier cells are gone" in str(out.error)
        assert (await rt.execute("'x' in globals(), bound")).unwrap() == (False, 5)


async def test_after_a_limit_that_only_refused_a_step_names_stay() -> None:
    async with Runtime(limits=Limits(memory_mb=64, open_files=40)) as rt:
        (await rt.execute("x = 1")).unwrap()
        assert isinstance((await rt.execute("y = bytearray(500 << 20)")).error, MemoryLimit)
        assert isinstance((await rt.execute("fs = [open('/dev/null') for _ in range(99)]")).error, OpenFilesLimit)
        assert (await rt.execute("x")).unwrap() == 1


async def test_guest_code_can_catch_a_limit_that_only_refused_a_step() -> None:
    async with Runtime({"f": abs}, limits=Limits(memory_mb=64, host_calls=2)) as rt:
        code = "try:\n    bytearray(500 << 20)\nexcept MemoryError:\n    told = 'caught'\ntold"
        assert (await rt.execute(code)).unwrap() == "caught"
        code = "f(1); f(2)\ntry:\n    f(3)\nexcept Exception as error:\n    told = type(error).__name__\ntold"
        assert (await rt.execute(code)).unwrap() == "CallLimit"
        assert (await rt.execute("f(1)")).unwrap() == 1


async def test_after_memory_ran_out_the_next_cell_can_let_go_of_what_took_it() -> None:
    async with Runtime(limits=Limits(memory_mb=64)) as rt:
        (await rt.execute("kept = 'kept'")).unwrap()
        out = await rt.execute("x = []\nwhile True: x.append('a' * 100_000)")
        assert isinstance(out.error, MemoryLimit)
        (await rt.execute("del x")).unwrap()
        assert (await rt.execute("len(bytearray(40 << 20)), kept")).unwrap() == (40 << 20, "kept")


async def test_limits_on_a_cell_count_anew_for_each_cell() -> None:
    async with Runtime({"f": abs}, limits=Limits(host_calls=3, output_kb=8)) as rt:
        for _ in range(4):
            (await rt.execute("f(1); f(2); f(3); print('x' * 6000)")).unwrap()


async def test_thousands_of_calls_over_the_limit_end_the_guest() -> None:
    async with Runtime({"f": abs}, limits=Limits(host_calls=10)) as rt:
        out = await rt.execute("while True:\n    try:\n        f(1)\n    except Exception:\n        pass")
        assert type(out.error) is CallLimit


async def test_memory_of_one_cell_is_given_back_for_the_next() -> None:
    async with Runtime(limits=Limits(memory_mb=128)) as rt:
        for _ in range(5):
            assert (await rt.execute("x = bytearray(90 << 20); len(x)")).unwrap() == 90 << 20
            (await rt.execute("del x")).unwrap()


@pytest.mark.parametrize("name", ["wall_s", "memory_mb", "threads", "open_files"])
def test_a_limit_that_is_no_limit_is_refused(name: str) -> None:
    wrongs: list[Any] = [0, -1, float("nan"), "5", None, True]
    for wrong in wrongs:
        with pytest.raises(UsageError, match=name):
            Limits(**{name: wrong})


# crashes


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import os; os._exit(7)", "exit code 7"),
        ("import os; os._exit(0)", "exit code 0"),
        ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
        ("import os; os.abort()", "SIGABRT"),
        ("import os; os.close(3)", ""),
        ("import threading, os\nt = threading.Thread(target=os._exit, args=(9,)); t.start(); t.join()", "exit code 9"),
    ],
)
async def test_a_crash_is_an_outcome_and_the_next_cell_starts_afresh(code: str, told: str) -> None:
    first, second = await outcomes(code, "1 + 1")
    assert isinstance(first.error, Crashed), first
    assert told in str(first.error)
    assert "starts afresh" in str(first.error)
    assert second.unwrap() == 2


async def test_a_stack_overflow_in_python_is_a_recursion_error_and_in_c_an_outcome() -> None:
    assert (await failure("def f(): return f()\nf()")).type == "RecursionError"
    code = "import sys\nsys.setrecursionlimit(10 ** 9)\nclass A:\n    def __repr__(self): return repr(self)\nrepr(A())"
    first, second = await outcomes(code, "1 + 1")
    assert isinstance(first.error, GuestError)
    assert second.unwrap() == 2


async def test_a_guest_that_dies_between_cells_is_replaced() -> None:
    code = "import threading, os\nthreading.Timer(0.01, os._exit, (1,)).start()"
    async with Runtime(limits=PATIENT) as rt:
        await rt.execute(code)

        async def replaced() -> bool:
            return (await rt.execute("'threading' in globals()")).value is False

        await eventually(replaced)


# cancelling


async def test_cancelling_a_run_ends_the_guest_and_cancels_its_host_calls() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def forever() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with Runtime({"forever": forever}, limits=PATIENT) as rt:
        (await rt.execute("x = 1")).unwrap()
        run = asyncio.create_task(rt.execute("await forever()"))
        async with asyncio.timeout(PATIENCE_S):
            await started.wait()
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
            await cancelled.wait()
        assert (await rt.execute("'x' in globals()")).unwrap() is False


async def test_cancelling_a_run_that_spins_or_is_deep_in_c_ends_it() -> None:
    for code in ("while True: pass", "(1 << 200_000_000) % 7 ** 50_000_000"):
        started = threading.Event()
        async with Runtime({"start": started.set}, limits=PATIENT) as rt:
            run = asyncio.create_task(rt.execute(f"start()\n{code}"))
            assert await asyncio.to_thread(started.wait, PATIENCE_S)
            run.cancel()
            async with asyncio.timeout(PATIENCE_S):
                with pytest.raises(asyncio.CancelledError):
                    await run
                assert (await rt.execute("1 + 1")).unwrap() == 2


async def test_closing_a_runtime_ends_a_cell_that_still_runs() -> None:
    started = threading.Event()
    async with Runtime({"start": started.set}, limits=PATIENT) as rt:
        run = asyncio.create_task(rt.execute("start()\nwhile True: pass"))
        assert await asyncio.to_thread(started.wait, PATIENCE_S)
    async with asyncio.timeout(PATIENCE_S):
        (out,) = await asyncio.gather(run, return_exceptions=True)
    assert isinstance(out, BaseException) or out.error is not None


# what is refused, what works


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("input('name? ')", "input() is refused"),
        ("import multiprocessing\nmultiprocessing.Pool(2)", "multiprocessing is refused"),
        ("import multiprocessing\nmultiprocessing.Process(target=print).start()", "multiprocessing is refused"),
        ("from concurrent.futures import ProcessPoolExecutor\nProcessPoolExecutor().submit(len, [])", "refused"),
        ("import subprocess\nsubprocess.run(['ls'])", "subprocess is refused"),
        ("import os\nos.system('ls')", "os.system is refused"),
        ("import os\nos.fork()", "os.fork is refused"),
        ("import os\nos.popen('ls')", "subprocess is refused"),
        ("import asyncio\nawait asyncio.create_subprocess_exec('ls')", "refused"),
    ],
)
async def test_what_a_session_may_not_do_is_refused_in_clear_words(code: str, words: str) -> None:
    error = await failure(code)
    assert error.type == "NotSupported"
    assert words in error.message


@pytest.fixture(scope="module")
async def with_programs(anyio_backend: str) -> AsyncIterator[Runtime]:
    async with Runtime(limits=Limits(processes=4, wall_s=PATIENCE_S)) as rt:
        yield rt


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import subprocess\nsubprocess.run(['/bin/echo', 'hi'], capture_output=True, text=True).stdout", "hi\n"),
        ("import subprocess\nsubprocess.check_output('echo $((1 + 2))', shell=True, text=True)", "3\n"),
        ("import os\nos.system('exit 3') >> 8", 3),
        (
            "import asyncio\np = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)\n"
            "(await p.communicate(b'through'))[0]",
            b"through",
        ),
        (
            "import subprocess\nsubprocess.run(['sh', '-c', 'echo x > made; cat made'], capture_output=True).stdout",
            b"x\n",
        ),
    ],
)
async def test_subprocess_works_where_the_limits_allow_it(with_programs: Runtime, code: str, expected: Any) -> None:
    assert (await with_programs.execute(code)).unwrap() == expected


async def test_more_processes_than_allowed_are_refused_and_do_not_outlive_the_session() -> None:
    async with Runtime(limits=Limits(processes=2, threads=2, wall_s=PATIENCE_S)) as rt:
        code = "import subprocess\nps = [subprocess.Popen(['sleep', '1000']) for _ in range(20)]"
        out = await rt.execute(code)
        assert isinstance(out.error, ProcessLimit), out


async def test_threads_locks_and_pools_work() -> None:
    code = """
    import threading, queue
    from concurrent.futures import ThreadPoolExecutor
    q = queue.Queue()
    t = threading.Thread(target=lambda: q.put(sum(range(1000))))
    t.start(); t.join()
    with ThreadPoolExecutor(4) as pool:
        squares = list(pool.map(lambda x: x * x, range(5)))
    q.get(), squares
    """
    assert await value(code) == (499500, [0, 1, 4, 9, 16])


async def test_the_standard_library_works() -> None:
    code = """
    import collections, csv, datetime, decimal, fractions, functools, hashlib, heapq, io, itertools, json, os, pathlib
    import random, re, secrets, shutil, sqlite3, statistics, string, tempfile, textwrap, time, typing, uuid, zipfile
    import zoneinfo
    with tempfile.NamedTemporaryFile() as f:
        f.write(b'x')
    with sqlite3.connect('data.db') as db:
        rows = db.execute('select 1').fetchall()
    pathlib.Path('a.txt').write_text('a')
    with zipfile.ZipFile('z.zip', 'w') as z:
        z.write('a.txt')
    now = datetime.datetime.now(zoneinfo.ZoneInfo('Europe/Oslo'))
    rows, os.getcwd(), now.tzinfo.key, len(secrets.token_hex(4)), time.time() > 0, hashlib.sha256(b'').hexdigest()[:4]
    """
    assert await value(code) == ([(1,)], "/workspace", "Europe/Oslo", 8, True, "e3b0")


@pytest.mark.usefixtures("warm_data")
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import numpy as np\nfloat((np.random.rand(200, 200) @ np.eye(200)).shape[0])", 200.0),
        (
            "import pandas as pd\npd.DataFrame({'g': [1, 1, 2], 'x': [1, 2, 3]}).groupby('g').x.sum().to_dict()",
            {1: 3, 2: 3},
        ),
        (
            "import polars as pl\npl.DataFrame({'g': [1, 1, 2], 'x': [1, 2, 3]}).group_by('g').sum().sort('g').rows()",
            [(1, 3), (2, 3)],
        ),
        ("import polars as pl\npl.LazyFrame({'x': range(1000)}).filter(pl.col('x') > 990).collect().height", 9),
        ("import pyarrow as pa\npa.table({'x': [1, 2]}).num_rows", 2),
    ],
)
async def test_numpy_pandas_and_polars_run_in_a_guest_that_has_them(code: str, expected: Any, venv: Path) -> None:
    async with Runtime(packages=venv, limits=Limits(memory_mb=1024, wall_s=60, cpu_s=60)) as rt:
        assert (await rt.execute(code)).unwrap() == expected


async def test_packages_of_the_host_are_not_visible_without_packages() -> None:
    for name in ("numpy", "pytest", "pydantic", "cellwright"):
        error = await failure(f"import {name}")
        assert error.type == "ModuleNotFoundError", name


# isolation basics; the attacks have a folder of their own


async def test_two_sessions_see_neither_each_others_names_nor_files() -> None:
    async with Runtime() as one, Runtime() as two:
        await one.execute("x = 1\nopen('mine', 'w').write('a')\nopen('/tmp/shared', 'w').write('b')")
        code = "'x' in globals(), os.listdir('.'), beside('/tmp')"
        assert (await two.execute(BESIDE + code)).unwrap() == (False, [], [])


async def test_the_guest_has_no_network_no_keys_and_no_host_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELLWRIGHT_TEST_KEY", "sk-secret")
    code = """
    import os, socket
    told = {'env': 'CELLWRIGHT_TEST_KEY' in os.environ, 'home': os.path.exists(host_home), 'uid': os.getuid()}
    try:
        socket.create_connection(('127.0.0.1', 80), 1)
    except OSError as error:
        told['net'] = 'refused'
    told
    """
    told = await value(code, host_home=__file__)
    assert told == {"env": False, "home": False, "uid": told["uid"], "net": "refused"}
    assert told["uid"] != 0


# files


async def test_files_go_in_and_out_of_the_workspace() -> None:
    async with Runtime() as rt:
        await rt.files.write("in/data.csv", "a,b\n1,2\n")
        code = "rows = open('in/data.csv').read().splitlines()\nopen('out.txt', 'w').write(rows[1])"
        (await rt.execute(code)).unwrap()
        (await rt.execute("open('in/data.csv', 'a').write('3,4')")).unwrap()
        assert await rt.files.read_text("out.txt") == "1,2"
        assert await rt.files.read("in/data.csv") == b"a,b\n1,2\n3,4"
        assert [entry.path for entry in await rt.files.list()] == ["in", "in/data.csv", "out.txt"]
        await rt.files.delete("out.txt")
        assert (await rt.execute("import os; os.path.exists('out.txt')")).unwrap() is False


async def test_files_outlive_the_guest_and_a_fresh_workspace_does_not_outlive_the_runtime() -> None:
    async with Runtime() as rt:
        await rt.execute("open('kept', 'w').write('x'); import os; os._exit(1)")
        await rt.execute("open('kept', 'a').write('y')")
        assert await rt.files.read_text("kept") == "xy"
        assert (await rt.execute("open('kept').read()")).unwrap() == "xy"


async def test_a_given_directory_is_shared_and_stays(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "given").write_text("hello")
    if os.getuid() == 0:
        for path in (shared, shared / "given"):
            os.chown(path, GUEST_UID, GUEST_UID)
    async with Runtime(workspace=shared) as rt:
        assert (
            await rt.execute("text = open('given').read()\nopen('made', 'w').write(text.upper())\ntext")
        ).unwrap() == "hello"
    assert (shared / "made").read_text() == "HELLO"


# hosts


HOST = """
import asyncio, os, sys
from cellwright import Runtime
async def main():
    async with Runtime({"told": lambda: print("running", flush=True)}) as rt:
        await rt.execute("told()\\nwhile True: pass")
asyncio.run(main())
"""


def descendants(pid: int) -> set[int]:
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == pid:
                found |= {int(entry.name)} | descendants(int(entry.name))
    return found


async def test_a_host_killed_with_9_leaves_no_orphans() -> None:
    host = await asyncio.create_subprocess_exec(sys.executable, "-c", HOST, stdout=subprocess.PIPE)
    assert host.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        assert await host.stdout.readline() == b"running\n"
        left = await asyncio.to_thread(descendants, host.pid)
        assert len(left) >= 2
        host.send_signal(signal.SIGKILL)
        await host.wait()

    async def gone() -> bool:
        return not any(os.path.exists(f"/proc/{pid}") for pid in left)  # noqa: ASYNC240  /proc does not block

    await eventually(gone)


ORDINARY = """
import asyncio, os
from cellwright import Limits, Runtime
async def main():
    assert os.getuid() != 0
    async with Runtime({"double": lambda x: 2 * x}, limits=Limits(wall_s=20)) as rt:
        print((await rt.execute("import os\\nopen('f', 'w').write('x')\\ndouble(21), os.listdir('.')")).unwrap())
        print(await rt.files.read_text("f"))
        print(type((await rt.execute("bytearray(1 << 40)")).error).__name__)
asyncio.run(main())
"""


@pytest.mark.skipif(os.getuid() != 0, reason="the tests run as an ordinary user already")
def test_an_ordinary_user_can_run_it_too(tmp_path: Path) -> None:
    setpriv, python = shutil.which("setpriv"), "/usr/bin/python3"
    if setpriv is None or not Path(python).exists():
        pytest.skip("needs setpriv and /usr/bin/python3, which another user can read")
    version = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
    if not (3, 11) <= tuple(map(int, version.stdout.split())) <= (3, 13):
        pytest.skip("/usr/bin/python3 is not Python 3.11 to 3.13")
    source = Path("/tmp") / f"cellwright-src-{os.getpid()}"
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
    assert done.stdout.splitlines() == ["(42, ['f'])", "x", "MemoryLimit"]
