"""What the developer's directory holds in these tests: live objects, and models that say what they were told to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.layers import skip_where_refused

SHOP = '''
"""Live objects."""
import asyncio
from dataclasses import dataclass
from cellwright import operation

@dataclass(frozen=True)
class Contact:
    name: str
    city: str

class Crm:
    """Contacts, and letters to them."""
    def __init__(self):
        self.letters = []
    @operation(reads=True, direct=True)
    def contacts(self, city: str | None = None) -> list[Contact]:
        """Contacts, of one city or all."""
        everybody = [Contact("Ada", "Oslo"), Contact("Bo", "Oslo"), Contact("Cy", "Rome")]
        return [c for c in everybody if city in (None, c.city)]
    def write(self, name: str) -> int:
        """Send a letter; gives its number."""
        self.letters.append(name)
        return len(self.letters)

crm = Crm()

@operation(ask=True)
def pay(amount: int) -> str:
    """Pay money."""
    return f"paid {amount}"

async def forever() -> None:
    """Never comes back."""
    await asyncio.Event().wait()
'''

MODELS = '''
"""Models of the developer's own, for `--model models:…`."""
import asyncio
from cellwright.doors import Reply
from cellwright.errors import ModelBusy, ModelRefused
from cellwright.messages import AssistantMessage, Piece, Traits, Usage
from cellwright.testing import ScriptedModel, broken, call, code, fenced

async def never(_):
    await asyncio.Event().wait()

class Half:
    """Tells the beginning of a reply, and never comes to its end."""
    name, traits = "half", Traits()
    def __init__(self, *pieces):
        self.pieces = pieces
    async def request(self, request, on_piece=None):
        for piece in self.pieces:
            on_piece(piece)
        await asyncio.Event().wait()
    async def close(self):
        pass

text = ScriptedModel(otherwise="A plain answer.")
oslo = ScriptedModel(
    code("people = crm.contacts(city='Oslo')\\nprint(len(people), 'people')\\nfor p in people:\\n    crm.write(p.name)",
         say="I look who lives there."),
    code("done(people)"),
    otherwise=code("done(len(people))"),
)
fences = ScriptedModel(fenced("6 * 7", say="I compute."), "It is 42.", traits=Traits(calls=False, window=8192))
stuck = ScriptedModel(otherwise=code("{}['k']"))
refused = ScriptedModel(otherwise=ModelRefused("401: wrong key"))
unbounded = ScriptedModel(otherwise=code("nan = float('nan')\\ndone([1.5, nan, {'a': float('inf'), nan: 1}])"))
raises = ScriptedModel(otherwise=ExceptionGroup("two\\nlines", [KeyError("a"), ValueError("b")]))
runs_out = ScriptedModel()
words = ScriptedModel(otherwise=code("done('many')"))
nothing = ScriptedModel(otherwise=code("done()"))
live = ScriptedModel(otherwise=code("done({1: crm})"))
escapes = ScriptedModel(otherwise=code("print('a\\\\x1b[2Jb')\\ndone(1)"))
waits = ScriptedModel(code("x = 5\\nprint('set')"), never)
sleeps = ScriptedModel(otherwise=code("import time\\ntime.sleep(5)\\ndone(1)"))
goes_on = ScriptedModel(otherwise=code("done(x)"))
hangs = ScriptedModel(code("x = 1\\ndone(x)"), code("x = 2\\ncrm.write('Ada')\\nawait forever()"), code("done(x)"))
planned = ScriptedModel("Plan:\\n1. look -- crm.contacts\\n2. count -- python", code("done(2)"))
direct = ScriptedModel([call("crm__contacts", city="Rome")], [call("done", value=1)])
busy = ScriptedModel(
    broken("This is the beginning of a reply that is never finished",
           ModelBusy("529 overloaded", retry_after_s=0.0)),
    "The whole reply.",
)
half_text = Half(Piece(text="The first words are here "))
half_code = Half(Piece(text=\'{"code": "x = 1\\\\nfor i\', kind="call", name="execute"))
pays = ScriptedModel(otherwise=code("done(pay(70))"))
loops = ScriptedModel(otherwise=code("for n in range(31):\\n    crm.write(str(n))\\ndone(n)"))
two_calls = (call("execute", code="x = 1"), call("execute", code="done(x)"))
two_cells = ScriptedModel(AssistantMessage(text="", calls=two_calls))
not_a_model = 7
'''


def fill(directory: Path) -> Path:
    (directory / "shop.py").write_text(SHOP)
    (directory / "models.py").write_text(MODELS)
    return directory


def environment(here: Path, **more: str) -> dict[str, str]:
    """No key, and a state of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    kept.pop("AWS_BEARER_TOKEN_BEDROCK", None)
    return {**kept, "CELLWRIGHT_STATE": str(here / "state"), **more}


def cellwright(*args: str, cwd: Path, stdin: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "cellwright", *args],
        cwd=cwd,
        input=stdin,
        env=environment(cwd, **environ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    skip_where_refused(done.stdout + done.stderr)
    return done


def started(*args: str, cwd: Path, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "cellwright", *args],
        cwd=cwd,
        env=environment(cwd),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


# Each command line as if it were a process of its own, without the price of one.
IN_ONE = """
import contextlib, io, json, sys
from cellwright.cli import main
for args in json.loads(sys.argv[1]):
    sys.argv = ["cellwright", *args]
    sys.stdin, out, err = io.StringIO(), io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main()
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""


def one_after_another(lines: list[list[str]], *, cwd: Path) -> list[tuple[int, str, str]]:
    """The exit code, stdout and stderr of each command line."""
    done = subprocess.run(
        [sys.executable, "-c", IN_ONE, json.dumps(lines)],
        cwd=cwd,
        env=environment(cwd),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]
