"""`Command`: a command-line program as scope. What its `--help` says becomes typed functions; each call runs in a jail.

It sees the machine's programs, the files that it is given and nothing else: no network, no keys, no other call's files.
"""

from __future__ import annotations

import asyncio
import keyword
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from cellwright.connectors.help_text import Help, Option, read_help
from cellwright.connectors.jailed import Jail
from cellwright.connectors.listed import ListedSurface
from cellwright.connectors.roots import make_root
from cellwright.errors import UsageError, WrongArguments
from cellwright.sandboxes import Limits
from cellwright.scope import Line, Offered, Record, Shape, find_records_with, record_class

LIMITS = Limits(processes=16, wall_s=30.0, output_kb=1024)
OWN = frozenset(("self", "args", "stdin", "files"))
_FIELDS = {
    "exit_code": ("int", "0 where all went well."),
    "stdout": ("str", "What it printed; bytes that are no UTF-8 are shown as \\x…"),
    "stderr": ("str", "What it said besides."),
    "files": ("dict[str, bytes]", "The files that it wrote, by their paths."),
    "cut": ("bool", "Whether there was more output than is kept."),
}
DONE = Shape(
    name="Done",
    kind="record",
    doc="What came of a run of the program.",
    lines=tuple(
        Line(name=name, heads=(f"{name}: {kind}",), callable=False, gives=kind, doc=doc)
        for name, (kind, doc) in _FIELDS.items()
    ),
)


class Command:
    """A program in scope: `jq.run(".a", stdin=text, compact_output=True).stdout`. Made by `await Command.open("jq")`.

    The functions are `run`, and one for each command that the help lists (`git.log(...)`). Arguments are texts, in
    order; options go by name; `stdin` is text or bytes; `files` are put where the program runs, by their paths.
    """

    def __init__(self, name: str, argv: tuple[str, ...], jail: Jail, helps: Mapping[str, Help]) -> None:
        self.name = name
        self._argv = argv
        self._jail = jail
        self._options = {path: {o.name: o for o in one.options} for path, one in helps.items()}
        self._words = {path: [one.command] if one.command else [] for path, one in helps.items()}
        self._surface = ListedSurface(
            [_offered(argv, path, one) for path, one in helps.items()],
            {"Done": DONE},
            {"": helps["run"].about or f"The program {argv[0]}, in a jail."},
        )
        self._done = record_class(name, "Done", fields={field: field for field in _FIELDS}, doc=DONE.doc)
        self._root = make_root(name, self._surface, self.call)
        find_records_with(name, self)

    @classmethod
    async def open(
        cls, program: str | Sequence[str], *, name: str | None = None, limits: Limits = LIMITS, commands: bool = True
    ) -> Command:
        """Read the program's help, in the jail. `commands=False` leaves its commands to be given as arguments."""
        argv = tuple(shlex.split(program) if isinstance(program, str) else program)
        if not argv or shutil.which(argv[0]) is None:
            raise UsageError(
                f"no program {argv[0] if argv else program!r} on this machine; give one that is on the PATH"
            )
        jail = Jail(limits)
        try:
            helps = await _helps(jail, argv, commands)
        except BaseException:
            await jail.close()
            raise
        title = name or re.sub(r"\W", "_", argv[0].rpartition("/")[2])
        return cls(title, argv, jail, helps)

    @property
    def root(self) -> Any:
        return self._root

    @property
    def surface(self) -> ListedSurface:
        return self._surface

    def record(self, name: str) -> type[Record] | None:
        return self._done if name == "Done" else None

    async def call(self, path: str, arguments: dict[str, Any]) -> Any:
        arguments = {name: value for name, value in arguments.items() if value is not None}
        options = self._options[path]
        flags = [text for name, value in arguments.items() if name in options for text in _flag(options[name], value)]
        args = arguments.get("args", ())
        if not all(isinstance(arg, str | int | float) for arg in args):
            raise WrongArguments(f"{self.name}.{path}: arguments are texts; give stdin= or files= for data")
        argv = [*self._argv, *self._words[path], *flags, *map(str, args)]
        files = {path: _bytes(content, path) for path, content in dict(arguments.get("files", {})).items()}
        ran = await self._jail.run(argv, _bytes(arguments.get("stdin", b""), "stdin"), files)
        found = {name: getattr(ran, name) for name in _FIELDS}
        found |= {name: getattr(ran, name).decode(errors="backslashreplace") for name in ("stdout", "stderr")}
        return self._done._of(found | {"files": dict(ran.files)})  # pyright: ignore[reportPrivateUsage]  as connectors do

    async def __aenter__(self) -> Command:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._jail.close()


async def _helps(jail: Jail, argv: tuple[str, ...], commands: bool) -> dict[str, Help]:
    first = await _help(jail, argv)
    helps = {"run": first}
    if commands and first.commands:
        turns = asyncio.Semaphore(4)

        async def one(name: str) -> Help:
            async with turns:
                return await _help(jail, (*argv, name))

        found = await asyncio.gather(*(one(name) for name, _ in first.commands))
        for (name, doc), told in zip(first.commands, found, strict=True):
            path = re.sub(r"\W", "_", name)
            path += "_" if name == "run" or keyword.iskeyword(path) else ""
            helps.setdefault(path, Help(about=doc, usage=told.usage, options=told.options, command=name))
    return helps


async def _help(jail: Jail, argv: tuple[str, ...]) -> Help:
    for flag in ("--help", "-h"):
        ran = await jail.run([*argv, flag])
        text = (ran.stdout or ran.stderr).decode(errors="replace")
        told = read_help(text, OWN)
        if told.options or told.commands or told.usage:
            return told
    return Help()


def _offered(argv: tuple[str, ...], path: str, told: Help) -> Offered:
    parameters = [
        "*args: str",
        "stdin: str | bytes | None = None",
        "files: dict[str, str | bytes] | None = None",
        *(option.parameter for option in told.options),
    ]
    program = " ".join((*argv, told.command) if told.command else argv)
    docs = [f"{option.name}: {option.doc}" for option in told.options if option.doc]
    doc = "\n\n".join(filter(None, (told.about or f"Run {program}.", told.usage, "\n".join(docs))))
    line = Line(
        name=path,
        heads=(f"def {path}(self, {', '.join(parameters)}) -> Done",),
        callable=True,
        gives="Done",
        parameters=("args", "stdin", "files", *(option.name for option in told.options)),
        doc=doc,
    )
    return Offered(path=path, line=line, words=program)


def _flag(option: Option, value: Any) -> list[str]:
    if option.type == "bool":
        return [option.flag] if value else []
    if issubclass(type(value), list | tuple):
        return [text for one in value for text in _flag(option, one)]
    return [f"{option.flag}={value}"] if option.flag.startswith("--") else [option.flag, str(value)]


def _bytes(given: Any, what: str) -> bytes:
    if isinstance(given, str):
        return given.encode()
    if isinstance(given, bytes):
        return given
    raise WrongArguments(f"{what}: give a text or bytes, not {type(given).__name__}")
