"""The options of `cellwright gateway`, and what they ask for: sources, a policy, how code runs. It serves nothing."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.arguments import limited, packages_in, say
from cellwright.cli.options import GUARD, AuditPlace, CheckMode, Flow, FlowName, PolicyFile, Texts, option, options_of
from cellwright.errors import UsageError

if TYPE_CHECKING:
    from cellwright.gateway import FailedSource, GatewaySettings, GatewaySource
    from cellwright.guard import Policy

_FROM, _RUN, _WEB = "Sources", "Running code", "Over HTTP"


def _many(metavar: str, text: str, panel: str = _FROM) -> Any:
    return option(f"{text} Give it again for another.", panel=panel, metavar=metavar)


def _one(text: str, metavar: str, panel: str = _WEB) -> Any:
    return option(text, panel=panel, metavar=metavar)


OpenapiOption = Annotated[Texts, _many("[NAME=]FILE|URL", "An API, by its OpenAPI description.")]
McpOption = Annotated[Texts, _many("[NAME=]COMMAND|URL", "An MCP server.")]
McpConfigOption = Annotated[Texts, _many("FILE", "MCP servers, from a file with mcpServers.")]
ConfigOption = Annotated[str | None, _one("Sources and policy, from a TOML or JSON file.", "FILE", _FROM)]
_CHECK = "What mistakes that the type checker finds do. Strict, where it is here."
_CREDENTIAL = "A source's key: env:VARIABLE, file:PATH or command:PROGRAM."
_BASE_URL = "Where an API is, if not where its description says."


@dataclass(frozen=True, kw_only=True)
class GatewayOptions:
    """Its sources, its policy, how code runs, and how it is served."""

    openapi: OpenapiOption = ()
    mcp: McpOption = ()
    mcp_config: McpConfigOption = ()
    python: Annotated[Texts, _many("[NAME=]MODULE:OBJECT", "A Python object.")] = ()
    command: Annotated[Texts, _many("[NAME=]PROGRAM", "A command-line program, run in a jail.")] = ()
    config: ConfigOption = None
    credential: Annotated[Texts, _many("NAME[.SCHEME]=SOURCE", _CREDENTIAL)] = ()
    base_url: Annotated[Texts, _many("NAME=URL", _BASE_URL)] = ()
    header: Annotated[Texts, _many("NAME=HEADER: VALUE", "A header for a source's requests.")] = ()
    directory: Annotated[
        str | None, option("Be in this directory: modules are found there.", "--dir", panel=_FROM, metavar="DIR")
    ] = None
    read_only: Annotated[bool, option("Only operations that are known to read.", "--read-only", panel=GUARD)] = False
    policy: PolicyFile = None
    flow: Flow = None
    audit: AuditPlace = None
    check: Annotated[CheckMode | None, option(_CHECK, panel=_RUN)] = None
    timeout: Annotated[str, _one("For one execute.", "TIME", _RUN)] = "60s"
    memory_mb: Annotated[int, option("Of one client's interpreter.", panel=_RUN)] = 256
    packages: Annotated[Texts, _many("NAME|DIR", "A package that code may import.", _RUN)] = ()
    max_tokens: Annotated[int, option("What one result has at most.", panel=_RUN)] = 4_000
    idle: Annotated[str, _one("An interpreter unused for so long is closed.", "TIME", _RUN)] = "30m"
    sessions: Annotated[int, option("Interpreters at once.", panel=_RUN)] = 100
    http: Annotated[str | None, _one("Serve there and not on stdio.", "HOST:PORT")] = None
    token_file: Annotated[str | None, _one("Clients: NAME: TOKEN, a line each.", "FILE")] = None
    token: Annotated[Texts, _many("[NAME=]env:VARIABLE", "A client's token.", _WEB)] = ()
    oauth_issuer: Annotated[str | None, _one("Accept the tokens of this OAuth issuer.", "URL")] = None
    oauth_audience: Annotated[str | None, _one("What those tokens are made out to.", "TEXT")] = None
    no_auth: Annotated[bool, option("Let everybody in, also from other machines.", "--no-auth", panel=_WEB)] = False
    rate: Annotated[str | None, _one("Requests of one client, as 60/min.", "N/TIME")] = None
    origin: Annotated[Texts, _many("URL", "A web page's origin that may use it.", _WEB)] = ()
    public_url: Annotated[str | None, _one("What clients know it by, behind a proxy.", "URL")] = None


@dataclass(frozen=True, kw_only=True)
class GatewayRequest:
    """The sources, those of files that cannot be used, and how they are served."""

    sources: list[GatewaySource]
    problems: list[FailedSource]
    options: GatewaySettings


def requested(options: GatewayOptions) -> GatewayRequest:
    """What the options ask for. Problems of single sources are reported, and do not stop the others."""
    from cellwright.gateway import GatewayConfig, read_config, with_settings
    from cellwright.guard import Policy, read_policy

    if options.directory is not None:
        _go_to(options.directory)
    config = read_config(options.config) if options.config is not None else GatewayConfig()
    sources, problems = listed_sources(options)
    sources, problems = [*config.sources, *sources], [*config.problems, *problems]
    if not sources and not problems:
        raise UsageError(
            "there is nothing to serve; give --openapi, --mcp, --mcp-config, --python, --command or --config"
        )
    policy = read_policy(options.policy) if options.policy is not None else config.policy or Policy()
    for problem in problems:
        say(f"{problem.title}: {problem.reason}")
    named = with_settings(sources, options.credential, options.base_url, options.header)
    return GatewayRequest(sources=named, problems=problems, options=_serving(options, policy))


def listed_sources(options: GatewayOptions) -> tuple[list[GatewaySource], list[FailedSource]]:
    """The sources that are named one by one and in MCP files; and what is wrong with sources of the files."""
    from cellwright.gateway import mcp_sources, source_of

    kinds = ("openapi", "mcp", "python", "command")
    sources = [source_of(kind, text) for kind in kinds for text in getattr(options, kind)]
    problems: list[FailedSource] = []
    for file in options.mcp_config:
        good, bad = mcp_sources(file)
        sources += good
        problems += bad
    return sources, problems


def _serving(options: GatewayOptions, policy: Policy) -> GatewaySettings:
    from cellwright.gateway import GatewaySettings
    from cellwright.sandboxes import Limits

    for name, least in (("max_tokens", 200), ("sessions", 1)):
        if getattr(options, name) < least:
            raise UsageError(f"--{name.replace('_', '-')} {getattr(options, name)}: give at least {least}")
    wall_s = _seconds("--timeout", options.timeout)
    return GatewaySettings(
        policy=policy,
        read_only=options.read_only,
        check=None if options.check is None else CheckMode(options.check).value,
        limits=limited(Limits, {"wall_s": wall_s, "cpu_s": wall_s, "memory_mb": options.memory_mb}),
        packages=packages_in(options.packages),
        max_tokens=options.max_tokens,
        idle_s=_seconds("--idle", options.idle),
        sessions=options.sessions,
        flow=None if options.flow is None else FlowName(options.flow).value,
        audit=options.audit,
    )


def _go_to(directory: str) -> None:
    try:
        os.chdir(directory)
    except OSError as error:
        raise UsageError(f"--dir {directory}: {error.strerror}") from None


def _seconds(option: str, text: str) -> float:
    """`90`, `90s`, `30m`, `2h`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|h|min|)", text.strip())
    seconds = float(match[1]) * {"s": 1, "": 1, "m": 60, "h": 3600}[match[2][:1]] if match else 0.0
    if not 0 < seconds <= 7 * 86400:
        raise UsageError(f"{option} {text}: give a time, such as 90s, 30m or 2h")
    return seconds


def parsed(context: typer.Context) -> GatewayOptions:
    """The gateway's options that follow one of its commands."""
    assert context.parent is not None
    parser: Any = context.parent.command
    inner = parser.make_context("cellwright gateway", list(context.args))
    rest = [*getattr(inner, "_protected_args", ()), *inner.args]
    if rest:
        raise UsageError(f"{rest[0]!r} is no option of the gateway; `cellwright gateway --help` lists them")
    return options_of(GatewayOptions, inner.params)
