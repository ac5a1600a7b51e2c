"""The bare full-text queries below a search: the same match on the same tables, by bm25, and nothing made of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from cellwright.catalog import Catalog
from cellwright.catalog.fulltext import FullTextIndex

ROWS = 10
QUERY = "select rowid, rank from rows where rows match ? order by rank limit ?"
KEY = "select key from kept where id = ?"
Matches = dict[Path, str]  # the file of each index, and what it was asked for


def heard(catalog: Catalog, query: str) -> Matches:
    """What a search asks each of the catalog's indexes for, in the order of the scope."""
    told: Matches = {}
    plain = FullTextIndex.candidates

    def candidates(index: FullTextIndex, words: Iterable[str], limit: int) -> list[object]:
        known = tuple(words)
        if index.path is not None:
            told.setdefault(index.path, " OR ".join(f'"{word}"' for word in known))
        return list[object](plain(index, known, limit))

    FullTextIndex.candidates = candidates  # pyright: ignore[reportAttributeAccessIssue] # nothing else tells
    try:
        catalog.search(query, ROWS)
    finally:
        FullTextIndex.candidates = plain
    return told


class BareSearch:
    """The same files, opened anew. A context manager."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._open = {path: sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True) for path in files}

    def __enter__(self) -> BareSearch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._open.values():
            connection.close()

    def rows(self, matches: Matches) -> list[tuple[float, Path, int]]:
        """The best of each index, with their ranks; the least is the best."""
        return [
            (rank, path, row)
            for path, match in matches.items()
            if match
            for row, rank in self._open[path].execute(QUERY, (match, ROWS))
        ]

    def key(self, path: Path, row: int) -> str:
        """What a row is about."""
        return self._open[path].execute(KEY, (row,)).fetchone()[0]
