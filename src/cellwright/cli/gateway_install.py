"""`cellwright gateway install`: a gateway with its options entered into a client's own file."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from cellwright.cli.gateway_options import given_in, parsed, say, wrong
from cellwright.cli.given import FAILED, PLATFORM, USAGE, ended


def install(
    context: typer.Context,
    client: Annotated[str, typer.Argument(help="claude, claude-code, cursor, vscode, windsurf, zed, codex or gemini.")],
    name: Annotated[str, typer.Option(help="What the client is to call it.")] = "cellwright",
    file: Annotated[str | None, typer.Option(metavar="FILE", help="The client's file, if not the usual one.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Write it without asking; comments in the file are lost.")] = False,
    only_print: Annotated[bool, typer.Option("--print", help="Print what to add, and write nothing.")] = False,
) -> None:
    """Enter a gateway with these options into a client's own file, after showing the change and asking.

    Takes the options of `cellwright gateway`. Keys are not written: env:, file: and command: stay what they are.

    Exit codes: 0 it is there, 1 it was not wanted, 2 wrong usage, 4 the file cannot be written.
    """
    from cellwright.errors import PlatformError, UsageError
    from cellwright.gateway import absolute, change, client_of, write_change

    here = Path.cwd()
    try:
        params = parsed(context)
        given_in(params)  # what would not start is not written
        _no_secrets(params["header"] or ())
        _no_logins(text for option in ("openapi", "mcp", "base_url") for text in params[option] or ())
        if params["http"] is not None:
            raise wrong("--http: a client starts this over stdio; for one that is served, give the client its address")
        command = [*_ourselves(), "gateway", *absolute(context.args, here)]
        wanted = change(client_of(client), name, command, Path(file).expanduser() if file else None)
        if only_print:
            print(wanted.entry.rstrip("\n"))
            return
        if wanted.old == wanted.new:
            say(f"{wanted.path} has it already")
            return
        print(wanted.diff)
        _confirm(wanted.comments, yes, str(wanted.path), wanted.entry)
        write_change(wanted)
    except UsageError as error:
        raise ended(USAGE, str(error)) from None
    except PlatformError as error:
        raise ended(PLATFORM, str(error)) from None
    say(f"{wanted.path} is written" + (f"; the old one is {wanted.backup}" if wanted.old else ""))


def _no_secrets(headers: list[str] | tuple[str, ...]) -> None:
    for text in headers:
        name = text.partition("=")[2].partition(":")[0].strip()
        if re.search(r"auth|key|token|secret|cookie|password", name, re.IGNORECASE):
            source = text.partition("=")[0]
            raise wrong(f"--header {source}={name}: … would be written as it is; give --credential {source}=env:NAME")


def _no_logins(texts: Iterable[str]) -> None:
    for text in texts:
        if re.search(r"://[^/@\s]*:[^/@\s]*@", text):
            shown = re.sub(r"://[^/@\s]*@", "://…@", text)
            raise wrong(f"{shown:.100}: its password would be written as it is; give --credential NAME=env:NAME")


def _confirm(comments: bool, yes: bool, path: str, entry: str) -> None:
    if yes:
        return
    if comments:
        raise wrong(f"{path} has comments, which would be lost; add this by hand, or say --yes:\n{entry}")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise wrong("nobody can be asked here; say --yes to write it")
    print(f"Write this to {path}? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ended(FAILED, "nothing was written")


def _ourselves() -> list[str]:
    """How a client starts this program, wherever it is."""
    beside = Path(sys.executable).with_name("cellwright")
    program = str(beside) if beside.is_file() else shutil.which("cellwright")
    return [program] if program else [sys.executable, "-m", "cellwright"]
