"""Words and queries for PostgreSQL's full-text search. Not by its own parser, which takes `crm.find` for a host's name.

Words are split and folded as FTS5's `unicode61` does, so that both stores find the same. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from cellwright.store.entry_texts import parts_of
from cellwright.store.queries import MOST, terms_of
from cellwright.store.snippets import BEGIN, END

PLACES = 100  # of a term in a text that are marked
LONG_WORD = 200  # letters of a word that count
FURTHEST = 16_000  # PostgreSQL keeps positions up to 16,383
_WORD = re.compile("(?:[^\\W_][\u0300-\u036f]*)+")


class Term(NamedTuple):
    """Words that stand one after the other; `begins`: the last is only the beginning of a word."""

    words: tuple[str, ...]
    begins: bool = False


class Word(NamedTuple):
    folded: str
    start: int
    end: int


@lru_cache(maxsize=4096)
def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()[:LONG_WORD]
    letters = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))[:LONG_WORD]


def words_in(text: str) -> Iterator[Word]:
    for found in _WORD.finditer(text):
        if folded := _folded(found[0]):
            yield Word(folded, found.start(), found.end())


def vector(text: str) -> str:
    """A text as a `tsvector`: its words with their places; the parts of longer names stand behind them."""
    places: dict[str, list[int]] = {}
    at = 0
    for part in (text, *parts_of(text).splitlines()):
        for word in words_in(part):
            at = min(at + 1, FURTHEST)
            places.setdefault(word.folded, []).append(at)
        at = min(at + 1, FURTHEST)  # a gap: no phrase goes over it
    return " ".join(
        f"'{_quoted(word)}':{','.join(map(str, dict.fromkeys(found[:200])))}" for word, found in places.items()
    )


def terms(query: str) -> list[Term]:
    """The terms of a query. No letter of the query is PostgreSQL's own syntax."""
    found = (Term(tuple(word.folded for word in words_in(text)), begins) for text, begins in terms_of(query))
    return [term for term in found if term.words][:MOST]


def every(found: Sequence[Term]) -> str:
    """All of them, as a `tsquery`."""
    return " & ".join(map(_phrase, found))


def any_of(found: Sequence[Term]) -> str:
    return " | ".join(map(_phrase, found))


def _phrase(term: Term) -> str:
    quoted = [f"'{_quoted(word)}'" for word in term.words]
    return f"({' <-> '.join(quoted)}{':*' if term.begins else ''})"


def _quoted(word: str) -> str:
    return word.replace("\\", "\\\\").replace("'", "''")


def marked(text: str, found: Sequence[Term]) -> str:
    """A text with marks round the words that match, as FTS5 puts them."""
    words = list(words_in(text))
    pieces, at = list[str](), 0
    for first, after in _spans(words, found):
        begin, end = words[first].start, words[after - 1].end
        if begin >= at:  # two terms may have found the same
            pieces += [text[at:begin], BEGIN, text[begin:end], END]
            at = end
    return "".join([*pieces, text[at:]])


def _spans(words: Sequence[Word], found: Sequence[Term]) -> list[tuple[int, int]]:
    """Where each term is, from its first word to the one after it, in order; a bounded number of places of each."""
    places: dict[str, list[int]] = {}
    for at, word in enumerate(words):
        places.setdefault(word.folded, []).append(at)
    spans: list[tuple[int, int]] = []
    for term in found:
        begins = term.begins and len(term.words) == 1
        first = _beginning(places, term.words[0]) if begins else places.get(term.words[0], [])
        stands = (at for at in first if _stands(words[at : at + len(term.words)], term))
        spans += [(at, at + len(term.words)) for at in islice(stands, PLACES)]
    return sorted(spans)


def _beginning(places: dict[str, list[int]], word: str) -> list[int]:
    return sorted(at for other, found in places.items() if other.startswith(word) for at in found)


def _stands(words: Sequence[Word], term: Term) -> bool:
    if len(words) < len(term.words):
        return False
    *before, last = (word.folded for word in words)
    wanted = term.words[-1]
    return tuple(before) == term.words[:-1] and (last.startswith(wanted) if term.begins else last == wanted)
