"""`cellwright gateway`: serve `search` and `execute` over sources, show what that exposes, configure a client."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.answers import json_text
from cellwright.cli.arguments import FAILED, PLATFORM, ended, exit_on_error, object_named, say
from cellwright.cli.gateway_options import GatewayOptions, parsed, requested
from cellwright.cli.options import option, with_options
from cellwright.errors import UsageError
from cellwright.redaction import is_secret_setting, masked, redacted, url_holds_key, without_keys
from cellwright.settings import install_command

if TYPE_CHECKING:
    from cellwright.gateway import GatewayReport

BAR = 40
ENDED = 143  # by SIGTERM
_VERBATIM = {"allow_extra_args": True, "ignore_unknown_options": True}


gateway = typer.Typer(
    help="Serve search and execute over APIs, MCP servers and objects, to any MCP client.",
    invoke_without_command=True,
    no_args_is_help=False,
    epilog='Examples: cellwright gateway --openapi spec.json --mcp "npx -y @scope/server" · '
    "cellwright gateway install cursor --openapi spec.json · cellwright gateway inspect --openapi spec.json",
)


@gateway.callback()
@with_options
def serve(context: typer.Context, *, options: GatewayOptions) -> None:
    """Serve two tools, search and execute, over everything that is named here. Over stdio, or with --http.

    Exit codes: 0 the client has left, 1 no source could be opened, 2 wrong usage, 4 this machine cannot serve it,
    130 cancelled with Ctrl-C.
    """
    if context.invoked_subcommand is None:
        _ending(_serve(options))


async def _serve(options: GatewayOptions) -> None:
    from cellwright.gateway import WebOptions, place_of, read_rate, read_tokens, serve_http, serve_stdio

    request = requested(options)
    if options.http is None:
        for_http = ("token_file", "token", "oauth_issuer", "no_auth", "rate", "origin")
        misplaced = next((name for name in for_http if getattr(options, name)), None)
        if misplaced is not None:
            raise UsageError(f"--{misplaced.replace('_', '-')} is for --http; over stdio there is one client")
        await serve_stdio(request.sources, request.options, find=object_named, say=say)
        return
    host, port = place_of(options.http)
    tokens = read_tokens(options.token_file, options.token)  # first: it says why a file cannot be read
    if options.token_file is not None and _is_open(Path(options.token_file)):
        say(f"--token-file {options.token_file}: others on this machine may read it; run: chmod 600")
    web = WebOptions(
        host=host, port=port, tokens=tokens,
        issuer=options.oauth_issuer or "", audience=options.oauth_audience or "", no_auth=options.no_auth,
        rate=read_rate(options.rate) if options.rate else None, origins=tuple(options.origin),
        public_url=options.public_url or "", idle_s=request.options.idle_s, sessions=request.options.sessions,
    )  # fmt: skip
    await serve_http(request.sources, request.options, web, find=object_named, say=say)


def _is_open(file: Path) -> bool:
    """Whether others than its owner may read a file."""
    return os.name == "posix" and file.is_file() and bool(file.stat().st_mode & 0o044)


def _ending(work: Coroutine[Any, Any, None]) -> None:
    """Run the work to its end. An error is one line and an exit code."""
    from cellwright.gateway import NothingOpen

    with exit_on_error():
        try:
            asyncio.run(work)
        except NothingOpen as error:
            raise ended(FAILED, str(error)) from None
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] in ("cellwright", "cellwright_guest"):
                raise
            text = f"the gateway needs the package {error.name!r}; run: {install_command('connect')}"
            raise ended(PLATFORM, text) from None
        except asyncio.CancelledError:
            raise typer.Exit(ENDED) from None


@gateway.command(
    "install",
    context_settings=_VERBATIM,
    epilog="Example: cellwright gateway install cursor --openapi github=spec.json --credential github=env:GITHUB_TOKEN",
)
def install(
    context: typer.Context,
    client: Annotated[str, typer.Argument(help="claude, claude-code, cursor, vscode, windsurf, zed, codex or gemini.")],
    name: Annotated[str, option("What the client is to call it.")] = "cellwright",
    file: Annotated[str | None, option("The client's file, if not the usual one.", metavar="FILE")] = None,
    yes: Annotated[bool, option("Write it without asking; comments in the file are lost.", "--yes")] = False,
    only_print: Annotated[bool, option("Print what to add, and write nothing.", "--print")] = False,
) -> None:
    """Enter a gateway with these options into a client's own file, after showing the change and asking.

    Takes the options of `cellwright gateway`. Keys are not written: env:, file: and command: stay what they are.

    Exit codes: 0 it is there, 1 it was not wanted, 2 wrong usage, 4 the file cannot be written.
    """
    from cellwright.gateway import absolute, client_of, config_change, write_change

    here = Path.cwd()
    with exit_on_error(one_line=False):
        options = parsed(context)
        requested(options)  # what would not start is not written
        _no_keys(options, context.args)
        if options.http is not None:
            raise UsageError(
                "--http: a client starts this over stdio; for one that is served, give the client its address"
            )
        command = [*_ourselves(), "gateway", *absolute(context.args, here)]
        wanted = config_change(client_of(client), name, command, Path(file).expanduser() if file else None)
        if only_print:
            print(wanted.entry.rstrip("\n"))
            return
        if wanted.old == wanted.new:
            say(f"{wanted.path} has it already")
            return
        print(redacted(wanted.diff))  # the file has keys of other servers
        _confirm(wanted.comments, yes, str(wanted.path), wanted.entry)
        write_change(wanted)
    say(f"{wanted.path} is written" + (f"; the old one is {wanted.backup}" if wanted.old else ""))


def _no_keys(options: GatewayOptions, words: Sequence[str]) -> None:
    """`UsageError` for a key in what would be written to the client's file."""
    for text in options.header:
        source, _, header = text.partition("=")
        if is_secret_setting(header.partition(":")[0].strip()):
            name = header.partition(":")[0].strip()
            raise UsageError(
                f"--header {source}={name}: … would be written as it is; give --credential {source}=env:NAME"
            )
    for text in (*options.openapi, *options.mcp, *options.base_url, *options.command):
        parts = _parts(re.sub(r"^[A-Za-z]\w*=", "", text))
        for part in parts:
            if "://" in part and url_holds_key(part):
                shown = re.sub(r"://[^/@\s]*@", "://…@", part.partition("?")[0])
                raise UsageError(
                    f"{shown:.100}: its password would be written as it is; give --credential NAME=env:NAME"
                )
        given = [part for part in parts if "://" not in part]
        if (hidden := masked(given)) != given:
            shown = " ".join(hidden)
            raise UsageError(f"{shown:.100}: its key would be written as it is; name the server in a --mcp-config FILE")
    for word in words:
        if (shown := without_keys(word)) != word:
            raise UsageError(f"{shown:.100}: a key would be written as it is; give --credential NAME=env:NAME")


