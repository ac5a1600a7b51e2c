"""Street addresses and postal lines round a number, by the forms of several languages."""

from __future__ import annotations

from collections.abc import Iterator

from cellwright.guard.private_words import pattern, words

_LEFT = 72  # characters before the number in which the rest of an address stands


def place_at(text: str, start: int, digits: int) -> tuple[int, int] | None:
    """The address that the number at `digits` is part of; `start` is where capitals before it begin."""
    if start < digits:
        code = pattern("postcode").match(text, start)
        lines = pattern("lines_before").search(text[max(start - _LEFT, 0) : start]) if code else None
        return (start - len(lines[0]) if lines else start, code.end()) if code else None
    if pattern("maybe_street").match(text, digits):
        street = pattern("street").match(text, digits)
        if street:
            return street.span()
    if digits < 4 or text[digits - 1] != " ":
        return None
    left = text[max(digits - _LEFT, 0) : digits]
    word = (left.rsplit(None, 1) or [""])[-1]
    if not word[:1].isupper() and word[-1:] not in (",", "."):
        return None
    for before, after in _forms(left, word):
        end = pattern(after).match(text, digits)
        begun = pattern(before).search(left) if end else None
        if begun and end:
            return digits - len(left) + begun.start(), end.end()
    return None


def _forms(left: str, word: str) -> Iterator[tuple[str, str]]:
    """What may stand before a number that `word` is before, and from the number on."""
    if word in words("states"):
        yield "city_and_state", "zip"
    elif word in ("box", "Box", "BOX"):
        yield "box", "box_number"
    elif word.lower().rstrip(",").endswith(tuple(words("compounds"))):
        yield "compound", "house"
    elif not words("roads").isdisjoint(left.lower().split()):
        yield "road", "house"
        yield "road", "town"
    yield "words_before", "house_and_town"
