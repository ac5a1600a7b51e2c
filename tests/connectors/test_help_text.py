"""Help as programs print it, read into options and commands."""

from __future__ import annotations

import argparse
import io

import pytest

from cellwright.connectors.help_text import read_help

GNU = """Usage: show [OPTION]... [FILE]...
Show what is in FILEs.

  -a, --all                  do not ignore entries starting with .
      --block-size=SIZE      scale sizes by SIZE; e.g., '--block-size=M'
      --color[=WHEN]         color the output WHEN
  -n, --lines=NUM            print NUM lines
  -x                         list by lines
      --class=WORD           a name that Python keeps for itself
"""
CLICK = """Usage: tool [OPTIONS] COMMAND [ARGS]...

  Does things with things.

Options:
  -c, --config FILE           Where it is configured.
  --mode [fast|slow]          How it goes.
  --help                      Show this message and exit.

Commands:
  build-all  Build everything.
  clean      Remove what was built.
"""
RICH = """
 Usage: tool [OPTIONS]

 Does things with things.

╭─ Options ──────────────────────────────────────────╮
│ --name        TEXT     Who it is. [default: None]   │
│ --loud                 Say it loudly.               │
╰─────────────────────────────────────────────────────╯
"""


def parameters(text: str) -> list[str]:
    return [option.parameter.text for option in read_help(text).options]


def test_gnu_options_are_read_with_what_they_take() -> None:
    assert parameters(GNU) == [
        "all: bool = False",
        "block_size: int | str | None = None",
        "color: str | None = None",
        "lines: int | str | None = None",
        "x: bool = False",
        "class_: str | None = None",
    ]
    assert read_help(GNU).about == "Show what is in FILEs."


def test_commands_are_found_with_a_sentence_each() -> None:
    found = read_help(CLICK)
    assert found.commands == (("build-all", "Build everything."), ("clean", "Remove what was built."))
    assert found.about == "Does things with things."


def test_choices_become_literals() -> None:
    assert "mode: Literal['fast', 'slow'] | None = None" in parameters(CLICK)


def test_frames_that_are_drawn_round_options_are_no_obstacle() -> None:
    assert parameters(RICH) == ["name: str | None = None", "loud: bool = False"]


def test_what_argparse_prints_is_read() -> None:
    parser = argparse.ArgumentParser("tool", description="Counts the words of a file.")
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("-v", "--verbose", action="store_true", help="say more")
    parser.add_argument("--kind", choices=["a", "b"])
    text = io.StringIO()
    parser.print_help(text)
    assert parameters(text.getvalue())[1:] == [
        "depth: int | str | None = None",
        "verbose: bool = False",
        "kind: Literal['a', 'b'] | None = None",
    ]


@pytest.mark.parametrize("text", ["", "\n" * 9_000, "-" * 5_000, "usage:", "  --\n  -", "\x00\x01", "  --a=<" * 800])
def test_what_is_no_help_gives_nothing_and_ends(text: str) -> None:
    assert read_help(text).commands == ()


def test_lines_without_end_and_names_that_python_lacks_cost_nothing() -> None:
    told = read_help("usage: x\n\n" + "commands " * 50_000 + "!\n  --a\u00b2=X  odd\n  --good  fine\n")
    assert [option.name for option in told.options] == ["good"]
