"""The index behind `search`: SQLite's full-text search finds candidates, and a second look puts them in order.

It knows rows of words, and nothing of scopes.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolwright.catalog.words import alike, asked, is_small, root, stems

CANDIDATES = 300
# bm25's weight of each column, and the weight of a match there in the second look
COLUMNS = {"verb": 7.0, "name": 6.0, "params": 2.0, "doc": 2.5, "tags": 0.5}
KIN = 0.85  # of a word with the same root, as against the word itself
LIKE = 0.45  # of one that may stand for it
UNASKED = 0.4  # for each word of a name that nobody asked for
ALSO_SAID = 0.6  # where the docs say it too


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """What is known of one thing, as text; `prior` scales its score."""

    verb: str  # the last part of its name
    name: str  # the parts before
    params: str = ""
    doc: str = ""
    tags: str = ""
    prior: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    """One word of a query: itself, its kin and its like, as far as the index has them; `weight`: how rare they are."""

    word: str
    kin: frozenset[str]
    like: frozenset[str]
    weight: float = 1.0

    def match(self, column: frozenset[str]) -> float:
        if self.word in column:
            return 1.0
        if not column.isdisjoint(self.kin):
            return KIN
        return 0.0 if column.isdisjoint(self.like) else LIKE

    def all(self) -> frozenset[str]:
        return self.kin | self.like | {self.word}


class Ranking:
    """Finds rows by words, the best first. May be asked from any thread."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._lock = threading.Lock()
        self._priors: list[float] = []
        self._words: list[tuple[frozenset[str], ...]] = []
        self._kin: dict[str, set[str]] = {}
        self._counts: dict[str, int] = {}
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._db.close)  # a search in another thread may outlast the scope that it is about
        self._db.execute(f"create virtual table rows using fts5({', '.join(COLUMNS)}, tokenize='unicode61')")
        self._db.executemany("insert into rows values (?, ?, ?, ?, ?)", map(self._read, rows))

    def _read(self, row: Row) -> list[str]:
        columns = [stems(text) for text in (row.verb, row.name, row.params, row.doc, row.tags)]
        self._priors.append(row.prior)
        self._words.append(tuple(map(frozenset, columns)))
        for word in {word for column in columns for word in column}:
            self._counts[word] = self._counts.get(word, 0) + 1
            self._kin.setdefault(root(word), set()).add(word)
        return [" ".join(column) for column in columns]

    def find(self, query: str, limit: int) -> list[int]:
        """The numbers of the rows that match, the best first; ties in the order of the rows."""
        wanted = [self._asked(word) for word in asked(query)]
        known = sorted({w for one in wanted for w in one.all() if w in self._counts})
        if not known or limit <= 0:
            return []
        match = " OR ".join(f'"{word}"' for word in known)
        weights = ", ".join(map(str, COLUMNS.values()))
        sql = f"select rowid, bm25(rows, {weights}) as score from rows where rows match ? order by score, rowid limit ?"
        with self._lock:
            found: list[tuple[int, float]] = self._db.execute(sql, (match, max(CANDIDATES, limit))).fetchall()
        scored = [(self._score(rowid - 1, wanted) - bm25 / 100, rowid - 1) for rowid, bm25 in found]
        scored.sort(key=lambda pair: (-round(pair[0], 9), pair[1]))
        return [number for _, number in scored[:limit]]

    def _asked(self, word: str) -> _Asked:
        kin = frozenset(self._kin.get(root(word), ())) - {word}
        one = _Asked(word=word, kin=kin, like=frozenset(alike(word)) - kin)
        rows = len(self._priors) + 1
        having = min(rows, sum(self._counts.get(w, 0) for w in one.all()))
        return _Asked(word=word, kin=kin, like=one.like, weight=1.3 - having / rows)

    def _score(self, number: int, wanted: Sequence[_Asked]) -> float:
        columns = self._words[number]
        scores: dict[str, float] = {}
        matched: set[str] = set()
        for one in wanted:
            found = [one.match(column) for column in columns]
            best = max(m * weight for m, weight in zip(found, COLUMNS.values(), strict=True))
            also = ALSO_SAID * found[3] if best and found[3] else 0.0
            matched |= one.all()
            # "make a new …" asks once for what both words mean
            twin = next((other.word for other in wanted if other.word in scores and other.word in one.like), one.word)
            scores[twin] = max(scores.get(twin, 0.0), (best + also) * one.weight)
        unasked = sum(not is_small(word) for word in (columns[0] | columns[1]) - matched)
        return (sum(scores.values()) - UNASKED * unasked) * self._priors[number]
