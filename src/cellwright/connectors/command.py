"""`Command`: a command-line program as scope. Its `--help` is read as typed functions; each call runs in a jail.

The program sees the machine's programs and the files that it is given: no network, no keys, no files of other calls.
"""

from __future__ import annotations

import asyncio
import keyword
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cellwright.connectors.help_text import CommandHelp, ProgramOption, read_help
from cellwright.connectors.roots import ListedSurface, make_root
from cellwright.errors import UsageError, WrongArguments
from cellwright.redaction import masked
from cellwright.sandboxes import GUEST_UID, STANDARD, Files, Limits, Opening, ProcessSandbox, Workspace, environment
from cellwright.scope import (
    KEYWORD_ONLY,
    VAR_POSITIONAL,
    Declaration,
    Parameter,
    Record,
    Scope,
    ScopeHost,
    Shape,
    Signature,
    UpstreamOperation,
    find_records_with,
    record_class,
)
from cellwright.settings import Settings

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
    lines=tuple(Declaration(name=name, type=kind, doc=doc) for name, (kind, doc) in _FIELDS.items()),
)
_TAKEN = (
    Parameter(name="args", type="str", kind=VAR_POSITIONAL),
    Parameter(name="stdin", type="str | bytes | None", default="None", kind=KEYWORD_ONLY),
    Parameter(name="files", type="dict[str, str | bytes] | None", default="None", kind=KEYWORD_ONLY),
)


class Command:
    """A program in scope: `jq.run(".a", stdin=text, compact_output=True).stdout`. Made by `await Command.open("jq")`.

    The functions are `run`, and one for each command that the help lists (`git.log(...)`). Arguments are texts, in
    order; options go by name; `stdin` is text or bytes; `files` are put where the program runs, by their paths.
    """

    def __init__(self, name: str, argv: tuple[str, ...], jail: CommandJail, helps: Mapping[str, CommandHelp]) -> None:
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
        """Read the program's help, in the jail. With `commands=False` its commands are given as arguments of `run`."""
        argv = tuple(shlex.split(program) if isinstance(program, str) else program)
        if not argv or shutil.which(argv[0]) is None:
            named = argv[0] if argv else program
            raise UsageError(f"no program {named!r} on this machine; give one that is on the PATH")
        jail = CommandJail(limits)
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
        result = await self._jail.run(argv, _bytes(arguments.get("stdin", b""), "stdin"), files)
        fields = {name: getattr(result, name) for name in _FIELDS} | {"files": dict(result.files)}
        fields |= {name: getattr(result, name).decode(errors="backslashreplace") for name in ("stdout", "stderr")}
        return self._done._of(fields)  # pyright: ignore[reportPrivateUsage]  as connectors do

    async def __aenter__(self) -> Command:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._jail.close()


async def _helps(jail: CommandJail, argv: tuple[str, ...], commands: bool) -> dict[str, CommandHelp]:
    first = await _help(jail, argv)
    helps = {"run": first}
    if commands and first.commands:
        turns = asyncio.Semaphore(4)

        async def help_of(name: str) -> CommandHelp:
            async with turns:
                return await _help(jail, (*argv, name))

        below = await asyncio.gather(*(help_of(name) for name, _ in first.commands))
        for (name, doc), its in zip(first.commands, below, strict=True):
            path = re.sub(r"\W", "_", name)
            path += "_" if name == "run" or keyword.iskeyword(path) else ""
            helps.setdefault(path, CommandHelp(about=doc, usage=its.usage, options=its.options, command=name))
    return helps


async def _help(jail: CommandJail, argv: tuple[str, ...]) -> CommandHelp:
    for flag in ("--help", "-h"):
        result = await jail.run([*argv, flag])
        text = (result.stdout or result.stderr).decode(errors="replace")
        program = read_help(text, OWN)
        if program.options or program.commands or program.usage:
            return program
    return CommandHelp()


def _offered(argv: tuple[str, ...], path: str, told: CommandHelp) -> UpstreamOperation:
    parameters = (*_TAKEN, *(option.parameter for option in told.options))
    program = " ".join(masked((*argv, told.command) if told.command else argv))
    docs = [f"{option.name}: {option.doc}" for option in told.options if option.doc]
    doc = "\n\n".join(filter(None, (told.about or f"Run {program}.", told.usage, "\n".join(docs))))
    signature = Signature(parameters=parameters, returns="Done")
    line = Declaration(name=path, signatures=(signature,), first="self", doc=doc)
    return UpstreamOperation(path=path, line=line, words=program)


def _flag(option: ProgramOption, value: Any) -> list[str]:
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


FILE_BYTES = 16 << 20
FILES = 200
_CELL = """
import subprocess
try:
    done = subprocess.run(argv, input=given, capture_output=True, timeout=seconds, cwd="/workspace")
    answer = [done.returncode, done.stdout[:most], done.stderr[:most], len(done.stdout) > most]
except FileNotFoundError:
    answer = [127, b"", ("no program " + argv[0] + " in the jail").encode(), False]
except subprocess.TimeoutExpired as late:
    answer = [124, (late.stdout or b"")[:most], f"it took longer than {seconds:g} s and was ended".encode(), False]
answer
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramResult:
    """The result of a run. `files` are those that it wrote; `cut`: it printed more than is kept."""

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    cut: bool = False


class CommandJail:
    """Runs programs, each in a guest and a directory of its own. `limits` bind one run."""

    def __init__(self, limits: Limits) -> None:
        if limits.processes < 1:
            raise UsageError("Limits(processes=0) starts no program; give at least 1")
        self._limits = limits
        self._sandbox: ProcessSandbox | None = None
        self._opening = asyncio.Lock()

    async def run(
        self, argv: Sequence[str], given: bytes = b"", files: Mapping[str, bytes] | None = None
    ) -> ProgramResult:
        sandbox = await self._ready()
        workspace = await asyncio.to_thread(Workspace.create, None, GUEST_UID)
        try:
            there = Files(workspace, most_bytes=FILE_BYTES)
            for path, content in (files or {}).items():
                await there.write(path, content)
            # less than the jail has, so that the result says how the program ended
            seconds = max(self._limits.wall_s - 1.0, self._limits.wall_s / 2)
            most = self._limits.output_kb << 10
            names = {"argv": list(argv), "given": given, "seconds": seconds, "most": most}
            host = ScopeHost(Scope(names))
            interpreter = await sandbox.open(Opening(host=host, limits=self._limits, workspace=workspace))
            try:
                outcome = await interpreter.run(1, _CELL)
            finally:
                await interpreter.close()
                host.close()
            code, stdout, stderr, cut = outcome.unwrap()
            written = await _written(there, files or {})
            return ProgramResult(exit_code=code, stdout=stdout, stderr=stderr, files=written, cut=cut)
        finally:
            await asyncio.to_thread(workspace.remove)

    async def _ready(self) -> ProcessSandbox:
        async with self._opening:
            if self._sandbox is None:
                cache = Settings.from_environment().cache_dir
                found = await environment(None, cache=cache, progress=lambda line: None)
                self._sandbox = ProcessSandbox(found, required=STANDARD)
            return self._sandbox

    async def close(self) -> None:
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            await sandbox.close()


async def _written(files: Files, given: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files that are new or changed. Too many files, or one that is too large, are an error: none is left out."""
    written = {entry.path: await files.read(entry.path) for entry in await files.list(most=FILES) if not entry.is_dir}
    return {path: content for path, content in written.items() if given.get(path) != content}
