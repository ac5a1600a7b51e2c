"""What kind of operation a query asks for, and which of its words name the thing: read from its grammar, in English.

And the kind of an operation, by its name and URL. It knows words and kinds, and no index.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cellwright.catalog.stemmer import split, stem, stems, undone
from cellwright.catalog.vocabulary import Kind, is_small, vocabulary

_METHODS: dict[str, Kind] = {"GET": "read", "PUT": "update", "PATCH": "update", "DELETE": "delete"}
_FILLER = re.compile(
    r"^(?:(?:please|hey|so|ok|now|just|first|then|kindly|quickly|and|well|also)[,\s]+"
    r"|(?:how|where) (?:do|can|could|would|should|might) (?:i|we|one|you) |how to |ways? to |is there (?:a|any) way to "
    r"|(?:i|we)(?:'d| would)? (?:want|need|like|have|wish|am trying|are trying|try)(?: to)? "
    r"|(?:can|could|would|will) (?:you|we|i) (?:please )?|help me (?:to )?|let me |let us |let's |try to "
    r"|i'?m trying to )+",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"(?<=\w)[\s,]+(?:so|because|when|while|before|after|during|if|in case|until|since|unless|called|named|titled)\s",
    re.IGNORECASE,
)
_MANY = re.compile(r"^(?:Async)?(?:Iterator|Iterable|list|Sequence)\[|List$")
_VERSION = re.compile(r"^(?:v\d+\w*|apis?|rest)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Intent:
    """`kind` is "" where nothing in the query says it. `target` are the stems of the thing, not of its place."""

    kind: Kind
    target: frozenset[str]
    head: str = ""  # the stem of the target that its other stems only qualify
    verb: str = ""  # the stem of the word that says what to do


def intent_of(query: str, unknown: Collection[str] = ()) -> Intent:
    """What a query asks for. `unknown` are stems that no row has: as the first word, such a stem is likely a verb."""
    words = split(_CLAUSE.split(_FILLER.sub("", query.strip()), maxsplit=1)[0])
    asks = _question_kind(words)
    several = "all" in words or "who" in words[:1]
    words, begins_with_noun, wants_details = _main(words)
    asks = asks or ("read" if wants_details else "")
    if not words:
        return Intent(kind=asks, target=frozenset())
    first, after = words[0], words[1] if len(words) > 1 else ""
    may_be_verb = not asks and not begins_with_noun
    kind = _verb_kind(first, after) if may_be_verb else None
    is_verb = kind is not None or (may_be_verb and _is_likely_verb(words, unknown))
    if is_verb and kind is None and undone(first):
        kind = "delete"
    if first == "make" and (_is_state(words[-1]) or after in ("this", "the", "my", "it", "someone", "somebody")):
        kind = "update"  # "make a repository private"
    elif first == "set" and after in ("a", "an"):
        kind = "create"  # "set a reminder"
    target = _target(words[1:] if is_verb and after else words, has_verb=is_verb)
    many = several or is_plural(target[-1] if target else "")
    if not is_verb:
        kind = "list" if many else asks
    elif kind == "read" and many:
        kind = "list"
    if kind is None:
        kind = "change" if stem(first) in vocabulary().changes else "act"
    return Intent(
        kind=kind,
        target=frozenset(map(stem, target)),
        head=stem(target[-1]) if target else "",
        verb=stem(first) if is_verb else "",
    )


def _main(words: list[str]) -> tuple[list[str], bool, bool]:
    """The words from the first that says something on; whether that is a noun; whether the query wants its details."""
    known = vocabulary()
    at = next((i for i, word in enumerate(words) if not is_small(word) and not _leads(word)), 0)
    is_noun = at > 0 and words[at - 1] in known.determiners  # "my email addresses" says nothing to do
    words = words[at:]
    wants_details = False
    is_part = words and (words[0] in known.part_nouns or words[0] in known.detail_nouns)
    if len(words) > 2 and is_part and words[1] in ("of", "about", "on", "for"):
        wants_details = words[0] in known.detail_nouns
        words, is_noun = words[2:], True
    if len(words) > 1 and words[-1] in known.detail_nouns:  # "node details"
        return words[:-1], is_noun, True
    return words, is_noun, wants_details


def _is_likely_verb(words: Sequence[str], unknown: Collection[str]) -> bool:
    """Whether a first word that means no kind of operation says what to do."""
    known = vocabulary()
    first, after = words[0], words[1] if len(words) > 1 else ""
    if not after or is_plural(first) or first.endswith(("ed", "id")):
        return False
    if after in known.determiners or after in known.prepositions or after in ("someone", "somebody"):
        return True
    if "to" in words[2:4] or stem(first) in known.actions or (undone(first) and first != "unread"):
        return True
    return stem(first) in unknown and not first.endswith(("ing", "able", "ive", "al"))


def _is_state(word: str) -> bool:
    return word in vocabulary().states or word.endswith("ed")


def _leads(word: str) -> bool:
    """Whether a word only leads to the next: "the", "force", "temporarily"."""
    return word in vocabulary().determiners or word in ("force", "auto") or (word.endswith("ly") and len(word) > 6)


def aside(query: str) -> frozenset[str]:
    """The stems that are only in a clause that says when or why."""
    main, *clauses = _CLAUSE.split(query.strip(), maxsplit=1)
    return frozenset(stems(clauses[0])) - frozenset(stems(main)) if clauses else frozenset()


def _question_kind(words: Sequence[str]) -> Kind:
    """The kind that a question asks for: some things, or one thing; "" for a query that is not a question."""
    known = vocabulary()
    first = words[0] if words else ""
    if first == "how":
        return "ask" if len(words) > 1 and words[1] in known.measures else ""
    return "ask" if first in known.question_words else "read" if first in known.auxiliaries else ""


def _verb_kind(word: str, after: str) -> Kind | None:
    """The kind that a first word means as a verb; None for a word that is no such verb."""
    known = vocabulary()
    is_followed = after in known.determiners or after in known.after_verbs
    if word.endswith("ed") or (word in known.also_nouns and not is_followed):
        return None
    return known.verbs.get(stem(word))


def _target(words: Sequence[str], *, has_verb: bool) -> list[str]:
    """The words before the first preposition, the one that the others qualify last; all words if that comes first."""
    known = vocabulary()
    telling = [word for word in words if not is_small(word) and not _leads(word) and word != "who"]
    ends = (i for i, word in enumerate(words) if word in known.prepositions or word in known.auxiliaries)
    target = [word for word in words[: next(ends, len(words))] if word in telling and not word.isdigit()] or telling
    while len(target) > 1 and target[-1].endswith(("ed", "ing")) and (not has_verb or is_plural(target[-2])):
        target.pop()  # "files changed", "users living there"
    if not has_verb and target and is_plural(target[0]) and not any(map(is_plural, target[1:])):  # "reviews left"
        target = [*target[1:], target[0]]
    return target


def is_plural(word: str) -> bool:
    """Whether a noun means several things."""
    ends = len(word) > 2 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return ends and word not in vocabulary().no_plural


def kind_of(name: Sequence[str], method: str, url: str, gives: str) -> Kind:
    """What a function does: by the words of its own name, its HTTP method and URL, and the type of its result."""
    segments = [part for part in url.split("/") if part]
    last = segments[-1] if segments else ""
    many = bool(_MANY.search(gives)) or (bool(last) and "{" not in last and is_plural(last))
    kind: Kind | None = vocabulary().names.get(stem(name[0])) if name else None
    if kind is None:
        kind = _METHODS.get(method) or ("list" if many and not method else None)
    if kind is None and method == "POST":
        kind = "act" if is_action(method, url) or (list(name) == split(last) and not is_plural(last)) else "create"
    if kind in ("read", "list") and method not in ("", "GET", "POST"):
        kind = "update"
    return "list" if kind == "read" and many else kind or "act"


def is_action(method: str, url: str) -> bool:
    """Whether the last part of the URL says what is done to the object before it: `POST /invoices/{invoice}/send`."""
    segments = [part for part in url.split("/") if part]
    if method == "GET":
        return len(segments) > 1 and segments[-1] in ("search", "query", "lookup", "find")  # `GET /charges/search`
    return (
        method in ("POST", "PUT")
        and len(segments) > 1
        and "{" not in segments[-1]
        and "{" in segments[-2]
        and not is_plural(segments[-1])
    )


def steps_of(url: str) -> list[str]:
    """The parts of a URL that stand for things: no versions, no parameters."""
    return [part for part in url.split("/") if part and "{" not in part and not _VERSION.match(part)]
