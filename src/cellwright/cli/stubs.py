"""`cellwright stubs`: what APIs, MCP servers and objects offer, written as a tree of `.pyi` files."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.answers import json_text
from cellwright.cli.arguments import FAILED, PLATFORM, bound_object, ended, exit_on_error, object_named, say
from cellwright.cli.gateway_options import (
    ConfigOption,
    GatewayOptions,
    McpConfigOption,
    McpOption,
    OpenapiOption,
    listed_sources,
)
from cellwright.cli.options import Scope, option, with_options
from cellwright.errors import UsageError

if TYPE_CHECKING:
    from cellwright.gateway import GatewaySource, OpenedSource

STEP = 500  # files between two lines of progress


@dataclass(frozen=True, kw_only=True)
class StubOptions:
    """What the stubs are written of."""

    scope: Scope = ()
    openapi: OpenapiOption = ()
    mcp: McpOption = ()
    mcp_config: McpConfigOption = ()
    config: ConfigOption = None


@with_options
def stubs(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write them; made if it is not there.")],
    *,
    options: StubOptions,
    as_json: Annotated[bool, option("Print one JSON object at the end.", "--json")] = False,
) -> None:
    """Write a file for each function: DIR/servers/github/issues/create.pyi, with its docs and types, and a list.

    Exit codes: 0 they are written, 1 a source could not be opened (the others are written), 2 wrong usage, 4 the
    directory cannot be written, 130 cancelled with Ctrl-C.
    """
    with exit_on_error(one_line=False):
        objects = dict(map(bound_object, options.scope))
        sources = _sources(options)
        if not objects and not sources:
            raise UsageError("there is nothing to write; give --scope, --openapi, --mcp, --mcp-config or --config")
        try:
            report = asyncio.run(_write(directory, objects, sources))
        except OSError as error:
            raise ended(PLATFORM, f"cannot write to {directory}: {error.strerror or error}") from None
    if as_json:
        print(json_text(report, ensure_ascii=False))
    else:
        _tell(report)
    raise typer.Exit(FAILED if report["failed"] else 0)


def _sources(options: StubOptions) -> list[GatewaySource]:
    if not (options.openapi or options.mcp or options.mcp_config or options.config):
        return []
    from cellwright.gateway import read_config

    named = GatewayOptions(openapi=options.openapi, mcp=options.mcp, mcp_config=options.mcp_config)
    sources, problems = listed_sources(named)
    if options.config is not None:
        config = read_config(options.config)
        sources, problems = [*sources, *config.sources], [*problems, *config.problems]
    for problem in problems:
        say(f"{problem.title}: {problem.reason}")
    return sources


async def _write(directory: Path, objects: dict[str, Any], sources: list[GatewaySource]) -> dict[str, Any]:
    from cellwright.catalog import Catalog, save_tree
    from cellwright.scope import Scope

    began = time.monotonic()
    opened, failed = await _opened(sources)
    try:
        scope = Scope({**objects, **{source.name: source.value for source in opened}})
        counts: dict[str, int] = {}

        def work() -> None:
            for number, file in enumerate(save_tree(Catalog(scope, progress=say), directory), start=1):
                if file.name:
                    name = file.name.partition(".")[0]
                    counts[name] = counts.get(name, 0) + 1
                if number % STEP == 0:
                    say(f"{number:,} files")

        await asyncio.to_thread(work)
    finally:
        await asyncio.gather(*(source.connector.close() for source in opened if source.connector is not None))
    return {
        "directory": str(directory),
        "functions": counts,
        "failed": failed,
        "duration_s": round(time.monotonic() - began, 3),
    }


async def _opened(sources: list[GatewaySource]) -> tuple[list[OpenedSource], dict[str, str]]:
    if not sources:
        return [], {}
    from cellwright.gateway import open_sources

    good, bad = await open_sources(sources, find=object_named, say=say)
    return good, {source.title: source.reason for source in bad}


def _tell(report: dict[str, Any]) -> None:
    for name, count in report["functions"].items():
        print(f"{report['directory']}/servers/{name}: {count:,} function{'' if count == 1 else 's'}")
