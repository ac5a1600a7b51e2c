"""A query as the indexes' words: what each token that a row may have stands for, how well, and how much that says.

A word is as rare as it is in all indexes together. It knows no rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cellwright.catalog.fulltext import Index, deed, kind_word, rarity
from cellwright.catalog.intents import FILTERS, Intent, aside, intent_of
from cellwright.catalog.weights import DOING, NEAR, WORTH, Weights
from cellwright.catalog.words import SMALL, alike, meanings, root, spellings, stem, undone

LOOKED_FOR = 48  # tokens of one search
_UNKNOWN = 0.3  # what a word says that no row has
_DEEDS = {
    "ask": ("read", "list"),
    "": ("read", "list", "create"),
    "act": ("act", "update", "create"),
    "change": ("act", "update"),
}
_ANYONE = frozenset(map(stem, "who someone somebody anyone people person".split()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One index, and the name that its rows stand below: "" where they have their whole names. `shows` says which."""

    index: Index
    name: str = ""
    shows: Callable[[str, bool], bool] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """A query as the second look needs it: what each token that an index may have stands for, and how well."""

    signs: Weights
    tokens: Mapping[str, tuple[tuple[int, float], ...]]
    known: frozenset[str]  # all of them
    said: frozenset[str]  # those that are the words themselves, and words that say nothing
    columns: tuple[tuple[int, float], ...]  # those of a row that count, by place, each with its weight
    search: tuple[str, ...]  # those of them that candidates are looked for by
    weights: tuple[float, ...]  # of each word asked for
    words: tuple[str, ...]
    intent: Intent
    nouns: tuple[float, ...]  # how far each word names the thing itself
    sources: Mapping[str, tuple[int, ...]]  # the words that are the name of a source
    hints: Mapping[str, tuple[int, ...]]  # those that may mean it
    head: int  # the number of the word that names the thing, or -1
    twins: tuple[int, ...]  # the number of the word that says the same, or its own


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    """What the indexes know of the words of a query, and of those that may stand for them."""

    rows: Mapping[str, int]  # that have a word
    named: Mapping[str, int]  # that are named so
    kin: Mapping[str, set[str]]  # the words of a root
    pairs: Sequence[str]  # two words of the query, written as one
    size: int

    def near(self, number: int, word: str) -> set[str]:
        """The words that are as good as this one."""
        found = {other for one in _roots(word) for other in self.kin.get(one, ())} - {word}
        found |= {other for other in spellings(word) if other in self.rows}
        return found | {pair for pair in self.pairs[max(0, number - 1) : number + 1] if pair in self.rows}

    def rarity(self, word: str, near: set[str], naming: int) -> float:
        """How much a word says."""
        having = sum(self.rows.get(other, 0) for other in (word, *near))
        if not naming:
            having = max(having, *(self.named.get(other, 0) for other in (word, *meanings(word))))
        if not having:
            having = max((self.rows.get(other, 0) for other in alike(word)), default=0)
        return rarity(having, self.size) if having else _UNKNOWN


def read_query(sources: Sequence[Source], query: str, wanted: Sequence[str], signs: Weights) -> Query:
    """What a query asks of these sources; `wanted` are its stems."""
    known = _known(sources, wanted)
    unknown = [word for word in wanted if word not in known.rows and root(word) not in known.kin]
    intent = intent_of(_without(query, sources), unknown)
    named = {source.name: _named(source.name, wanted) for source in sources}
    of_sources = {number for numbers in named.values() for number in numbers}
    apart = aside(query)
    tokens: dict[str, dict[int, float]] = {}
    weighed: list[float] = []
    for number, word in enumerate(wanted):
        if number in of_sources:
            weighed.append(signs.source)
            continue
        near = known.near(number, word)
        naming = sum(known.named.get(other, 0) for other in (word, *near))
        if word.isdigit() and not naming:  # "5 replicas": a value
            weighed.append(0.0)
            continue
        weighed.append(known.rarity(word, near, naming) * _share(word, intent, apart, signs))
        for token, quality in _qualities(word, near, signs.means if naming else signs.only, signs).items():
            if token in known.rows:
                tokens.setdefault(token, {})[number] = quality
    return Query(
        signs=signs,
        known=frozenset(tokens),
        said=SMALL.union(token for token, found in tokens.items() if max(found.values()) >= NEAR),
        columns=tuple((place, weight) for place, weight in enumerate(signs.columns()) if weight),
        search=_search(tokens, wanted, intent, known.rows),
        tokens={token: tuple(found.items()) for token, found in tokens.items()},
        weights=tuple(weighed),
        words=tuple(wanted),
        intent=intent,
        sources=named,
        hints={source.name: _hinted(source.name, wanted) for source in sources},
        nouns=tuple(_naming(word, intent, signs) for word in wanted),
        head=wanted.index(intent.head) if intent.head in wanted else -1,
        twins=tuple(_twin(wanted, number) for number in range(len(wanted))),
    )


