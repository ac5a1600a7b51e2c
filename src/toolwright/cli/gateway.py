"""`toolwright gateway`: serve `search` and `execute` over sources, enter that into a client, see what it exposes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolwright.cli.given import CANCELLED, FAILED, PLATFORM, USAGE, ended, found, in_options, packages_in

if TYPE_CHECKING:
    from toolwright.gateway import Failed, Options, Policy, Report, Source

_FROM, _MAY, _RUN, _WEB = "Sources", "What code may do", "Running code", "Over HTTP"
BAR = 40
ENDED = 143  # by SIGTERM


class Check(StrEnum):
    """What mistakes that the type checker finds do."""

    off = "off"
    warn = "warn"
    strict = "strict"


def _many(metavar: str, text: str, panel: str = _FROM) -> Any:
    return typer.Option(metavar=metavar, help=f"{text} Give it again for another.", rich_help_panel=panel)


OpenapiOption = Annotated[list[str] | None, _many("[NAME=]FILE|URL", "An API, by its OpenAPI description.")]
McpOption = Annotated[list[str] | None, _many("[NAME=]COMMAND|URL", "An MCP server.")]
McpConfigOption = Annotated[list[str] | None, _many("FILE", "MCP servers, from a file with mcpServers.")]
PythonOption = Annotated[list[str] | None, _many("[NAME=]MODULE:OBJECT", "A Python object.")]
CommandOption = Annotated[list[str] | None, _many("[NAME=]PROGRAM", "A command-line program, run in a jail.")]
ConfigOption = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Sources and policy, from a TOML or JSON file.", rich_help_panel=_FROM),
]
CredentialOption = Annotated[
    list[str] | None,
    _many("NAME[.SCHEME]=SOURCE", "A source's key: env:VARIABLE, file:PATH or command:PROGRAM."),
]
BaseUrlOption = Annotated[list[str] | None, _many("NAME=URL", "Where an API is, if not where its description says.")]
HeaderOption = Annotated[list[str] | None, _many("NAME=HEADER: VALUE", "A header for a source's requests.")]
DirOption = Annotated[
    str | None,
    typer.Option("--dir", metavar="DIR", help="Be in this directory: modules are found there.", rich_help_panel=_FROM),
]
ReadOnlyOption = Annotated[
    bool, typer.Option("--read-only", help="Only operations that are known to read.", rich_help_panel=_MAY)
]
PolicyOption = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Which calls are allowed, asked for, denied.", rich_help_panel=_MAY),
]
CheckOption = Annotated[
    Check | None,
    typer.Option(help="What mistakes that the type checker finds do. Strict, where it is here.", rich_help_panel=_RUN),
]
TimeoutOption = Annotated[str, typer.Option(metavar="TIME", help="For one execute.", rich_help_panel=_RUN)]
MemoryOption = Annotated[int, typer.Option(help="Of one client's interpreter.", rich_help_panel=_RUN)]
PackagesOption = Annotated[list[str] | None, _many("NAME|DIR", "A package that code may import.", _RUN)]
TokensOption = Annotated[int, typer.Option(help="What one result has at most.", rich_help_panel=_RUN)]
IdleOption = Annotated[
    str, typer.Option(metavar="TIME", help="An interpreter unused for so long is closed.", rich_help_panel=_RUN)
]
SessionsOption = Annotated[int, typer.Option(help="Interpreters at once.", rich_help_panel=_RUN)]
HttpOption = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Serve there and not on stdio.", rich_help_panel=_WEB)
]
TokenFileOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="Clients: NAME: TOKEN, a line each.", rich_help_panel=_WEB)
]
TokenOption = Annotated[list[str] | None, _many("[NAME=]env:VARIABLE", "A client's token.", _WEB)]
IssuerOption = Annotated[
    str | None, typer.Option(metavar="URL", help="Accept the tokens of this OAuth issuer.", rich_help_panel=_WEB)
]
AudienceOption = Annotated[
    str | None, typer.Option(metavar="TEXT", help="What those tokens are made out to.", rich_help_panel=_WEB)
]
NoAuthOption = Annotated[
    bool, typer.Option("--no-auth", help="Let everybody in, also from other machines.", rich_help_panel=_WEB)
]
RateOption = Annotated[
    str | None, typer.Option(metavar="N/TIME", help="Requests of one client, as 60/min.", rich_help_panel=_WEB)
]
OriginOption = Annotated[list[str] | None, _many("URL", "A web page's origin that may use it.", _WEB)]
PublicOption = Annotated[
    str | None, typer.Option(metavar="URL", help="What clients know it by, behind a proxy.", rich_help_panel=_WEB)
]

gateway = typer.Typer(
    help="Serve search and execute over APIs, MCP servers and objects, to any MCP client.",
    invoke_without_command=True,
    no_args_is_help=False,
    epilog='Examples: toolwright gateway --openapi spec.json --mcp "npx -y @scope/server" · '
    "toolwright gateway install cursor --openapi spec.json · toolwright gateway inspect --openapi spec.json",
)


@dataclass(frozen=True, kw_only=True)
class _Given:
    """The sources, those of files that cannot be used, and how they are served."""

    sources: list[Source]
    problems: list[Failed]
    options: Options


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
    from toolwright.gateway import Web, place_of, read_rate, read_tokens, serve_http, serve_stdio

    given = _given(params)
    if params["http"] is None:
        wrong = [name for name in ("token_file", "token", "oauth_issuer", "no_auth", "rate", "origin") if params[name]]
        if wrong:
            raise _usage(f"--{wrong[0].replace('_', '-')} is for --http; over stdio there is one client")
        await serve_stdio(given.sources, given.options, find=found, say=_say)
        return
    host, port = place_of(params["http"])
    if params["token_file"] is not None and _is_open(Path(params["token_file"])):
        _say(f"--token-file {params['token_file']}: others on this machine may read it; run: chmod 600")
    web = Web(
        host=host, port=port, tokens=read_tokens(params["token_file"], params["token"] or ()),
        issuer=params["oauth_issuer"] or "", audience=params["oauth_audience"] or "", no_auth=params["no_auth"],
        rate=read_rate(params["rate"]) if params["rate"] else None, origins=tuple(params["origin"] or ()),
        public_url=params["public_url"] or "", idle_s=given.options.idle_s, sessions=given.options.sessions,
    )  # fmt: skip
    await serve_http(given.sources, given.options, web, find=found, say=_say)


# what is asked for


def _given(params: dict[str, Any]) -> _Given:
    from toolwright.gateway import Config, policy_from, read_config, read_policy, with_settings

    if params["directory"] is not None:
        _go_to(params["directory"])
    config = read_config(params["config"]) if params["config"] is not None else Config()
    sources, problems = _listed(params)
    sources, problems = [*config.sources, *sources], [*config.problems, *problems]
    if not sources and not problems:
        raise _usage("there is nothing to serve; give --openapi, --mcp, --mcp-config, --python, --command or --config")
    policy = read_policy(params["policy"]) if params["policy"] is not None else config.policy or policy_from({}, "")
    for one in problems:
        _say(f"{one.title}: {one.reason}")
    named = with_settings(sources, params["credential"] or (), params["base_url"] or (), params["header"] or ())
    return _Given(sources=named, problems=problems, options=_options(params, policy))


def _listed(params: dict[str, Any]) -> tuple[list[Source], list[Failed]]:
    from toolwright.gateway import mcp_sources, source_of

    sources = [source_of(k, text) for k in ("openapi", "mcp", "python", "command") for text in params[k] or ()]
    problems: list[Failed] = []
    for file in params["mcp_config"] or ():
        good, bad = mcp_sources(file)
        sources += good
        problems += bad
    return sources, problems


def _options(params: dict[str, Any], policy: Policy) -> Options:
    from toolwright.cli.given import limited
    from toolwright.gateway import Options
    from toolwright.sandboxes import Limits

    for option, least in (("max_tokens", 200), ("sessions", 1)):
        if params[option] < least:
            raise _usage(f"--{option.replace('_', '-')} {params[option]}: give at least {least}")
    wall_s = _seconds("--timeout", params["timeout"])
    return Options(
        policy=policy,
        read_only=params["read_only"],
        check=None if params["check"] is None else Check(params["check"]).value,
        limits=limited(Limits, {"wall_s": wall_s, "cpu_s": wall_s, "memory_mb": params["memory_mb"]}),
        packages=packages_in(params["packages"]),
        max_tokens=params["max_tokens"],
        idle_s=_seconds("--idle", params["idle"]),
        sessions=params["sessions"],
    )


def _is_open(file: Path) -> bool:
    """Whether others than its owner may read a file."""
    return os.name == "posix" and file.is_file() and bool(file.stat().st_mode & 0o044)


def _go_to(directory: str) -> None:
    try:
        os.chdir(directory)
    except OSError as error:
        raise _usage(f"--dir {directory}: {error.strerror}") from None


def _seconds(option: str, text: str) -> float:
    """`90`, `90s`, `30m`, `2h`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|h|min|)", text.strip())
    seconds = float(match[1]) * {"s": 1, "": 1, "m": 60, "h": 3600}[match[2][:1]] if match else 0.0
    if not 0 < seconds <= 7 * 86400:
        raise _usage(f"{option} {text}: give a time, such as 90s, 30m or 2h")
    return seconds


