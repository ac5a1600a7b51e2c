"""What kind of operation a query asks for, and which of its words name the thing: read from its grammar, in English.

It knows words and kinds. It knows no index.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from cellwright.catalog.words import is_small, split, stem, undone

Kind = Literal["list", "read", "ask", "create", "update", "delete", "act", "change", ""]

_VERBS: dict[Kind, str] = {
    "list": "list enumerate browse",
    "read": "get fetch read retrieve show view see find look lookup search query check describe inspect display load "
    "download grab print preview examine peek discover pull",
    "create": "create add new make insert register open start write save put append post generate publish provision "
    "submit upload issue schedule setup store deploy launch spawn build place draft compose define introduce raise "
    "file claim mint request enroll onboard install bootstrap establish log record report spin tokenize",
    "update": "update change edit set modify patch rename adjust replace alter correct configure mark increase "
    "decrease switch turn fix extend shorten resize enlarge shrink bump lower tweak amend toggle annotate reassign "
    "rewrite overwrite refresh customize restart repoint retitle",
    "delete": "delete remove drop erase clear destroy discard trash kill purge wipe uninstall kick expel nuke yank "
    "scrap axe ditch dump forget unset expunge eliminate evict unlink deregister unregister",
}
# verbs that are no nouns, each an operation of its own
_ACTIONS = frozenset(
    stem(word)
    for word in (
        "enable disable activate deactivate cancel stop pause resume restart approve reject accept decline merge "
        "reopen unlock restore revoke grant send verify confirm capture finalize attach detach assign invite suspend "
        "expose evict bind subscribe unsubscribe connect disconnect ban convert import export execute "
        "trigger give let deny undo revert email notify follow unfollow cordon uncordon taint untaint drain rerun "
        "allow forbid dismiss resolve rotate renew redeliver resend retry migrate rollback unpublish pin unpin mute "
        "unmute ignore refund void redact squash protect throttle restrict autoscale require authorize simulate "
        "reserve collect withdraw deposit close archive freeze"
    ).split()
)
# those of them that change a thing which is there
_CHANGES = frozenset(
    stem(word)
    for word in (
        "close reopen archive unarchive cordon uncordon taint untaint drain suspend pause resume restart freeze "
        "unfreeze lock unlock disable enable activate deactivate hide unhide promote demote move pin unpin scale stop "
        "retire deprecate resolve approve reject dismiss accept decline publish unpublish reactivate renew prioritize "
        "label tag unlabel expire protect unprotect sign throttle restrict"
    ).split()
)
_KINDS: dict[str, Kind] = {stem(word): kind for kind, words in _VERBS.items() for word in words.split()}
# how a method's own name begins
_NAMED: dict[str, Kind] = {
    **{stem(w): "list" for w in "list enumerate search".split()},
    **{stem(w): "read" for w in "get fetch read retrieve show view find query lookup describe inspect load".split()},
    **{stem(w): "create" for w in "create add new make insert register".split()},
    **{stem(w): "update" for w in "update change edit set modify patch rename replace alter configure put".split()},
    **{stem(w): "delete" for w in "delete remove drop erase destroy".split()},
}
_METHODS: dict[str, Kind] = {"GET": "read", "PUT": "update", "PATCH": "update", "DELETE": "delete"}
_ALSO_NOUNS = frozenset(
    "issue issues schedule post open build file log record report request claim draft pull".split()
)  # "issue comments", "open tickets"
_DETERMINERS = frozenset("a an the my me all this these those some any our your its every each his her their".split())
_PREPOSITIONS = frozenset(
    "in of from to for on with by as into at inside within under onto via across using without between i that".split()
)
_AUXILIARIES = frozenset("is are was were does do did has have had can will am should".split())
_LEADING = frozenset("to on into from out up off away".split())  # what follows a verb, and seldom a noun
_VAGUE = frozenset("detail details info information".split())
_PARTS = _VAGUE | frozenset(
    "number list history count amount contents set kind name names value values".split()
)  # "… of pods"
_ASKING = frozenset("which what who whom whose where when why".split())
_MEASURES = frozenset("many much far long often big large old".split())  # "how many …"
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
# which of many are meant: seldom a word of an operation, often a parameter's value
FILTERS = frozenset(
    stem(word)
    for word in (
        "open closed merged active inactive pending unpaid paid overdue failed recent latest newest current unread "
        "unresolved available installed existing old running finished completed expired enabled disabled archived"
    ).split()
)
_STATES = frozenset(
    "private public default bigger smaller larger visible hidden active inactive primary required optional mandatory "
    "internal readonly read-only permanent draft ready available unavailable sticky official verified".split()
)  # what a thing is made, that is there already
_NO_PLURAL = frozenset("status details detail info information details news series address access process".split())
_MANY = re.compile(r"^(?:Async)?(?:Iterator|Iterable|list|Sequence)\[|List$")
_VERSION = re.compile(r"^(?:v\d+\w*|apis?|rest)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Intent:
    """`kind` is "" where nothing says it. `target` are the stems of what it is about, not of where that stands."""

    kind: Kind
    target: frozenset[str]
    head: str = ""  # the word of them that the others only qualify
    verb: str = ""  # the word that says what to do


def intent_of(query: str, unknown: Collection[str] = ()) -> Intent:
    """What a query asks for. `unknown` are stems that nothing has: a first word that is no thing's name is a verb."""
    words = split(_CLAUSE.split(_FILLER.sub("", query.strip()), maxsplit=1)[0])
    asking = _asks(words)
    several = "all" in words or "who" in words[:1]
    words, thing, vague = _main(words)
    asking = asking or ("read" if vague else "")
    if not words:
        return Intent(kind=asking, target=frozenset())
    first, after = words[0], words[1] if len(words) > 1 else ""
    kind = None if asking or thing else _verb(first, after)
    is_verb = kind is not None or (not asking and not thing and _may_be_verb(words, unknown))
    if is_verb and kind is None and undone(first):
        kind = "delete"
    if first == "make" and (_is_state(words[-1]) or after in ("this", "the", "my", "it", "someone", "somebody")):
        kind = "update"  # "make a repository private"
    elif first == "set" and after in ("a", "an"):
        kind = "create"  # "set a reminder"
    target = _target(words[1:] if is_verb and after else words, settled=is_verb)
    many = several or is_plural(target[-1] if target else "")
    if not is_verb:
        kind = "list" if many else asking
    elif kind == "read" and many:
        kind = "list"
    if kind is None:
        kind = "change" if stem(first) in _CHANGES else "act"
    return Intent(
        kind=kind,
        target=frozenset(map(stem, target)),
        head=stem(target[-1]) if target else "",
        verb=stem(first) if is_verb else "",
    )