def _known(sources: Sequence[Source], wanted: Sequence[str]) -> _Known:
    pairs = [one + other for one, other in itertools.pairwise(wanted)]
    others = (other for word in wanted for other in (*alike(word), *meanings(word), *spellings(word)))
    asked_for = {*wanted, *pairs, *others}
    roots = {one for word in wanted for one in _roots(word)}
    rows: dict[str, int] = {}
    named: dict[str, int] = {}
    kin: dict[str, set[str]] = {}
    for source in sources:
        for word, rooted, having, naming in source.index.counts(asked_for, roots):
            rows[word] = rows.get(word, 0) + having
            named[word] = named.get(word, 0) + naming
            kin.setdefault(rooted, set()).add(word)
    return _Known(rows=rows, named=named, kin=kin, pairs=pairs, size=sum(source.index.size for source in sources))


def _roots(word: str) -> set[str]:
    """Its own, and that of what it undoes."""
    return {root(word), root(stem(undone(word)) or word)}


def _qualities(word: str, near: set[str], means: float, signs: Weights) -> dict[str, float]:
    """How well each token stands for a word."""
    return {
        **dict.fromkeys(alike(word), signs.like),
        **dict.fromkeys(meanings(word), means),
        **dict.fromkeys(near, signs.kin),
        word: 1.0,
    }


def _share(word: str, intent: Intent, apart: frozenset[str], signs: Weights) -> float:
    """How much a word counts by what it does in the sentence."""
    if word == intent.verb and intent.kind not in DOING:
        return signs.said
    if word in FILTERS and intent.kind in ("list", "ask", "read", ""):
        return signs.state
    if word in apart:
        return signs.aside
    return 1.0 if word in intent.target or word == intent.verb else signs.context


def _without(query: str, sources: Sequence[Source]) -> str:
    """The query without the names of sources, which are no part of its grammar."""
    names = {source.name.lower() for source in sources}
    kept = [word for word in query.split() if word.lower().strip(".,:;!?'\"") not in names]
    return " ".join(kept)


def _named(source: str, wanted: Sequence[str]) -> tuple[int, ...]:
    """The words of a query that are the name of a source."""
    parts = {*map(stem, source.lower().split("_"))} if source else set[str]()
    return tuple(number for number, word in enumerate(wanted) if word in parts)


def _hinted(source: str, wanted: Sequence[str]) -> tuple[int, ...]:
    """Those that may mean it."""
    name = stem(source.lower())
    return tuple(number for number, word in enumerate(wanted) if name in meanings(word))


def _naming(word: str, intent: Intent, signs: Weights) -> float:
    if word == intent.head:
        return 1.0
    if word == intent.verb:  # "comment on an issue" makes a comment
        return 1.0 if intent.kind in DOING else 0.0
    if word in _ANYONE:
        return signs.anyone
    if word in intent.target:
        return signs.modifier
    return signs.owner if intent.kind == "update" else signs.place


def _search(
    tokens: Mapping[str, Mapping[int, float]], wanted: Sequence[str], intent: Intent, rows: Mapping[str, int]
) -> tuple[str, ...]:
    """The tokens that candidates are looked for by, the best and rarest where there are many."""
    told = dict.fromkeys(_deeds(tokens, wanted, intent))
    if intent.kind and intent.kind not in DOING:  # in the place of all words for one verb, the kind that it means
        told[kind_word("read" if intent.kind == "ask" else intent.kind)] = None
    verb = "" if intent.kind in DOING else intent.verb
    others = [
        token
        for token, found in tokens.items()
        if any(quality >= NEAR or wanted[number] != verb for number, quality in found.items())
    ]
    others.sort(key=lambda token: (max(tokens[token].values()) < WORTH, rows[token], token))
    return (*told, *others[: max(len(wanted), LOOKED_FOR - len(told))])


def _deeds(tokens: Mapping[str, Mapping[int, float]], wanted: Sequence[str], intent: Intent) -> Iterator[str]:
    """What is to be done to what, as single tokens."""
    kinds = (*_DEEDS.get(intent.kind, (intent.kind,)), *((intent.verb,) if intent.kind in DOING else ()))
    for token, found in tokens.items():
        if any(quality > WORTH and wanted[number] != intent.verb for number, quality in found.items()):
            for kind in kinds:
                yield deed(kind, token)


def _twin(wanted: Sequence[str], number: int) -> int:
    """ "make a new …" asks once for what both words mean."""
    like = alike(wanted[number])
    return next((other for other in range(number) if wanted[other] in like), number)
