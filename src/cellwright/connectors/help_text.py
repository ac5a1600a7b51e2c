"""Reads the `--help` of a program: its options with their types, and its commands.

Help is written for people. A line that is not understood is left out: every argument can still be given as text.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass

from cellwright.scope import KEYWORD_ONLY, Parameter

LINES = 4_000
WIDTH = 500  # characters of a line
OPTIONS = 120
COMMANDS = 60
DOC = 160
_VALUE = (
    r"(?:\[?[= ]?\[?(?P<value><[^<>]*>|\{[^{}]*\}|[A-Z][A-Z0-9_:|,.\-/]*(?:=[A-Z]+)?|[a-z]\w*(?:\|[\w.\-]+)*)\]?\]?)?"
)
_OPTION = re.compile(
    rf"^\s{{1,12}}(?:-(?P<short>\w)(?:[ =]?(?:<[^<>]*>|[A-Z]+))?(?:,? |, ?))?--(?P<long>[A-Za-z0-9][\w.\-]*){_VALUE}"
    r"(?:\.\.\.)?(?P<rest>\s*$|\s{2,}.*|:.*)"
)
_SHORT_ONLY = re.compile(r"^\s{1,12}-(?P<short>[A-Za-z0-9])\s{2,}(?P<rest>\S.*)$")
_COMMANDS = re.compile(
    r"^(?:[\w ]*\b(?:sub)?commands?\b[\w ,]*|[a-z][\w ,]+\(see also: .*\)|positional arguments):?\s*$", re.IGNORECASE
)
_COMMAND = re.compile(r"^\s{1,8}(?P<name>[a-z][a-z0-9_\-]*)(?:, [a-z]+)?\s{2,}(?P<doc>\S.*)$")
_FRAMES = str.maketrans("│╭╮╰╯─┃┏┓┗┛━", " " * 12)  # as rich draws them
_TABLE = re.compile(r"^\s+(TEXT|INTEGER|FLOAT|PATH|FILE|DIRECTORY|FILENAME|UUID|<[^<>]+>|\[[^\[\]]+\])\s{2,}")
_NUMBER = re.compile(r"^(?:n|num|number|count|int|integer|size|lines|depth|port|seconds|secs|bytes)$", re.IGNORECASE)
_CHOICES = re.compile(r"^\{?([\w.\-]+(?:[,|][\w.\-]+)+)\}?$")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramOption:
    """One option: its name in code, the program's own name, and the type of its value ("bool": it takes none)."""

    name: str
    flag: str
    type: str = "bool"
    doc: str = ""

    @property
    def parameter(self) -> Parameter:
        if self.type == "bool":
            return Parameter(name=self.name, type="bool", default="False", kind=KEYWORD_ONLY)
        return Parameter(name=self.name, type=f"{self.type} | None", default="None", kind=KEYWORD_ONLY)


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandHelp:
    """The purpose of a program, its options, and its commands with a sentence each.

    `command` is the command whose help this is, "" for the program itself.
    """

    command: str = ""
    about: str = ""
    usage: str = ""
    options: tuple[ProgramOption, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()


def read_help(text: str, taken: frozenset[str] = frozenset()) -> CommandHelp:
    """Read the output of `--help`. `taken` are names that no option may have."""
    lines = [line[:WIDTH].expandtabs().translate(_FRAMES).rstrip() for line in text.splitlines()[:LINES]]
    options: dict[str, ProgramOption] = {}
    for number, line in enumerate(lines):
        option = _option(line, lines[number + 1 : number + 2], taken)
        if option is not None and len(options) < OPTIONS:
            options.setdefault(option.name, option)
    return CommandHelp(
        about=_about(lines),
        usage=next((line.strip() for line in lines if re.match(r"\s*usage:", line, re.IGNORECASE)), "")[:DOC],
        options=tuple(options.values()),
        commands=tuple(_commands(lines).items())[:COMMANDS],
    )


def _option(line: str, following: list[str], taken: frozenset[str]) -> ProgramOption | None:
    match = _OPTION.match(line) or _SHORT_ONLY.match(line)
    if match is None:
        return None
    found = match.groupdict()
    flag = f"--{found['long']}" if found.get("long") else f"-{found['short']}"
    name = re.sub(r"\W", "_", flag.lstrip("-"))
    name = f"n{name}" if name[0].isdigit() else name
    name = f"{name}_" if keyword.iskeyword(name) or name in taken else name
    if not (name.isascii() and name.isidentifier()):  # Python folds other letters: two options may become one name
        return None
    column = _TABLE.match(found["rest"])  # typer writes the type in a column of its own
    if column is not None:
        found |= {"value": found.get("value") or column[1], "rest": found["rest"][column.end() :]}
    doc = found["rest"].strip(" :") or (following[0].strip() if following and following[0].startswith("      ") else "")
    return ProgramOption(name=name, flag=flag, type=_type(found.get("value") or ""), doc=doc[:DOC])


def _type(value: str) -> str:
    inner = value.strip("<>{}[]= ")
    if not inner:
        return "bool"
    choices = _CHOICES.match(inner)
    if choices is not None and len(found := re.split(r"[,|]", choices[1])) <= 20:
        return f"Literal[{', '.join(map(repr, found))}]"
    return "int | str" if _NUMBER.match(inner) else "str"


def _about(lines: list[str]) -> str:
    """The first sentence that is neither usage nor a heading nor an option."""
    for line in lines:
        words = line.strip()
        usage = re.match(r"(?:usage|options|commands)\b", words, re.IGNORECASE) or words.startswith(("-", "[", "<"))
        usage = usage or _COMMANDS.match(words) or words.startswith("These are common")
        if len(words) > 12 and " " in words and not usage and not words.endswith(":") and not words.startswith("or:"):
            return words[:DOC]
    return ""


def _commands(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    inside = False
    for line in lines:
        if _COMMANDS.match(line.strip()) and line.strip():
            inside = True
        elif inside and (match := _COMMAND.match(line)):
            found.setdefault(match["name"], match["doc"][:DOC])
        elif inside and line and not line.startswith(" "):
            inside = False
    found.pop("help", None)
    return found
