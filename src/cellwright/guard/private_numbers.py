"""Private numbers: phones, cards, IBANs, national ids, NPIs by their form, others by a label before them.

A run holds digits, capitals and the marks between groups. Its pieces are tried from the longest to the shortest. What
check digits and form leave in doubt says which words have to stand near it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial
from typing import NamedTuple

from cellwright.guard.private_kinds import PrivateSpan, library
from cellwright.guard.private_words import pattern, word_file

_MOST_PIECES = 9  # groups of four in the longest IBAN
_PIECE = re.compile(r"[^ \u00a0\u202f]+")
_MARKS = str.maketrans("", "", " \u00a0\u202f.-\u2010\u2011\u2013/()+")
_ENDS = ".-/(+\u2010\u2011\u2013"
_WITH_MARKS = ("se.", "fi.", "cz.")  # countries whose marks say the century
_IBAN = re.compile(r"[A-Z]{2}\d\d[0-9A-Z]{11,30}")
_EXTENSION = re.compile(r" ?(?:x|ext\.?) ?\d{1,6}\b")
_TWO_CAPITALS = re.compile(r"[^A-Za-z0-9]?[A-Z]{2} \Z")  # `AB 12 34 56 C`
_LABELLED = ("medical_record", "national_id", "birth_date")
_DOUBLED = str.maketrans("0123456789", "0246813579")
_IdForm = tuple[str, re.Pattern[str], re.Pattern[str] | None]  # validator, form, words needed
_BEFORE, _AFTER, _CLOSE = 40, 20, 16  # where the word stands that a weak number needs


class _Number(NamedTuple):
    """A private number in a run. It counts where `needs` stands before or shortly after it, and `unless` not before."""

    start: int
    end: int
    kind: str
    needs: re.Pattern[str] | None = None
    unless: re.Pattern[str] | None = None
    validator: str = ""  # asked when the words are there: most numbers of this form have none


@cache
def countries_of_ids() -> tuple[str, ...]:
    """The countries whose ids are known."""
    return tuple(dict.fromkeys(line.split()[0] for line in word_file()["national_ids"].splitlines()))


@lru_cache(maxsize=16)
def _ids(countries: tuple[str, ...]) -> dict[int, list[_IdForm]]:
    """By the number of characters without marks."""
    ids: dict[int, list[_IdForm]] = {}
    for line in word_file()["national_ids"].splitlines():
        country, validator, lengths, rest = line.split(None, 3)
        form, _, needs = rest.partition("  ")
        near = re.compile(f"{needs.strip()}|{pattern('id_words').pattern}") if needs else None
        for size in lengths.split(",") if country in countries else ():
            ids.setdefault(int(size), []).append((validator, re.compile(form), near))
    return ids


def numbers_at(
    text: str, start: int, run: tuple[int, int], region: str, countries: tuple[str, ...]
) -> Iterator[PrivateSpan]:
    """The private numbers in a run; `start` is where capitals before it begin."""
    digits, end = run
    if start and (text[start - 1].isalnum() or text[start - 1] in "_-\\"):  # its first piece begins inside a word
        start = text.find(" ", start, end) + 1 or end
    else:
        while start and digits - start < 3 and text[start - 1] in "+(":
            start -= 1
        if start == digits and _TWO_CAPITALS.match(text, max(start - 4, 0), start):
            start -= 3
    for number in _numbers_in(text[start:end], region, countries) if end - start > 6 else ():
        begin, stop = start + number.start, start + number.end
        more = _EXTENSION.match(text, stop) if number.kind == "phone" else None
        is_whole = more or not (text[stop : stop + 1].isalnum() or text[stop : stop + 1] == "_")
        if is_whole and _counts(text, begin, stop, number):
            yield PrivateSpan(begin, more.end() if more else stop, number.kind)


def _counts(text: str, start: int, end: int, number: _Number) -> bool:
    """Whether the words near a number let it count."""
    before = text[max(start - _BEFORE, 0) : start].lower().rpartition("\n")[2]
    if before.endswith(("$", "€", "£")):
        return False
    needed = _last(number.needs, before)
    after = text[end : end + _AFTER].partition("\n")[0].lower()
    if number.needs and not needed and not number.needs.search(after):
        return False
    if number.validator and not is_valid(number.validator, text[start:end]):
        return False
    other = _last(number.unless, before)
    wanted = needed or (_last(pattern("phone_words"), before) if number.kind == "phone" else 0)
    return other <= max(len(before) - _CLOSE, 0) or wanted > other


def _last(words: re.Pattern[str] | None, text: str) -> int:
    """Where the last of these words ends; 0 where there is none."""
    return max((found.end() for found in words.finditer(text)), default=0) if words else 0


@lru_cache(maxsize=16384)
def _numbers_in(run: str, region: str, countries: tuple[str, ...]) -> tuple[_Number, ...]:
    """The private numbers in a run; the first piece of it begins at a boundary. Where they overlap, all are given."""
    numbers: list[_Number] = []
    pieces = [found.span() for found in _PIECE.finditer(run)]
    first = 0
    while first < len(pieces):
        start = pieces[first][0]
        for last in range(min(len(pieces), first + _MOST_PIECES), first, -1):
            value = run[start : pieces[last - 1][1]].rstrip(_ENDS)
            found = list(_kinds_of(value, partial(_Number, start, start + len(value)), region, countries))
            if first and run[start] not in "+(":  # a phone number is not the end of something longer
                found = [number for number in found if number.kind != "phone"]
            numbers += found
            if not all(number.needs for number in found):
                first = last - 1
                break
        first += 1
    return tuple(numbers)


def _kinds_of(value: str, number: Callable[..., _Number], region: str, countries: tuple[str, ...]) -> Iterator[_Number]:
    compact = value.translate(_MARKS)
    size = len(compact)
    if value.count(".") == 3 and is_ip(value):  # `1.2.0.7` is a version as well
        yield number("ip", None if size > 4 else pattern("host_words"), pattern("version_words"))
        return
    if size < 7:
        return
    ids = [row for row in _ids(countries).get(size, ()) if row[1].fullmatch(value)]
    if not compact.isdigit():
        if size > 14 and _IBAN.fullmatch(compact) and _is_iban(compact):
            yield number("iban")
        for validator, _, needs in ids:
            if validator == "-" or is_valid(validator, value):
                yield number("national_id", needs)
        return
    if size > 11 and pattern("card").fullmatch(value) and pattern("issuer").fullmatch(compact) and _luhn(compact):
        yield number("card", pattern("card_words") if pattern("doubtful_issuer").match(compact) else None)
    for validator, _, needs in ids:
        if needs or is_valid(validator, value):
            yield number("national_id", needs, pattern("book_words"), validator if needs else "")
    if size == 10 and compact[0] in "12" and _luhn(f"80840{compact}"):
        yield number("npi", pattern("npi_words"))
    if size > 15 or value.count("(") > 1 or pattern("date").fullmatch(value):
        return
    if value.startswith(("+", "(+")):
        if _is_phone("+" + compact, None):
            yield number("phone")
    else:
        is_certain = _is_certain_phone(value, compact, region)
        yield number("phone", None if is_certain else pattern("phone_words"), pattern("other_words"))


def _is_certain_phone(value: str, compact: str, region: str) -> bool:
    """Whether its form makes a number a phone's, without a word beside it."""
    if compact.startswith("00") and value != compact:
        return _is_phone("+" + compact[2:], None)
    if pattern("nanp").fullmatch(value):
        return value.startswith("(") or (region in ("US", "CA") and _is_phone(value, region))
    if len(compact) in range(8, 13) and pattern("trunk").fullmatch(value):
        return True  # of whichever region
    is_grouped = pattern("grouped").fullmatch(value) and not pattern("amount").fullmatch(value)
    return bool(is_grouped) and _is_phone(value, region)


