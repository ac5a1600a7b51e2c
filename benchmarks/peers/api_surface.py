"""Our connector on OpenAPI descriptions: how long they take to load, what the catalog finds in them, and how fast.

One job a process, as in `api_tools`. What is kept on disk goes into the cache directory that the environment names.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.bare_search import ROWS, BareSearch, heard
from benchmarks.counting import counted
from cellwright.catalog import Catalog
from cellwright.openapi import OpenAPI
from cellwright.scope import Scope

FIVE, ROUNDS, EACH = 5, 2, 4  # time is told by every fourth query
CALL = re.compile(r"^[A-Z]+ /\S*$", re.MULTILINE)
Opened = Mapping[str, OpenAPI]


async def load(job: dict[str, Any]) -> dict[str, Any]:
    """From the files to the answer of a first search."""
    began = time.perf_counter()
    opened = await _open(job["specs"])
    Catalog(Scope(opened)).search(job["query"])
    took = time.perf_counter() - began
    await _close(opened)
    return {"load_s": took}


async def survey(job: dict[str, Any]) -> dict[str, Any]:
    """All descriptions: their tokens as plain tools; what is found among some of them; how long it takes among all."""
    opened = await _open(job["specs"])
    plain = {name: counted(each.plain_tools()) for name, each in opened.items()}
    found = _found({name: opened[name] for name in job["among"]}, job["queries"])
    took = _timed(Catalog(Scope(opened)), job["queries"][::EACH])
    operations = sum(1 for each in opened.values() for _ in each.surface.listed())
    await _close(opened)
    return {"plain": plain, "operations": operations, **found, **took}


def _found(opened: Opened, queries: Sequence[str]) -> dict[str, list[list[str]]]:
    """The first five for each query, by the catalog and by the bare match."""
    catalog = Catalog(Scope(opened))
    found = [[_call(opened, hit.name) for hit in catalog.search(query, FIVE)] for query in queries]
    matches = [heard(catalog, query) for query in queries]
    names = dict(zip(matches[0], opened, strict=True))
    with BareSearch(matches[0]) as bare:
        best = [sorted(bare.rows(match))[:FIVE] for match in matches]
        barely = [[_call(opened, f"{names[path]}.{bare.key(path, row)}") for _, path, row in rows] for rows in best]
    return {"found": found, "bare": barely}


def _timed(catalog: Catalog, queries: Sequence[str]) -> dict[str, list[float]]:
    """Seconds of each search, and of the bare queries below it, in turn."""
    took: dict[str, list[float]] = {"search_s": [], "bare_s": []}
    matches = [heard(catalog, query) for query in queries]
    with BareSearch(matches[0]) as bare:
        for number in range(1 + ROUNDS):
            for query, match in zip(queries, matches, strict=True):
                tasks = {"search_s": partial(catalog.search, query, ROWS), "bare_s": partial(bare.rows, match)}
                for name in sorted(tasks, reverse=bool(number % 2)):  # who comes second finds the pages in the cache
                    began = time.perf_counter()
                    tasks[name]()
                    if number:  # the first reads the files
                        took[name].append(time.perf_counter() - began)
    return took


def _call(opened: Opened, name: str) -> str:
    """The method and URL of what was found: the last line of its documentation."""
    source, _, path = name.partition(".")
    offered = opened[source].surface.find(path) if source in opened else None
    told = CALL.findall(offered.line.doc) if offered is not None else []
    return told[-1] if told else name


async def _open(specs: Mapping[str, str]) -> dict[str, OpenAPI]:
    return {name: await OpenAPI.open(path, name=name) for name, path in specs.items()}


async def _close(opened: Opened) -> None:
    for each in opened.values():
        await each.close()


def main() -> None:
    job = json.load(sys.stdin)
    told = asyncio.run({"load": load, "survey": survey}[job["job"]](job))
    print("\n" + json.dumps(told))


if __name__ == "__main__":
    main()
