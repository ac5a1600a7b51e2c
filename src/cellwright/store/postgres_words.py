"""Words of a text as PostgreSQL's full-text search has them, made here: its parser takes `crm.find` for a host's name.

Words are split and folded as FTS5's `unicode61` does, so both stores find the same. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, takewhile
from typing import NamedTuple

from cellwright.store.texts import parts_of

SHOWN, BEFORE = 24, 3  # words of a snippet, and of them before what was found
PLACES = 100  # of a term in a text that are looked at for a snippet
LONGEST, MOST = 1000, 40  # letters and terms of a query
LONG_WORD = 200  # letters of a word that count
FURTHEST = 16_000  # PostgreSQL keeps positions up to 16,383
_WORD = re.compile("(?:[^\\W_][\u0300-\u036f]*)+")
_TERM = re.compile(r'"([^"]*)"?|(\S+)')


class Term(NamedTuple):
    """Words that must stand one after the other; `begins`: the last of them is the beginning of a word."""

    words: tuple[str, ...]
    begins: bool = False


class Span(NamedTuple):
    first: int
    after: int
    term: int


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


def words_of(text: str) -> Iterator[Word]:
    for found in _WORD.finditer(text):
        if folded := _folded(found[0]):
            yield Word(folded, found.start(), found.end())


def vector(text: str) -> str:
    """A text as a `tsvector`: its words with their places; the parts of longer names stand behind them."""
    places: dict[str, list[int]] = {}
    at = 0
    for part in (text, *parts_of(text).splitlines()):
        for word in words_of(part):
            at = min(at + 1, FURTHEST)
            places.setdefault(word.folded, []).append(at)
        at = min(at + 1, FURTHEST)  # a gap: no phrase goes over it
    return " ".join(
        f"'{_quoted(word)}':{','.join(map(str, dict.fromkeys(found[:200])))}" for word, found in places.items()
    )


def terms(query: str) -> list[Term]:
    """What a person typed. No letter of it is PostgreSQL's own syntax."""
    found: list[Term] = []
    for quoted, word in _TERM.findall(query[:LONGEST].encode("utf-8", "replace").decode()):
        text = quoted or word
        words = tuple(one.folded for one in words_of(text))
        if words:
            found.append(Term(words, not quoted and text.endswith("*")))
    return found[:MOST]


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


def snippet(text: str, found: Sequence[Term]) -> str:
    """The place in a text that has most of what was looked for, with that between \\x02 and \\x03."""
    words = list(words_of(text))
    spans = _spans(words, found)
    if not spans:
        return _in_a_name(text, found)
    begin = max(0, min(_best(spans) - BEFORE, len(words) - SHOWN))
    end = min(len(words), begin + SHOWN)
    shown = [span for span in spans if begin <= span.first and span.after <= end]
    at = words[begin].start if begin else 0
    last = words[end - 1].end if end < len(words) else len(text)
    pieces = ["…" if begin else ""]
    for start, stop, _ in shown:
        if words[start].start >= at:  # two terms may have found the same
            pieces += [text[at : words[start].start], "\x02", text[words[start].start : words[stop - 1].end], "\x03"]
            at = words[stop - 1].end
    return "".join([*pieces, text[at:last], "…" if end < len(words) else ""])


def _spans(words: Sequence[Word], found: Sequence[Term]) -> list[Span]:
    """Where each term is, in order; a bounded number of places of each."""
    places: dict[str, list[int]] = {}
    for at, word in enumerate(words):
        places.setdefault(word.folded, []).append(at)
    spans: list[Span] = []
    for n, term in enumerate(found):
        begins = term.begins and len(term.words) == 1
        first = _beginning(places, term.words[0]) if begins else places.get(term.words[0], [])
        stands = (at for at in first if _stands(words[at : at + len(term.words)], term))
        spans += [Span(at, at + len(term.words), n) for at in islice(stands, PLACES)]
    return sorted(spans)


def _beginning(places: dict[str, list[int]], word: str) -> list[int]:
    return sorted(at for other, found in places.items() if other.startswith(word) for at in found)


def _stands(words: Sequence[Word], term: Term) -> bool:
    if len(words) < len(term.words):
        return False
    *before, last = (word.folded for word in words)
    wanted = term.words[-1]
    return tuple(before) == term.words[:-1] and (last.startswith(wanted) if term.begins else last == wanted)


def _best(spans: Sequence[Span]) -> int:
    """The first word of the place that has the most different terms; the first of several."""
    best, most = spans[0].first, 0
    for n, span in enumerate(spans):
        near = takewhile(lambda other, span=span: other.first < span.first + SHOWN - BEFORE, islice(spans, n, None))
        different = len({other.term for other in near})
        if different > most:
            best, most = span.first, different
    return best


def _in_a_name(text: str, found: Sequence[Term]) -> str:
    """What was found as a part of a longer name."""
    wanted = "|".join(re.escape(word) for term in found for word in term.words)
    match = re.search(wanted, text, re.IGNORECASE)
    if match is None:
        return text[:120] + "…" * (len(text) > 120)
    begin, end = max(0, match.start() - 60), match.end() + 60
    marked = f"{text[begin : match.start()]}\x02{match[0]}\x03{text[match.end() : end]}"
    return f"{'…' * (begin > 0)}{marked}{'…' * (end < len(text))}"
