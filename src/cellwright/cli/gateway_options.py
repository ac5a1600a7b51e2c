"""The options of `cellwright gateway`, and what they ask for: sources, a policy, how code runs. It serves nothing."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.given import packages_in

if TYPE_CHECKING:
    from cellwright.gateway import Failed, Options, Policy, Source

_FROM, _MAY, _RUN, _WEB = "Sources", "What code may do", "Running code", "Over HTTP"


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


@dataclass(frozen=True, kw_only=True)
class Given:
    """The sources, those of files that cannot be used, and how they are served."""

    sources: list[Source]
    problems: list[Failed]
    options: Options


def given_in(params: dict[str, Any]) -> Given:
    from cellwright.gateway import Config, policy_from, read_config, read_policy, with_settings

    if params["directory"] is not None:
        _go_to(params["directory"])
    config = read_config(params["config"]) if params["config"] is not None else Config()
    sources, problems = _listed(params)
    sources, problems = [*config.sources, *sources], [*config.problems, *problems]
    if not sources and not problems:
        raise wrong("there is nothing to serve; give --openapi, --mcp, --mcp-config, --python, --command or --config")
    policy = read_policy(params["policy"]) if params["policy"] is not None else config.policy or policy_from({}, "")
    for one in problems:
        say(f"{one.title}: {one.reason}")
    named = with_settings(sources, params["credential"] or (), params["base_url"] or (), params["header"] or ())
    return Given(sources=named, problems=problems, options=_options(params, policy))


def _listed(params: dict[str, Any]) -> tuple[list[Source], list[Failed]]:
    from cellwright.gateway import mcp_sources, source_of

    sources = [source_of(k, text) for k in ("openapi", "mcp", "python", "command") for text in params[k] or ()]
    problems: list[Failed] = []
    for file in params["mcp_config"] or ():
        good, bad = mcp_sources(file)
        sources += good
        problems += bad
    return sources, problems


def _options(params: dict[str, Any], policy: Policy) -> Options:
    from cellwright.cli.given import limited
    from cellwright.gateway import Options
    from cellwright.sandboxes import Limits

    for option, least in (("max_tokens", 200), ("sessions", 1)):
        if params[option] < least:
            raise wrong(f"--{option.replace('_', '-')} {params[option]}: give at least {least}")
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


def _go_to(directory: str) -> None:
    try:
        os.chdir(directory)
    except OSError as error:
        raise wrong(f"--dir {directory}: {error.strerror}") from None


def _seconds(option: str, text: str) -> float:
    """`90`, `90s`, `30m`, `2h`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|h|min|)", text.strip())
    seconds = float(match[1]) * {"s": 1, "": 1, "m": 60, "h": 3600}[match[2][:1]] if match else 0.0
    if not 0 < seconds <= 7 * 86400:
        raise wrong(f"{option} {text}: give a time, such as 90s, 30m or 2h")
    return seconds


def wrong(text: str) -> Exception:
    from cellwright.errors import UsageError

    return UsageError(text)


def say(line: str) -> None:
    print(f"cellwright: {line}", file=sys.stderr, flush=True)


def parsed(context: typer.Context) -> dict[str, Any]:
    """Options of the gateway that stand behind a command of it."""
    assert context.parent is not None
    parser: Any = context.parent.command
    made = parser.make_context("cellwright gateway", list(context.args))
    rest = [*getattr(made, "_protected_args", ()), *made.args]
    if rest:
        raise wrong(f"{rest[0]!r} is no option of the gateway; `cellwright gateway --help` lists them")
    return dict(made.params)
