# ruff: noqa: E501  a case is a line
"""What a guest's state comes back as from a checkpoint: as it was, or named as missing. No cell is run again here."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest
from tests.cells import PATIENT

from cellwright import Limits, Runtime, operation
from cellwright.sandboxes import Environment, ProcessSandbox
from cellwright.store import MemoryStore

pytestmark = pytest.mark.usefixtures("warm")
# Other versions that may be there, by the names that pyenv gives them.
PYTHONS = [str(found) for found in sorted(Path.home().glob(".pyenv/versions/3.1[23].*/bin/python"))]


@dataclass
class Contact:
    name: str
    tags: list[str] = field(default_factory=list[str])


class Point(NamedTuple):
    x: int
    y: int


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Refused(Exception):
    """What the desk raises."""


class Drawer:
    """Something that stays on the host."""

    def __init__(self, name: str) -> None:
        self.name = name

    def label(self) -> str:
        return f"drawer {self.name}"


class Desk:
    """What guest code works with in these tests."""

    def __init__(self) -> None:
        self.drawers = {name: Drawer(name) for name in ("a", "b")}
        self.log: list[str] = []
        self.held: Any = None

    @operation(reads=True)
    def drawer(self, name: str) -> Drawer:
        self.log.append(name)
        return self.drawers[name]

    def contact(self) -> Contact:
        return Contact(name="Ada", tags=["x"])

    def point(self) -> Point:
        return Point(1, 2)

    def color(self) -> Color:
        return Color.BLUE

    def refuse(self) -> None:
        raise Refused("not now")

    def keep(self, function: Any) -> None:
        self.held = function

    def doubler(self) -> Any:
        return double

    async def fetch(self, number: int) -> int:
        return number + 1


def double(number: int) -> int:
    return 2 * number


async def restored(cells: Sequence[str], *checks: str, **options: Any) -> tuple[list[Any], tuple[str, ...]]:
    """What the checks come to in a guest that took up the state after the cells; and what was missing from it."""
    journal, desk = MemoryStore(), options.pop("desk", None) or Desk()
    options = {"scope": {"desk": desk, "double": double, "settings": {"a": 1}}, "limits": PATIENT} | options
    async with Runtime(store=journal, session="s1", **options) as rt:
        for cell in cells:
            (await rt.execute(dedent(cell))).unwrap()
    kept = journal.checkpoints("s1")[-1]
    async with Runtime.resume("s1", store=journal, **options) as rt:
        assert rt.restored is not None
        assert rt.restored.diverged is None
        assert (rt.restored.checkpoint, rt.restored.cells) == (
            (0, tuple(range(1, len(cells) + 1))) if kept.missing else (len(cells), ())
        ), rt.restored
        return [(await rt.execute(check)).unwrap() for check in checks], kept.missing


STATES: dict[str, tuple[list[str], str, Any]] = {
    "numbers, texts and containers": (
        ["a, b, c = 1, 2.5, 'é'", "d = {'k': [1, (2, b'x')], 'n': None}", "e = {1, 2}"],
        "a, b, c, d, e",
        (1, 2.5, "é", {"k": [1, (2, b"x")], "n": None}, {1, 2}),
    ),
    "what two names share is shared": (["a = [1]", "b = {'a': a}; a.append(2)"], "b['a'] is a, b", (True, {"a": [1, 2]})),
    "what holds itself": (["a = []; a.append(a)"], "a[0] is a", True),
    "a function sees names that are given later": (
        ["def f(): return x + 1", "x = 1"],
        "f(), exec('x = 5') or f()",
        (2, 6),
    ),
    "a function that assigns to a name": (["n = 0\ndef up():\n    global n\n    n += 1"], "up() or up() or n", 2),
    "a recursive function": (["def fact(n): return 1 if n < 2 else n * fact(n - 1)"], "fact(6)", 720),
    "closures that share a variable": (
        [
            """
            def counter():
                n = 0
                def up():
                    nonlocal n
                    n += 1
                def read():
                    return n
                return up, read
            up, read = counter(); up()
            """
        ],
        "up() or read()",
        2,
    ),
    "a closure that holds itself": (
        ["def make():\n    def f(n): return n if n < 1 else f(n - 1)\n    return f\nf = make()"],
        "f(5)",
        0,
    ),
    "a lambda, a partial and a decorated function": (
        [
            "import functools\nadd = lambda a, b=2: a + b\nthree = functools.partial(add, 3)",
            "def loud(f):\n    @functools.wraps(f)\n    def g(*a): return f(*a) * 10\n    return g\n@loud\ndef one(): return 1",
        ],
        "add(1), three(), one(), one.__name__",
        (3, 5, 10, "one"),
    ),
    "an unused cache": (["import functools\n@functools.lru_cache\ndef f(n): return n + 1"], "f(1), f.cache_info().misses", (2, 1)),
    "classes, their instances and what they inherit": (
        [
            "class A:\n    kind = 'a'\n    def __init__(self, n): self.n = n\n    def up(self): self.n += 1; return self.n",
            "class B(A):\n    def up(self): return super().up() * 10\n    @property\n    def half(self): return self.n / 2\n    @classmethod\n    def make(cls): return cls(4)",
            "b = B(1); b.up()",
        ],
        "b.up(), b.half, B.make().n, isinstance(b, A), type(b) is B, B.__mro__[1] is A, b.up.__func__ is B.up",
        (30, 1.5, 4, True, True, True, True),
    ),
    "dataclasses, also as a base of new ones": (
        [
            "from dataclasses import *\n@dataclass(order=True)\nclass P:\n    x: int\n    tags: list = field(default_factory=list)",
            "p = P(1); p.tags.append('t')",
        ],
        "@dataclass\nclass Q(P):\n    y: int = 0\np == P(1, ['t']), Q(2).tags, fields(P)[0].default is MISSING, replace(p, x=3) > p",
        (True, [], True, True),
    ),
    "enums, named tuples, abstract and generic classes": (
        [
            "import enum, abc, typing\nclass E(enum.Enum):\n    X = 1\n    Y = 2\ne = E.Y\nclass F(enum.IntFlag):\n    A = 1\n    B = 2\nf = F.A | F.B",
            "class N(typing.NamedTuple):\n    a: int\nn = N(3)\nT = typing.TypeVar('T')\nclass G(typing.Generic[T]):\n    def get(self) -> T: ...\ng = G()",
            "class I(abc.ABC):\n    @abc.abstractmethod\n    def go(self): ...\nclass J(I):\n    def go(self): return 'went'\nj = J()",
        ],
        "e is E.Y, E(1) is E.X, f == F.A | F.B, n == N(3), n.a, isinstance(g, G), j.go(), isinstance(j, I), E.X.name",
        (True, True, True, True, 3, True, "went", True, "X"),
    ),
    "a class with slots and a lazy attribute": (
        [
            "import functools, dataclasses\nclass S:\n    __slots__ = ('a', '__b')\n    def b(self): self.__b = 2; return self.__b\ns = S(); s.a = 1",
            "@dataclasses.dataclass(slots=True, frozen=True)\nclass D:\n    a: int\n    b: int = 2\nd = D(1)",
            "class L:\n    @functools.cached_property\n    def v(self): return 7\nl = L(); l.v",
        ],
        "s.a, s.b(), l.v, L().v, hasattr(s, '__dict__'), d == D(1), hasattr(d, '__dict__'), dataclasses.replace(d, b=3).b",
        (1, 2, 7, 7, False, True, False, 3),
    ),
    "modules and what they own": (
        ["import math as m, os.path, datetime, dataclasses, time", "now, join, utc = time.time, os.path.join, datetime.UTC"],
        "m.pi > 3, join('a', 'b'), now() > 1, now is time.time, utc is datetime.UTC, m is __import__('math')",
        (True, "a/b", True, True, True, True),
    ),
    "code that was executed with names of its own": (
        ["own = {'n': 1}\nexec('def f(): return n', own)\nf = own['f']"],
        "own.update(n=2) or f()",
        2,
    ),
    "all names, under a name": (["g = globals(); x = 1"], "g is globals(), g['x']", (True, 1)),
    "names in their order, without those that were deleted": (
        ["x = 1; y = 2; z = 3", "del y, settings; x = 4; double = 5"],
        "[n for n in globals() if n[0] != '_'], double",
        (["transaction", "desk", "double", "x", "z"], 5),
    ),
    "annotations of names": (["n: int = 1"], "__annotations__ == {'n': int}", True),
    "iterators of containers": (["import itertools\ni = iter([1, 2, 3]); next(i); c = itertools.count(5); next(c)"], "list(i), next(c)", ([2, 3], 6)),
    "exceptions": (["try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    kept = e"], "type(kept).__name__, kept.args", ("ZeroDivisionError", ("division by zero",))),
    "data of the scope that was changed": (["settings['b'] = 2; mine = settings"], "settings, mine is settings", ({"a": 1, "b": 2}, True)),
    "directory, environment, path and /tmp": (
        ["import os, sys\nos.mkdir('d'); os.chdir('d'); os.environ['Q'] = 'q'; sys.path.append('/x')", "os.mkdir('/tmp/e'); open('/tmp/e/f', 'w').write('t')"],
        "os.getcwd(), os.environ['Q'], sys.path[-1], open('/tmp/e/f').read()",
        ("/workspace/d", "q", "/x", "t"),
    ),
    "settings of libraries": (
        ["import decimal, logging, warnings, sys\ndecimal.getcontext().prec = 5; logging.getLogger('a').setLevel(10)", "sys.setrecursionlimit(900); warnings.simplefilter('error', BytesWarning)"],
        "str(decimal.Decimal(1) / 3), logging.getLogger('a').level, sys.getrecursionlimit(), warnings.filters[0][0]",
        ("0.33333", 10, 900, "error"),
    ),
    "an idle lock, queue and the loop of asyncio": (
        ["import asyncio\nlock, queue, loop = asyncio.Lock(), asyncio.Queue(), asyncio.get_event_loop()", "queue.put_nowait(3)"],
        "async with lock:\n    got = await queue.get()\ngot, loop is asyncio.get_event_loop()",
        (3, True),
    ),
    "a traceback shows the lines of an earlier cell": (
        ["def boom():\n    raise ValueError('b')  # here"],
        "import traceback\ntry:\n    boom()\nexcept ValueError:\n    text = traceback.format_exc()\n'# here' in text",
        True,
    ),
    "host objects are the same objects": (
        ["a = desk.drawer('a'); again = {'k': desk.drawer('a')}; d = desk"],
        "a.label(), again['k'] is a, d is desk, type(a).__name__, isinstance(a, type(a))",
        ("drawer a", True, True, "Drawer", True),
    ),
    "methods and functions of the host": (
        ["label = desk.drawer('b').label; f = double; fetch = desk.fetch; unbound = type(desk).fetch"],
        "label(), f(4), f is double, await fetch(1), await unbound(desk, 2)",
        ("drawer b", 8, True, 2, 3),
    ),
    "records, enums and named tuples of the host": (
        ["c = desk.contact(); p = desk.point(); r = desk.color(); both = [c, c]"],
        "c.name, c.tags, both[0] is both[1] is c, p.x, p == desk.point(), r is desk.color(), type(c) is type(desk.contact())",
        ("Ada", ["x"], True, 1, True, True, True),
    ),
    "exceptions of the host, and classes made of them": (
        ["try:\n    desk.refuse()\nexcept Exception as e:\n    kept = e", "class Mine(type(kept)): pass\nmine = Mine('m')"],
        "try:\n    desk.refuse()\nexcept type(kept) as e:\n    caught = True\ncaught, str(kept), isinstance(mine, type(kept))",
        (True, "not now", True),
    ),
    "a function that the host holds": (["def f(n): return n + len(seen)\nseen = [1]\ndesk.keep(f)"], "f(1)", 2),
}  # fmt: skip


@pytest.mark.parametrize("what", STATES)
async def test_the_state_comes_back_without_running_a_cell(what: str, tmp_path: Path) -> None:
    cells, check, expected = STATES[what]
    found, missing = await restored(cells, check, workspace=tmp_path)
    assert missing == ()
    assert found == [expected]


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
async def test_the_state_comes_back_on_other_interpreters(python: str, tmp_path: Path) -> None:
    sandbox = ProcessSandbox(Environment(python=Path(python)))
    try:
        for what, (cells, check, expected) in STATES.items():
            place = tmp_path / what.replace("/", "")
            place.mkdir()
            found, missing = await restored(cells, check, sandbox=sandbox, workspace=place)
            assert (missing, found) == ((), [expected]), what
    finally:
        await sandbox.close()


MISSING = {
    "a generator": (["n = 1", "g = (i for i in range(3)); next(g)"], "g: ", "next(g), n", (1, 1)),
    "a coroutine": (["async def f(): return 1\nc = f()"], "c: ", "await c", 1),
    "an open file": (["f = open('x', 'w+'); f.write('ab'); f.seek(0)"], "f: an open file", "f.read()", "ab"),
    "a lock": (["import threading\nl = threading.Lock(); l.acquire()"], "l: ", "l.locked()", True),
    "a weak reference": (["import weakref\nclass A: pass\na = A(); w = weakref.ref(a)"], "w: ", "w() is a", True),
    "a cache that is in use": (
        ["import functools\n@functools.lru_cache\ndef f(n): return n\nf(1)"],
        "f: a cache that is in use",
        "f.cache_info().misses",
        1,
    ),
    "a view of a dict": (["d = {1: 2}; k = d.keys()"], "k: a view of something else", "d.update({3: 4}) or list(k)", [1, 3]),
    "a list that holds all names": (["a = [globals()]; x = 1"], "a: it holds all names of the session", "a[0]['x']", 1),
    "a value that asks the host when it is pickled": (
        ["class A:\n    def __getstate__(self): return desk.drawer('a')\na = A()"],
        "a: it asks the host",
        "type(a).__name__",
        "A",
    ),
    "a value whose own code fails": (
        ["class A:\n    def __reduce__(self): raise RuntimeError('no')\na = A()"],
        "a: no",
        "type(a).__name__",
        "A",
    ),
    "a task": (["import asyncio\nt = asyncio.create_task(asyncio.Event().wait())"], "a task that is still running", "t.done()", False),
    "a timer": (
        ["import asyncio\nh = asyncio.get_running_loop().call_later(1000, print)\nasync def f(): pass\nawait f()"],
        "a timer that is still to come",
        "h.cancelled()",
        False,
    ),
    "an async generator": (
        ["async def g():\n    yield 1\n    yield 2\na = g()\nawait anext(a)"],
        "an async generator that is not at its end",
        "await anext(a)",
        2,
    ),
    "a thread": (
        ["import threading\nstop = threading.Event()\nt = threading.Thread(target=stop.wait, daemon=True); t.start()"],
        "a thread that is still running",
        "t.is_alive()",
        True,
    ),
    "a generator that the host holds": (["desk.keep(i for i in range(3))"], "a function that the host holds", "1", 1),
    "a function of a module that was replaced": (
        ["import json\ndef dumps(value): return 'mine'\njson.dumps = dumps"],
        "json.dumps, which was changed",
        "json.dumps(1)",
        "mine",
    ),
    "a constant of a module that was changed": (["import string\nstring.digits = 'x'"], "string.digits, which was changed", "string.digits", "x"),
    "a builtin that was added": (["import builtins\nbuiltins.shout = 'x'"], "builtins.shout, which was changed", "shout", "x"),
    "a module of the workspace": (
        ["import sys\nopen('own.py', 'w').write('n = 1')\nsys.path.insert(0, '/workspace')\nimport own; own.n = 2"],
        "module own, which is from the workspace",
        "own.n",
        2,
    ),
    "handlers of logging": (["import logging\nlogging.basicConfig(filename='l')"], "the handlers of logging", "len(logging.root.handlers)", 1),
    "much in /tmp": (["open('/tmp/f', 'wb').write(bytes(9 << 20))"], "the files in /tmp", "len(open('/tmp/f', 'rb').read()) >> 20", 9),
    "another standard output": (["import sys, io\nsys.stdout = own = io.StringIO()"], "what stands in the place of sys.stdout", "print('a') or own.getvalue()", "a\n"),
    "a set whose order depends on its past": (
        ["s = set(map(str, range(40)))\nfor i in range(35): s.discard(str(i))\norder = list(s)"],
        "the order of a set",
        "list(s) == order",
        True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", MISSING)
async def test_what_cannot_be_kept_is_named_and_comes_back_by_running_its_cell_again(what: str) -> None:
    cells, named, check, expected = MISSING[what]
    found, missing = await restored(cells, check)
    assert [one for one in missing if one.startswith(named)], missing
    assert found == [expected]


async def test_all_names_that_cannot_be_kept_are_named() -> None:
    _, missing = await restored(["a = (1 for _ in ''); b = 1; c = open('f', 'w'); d = [a]"])
    assert [one.partition(":")[0] for one in missing] == ["a", "c", "d"]


async def test_what_is_too_large_is_named() -> None:
    found, missing = await restored(["big = bytes(70 << 20); n = 1"], "len(big) >> 20, n")
    assert missing == ("big: more than 64 MB",)
    assert found == [(70, 1)]


async def test_randomness_and_clock_go_on_where_they_were() -> None:
    """With the checkpoint, and without it: the same numbers."""
    cells = ["import random, time, uuid, secrets, tempfile", "random.seed(); a = random.random(); t = time.time()"]
    check = "random.random(), uuid.uuid4().hex, secrets.token_hex(4), random.Random().random(), tempfile.mktemp()"
    journal = MemoryStore()
    async with Runtime(store=journal, session="s1", limits=PATIENT) as rt:
        for cell in cells:
            (await rt.execute(cell)).unwrap()
    branches: list[Any] = []
    for key in ("with", "without"):
        async with Runtime.resume("s1", store=journal if key == "with" else _bare(journal), limits=PATIENT) as rt:
            assert rt.restored is not None
            assert rt.restored.checkpoint == (2 if key == "with" else 0)
            branches.append((await rt.execute(check)).unwrap())
            assert (await rt.execute("time.time() > t")).unwrap()
    assert branches[0] == branches[1]


def _bare(journal: MemoryStore) -> MemoryStore:
    """A copy of its session without checkpoints."""
    copy = MemoryStore()
    claim = copy.create(journal.facts("s1"))
    copy.write(claim, *journal.rows("s1"), *(cell for cell in journal.cells("s1") if cell.number <= 2))
    return copy


DATA = {
    "arrays": (
        ["import numpy as np\na = np.arange(6.0).reshape(2, 3); b = a.copy(); s = np.float64(2)"],
        "a.tolist(), b.sum(), float(s), a is not b",
        ([[0, 1, 2], [3, 4, 5]], 15, 2, True),
    ),
    "frames": (
        ["import pandas as pd\ndf = pd.DataFrame({'x': [1, 2], 'y': ['a', None]})", "col = df['x']; df['z'] = df['x'] * 2"],
        "df['z'].tolist(), col.tolist(), df.loc[0, 'y'], list(df.columns)",
        ([2, 4], [1, 2], "a", ["x", "y", "z"]),
    ),
    "polars": (["import polars as pl\np = pl.DataFrame({'x': [1, 2]})"], "p['x'].sum()", 3),
    "options of pandas": (["import pandas as pd\npd.set_option('display.max_rows', 7)"], "pd.get_option('display.max_rows')", 7),
    "numpy's own randomness": (["import numpy as np\nnp.random.seed(1); a = np.random.rand(); r = np.random.default_rng(3)"], "np.random.seed(1) or np.random.rand() == a, r.integers(10)", (True, 8)),
}  # fmt: skip


@pytest.mark.usefixtures("warm_data")
@pytest.mark.parametrize("what", DATA)
async def test_data_comes_back(what: str, venv: Path) -> None:
    cells, check, expected = DATA[what]
    found, missing = await restored(cells, check, packages=venv, limits=Limits(memory_mb=1024))
    assert missing == ()
    assert found == [expected]


@pytest.mark.usefixtures("warm_data")
async def test_arrays_that_share_their_memory_are_named_and_still_share_it(venv: Path) -> None:
    cells = ["import numpy as np\na = np.zeros(3); view = a[1:]"]
    found, missing = await restored(cells, "view.fill(1) or a.tolist()", packages=venv, limits=Limits(memory_mb=1024))
    assert missing == ("the memory that two arrays share",)
    assert found == [[0, 1, 1]]