def _main(words: list[str]) -> tuple[list[str], bool, bool]:
    """The words from the first that says something on; whether they begin with a thing; whether all of it is meant."""
    at = next((i for i, word in enumerate(words) if not is_small(word) and not _leads(word)), 0)
    thing = at > 0 and words[at - 1] in _DETERMINERS  # "my email addresses" says nothing to do
    words = words[at:]
    vague = False
    if len(words) > 2 and words[0] in _PARTS and words[1] in ("of", "about", "on", "for"):
        vague = words[0] in _VAGUE
        words, thing = words[2:], True
    if len(words) > 1 and words[-1] in _VAGUE:  # "node details"
        return words[:-1], thing, True
    return words, thing, vague


def _may_be_verb(words: Sequence[str], unknown: Collection[str]) -> bool:
    """Whether a first word that means no kind says what to do."""
    first, after = words[0], words[1] if len(words) > 1 else ""
    if not after or is_plural(first) or first.endswith(("ed", "id")):
        return False
    if after in _DETERMINERS or after in _PREPOSITIONS or after in ("someone", "somebody") or "to" in words[2:4]:
        return True
    if stem(first) in _ACTIONS or (undone(first) and first != "unread"):
        return True
    return stem(first) in unknown and not first.endswith(("ing", "able", "ive", "al"))


def _is_state(word: str) -> bool:
    return word in _STATES or word.endswith("ed")


def _leads(word: str) -> bool:
    """Whether a word only leads to the next: "the", "force", "temporarily"."""
    return word in _DETERMINERS or word in ("force", "auto") or (word.endswith("ly") and len(word) > 6)


def aside(query: str) -> frozenset[str]:
    """The stems that only a clause has which says when or why."""
    told = _CLAUSE.split(query.strip(), maxsplit=1)
    return frozenset(map(stem, split(told[1]))) - frozenset(map(stem, split(told[0]))) if len(told) > 1 else frozenset()


def _asks(words: Sequence[str]) -> Kind:
    """What a question wants: to be told of one thing, or of some; "" where it is something to be done."""
    first = words[0] if words else ""
    if first == "how":
        return "ask" if len(words) > 1 and words[1] in _MEASURES else ""
    return "ask" if first in _ASKING else "read" if first in _AUXILIARIES else ""


def _verb(word: str, after: str) -> Kind | None:
    """The kind that a first word means; None where it means none, or is no verb."""
    follows = after in _DETERMINERS or after in _LEADING
    if word.endswith("ed") or (word in _ALSO_NOUNS and not follows):
        return None
    return _KINDS.get(stem(word))


def _target(words: Sequence[str], *, settled: bool) -> list[str]:
    """The words before the first preposition, the one that the others qualify last; all where that comes first."""
    told = [word for word in words if not is_small(word) and not _leads(word) and word != "who"]
    end = next((i for i, word in enumerate(words) if word in _PREPOSITIONS or word in _AUXILIARIES), len(words))
    found = [word for word in words[:end] if word in told and not word.isdigit()] or told
    while len(found) > 1 and found[-1].endswith(("ed", "ing")) and (not settled or is_plural(found[-2])):
        found.pop()  # "files changed", "users living there"
    if not settled and found and is_plural(found[0]) and not any(map(is_plural, found[1:])):  # "reviews left"
        found = [*found[1:], found[0]]
    return found


def is_plural(word: str) -> bool:
    """Whether a noun means several."""
    return len(word) > 2 and word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in _NO_PLURAL


def kind_of(name: Sequence[str], method: str, url: str, gives: str) -> Kind:
    """What a function does, by the words of its own name, how it is called over HTTP, and what it returns."""
    segments = [part for part in url.split("/") if part]
    last = segments[-1] if segments else ""
    many = bool(_MANY.search(gives)) or (bool(last) and "{" not in last and is_plural(last))
    known: Kind | None = _NAMED.get(stem(name[0])) if name else None
    if known is None:
        known = _METHODS.get(method) or ("list" if many and not method else None)
    if known is None and method == "POST":
        known = "act" if is_action(method, url) or (list(name) == split(last) and not is_plural(last)) else "create"
    if known in ("read", "list") and method not in ("", "GET", "POST"):
        known = "update"
    return "list" if known == "read" and many else known or "act"


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
    """The words of a URL that stand for things, without versions and parameters."""
    return [part for part in url.split("/") if part and "{" not in part and not _VERSION.match(part)]
