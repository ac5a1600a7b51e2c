"""Importing costs little and does nothing: no heavy package, no environment, no files, no network, no processes.

Each check runs in a fresh interpreter, in which a probe watches while a piece of code runs.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

HEAVY = (
    "pydantic pydantic_ai pandas polars numpy pyarrow httpx mcp dbos starlette uvicorn sqlalchemy duckdb opentelemetry "
    "networkx xllamacpp anthropic openai psycopg h11 cryptography phonenumbers stdnum spacy"
).split()
# Of these, what the dev extra installs: with them absent the test would prove nothing.
HERE = (
    "pydantic pydantic_ai pandas polars numpy pyarrow httpx starlette uvicorn sqlalchemy networkx xllamacpp anthropic "
    "openai psycopg h11 cryptography phonenumbers stdnum"
).split()

IMPORT = "import cellwright"
HELP = """
import sys
sys.argv = ["cellwright", "--help"]
from cellwright.cli import main
try:
    code = main()
except SystemExit as end:
    code = end.code
assert not code, code
"""
EVERYTHING = """
import importlib, pkgutil, cellwright, cellwright_guest
for package in (cellwright, cellwright_guest):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
"""

PROBE = r"""
import os, sys

seen, ours = [], []
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod",
           "os.fork", "os.exec", "os.posix_spawn", "os.system", "subprocess.Popen", "tempfile.", "shutil.", "socket.")

def hook(event, args):
    if not ours:
        return
    if event == "open" and isinstance(args[2], int) and args[2] & WRITES:
        seen.append(f"open {args[0]}")
    elif event.startswith(CHANGES):
        seen.append(f"{event} {args[0] if args else ''}")

def reader():
    '''The file that asked for a variable, past the standard library's own layers.'''
    frame = sys._getframe(2)
    while frame and frame.f_code.co_filename.endswith(("os.py", "_collections_abc.py", "<frozen os>",
                                                       "<frozen _collections_abc>")):
        frame = frame.f_back
    return frame.f_code.co_filename if frame else ""

def watched(method):
    original = getattr(type(os.environ), method)
    def watch(self, *args):
        file = reader()
        if ours and ("cellwright" in file or file == "<watched>"):
            seen.append(f"environ {' '.join(map(str, args))} in {file}")
        return original(self, *args)
    setattr(type(os.environ), method, watch)

for method in ("__getitem__", "__iter__", "__len__"):
    watched(method)
sys.addaudithook(hook)
code = compile(sys.argv[1], "<watched>", "exec")
out = os.dup(1)
os.dup2(2, 1)
ours.append(True)
exec(code, {"__name__": "__watched__"})
ours.clear()
import json
os.write(out, json.dumps({"did": seen, "loaded": sorted({m.partition(".")[0] for m in sys.modules})}).encode())
"""


@dataclass(frozen=True)
class Seen:
    """What a piece of code did, and the top-level modules that are loaded after it."""

    did: list[str]
    loaded: list[str]


def watch(code: str, cwd: Path) -> Seen:
    done = subprocess.run(
        [sys.executable, "-I", "-B", "-c", PROBE, code],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Seen(**json.loads(done.stdout))


@pytest.mark.parametrize("code", [IMPORT, HELP], ids=["import", "help"])
def test_no_heavy_package_is_loaded(code: str, tmp_path: Path) -> None:
    assert set(HEAVY) & set(watch(code, tmp_path).loaded) == set()


def test_the_heavy_packages_could_have_been_loaded() -> None:
    assert [name for name in HERE if importlib.util.find_spec(name) is None] == []


def test_importing_cellwright_does_not_import_asyncio(tmp_path: Path) -> None:
    assert "asyncio" not in watch(IMPORT, tmp_path).loaded


@pytest.mark.parametrize("code", [IMPORT, EVERYTHING], ids=["cellwright", "every module"])
def test_importing_does_nothing(code: str, tmp_path: Path) -> None:
    assert watch(code, tmp_path).did == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("open('made', 'w').close()", "open made"),
        ("import os; os.close(os.open('made', os.O_CREAT | os.O_RDWR))", "open made"),
        ("import os; os.mkdir('made')", "os.mkdir made"),
        ("import pathlib; pathlib.Path('made').mkdir()", "os.mkdir made"),
        ("import socket; socket.socket().close()", "socket.__new__"),
        ("import socket; socket.getaddrinfo('localhost', 1)", "socket.getaddrinfo"),
        ("import subprocess; subprocess.run(['true'])", "subprocess.Popen"),
        ("import os; os.environ.get('HOME')", "environ HOME"),
        ("import os; os.getenv('HOME')", "environ HOME"),
        ("import os; 'HOME' in os.environ", "environ HOME"),
        ("import os; dict(os.environ)", "environ"),
    ],
)
def test_the_probe_sees_what_is_done(code: str, said: str, tmp_path: Path) -> None:
    assert any(did.startswith(said) for did in watch(code, tmp_path).did)


def test_the_probe_sees_what_is_loaded(tmp_path: Path) -> None:
    assert {"networkx", "asyncio"} <= set(watch("import networkx, asyncio", tmp_path).loaded)


def test_the_probe_is_quiet_about_reading(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("x")
    assert watch("open('here').read(); import decimal, dataclasses, typing", tmp_path).did == []
