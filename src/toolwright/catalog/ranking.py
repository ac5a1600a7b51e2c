"""The index behind `search`: SQLite's full-text search finds candidates, and a second look puts them in order.

It knows rows of words, and nothing of scopes.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolwright.catalog.words import alike, asked, stems

CANDIDATES = 200
# bm25's weight of each column, and the weight of a match there in the second look
COLUMNS = {"verb": 8.0, "name": 6.0, "params": 2.0, "doc": 1.5, "tags": 0.5}
_LIKE = 0.45  # of a word that means the same, as against the word itself


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """What is known of one thing, as text; `prior` scales its score."""

    verb: str  # the last part of its name
    name: str  # the parts before
    params: str = ""
    doc: str = ""
    tags: str = ""
    prior: float = 1.0


class Ranking:
    """Finds rows by words, the best first. May be asked from any thread."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._lock = threading.Lock()
        self._priors: list[float] = []
        self._words: list[tuple[frozenset[str], ...]] = []
        self._sizes: list[int] = []
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute(f"create virtual table rows using fts5({', '.join(COLUMNS)}, tokenize='unicode61')")
        self._db.executemany("insert into rows values (?, ?, ?, ?, ?)", map(self._read, rows))

    def _read(self, row: Row) -> list[str]:
        columns = [stems(text) for text in (row.verb, row.name, row.params, row.doc, row.tags)]
        self._priors.append(row.prior)
        self._words.append(tuple(frozenset(column) for column in columns))
        self._sizes.append(len(columns[0]) + len(columns[1]))
        return [" ".join(column) for column in columns]

    def find(self, query: str, limit: int) -> list[int]:
        """The numbers of the rows that match, the best first; ties in the order of the rows."""
        words = asked(query)
        if not words or limit <= 0:
            return []
        wanted = " OR ".join(f'"{w}"' for w in dict.fromkeys(w for word in words for w in (word, *alike(word))))
        weights = ", ".join(str(weight) for weight in COLUMNS.values())
        sql = f"select rowid, bm25(rows, {weights}) as score from rows where rows match ? order by score, rowid limit ?"
        with self._lock:
            found: list[tuple[int, float]] = self._db.execute(sql, (wanted, CANDIDATES)).fetchall()
        weigh = self._rarities(words)
        scored = [(self._score(rowid - 1, words, weigh) - bm25 / 100, rowid - 1) for rowid, bm25 in found]
        scored.sort(key=lambda pair: (-round(pair[0], 9), pair[1]))
        return [number for _, number in scored[:limit]]

    def _rarities(self, words: Sequence[str]) -> dict[str, float]:
        """A word that few rows have says more than one that all of them have."""
        rarity: dict[str, float] = {}
        for word in words:
            group = {word, *alike(word)}
            with self._lock:
                sql = "select count(*) from rows where rows match ?"
                having = self._db.execute(sql, (" OR ".join(f'"{w}"' for w in sorted(group)),)).fetchone()[0]
            rarity[word] = 0.3 + 1.0 - having / (len(self._priors) + 1)
        return rarity

    def _score(self, number: int, words: Sequence[str], weigh: dict[str, float]) -> float:
        total = 0.0
        columns = self._words[number]
        matched: set[str] = set()
        for word in words:
            others = alike(word)
            best = 0.0
            for column, weight in zip(columns, COLUMNS.values(), strict=True):
                if word in column:
                    best = max(best, weight)
                    matched.add(word)
                elif _LIKE * weight > best and not column.isdisjoint(others):
                    best = _LIKE * weight
                    matched.update(column.intersection(others))
            total += best * weigh[word]
        unasked = len((columns[0] | columns[1]) - matched)  # what the name says and nobody asked for
        return (total - 0.3 * unasked) * self._priors[number]

    def close(self) -> None:
        self._db.close()
