"""Programs of this machine as typed functions, each run in a jail."""

from __future__ import annotations

import shutil

import pytest
from tests.layers import skip_for_lack_of

from cellwright import Limits, Runtime
from cellwright.connectors import Command
from cellwright.errors import UsageError, WrongArguments


async def test_a_program_is_called_from_a_cell_with_its_options_by_name() -> None:
    sort = await Command.open("sort")
    async with Runtime({"sort": sort}) as rt:
        outcome = await rt.execute(
            "d = sort.run(stdin='b\\na\\nc\\n', reverse=True)\n[d.exit_code, d.stdout, d.ok if 'ok' in d else 0]"
        )
    await sort.close()
    assert outcome.value == [0, "c\nb\na\n", 0]


async def test_files_go_in_and_what_was_written_comes_out() -> None:
    sort = await Command.open("sort")
    done = await sort.call("run", {"args": ("in.txt",), "files": {"in.txt": "2\n1\n"}, "output": "out.txt"})
    await sort.close()
    assert (done.exit_code, done.files) == (0, {"out.txt": b"1\n2\n"})


async def test_a_program_does_not_see_what_the_one_before_it_wrote() -> None:
    cat = await Command.open("cat")
    await cat.call("run", {"args": ("a",), "files": {"a": "x"}})
    done = await cat.call("run", {"args": ("a",)})
    await cat.close()
    assert done.exit_code == 1
    assert "No such file" in done.stderr


async def test_a_program_has_no_files_of_the_host_and_no_network() -> None:
    python = await Command.open("/usr/bin/env", commands=False)
    done = await python.call("run", {"args": ("sh", "-c", "cat /etc/shadow; cat /root/.bashrc; cat /proc/net/route")})
    await python.close()
    assert done.exit_code != 0
    assert done.stdout == ""


async def test_commands_that_the_help_lists_are_functions_of_their_own() -> None:
    if shutil.which("git") is None:
        skip_for_lack_of("git")
    git = await Command.open("git")
    done = await git.call("init", {"args": ("here",)})
    await git.close()
    assert {"run", "init", "log"} <= set(git.surface.below(""))
    assert "here/.git/HEAD" in done.files


async def test_a_command_is_called_by_its_own_name_whatever_code_calls_it() -> None:
    listed = "Commands:\\n  run       Run it.\\n  import    Take it in.\\n  set_up    Begin.\\n  tear-down  End.\\n"
    script = f'case "$*" in *--help) printf "{listed}";; *) echo "$@";; esac'
    async with await Command.open(["sh", "-c", script, "tool"], name="tool") as tool, Runtime({"tool": tool}) as rt:
        code = "[getattr(tool, n)('x').stdout for n in ('run', 'run_', 'import_', 'set_up', 'tear_down')]"
        outcome = await rt.execute(code)
    assert outcome.value == ["x\n", "run x\n", "import x\n", "set_up x\n", "tear-down x\n"]


async def test_a_program_that_takes_too_long_is_ended_and_said() -> None:
    sleep = await Command.open("sleep", limits=Limits(processes=4, wall_s=1.0))
    done = await sleep.call("run", {"args": ("30",)})
    await sleep.close()
    assert done.exit_code == 124
    assert "it took longer than 0.5 s" in done.stderr


async def test_a_program_that_is_not_there_is_one_line() -> None:
    with pytest.raises(UsageError, match="no program 'nosuch' on this machine"):
        await Command.open(["nosuch"])


async def test_arguments_that_are_no_texts_are_refused_before_anything_runs() -> None:
    cat = await Command.open("cat")
    with pytest.raises(WrongArguments, match="arguments are texts"):
        await cat.call("run", {"args": ({"a": 1},)})
    with pytest.raises(WrongArguments, match="stdin: give a text or bytes, not int"):
        await cat.call("run", {"stdin": 3})
    await cat.close()
