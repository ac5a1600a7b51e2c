"""`cellwright gateway`: serve `search` and `execute` over sources, and see what that exposes."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.gateway_install import install
from cellwright.cli.gateway_options import (
    AudienceOption,
    BaseUrlOption,
    CheckOption,
    CommandOption,
    ConfigOption,
    CredentialOption,
    DirOption,
    HeaderOption,
    HttpOption,
    IdleOption,
    IssuerOption,
    McpConfigOption,
    McpOption,
    MemoryOption,
    NoAuthOption,
    OpenapiOption,
    OriginOption,
    PackagesOption,
    PolicyOption,
    PublicOption,
    PythonOption,
    RateOption,
    ReadOnlyOption,
    SessionsOption,
    TimeoutOption,
    TokenFileOption,
    TokenOption,
    TokensOption,
    given_in,
    parsed,
    say,
    wrong,
)
from cellwright.cli.given import CANCELLED, FAILED, PLATFORM, USAGE, ended, found, in_options

if TYPE_CHECKING:
    from cellwright.gateway import Report

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
def serve(
    context: typer.Context,
    openapi: OpenapiOption = None,
    mcp: McpOption = None,
    mcp_config: McpConfigOption = None,
    python: PythonOption = None,
    command: CommandOption = None,
    config: ConfigOption = None,
    credential: CredentialOption = None,
    base_url: BaseUrlOption = None,
    header: HeaderOption = None,
    directory: DirOption = None,
    read_only: ReadOnlyOption = False,
    policy: PolicyOption = None,
    check: CheckOption = None,
    timeout: TimeoutOption = "60s",
    memory_mb: MemoryOption = 256,
    packages: PackagesOption = None,
    max_tokens: TokensOption = 4_000,
    idle: IdleOption = "30m",
    sessions: SessionsOption = 100,
    http: HttpOption = None,
    token_file: TokenFileOption = None,
    token: TokenOption = None,
    oauth_issuer: IssuerOption = None,
    oauth_audience: AudienceOption = None,
    no_auth: NoAuthOption = False,
    rate: RateOption = None,
    origin: OriginOption = None,
    public_url: PublicOption = None,
) -> None:
    """Serve two tools, search and execute, over everything that is named here. Over stdio, or with --http.

    Exit codes: 0 the client has left, 1 no source could be opened, 2 wrong usage, 4 this machine cannot serve it,
    130 cancelled with Ctrl-C.
    """
    if context.invoked_subcommand is None:
        _ending(_serve(context.params))


async def _serve(params: dict[str, Any]) -> None:
    from cellwright.gateway import Web, place_of, read_rate, read_tokens, serve_http, serve_stdio

    given = given_in(params)
    if params["http"] is None:
        misplaced = [
            name for name in ("token_file", "token", "oauth_issuer", "no_auth", "rate", "origin") if params[name]
        ]
        if misplaced:
            raise wrong(f"--{misplaced[0].replace('_', '-')} is for --http; over stdio there is one client")
        await serve_stdio(given.sources, given.options, find=found, say=say)
        return
    host, port = place_of(params["http"])
    if params["token_file"] is not None and _is_open(Path(params["token_file"])):
        say(f"--token-file {params['token_file']}: others on this machine may read it; run: chmod 600")
    web = Web(
        host=host, port=port, tokens=read_tokens(params["token_file"], params["token"] or ()),
        issuer=params["oauth_issuer"] or "", audience=params["oauth_audience"] or "", no_auth=params["no_auth"],
        rate=read_rate(params["rate"]) if params["rate"] else None, origins=tuple(params["origin"] or ()),
        public_url=params["public_url"] or "", idle_s=given.options.idle_s, sessions=given.options.sessions,
    )  # fmt: skip
    await serve_http(given.sources, given.options, web, find=found, say=say)


def _is_open(file: Path) -> bool:
    """Whether others than its owner may read a file."""
    return os.name == "posix" and file.is_file() and bool(file.stat().st_mode & 0o044)


def _ending(work: Coroutine[Any, Any, None]) -> None:
    """Run it to its end; what goes wrong is one line and an exit code."""
    from cellwright.errors import PlatformError, UsageError
    from cellwright.gateway import NothingOpen
    from cellwright.settings import install_command

    try:
        asyncio.run(work)
    except NothingOpen as error:
        raise ended(FAILED, str(error)) from None
    except UsageError as error:
        raise ended(USAGE, in_options(str(error))) from None
    except PlatformError as error:
        raise ended(PLATFORM, in_options(str(error))) from None
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("cellwright", "cellwright_guest"):
            raise
        text = f"the gateway needs the package {error.name!r}; run: {install_command('connect')}"
        raise ended(PLATFORM, text) from None
    except asyncio.CancelledError:
        raise typer.Exit(ENDED) from None
    except KeyboardInterrupt:
        raise ended(CANCELLED, "cancelled") from None


gateway.command(
    "install",
    context_settings=_VERBATIM,
    epilog="Example: cellwright gateway install cursor --openapi github=spec.json --credential github=env:GITHUB_TOKEN",
)(install)


@gateway.command(
    "inspect",
    context_settings=_VERBATIM,
    epilog="Example: cellwright gateway inspect --openapi github=spec.json --json",
)
def inspect(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object in place of the picture.")] = False,
) -> None:
    """Open the sources and show what a gateway would expose, in how many tokens, against plain MCP.

    Takes the options of `cellwright gateway`. Exit codes: 0, 1 no source could be opened, 2 wrong usage.
    """

    async def main() -> None:
        from cellwright.gateway import as_plain, close_gateway, inspected, open_gateway

        given = given_in(parsed(context))
        made, failed = await open_gateway(given.sources, given.options, find=found, say=say)
        try:
            told = [(one.title, one.reason) for one in (*given.problems, *failed)]
            report = await inspected(made, told)
        finally:
            await close_gateway(made)
        if as_json:
            print(json.dumps(as_plain(report), ensure_ascii=False, indent=2))
        else:
            _picture(report)

    _ending(main())


def _picture(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table

    out = Console(highlight=False)
    table = Table("source", "kind", "operations", "as plain MCP tools", "skipped", box=None, pad_edge=False)
    for one in report.sources:
        plain = "–" if one.plain_tokens is None else f"{one.plain_tokens:,} tokens"
        table.add_row(one.name, one.kind, f"{one.operations:,}", plain, f"{one.skipped_count:,}")
    out.print(table)
    out.print()
    most = max(report.plain_tokens, report.tokens, 1)
    for title, tokens in (("plain MCP", report.plain_tokens), ("this gateway", report.tokens)):
        if not tokens:
            continue
        bar = "█" * max(1 if tokens else 0, round(BAR * tokens / most))
        out.print(f"{title:<13} {bar:<{BAR}} {tokens:,} tokens", soft_wrap=True, markup=False)
    out.print(f"(tokens: {report.counted_by})", style="dim")
    for one in report.sources:
        for line in one.skipped:
            out.print(f"skipped {one.name} {line}", style="dim", markup=False, soft_wrap=True)
    for title, reason in report.failed:
        out.print(f"failed  {title}: {reason}", style="red", markup=False, soft_wrap=True)
    if report.query:
        out.print(f"\nsearch({report.query!r}):", markup=False)
        out.print(report.found, markup=False, soft_wrap=True)
