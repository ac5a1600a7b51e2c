"""Names of people after a title, a greeting or a farewell, and before an address of e-mail."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cellwright.guard.private_kinds import PrivateSpan
from cellwright.guard.private_records import PERSON

_CAPITALS = re.compile(  # what may begin a title; a set of letters is searched for fast
    r"[MDPHFSLECRTBK](?:r|rs|s|iss|me|onsieur|adame|y name|ear|rof|t|atient|err|allo|i|ello|rau|ra|eñora?|ignora?"
    r"|iebe[rs]?|stimad[oa]|her|hère|heers|egards|incerely|hanks|est|ind)\b"
)
_BEFORE_MAIL = re.compile(rf"(?:\A|(?<=[\s,;:>\"'(]))({PERSON.pattern})[\"']? ?\Z")
_TITLES = re.compile(
    r"(?:M(?:rs?|s|iss|me|onsieur|adame|y name is)|D(?:r|ear)|P(?:rof|t|atient)|H(?:err|allo|i|ello)|Frau|S(?:r|ra"
    r"|eñora?|ignora?)|L(?:iebe[rs]?)"
    r"|Estimad[oa]|C(?:her|hère|heers,\n)|Regards,\n|Sincerely,\n|Thanks,\n|(?:Best|Kind)(?: regards| "
    r"wishes)?,\n)\b\.?(?: |(?<=\n))"
)
_TITLE_WORDS = frozenset("Dr Mr Mrs Ms Prof Dr. Mr. Mrs. Ms. Prof. Herr Frau Professor Doctor".split())
NO_NAMES = frozenset(
    "All Team Sir Madam Sirs Customer Customers Colleague Colleagues Friend Friends Hiring Manager Everyone "
    "Support Members "
    "Member User Users Client Sales Admin Editor Valued Students Parents Damen Herren Kollegen Portal Care Safety "
    "Services "
    "Records Information Name Id ID No Number Notes History Data Date Access Sir/Madam Reader Subscriber Partner "
    "Was Is Has Ltd Inc Inc. GmbH AB AG BV LLC Corp Corp. SA Phone Email Address Mobile Street Road".split()
)


def titled_names(text: str) -> Iterator[PrivateSpan]:
    """Names after a title, a greeting or a farewell."""
    for begun in _CAPITALS.finditer(text):
        title = _TITLES.match(text, begun.start())
        if title is None:
            continue
        at, end = title.span()
        found = PERSON.match(text, end, end + 60)
        if not found or (at and text[at - 1].isalpha()):
            continue
        words = re.split(r"[ ,]+", found[0])
        while words and words[0] in _TITLE_WORDS:
            end += len(words.pop(0)) + 1
        if words and not NO_NAMES.intersection(words) and (len(words) > 1 or title[0] != "Patient "):
            yield PrivateSpan(end, found.end(), "name")


def untitled(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """A name without the greeting or title before it."""
    title = _TITLES.match(text, *span)
    return (title.end() if title and title.end() < span[1] else span[0]), span[1]


def named_before(text: str, at: int) -> Iterator[PrivateSpan]:
    """`Ann Lee <ann@lee.example>`"""
    begin = max(at - 60, 0)
    found = _BEFORE_MAIL.search(text[begin:at])
    if found:
        yield PrivateSpan(begin + found.start(1), begin + found.end(1), "name")
