"""`FullTextIndex`: rows of words in SQLite's full-text search, in a file that is made once for a content, or in memory.

It finds candidates with their words, and counts words. It knows neither scopes nor how hits are ordered.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import sqlite3
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from cellwright.atomic import replacing
from cellwright.catalog.index_rows import IndexRow
from cellwright.catalog.stemmer import root, stems

FORMAT = 5  # of the file: a file of another format is made anew
# bm25's weight of each column: candidates are chosen by it
COLUMNS = {
    "verb": 5.0, "name": 4.0, "noun": 6.0, "kind": 4.0, "url": 2.0, "summary": 3.0, "params": 0.5, "doc": 0.7,
    "tags": 0.5, "deed": 6.0,
}  # fmt: skip
_NAMING = 6  # the first columns: they say what a row is, by its name, its thing, its URL, its summary
_KEPT = ("key", "rare", "depth", "prior", "reads")
_SCHEMA = f"""
create table about (name text primary key, value text);
create table words (word text primary key, root text, rows int, named int) without rowid;
create index roots on words (root);
create table kept (id integer primary key, {", ".join((*COLUMNS, *_KEPT))});
create virtual table rows using fts5({", ".join(COLUMNS)}, content='', tokenize='unicode61');
"""


class Candidate(NamedTuple):
    """A row that matches: its words by column, and its other values. `rare` has a digit for each word of its name."""

    bm25: float
    columns: tuple[str, ...]
    key: str
    rare: str
    depth: int
    prior: float
    reads: int


class FullTextIndex:
    """Rows that are found by their words. Any thread may search."""

    def __init__(self, db: sqlite3.Connection, path: Path | None = None) -> None:
        self._db = db
        self.path = path  # of its file; None in memory
        self._lock = threading.Lock()
        weakref.finalize(self, db.close)  # a search in another thread may outlast the scope
        self.size = int(self._about("rows"))

    @classmethod
    def of(cls, rows: Iterable[IndexRow]) -> FullTextIndex:
        """An index in memory."""
        db = sqlite3.connect(":memory:", check_same_thread=False)
        _fill(db, rows, "")
        return cls(db)

    @classmethod
    def kept(cls, folder: Path, key: str, rows: Callable[[], Iterable[IndexRow]]) -> FullTextIndex:
        """The index in the file of that content, made if it is missing or damaged; in memory if no file can be made."""
        path = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}-{FORMAT}.sqlite"
        db = _opened(path, key)
        if db is None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                with replacing(path) as draft, contextlib.closing(sqlite3.connect(draft)) as new:
                    _fill(new, rows(), key)
            except (OSError, sqlite3.Error):  # a full disk, a directory that may not be written
                return cls.of(rows())
            db = _opened(path, key)
        return cls.of(rows()) if db is None else cls(db, path)

    def counts(self, words: Iterable[str], roots: Iterable[str]) -> list[tuple[str, str, int, int]]:
        """(word, root, rows that have it, rows that are named so) of these words, and of all words with these roots."""
        named, rooted = list(words), list(roots)
        marks = ", ".join("?" * len(named)), ", ".join("?" * len(rooted))
        sql = (
            f"select word, root, rows, named from words where word in ({marks[0]}) "
            f"union select word, root, rows, named from words where root in ({marks[1]})"
        )
        with self._lock:
            return self._db.execute(sql, [*named, *rooted]).fetchall()

    def candidates(self, words: Iterable[str], limit: int) -> list[Candidate]:
        """The rows that have one of the words, the best first by bm25."""
        match = " OR ".join(f'"{word}"' for word in words)
        if not match:
            return []
        with self._lock:
            rows = self._db.execute(QUERY, (match, limit)).fetchall()
        last = len(COLUMNS) + 1
        return [Candidate._make((row[0], row[1:last], *row[last:])) for row in rows]

    def listed(self) -> list[tuple[str, bool]]:
        """The keys of all rows, in their order, and whether each only reads."""
        with self._lock:
            return [(key, bool(reads)) for key, reads in self._db.execute("select key, reads from kept order by id")]

    def _about(self, name: str) -> str:
        with self._lock:
            row = self._db.execute("select value from about where name = ?", (name,)).fetchone()
        return row[0] if row else "0"


_WEIGHTS = ", ".join(map(str, COLUMNS.values()))
BARE = f"select rowid, bm25(rows, {_WEIGHTS}) as score from rows where rows match ? order by score, rowid limit ?"
QUERY = f"select score, {', '.join((*COLUMNS, *_KEPT))} from ({BARE}) as found join kept on id = found.rowid"


def _opened(path: Path, key: str) -> sqlite3.Connection | None:
    """The database of a file that is whole and of this content; None for any other."""
    if not path.is_file():
        return None
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
    try:
        about = dict(db.execute("select name, value from about").fetchall())
        if about.get("key") == key and about.get("format") == str(FORMAT) and "rows" in about:
            return db
    except sqlite3.Error:
        pass
    db.close()
    return None


def _fill(db: sqlite3.Connection, rows: Iterable[IndexRow], key: str) -> None:
    db.executescript("pragma journal_mode=off; pragma synchronous=off; begin;" + _SCHEMA)
    split = [(row, _columns(row)) for row in rows]
    counts: Counter[str] = Counter()
    named: Counter[str] = Counter()
    for _, columns in split:
        counts.update({word for column in columns for word in column})
        named.update({word for column in columns[:_NAMING] for word in column})
    kept = [_values(row, columns, counts, len(split)) for row, columns in split]
    marks = ", ".join("?" * (len(COLUMNS) + len(_KEPT)))
    db.executemany(f"insert into kept values (null, {marks})", kept)
    db.execute(f"insert into rows (rowid, {', '.join(COLUMNS)}) select id, {', '.join(COLUMNS)} from kept")
    words = ((word, root(word), n, named[word]) for word, n in counts.items())
    db.executemany("insert into words values (?, ?, ?, ?)", words)
    about = {"rows": str(len(split)), "key": key, "format": str(FORMAT)}
    db.executemany("insert into about values (?, ?)", about.items())
    db.commit()


def _columns(row: IndexRow) -> list[list[str]]:
    named = (row.verb, row.name, row.noun)
    told = (row.url, row.summary, row.params, row.doc, row.tags)
    first, *rest = (list(dict.fromkeys(stems(text))) for text in told)
    verb, name, noun = (stems(text) for text in named)
    return [verb, name, noun, [kind_word(row.kind)], first, *rest, _deeds(row.kind, verb, noun)]


def _deeds(kind: str, verb: list[str], noun: list[str]) -> list[str]:
    heads = [noun[-1], "".join(noun)] if noun else []
    done = [kind, *verb[:1]] if kind == "act" else [kind]
    return list(dict.fromkeys(deed(one, head) for one in done for head in heads))


def _values(row: IndexRow, columns: list[list[str]], counts: Counter[str], rows: int) -> list[str | int | float]:
    rare = "".join(str(min(9, round(9 * rarity(counts[word], rows)))) for column in columns[:2] for word in column)
    return [
        *(" ".join(column) for column in columns),
        row.key,
        rare,
        row.depth,
        row.prior,
        int(row.reads),
    ]


def kind_word(kind: str) -> str:
    """The token of a kind of operation: no word of any query."""
    return f"kindof{kind}"


def deed(kind: str, noun: str) -> str:
    """The token of something that is done to a thing."""
    return f"{kind}of{noun}"


def rarity(having: int, rows: int) -> float:
    """How much a word says: 1 for a word that a single row has, towards 0 for one that all rows have."""
    return math.log(1 + rows / max(1, having)) / math.log(2 + rows) if rows else 1.0
