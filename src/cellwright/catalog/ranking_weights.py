"""The numbers of ranking: what each sign counts, and how well an operation of one kind answers a query for another."""

from __future__ import annotations

from dataclasses import dataclass

from cellwright.catalog.fulltext import kind_word


@dataclass(frozen=True, kw_only=True, slots=True)
class RankingWeights:
    """What each sign counts. Tuned with queries over three large APIs, and over a small scope."""

    verb: float = 0.6
    name: float = 0.9
    url: float = 0.8
    summary: float = 0.87
    params: float = 0.5
    doc: float = 0.6
    tags: float = 0.8
    kin: float = 0.9  # of a word with the same root, as against the word itself
    means: float = 0.7  # of a word that an API may use for it
    only: float = 0.85  # of such a word, if no row is named by the query's own word
    like: float = 0.5  # of a word that people use for it
    also: float = 0.05  # of a second column that has the word too
    context: float = 0.95  # of a word that says where the thing stands
    said: float = 0.8  # of a verb that every API has
    state: float = 0.4  # of a word that says which of many
    aside: float = 0.25  # of a word in a clause that says when or why
    absent: float = 0.1  # against a row that does not have the thing
    unasked: float = 0.1  # against each word of a name that the query does not have, by how rare it is
    kind: float = 0.25
    otherwise: float = -0.35  # how an action fits that is not the query's verb
    noun: float = 0.25
    stray: float = 0.2  # against that: words of the row's thing that the query does not have
    words: float = 0.1  # of the score of the full-text search
    modifier: float = 0.7  # of a word that only qualifies the thing, for a row about that word
    place: float = 0.45  # of a word for the place of the thing
    owner: float = 0.42  # of such a word in an update: "the labels of a pod" are changed with the pod
    anyone: float = 0.2  # of a word for nobody in particular
    depth: float = 0.02
    source: float = 0.6
    hint: float = 0.8  # of a word that may mean a source: "cluster"
    again: float = 0.25  # against a third and further row that does the same to the same thing
    whole: float = 0.3  # of a name that is the whole query

    def columns(self) -> tuple[float, ...]:
        return self.verb, self.name, 0.0, 0.0, self.url, self.summary, self.params, self.doc, self.tags, 0.0


WEIGHTS = RankingWeights()
# how well an operation of one kind answers a query for another
_KINDS = {
    "list": {"list": 1.0, "read": 0.3, "value": 0.3, "create": -0.6, "update": -0.6, "delete": -0.8, "act": -0.5},
    "read": {"read": 1.0, "list": 0.5, "value": 0.6, "create": -0.6, "update": -0.6, "delete": -0.8, "act": -0.4},
    "ask": {"list": 1.0, "read": 0.7, "value": 0.7, "create": -0.6, "update": -0.6, "delete": -0.8, "act": -0.5},
    "create": {"create": 1.0, "act": 0.4, "update": 0.2, "read": -0.6, "list": -0.6, "delete": -0.9, "value": -0.6},
    "update": {"update": 1.0, "act": 0.4, "create": 0.1, "read": -0.6, "list": -0.6, "delete": -0.7, "value": -0.6},
    "delete": {"delete": 1.0, "act": 0.2, "create": -0.7, "update": -0.4, "read": -0.7, "list": -0.7, "value": -0.7},
    "act": {"act": 0.7, "create": 0.5, "update": 0.45, "delete": -0.3, "read": -0.4, "list": -0.5, "value": -0.4},
    "change": {"act": 0.7, "update": 0.6, "create": 0.2, "delete": -0.2, "read": -0.4, "list": -0.5, "value": -0.4},
    "": {"list": 0.3, "read": 0.2, "value": 0.2, "create": 0.25, "act": 0.1, "update": 0.0, "delete": -0.4},
}
FITS = {asked: {kind_word(kind): fits for kind, fits in row.items()} for asked, row in _KINDS.items()}
DOING = ("act", "change")  # kinds that only the verb tells
NEAR = 0.88  # the quality from which a token is the word itself
WORTH = 0.6  # the quality from which a token is searched for as the thing