def _usage(text: str) -> Exception:
    from toolwright.errors import UsageError

    return UsageError(text)


def _say(line: str) -> None:
    print(f"toolwright: {line}", file=sys.stderr, flush=True)


def _ending(work: Coroutine[Any, Any, None]) -> None:
    """Run it to its end; what goes wrong is one line and an exit code."""
    from toolwright.errors import PlatformError, UsageError
    from toolwright.gateway import NothingOpen

    try:
        asyncio.run(work)
    except NothingOpen as error:
        raise ended(FAILED, str(error)) from None
    except UsageError as error:
        raise ended(USAGE, in_options(str(error))) from None
    except PlatformError as error:
        raise ended(PLATFORM, in_options(str(error))) from None
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("toolwright", "toolwright_guest"):
            raise
        text = f'the gateway needs the package {error.name!r}; run: pip install "toolwright[connect]"'
        raise ended(PLATFORM, text) from None
    except asyncio.CancelledError:
        raise typer.Exit(ENDED) from None
    except KeyboardInterrupt:
        raise ended(CANCELLED, "cancelled") from None


# entering it into a client

_VERBATIM = {"allow_extra_args": True, "ignore_unknown_options": True}


def _parsed(context: typer.Context) -> dict[str, Any]:
    """Options of the gateway that stand behind a command of it."""
    assert context.parent is not None
    parser: Any = context.parent.command
    made = parser.make_context("toolwright gateway", list(context.args))
    rest = [*getattr(made, "_protected_args", ()), *made.args]
    if rest:
        raise _usage(f"{rest[0]!r} is no option of the gateway; `toolwright gateway --help` lists them")
    return dict(made.params)