def _parts(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _confirm(comments: bool, yes: bool, path: str, entry: str) -> None:
    if yes:
        return
    if comments:
        raise UsageError(f"{path} has comments, which would be lost; add this by hand, or say --yes:\n{entry}")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("nobody can be asked here; say --yes to write it")
    print(f"Write this to {path}? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ended(FAILED, "nothing was written")


def _ourselves() -> list[str]:
    """How a client starts this program, wherever it is."""
    beside = Path(sys.executable).with_name("cellwright")
    program = str(beside) if beside.is_file() else shutil.which("cellwright")
    return [program] if program else [sys.executable, "-m", "cellwright"]


@gateway.command(
    "inspect",
    context_settings=_VERBATIM,
    epilog="Example: cellwright gateway inspect --openapi github=spec.json --json",
)
def inspect(
    context: typer.Context,
    as_json: Annotated[bool, option("Print one JSON object in place of the picture.", "--json")] = False,
) -> None:
    """Open the sources and show what a gateway would expose, in how many tokens, against plain MCP.

    Takes the options of `cellwright gateway`. Exit codes: 0, 1 no source could be opened, 2 wrong usage.
    """

    async def main() -> None:
        from cellwright.gateway import as_plain, close_gateway, inspect_gateway, open_gateway

        request = requested(parsed(context))
        opened, failed = await open_gateway(request.sources, request.options, find=object_named, say=say)
        try:
            report = await inspect_gateway(opened, [(bad.title, bad.reason) for bad in (*request.problems, *failed)])
        finally:
            await close_gateway(opened)
        if as_json:
            print(json_text(as_plain(report), ensure_ascii=False, indent=2))
        else:
            _picture(report)

    _ending(main())


def _picture(report: GatewayReport) -> None:
    from rich.console import Console
    from rich.table import Table

    out = Console(highlight=False)
    table = Table("source", "kind", "operations", "as plain MCP tools", "skipped", box=None, pad_edge=False)
    for source in report.sources:
        plain = "–" if source.plain_tokens is None else f"{source.plain_tokens:,} tokens"
        table.add_row(source.name, source.kind, f"{source.operations:,}", plain, f"{source.skipped_count:,}")
    out.print(table)
    out.print()
    most = max(report.plain_tokens, report.tokens, 1)
    for title, tokens in (("plain MCP", report.plain_tokens), ("this gateway", report.tokens)):
        if not tokens:
            continue
        bar = "█" * max(1 if tokens else 0, round(BAR * tokens / most))
        out.print(f"{title:<13} {bar:<{BAR}} {tokens:,} tokens", soft_wrap=True, markup=False)
    out.print(f"(tokens: {report.counted_by})", style="dim")
    for source in report.sources:
        for line in source.skipped:
            out.print(f"skipped {source.name} {line}", style="dim", markup=False, soft_wrap=True)
    for title, reason in report.failed:
        out.print(f"failed  {title}: {reason}", style="red", markup=False, soft_wrap=True)
    if report.query:
        out.print(f"\nsearch({report.query!r}):", markup=False)
        out.print(report.found, markup=False, soft_wrap=True)