def _is_phone(value: str, region: str | None) -> bool:
    """Without a region by its length alone."""
    phones = library("phonenumbers")
    try:
        number = phones.parse(value, region)
        return bool(phones.is_valid_number(number) if region else phones.is_possible_number(number))
    except phones.NumberParseException:
        return False


def is_ip(value: str) -> bool:
    """Whether it is an address of a machine; `::1` and `127.0.0.1` are of every machine, and do not count."""
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


def _luhn(digits: str) -> bool:
    return sum(map(int, digits[::-2] + digits[-2::-2].translate(_DOUBLED))) % 10 == 0


def _is_iban(compact: str) -> bool:
    """By its check digits. Lengths by country change, and one of 97 other numbers is no harm."""
    return int("".join(str(int(each, 36)) for each in compact[4:] + compact[:4])) % 97 == 1


def is_valid(validator: str, value: str) -> bool:
    """Whether a national id has the check digits of its country."""
    compact = value if validator.startswith(_WITH_MARKS) else value.translate(_MARKS)
    try:
        return bool(library(f"stdnum.{validator}").is_valid(compact))
    except LookupError:  # of a county that the validator's table does not have
        return False


def labelled_values(text: str, start: int) -> Iterator[PrivateSpan]:
    """A date of birth, or the number of a person or of a medical record, after the words that say so."""
    left = text[max(start - _BEFORE, 0) : start]
    if not pattern("label_hint").search(left.lower()):
        return
    for kind in _LABELLED:
        if pattern(f"{kind}_label").search(left):
            form, before = pattern(f"{kind}_form"), pattern(f"{kind}_before").search(left)
            value = (before and form.match(text, start - len(before[0]))) or form.match(text, start)
            if value:
                yield PrivateSpan(*value.span(), kind)