@gateway.command(
    "install",
    context_settings=_VERBATIM,
    epilog="Example: toolwright gateway install cursor --openapi github=spec.json --credential github=env:GITHUB_TOKEN",
)
def install(
    context: typer.Context,
    client: Annotated[str, typer.Argument(help="claude, claude-code, cursor, vscode, windsurf, zed, codex or gemini.")],
    name: Annotated[str, typer.Option(help="What the client is to call it.")] = "toolwright",
    file: Annotated[str | None, typer.Option(metavar="FILE", help="The client's file, if not the usual one.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Write it without asking; comments in the file are lost.")] = False,
    only_print: Annotated[bool, typer.Option("--print", help="Print what to add, and write nothing.")] = False,
) -> None:
    """Enter a gateway with these options into a client's own file, after showing the change and asking.

    Takes the options of `toolwright gateway`. Keys are not written: env:, file: and command: stay what they are.

    Exit codes: 0 it is there, 1 it was not wanted, 2 wrong usage, 4 the file cannot be written.
    """
    from toolwright.errors import PlatformError, UsageError
    from toolwright.gateway import absolute, change, client_of, write_change

    here = Path.cwd()
    try:
        params = _parsed(context)
        _given(params)  # what would not start is not written
        _no_secrets(params["header"] or ())
        _no_logins(text for option in ("openapi", "mcp", "base_url") for text in params[option] or ())
        if params["http"] is not None:
            raise _usage("--http: a client starts this over stdio; for one that is served, give the client its address")
        command = [*_ourselves(), "gateway", *absolute(context.args, here)]
        wanted = change(client_of(client), name, command, Path(file).expanduser() if file else None)
        if only_print:
            print(wanted.entry.rstrip("\n"))
            return
        if wanted.old == wanted.new:
            _say(f"{wanted.path} has it already")
            return
        print(wanted.diff)
        _confirm(wanted.comments, yes, str(wanted.path), wanted.entry)
        write_change(wanted)
    except UsageError as error:
        raise ended(USAGE, str(error)) from None
    except PlatformError as error:
        raise ended(PLATFORM, str(error)) from None
    _say(f"{wanted.path} is written" + (f"; the old one is {wanted.backup}" if wanted.old else ""))


def _no_secrets(headers: list[str] | tuple[str, ...]) -> None:
    for text in headers:
        name = text.partition("=")[2].partition(":")[0].strip()
        if re.search(r"auth|key|token|secret|cookie|password", name, re.IGNORECASE):
            source = text.partition("=")[0]
            raise _usage(f"--header {source}={name}: … would be written as it is; give --credential {source}=env:NAME")


def _no_logins(texts: Iterable[str]) -> None:
    for text in texts:
        if re.search(r"://[^/@\s]*:[^/@\s]*@", text):
            shown = re.sub(r"://[^/@\s]*@", "://…@", text)
            raise _usage(f"{shown:.100}: its password would be written as it is; give --credential NAME=env:NAME")


def _confirm(comments: bool, yes: bool, path: str, entry: str) -> None:
    if yes:
        return
    if comments:
        raise _usage(f"{path} has comments, which would be lost; add this by hand, or say --yes:\n{entry}")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise _usage("nobody can be asked here; say --yes to write it")
    print(f"Write this to {path}? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ended(FAILED, "nothing was written")


def _ourselves() -> list[str]:
    """How a client starts this program, wherever it is."""
    beside = Path(sys.executable).with_name("toolwright")
    program = str(beside) if beside.is_file() else shutil.which("toolwright")
    return [program] if program else [sys.executable, "-m", "toolwright"]


# looking at it


@gateway.command(
    "inspect",
    context_settings=_VERBATIM,
    epilog="Example: toolwright gateway inspect --openapi github=spec.json --json",
)
def inspect(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object in place of the picture.")] = False,
) -> None:
    """Open the sources and show what a gateway would expose, in how many tokens, against plain MCP.

    Takes the options of `toolwright gateway`. Exit codes: 0, 1 no source could be opened, 2 wrong usage.
    """

    async def main() -> None:
        from toolwright.gateway import as_plain, close_gateway, inspected, open_gateway

        given = _given(_parsed(context))
        made, failed = await open_gateway(given.sources, given.options, find=found, say=_say)
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
