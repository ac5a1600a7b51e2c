"""`cellwright exec` as a user runs it: a process with arguments, output and an exit code."""

from __future__ import annotations

import inspect
import json
import os
import pty
import signal
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
from tests.layers import skip_where_refused

from cellwright.cli.exec import execute
from cellwright.sandboxes import Limits

SHOP = '''
"""A module of the developer's."""
class Till:
    """Counts."""
    def __init__(self): self.total = 0
    def pay(self, amount: int) -> int:
        """Adds an amount."""
        self.total += amount
        return self.total
    def orders(self):
        return [{"id": 1}, {"id": 2}]
till = Till()
'''


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


def cellwright(*args: str, cwd: Path, stdin: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "cellwright", *args],
        cwd=cwd,
        input=stdin,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    skip_where_refused(done.stdout + done.stderr)
    return done


def test_the_value_of_the_last_line_is_printed(here: Path) -> None:
    done = cellwright("exec", "-c", "x = 20\nx + 22", cwd=here)
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


@pytest.mark.slow
def test_a_file_is_one_cell(here: Path) -> None:
    (here / "cell.py").write_text("import json\nprint(json.dumps([1]))\n'done'\n")
    done = cellwright("exec", "cell.py", cwd=here)
    assert (done.returncode, done.stdout) == (0, "[1]\n'done'\n")


@pytest.mark.slow
def test_code_comes_from_stdin(here: Path) -> None:
    done = cellwright("exec", "-", cwd=here, stdin="print('from stdin')")
    assert (done.returncode, done.stdout) == (0, "from stdin\n")


@pytest.mark.slow
def test_none_prints_nothing_and_a_value_starts_on_its_own_line(here: Path) -> None:
    assert cellwright("exec", "-c", "None", cwd=here).stdout == ""
    assert cellwright("exec", "-c", "print('a', end='')\n1", cwd=here).stdout == "a\n1\n"


def test_objects_of_a_module_are_called_on_the_host(here: Path) -> None:
    code = "till.pay(3); kasse.pay(4); pay(5)"
    scope = ["--scope", "shop:till", "--scope", "kasse=shop:till", "--scope", "shop:till.pay"]
    done = cellwright("exec", *scope, "-c", code, cwd=here)
    assert (done.returncode, done.stdout, done.stderr) == (0, "12\n", "")


def test_an_exception_goes_to_stderr_with_code_1(here: Path) -> None:
    done = cellwright("exec", "-c", "print('before')\n1 / 0", cwd=here)
    assert (done.returncode, done.stdout) == (1, "before\n")
    assert "1 / 0" in done.stderr
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--wall-s", "0.3"], "print('on')\nwhile True: pass", "TimeLimit: the cell ran longer than wall_s=0.3"),
        (["--memory-mb", "32"], "print('on')\nbytearray(200 << 20)", "MemoryLimit: the cell needed more"),
        (["--host-calls", "1"], "print('on')\ntill.pay(1); till.pay(1)", "CallLimit"),
    ],
)
def test_a_limit_is_code_3(options: list[str], code: str, said: str, here: Path) -> None:
    done = cellwright("exec", "--scope", "shop:till", *options, "-c", code, cwd=here)
    assert (done.returncode, done.stdout) == (3, "on\n")
    assert said in done.stderr


