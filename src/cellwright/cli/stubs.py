"""`cellwright stubs`: what APIs, MCP servers and objects offer, written as a tree of `.pyi` files."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.exec import ScopeOption
from cellwright.cli.gateway_options import ConfigOption, McpConfigOption, McpOption, OpenapiOption
from cellwright.cli.given import CANCELLED, FAILED, PLATFORM, USAGE, bound, ended, found

if TYPE_CHECKING:
    from cellwright.gateway import Opened, Source

STEP = 500  # files between two lines of progress


def stubs(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write them; made if it is not there.")],
    scope: ScopeOption = None,
    openapi: OpenapiOption = None,
    mcp: McpOption = None,
    mcp_config: McpConfigOption = None,
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end.")] = False,
) -> None:
    """Write a file for each function: DIR/servers/github/issues/create.pyi, with its docs and types, and a list.

    Exit codes: 0 they are written, 1 a source could not be opened (the others are written), 2 wrong usage, 4 the
    directory cannot be written, 130 cancelled with Ctrl-C.
    """
    from cellwright.errors import PlatformError, UsageError

    try:
        objects = dict(bound(name) for name in scope or ())
        sources = _sources(openapi or (), mcp or (), mcp_config or (), config)
        if not objects and not sources:
            raise UsageError("there is nothing to write; give --scope, --openapi, --mcp, --mcp-config or --config")
        report = asyncio.run(_write(directory, objects, sources))
    except UsageError as error:
        raise ended(USAGE, str(error)) from None
    except PlatformError as error:
        raise ended(PLATFORM, str(error)) from None
    except OSError as error:
        raise ended(PLATFORM, f"cannot write to {directory}: {error.strerror or error}") from None
    except KeyboardInterrupt:
        raise ended(CANCELLED, "cancelled") from None
    if as_json:
        print(json.dumps(report, ensure_ascii=False))
    else:
        _tell(report)
    raise typer.Exit(FAILED if report["failed"] else 0)


def _sources(
    openapi: list[str] | tuple[str, ...],
    mcp: list[str] | tuple[str, ...],
    files: list[str] | tuple[str, ...],
    config: str | None,
) -> list[Source]:
    if not openapi and not mcp and not files and config is None:
        return []
    from cellwright.gateway import mcp_sources, read_config, source_of

    made: list[Source] = [source_of("openapi", text) for text in openapi]
    made += [source_of("mcp", text) for text in mcp]
    problems = [one for file in files for one in _known(made, *mcp_sources(file))]
    if config is not None:
        known = read_config(config)
        problems += _known(made, list(known.sources), list(known.problems))
    for one in problems:
        _say(f"{one.title}: {one.reason}")
    return made


def _known(made: list[Source], good: list[Source], bad: list[Any]) -> list[Any]:
    made += good
    return bad


async def _write(directory: Path, objects: dict[str, Any], sources: list[Source]) -> dict[str, Any]:
    from cellwright.catalog import Catalog, save_tree
    from cellwright.scope import Scope

    began = time.monotonic()
    opened, failed = await _opened(sources)
    try:
        scope = Scope({**objects, **{one.name: one.value for one in opened}})
        counts: dict[str, int] = {}

        def work() -> None:
            for number, file in enumerate(save_tree(Catalog(scope, progress=_say), directory), start=1):
                if file.name:
                    name = file.name.partition(".")[0]
                    counts[name] = counts.get(name, 0) + 1
                if number % STEP == 0:
                    _say(f"{number:,} files")

        await asyncio.to_thread(work)
    finally:
        await asyncio.gather(*(one.connector.close() for one in opened if one.connector is not None))
    return {
        "directory": str(directory),
        "functions": counts,
        "failed": failed,
        "duration_s": round(time.monotonic() - began, 3),
    }


async def _opened(sources: list[Source]) -> tuple[list[Opened], dict[str, str]]:
    if not sources:
        return [], {}
    from cellwright.gateway import open_sources

    good, bad = await open_sources(sources, find=found, say=_say)
    return good, {one.title: one.reason for one in bad}


def _say(line: str) -> None:
    print(f"cellwright: {line}", file=sys.stderr, flush=True)


def _tell(report: dict[str, Any]) -> None:
    for name, count in report["functions"].items():
        print(f"{report['directory']}/servers/{name}: {count:,} function{'' if count == 1 else 's'}")