@pytest.mark.slow
def test_a_crash_is_code_4(here: Path) -> None:
    done = cellwright("exec", "-c", "import os\nprint('on')\nos._exit(7)", cwd=here)
    assert (done.returncode, done.stdout) == (4, "on\n")
    assert done.stderr.startswith("Crashed: the guest process ended itself with exit code 7")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "give a FILE, or - for stdin, or -c CODE"),
        (["cell.py", "-c", "1"], "give a FILE, or - for stdin, or -c CODE"),
        (["absent.py"], "cannot read absent.py: No such file or directory"),
        (["."], "cannot read .: Is a directory"),
        (["-c", "1", "--scope", "shop"], "give [NAME=]MODULE:OBJECT"),
        (["-c", "1", "--scope", "=shop:till"], "give [NAME=]MODULE:OBJECT"),
        (["-c", "1", "--scope", "shop:none"], "AttributeError: module 'shop' has no attribute 'none'"),
        (["-c", "1", "--scope", "no_such:x"], "No module named 'no_such'"),
        (["-c", "1", "--scope", "broken:x"], "ZeroDivisionError"),
        (["-c", "1", "--scope", "a b=shop:till"], "'a b' cannot be a name in scope"),
        (["-c", "1", "--wall-s", "0"], "--wall-s 0: give a number of at least 0.001"),
        (["-c", "1", "--memory-mb", "much"], "'much' is not a valid int"),
        (["-c", "1", "--workspace", "absent"], "workspace absent is no directory"),
        (["-c", "1", "--packages", "no/such/venv"], "is no directory"),
        (["-c", "1", "--packages", "--evil"], "is no requirement"),
        (["-c", "1", "--nonsense"], "No such option: --nonsense"),
    ],
)
def test_bad_input_is_one_line_and_code_2(args: list[str], said: str, here: Path) -> None:
    (here / "broken.py").write_text("1 / 0")
    done = cellwright("exec", *args, cwd=here)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("cellwright: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


@pytest.mark.slow
def test_a_directory_is_shared_with_the_code(here: Path) -> None:
    shared = here / "shared"
    shared.mkdir()
    done = cellwright("exec", "--workspace", "shared", "-c", "open('out.txt', 'w').write('made inside')", cwd=here)
    assert (done.returncode, done.stdout) == (0, "11\n")
    assert (shared / "out.txt").read_text() == "made inside"


@pytest.mark.slow
def test_packages_of_an_environment_can_be_imported_wherever_it_lies(here: Path) -> None:
    venv.create(here / "env", with_pip=False)  # below /tmp, where a guest has a directory of its own
    (site,) = (here / "env").glob("lib/python*/site-packages")
    (site / "greeting.py").write_text("WORD = 'hello'")
    done = cellwright("exec", "--packages", "./env", "-c", "import greeting; greeting.WORD", cwd=here)
    assert (done.returncode, done.stdout, done.stderr) == (0, "'hello'\n", "")


def test_json_holds_the_whole_outcome(here: Path) -> None:
    done = cellwright("exec", "--json", "--scope", "shop:till", "-c", "print('a')\ntill.pay(3)\n{'n': [1]}", cwd=here)
    told: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == 0
    assert {k: told[k] for k in ("value", "stdout", "error", "rung")} == {
        "value": {"n": [1]},
        "stdout": "a\n",
        "error": None,
        "rung": "process",
    }
    assert [call["name"] for call in told["calls"]] == ["till.pay"]
    assert told["duration_s"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("code", ["{1, 2}", "lambda: 1", "till"])
def test_json_gives_the_repr_of_a_value_that_json_has_no_word_for(code: str, here: Path) -> None:
    told = json.loads(cellwright("exec", "--json", "--scope", "shop:till", "-c", code, cwd=here).stdout)
    assert type(told["value"]) is str


@pytest.mark.slow
def test_json_tells_an_error_and_keeps_the_exit_code(here: Path) -> None:
    raised = cellwright("exec", "--json", "-c", "print('a')\n{}['k']", cwd=here)
    assert raised.returncode == 1
    error = json.loads(raised.stdout)["error"]
    assert error["type"] == "KeyError"
    assert error["text"].endswith("KeyError: 'k'")
    limited = cellwright("exec", "--json", "--wall-s", "0.2", "-c", "print('a')\nwhile True: pass", cwd=here)
    assert limited.returncode == 3
    told = json.loads(limited.stdout)
    assert (told["error"]["type"], told["stdout"]) == ("TimeLimit", "a\n")


def started(code: str, cwd: Path, **more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "cellwright", "exec", "-c", code]
    return subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


@pytest.mark.slow
def test_prints_stream_and_ctrl_c_cancels_with_code_130(here: Path) -> None:
    with started("import time\nprint('on')\ntime.sleep(25)", here) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "on\n"  # while the cell still runs
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err) == (130, "", "cellwright: cancelled\n")


@pytest.mark.slow
def test_a_reader_that_leaves_ends_the_cell_quietly(here: Path) -> None:
    with started("import time\nwhile True: print('x' * 100); time.sleep(0.001)", here) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.wait(timeout=30) == 141
        assert running.stderr.read() == ""


def on_a_terminal(*args: str, cwd: Path, **environ: str) -> str:
    """What the command writes when a terminal is on its other end."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "cellwright", *args]
    with subprocess.Popen(
        command, cwd=cwd, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm-256color", **environ}
    ) as running:
        os.close(theirs)
        parts: list[bytes] = []
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # EIO: the other side has closed
                break
            if not part:
                break
            parts.append(part)
        running.wait(timeout=60)
    os.close(ours)
    return b"".join(parts).decode()


@pytest.mark.slow
def test_errors_have_colour_on_a_terminal_unless_no_color_is_set(here: Path) -> None:
    assert "\x1b[31m" in on_a_terminal("exec", "-c", "1 / 0", cwd=here)
    assert "\x1b[3" not in on_a_terminal("exec", "-c", "1 / 0", cwd=here, NO_COLOR="1")


def test_the_options_have_the_defaults_of_limits() -> None:
    parameters = inspect.signature(execute).parameters
    asked = {name: parameters[name].default for name in Limits.__dataclass_fields__}
    assert Limits(**asked) == Limits()


@pytest.mark.parametrize("args", [["--help"], ["exec", "--help"], ["doctor", "--help"]])
def test_help_has_an_example(args: list[str], here: Path) -> None:
    done = cellwright(*args, cwd=here)
    assert done.returncode == 0
    assert "Example: cellwright " in done.stdout


def test_the_version_is_that_of_the_package(here: Path) -> None:
    from importlib.metadata import version

    assert cellwright("--version", cwd=here).stdout == f"cellwright {version('cellwright')}\n"


def test_an_unknown_command_is_code_2(here: Path) -> None:
    done = cellwright("serve-tea", cwd=here)
    assert done.returncode == 2
    assert done.stderr == "cellwright: No such command 'serve-tea'; `cellwright --help` says more\n"
