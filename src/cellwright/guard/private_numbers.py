"""Private numbers in a run of digits: phones, cards, IBANs, national ids, NPIs, and those that a label before them names.

A run holds digits, capitals and the marks between groups. Its pieces are tried from the longest to the shortest. What
check digits and form leave in doubt says which words have to stand near it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from cellwright.guard.private_kinds import PrivateSpan, library
from cellwright.guard.private_words import pattern, table

_MOST_PIECES = 9  # groups of four in the longest IBAN
_PIECE = re.compile(r"[^ \u00a0\u202f]+")
_MARKS = str.maketrans("", "", " \u00a0\u202f.-\u2010\u2011\u2013/()+")
_ENDS = ".-/(+\u2010\u2011\u2013"
_WITH_MARKS = ("se.", "fi.", "cz.")  # countries whose marks say the century
_IBAN = re.compile(r"[A-Z]{2}\d\d[0-9A-Z]{11,30}")
_EXTENSION = re.compile(r" ?(?:x|ext\.?) ?\d{1,6}\b")
_TWO_CAPITALS = re.compile(r"[^A-Za-z0-9]?[A-Z]{2} \Z")  # `AB 12 34 56 C`
_DOUBLED = str.maketrans("0123456789", "0246813579")
_BEFORE, _AFTER, _CLOSE = 40, 20, 16  # where the word stands that a weak number needs


class _Number(NamedTuple):
    """A private number in a run. It counts where `needs` is empty, or matches the text before or shortly after it, and
    `unless` does not match directly before it.
    """

    start: int
    end: int
    kind: str
    needs: str = ""
    unless: str = ""
    validator: str = ""  # asked when the words are there: most numbers of this form have none


class _NationalId(NamedTuple):
    """How the ids of a country look, which validator knows their check digits, and the words near a weak one."""

    module: str
    pattern: re.Pattern[str]
    needs: str


@cache
def countries_of_ids() -> tuple[str, ...]:
    """The countries whose ids are known."""
    return tuple(dict.fromkeys(line.split()[0] for line in table("national_ids")["table"].splitlines()))


@lru_cache(maxsize=16)
def _ids(countries: tuple[str, ...]) -> dict[int, list[_NationalId]]:
    """By the number of characters without marks."""
    ids: dict[int, list[_NationalId]] = {}
    for line in table("national_ids")["table"].splitlines():
        country, module, lengths, rest = line.split(None, 3)
        form, _, needs = rest.partition("  ")
        needs = f"{needs.strip()}|{pattern('id_words').pattern}" if needs else ""
        for size in lengths.split(",") if country in countries else ():
            ids.setdefault(int(size), []).append(_NationalId(module, _compiled(form), needs))
    return ids


_compiled = cache(re.compile)


def numbers_at(
    text: str, start: int, digits: int, end: int, region: str, countries: tuple[str, ...]
) -> Iterator[PrivateSpan]:
    """The private numbers in the run `text[digits:end]`; `start` is where capitals before it begin."""
    if start and (text[start - 1].isalnum() or text[start - 1] in "_-\\"):  # its first piece begins inside a word
        start = text.find(" ", start, end) + 1 or end
    else:
        while start and digits - start < 3 and text[start - 1] in "+(":
            start -= 1
        if start == digits and _TWO_CAPITALS.match(text, max(start - 4, 0), start):
            start -= 3
    if end - start < 7:
        return
    for number in _numbers_in(text[start:end], region, countries):
        begin, stop = start + number.start, start + number.end
        more = _EXTENSION.match(text, stop) if number.kind == "phone" else None
        if more or not (text[stop : stop + 1].isalnum() or text[stop : stop + 1] == "_"):
            if _counts(text, begin, stop, number):
                yield PrivateSpan(begin, more.end() if more else stop, number.kind)


def _counts(text: str, start: int, end: int, number: _Number) -> bool:
    """Whether the words near a number let it count."""
    before = text[max(start - _BEFORE, 0) : start].lower().rpartition("\n")[2]
    if before.endswith(("$", "€", "£")):
        return False
    needed = _last(number.needs, before)
    if number.needs and not needed:
        if not _compiled(number.needs).search(text[end : end + _AFTER].partition("\n")[0].lower()):
            return False
    if number.validator and not is_valid(number.validator, text[start:end]):
        return False
    other = _last(number.unless, before)
    if other <= max(len(before) - _CLOSE, 0):
        return True
    return (needed or (_last(pattern("phone_words").pattern, before) if number.kind == "phone" else 0)) > other


def _last(words: str, text: str) -> int:
    """Where the last of these words ends; 0 where there is none."""
    return max((found.end() for found in _compiled(words).finditer(text)), default=0) if words else 0


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
            found = [_Number(start, start + len(value), *each) for each in _kinds_of(value, region, countries)]
            if first and run[start] not in "+(":  # a phone number is not the end of something longer
                found = [number for number in found if number.kind != "phone"]
            numbers += found
            if not all(number.needs for number in found):
                first = last - 1
                break
        first += 1
    return tuple(numbers)


def _kinds_of(value: str, region: str, countries: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Kind, words needed, words that must not stand before, and the validator that is still to be asked."""
    compact = value.translate(_MARKS)
    size = len(compact)
    if value.count(".") == 3 and is_ip(value):  # `1.2.0.7` is a version as well
        yield "ip", "" if size > 4 else pattern("host_words").pattern, pattern("version_words").pattern
        return
    if size < 7:
        return
    ids = [row for row in _ids(countries).get(size, ()) if row.pattern.fullmatch(value)]
    if not compact.isdigit():
        if size > 14 and _IBAN.fullmatch(compact) and _is_iban(compact):
            yield "iban", "", ""
        yield from (("national_id", row.needs, "") for row in ids if row.module == "-" or is_valid(row.module, value))
        return
    if (
        12 <= size <= 19
        and pattern("card").fullmatch(value)
        and pattern("issuer").fullmatch(compact)
        and _luhn(compact)
    ):
        yield "card", pattern("card_words").pattern if pattern("doubtful_issuer").match(compact) else "", ""
    for row in ids:
        if row.needs or is_valid(row.module, value):
            yield "national_id", row.needs, pattern("book_words").pattern, row.module if row.needs else ""
    if size == 10 and compact[0] in "12" and _luhn(f"80840{compact}"):
        yield "npi", pattern("npi_words").pattern, ""
    if size <= 15 and value.count("(") < 2 and not pattern("date").fullmatch(value):
        yield from _phone(value, compact, region)


def _phone(value: str, compact: str, region: str) -> Iterator[tuple[str, ...]]:
    if value.startswith(("+", "(+")):
        if _is_phone("+" + compact, None):
            yield "phone", "", ""
        return
    if compact.startswith("00") and value != compact:
        is_certain = _is_phone("+" + compact[2:], None)
    elif pattern("nanp").fullmatch(value):
        is_certain = value.startswith("(") or (region in ("US", "CA") and _is_phone(value, region))
    elif len(compact) in range(8, 13) and pattern("trunk").fullmatch(value):
        is_certain = True  # of whichever region
    else:
        grouped = pattern("grouped").fullmatch(value) and not pattern("amount").fullmatch(value)
        is_certain = bool(grouped) and _is_phone(value, region)
    yield "phone", "" if is_certain else pattern("phone_words").pattern, pattern("other_words").pattern


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
    if not validator.startswith(_WITH_MARKS):
        value = value.translate(_MARKS)
    return bool(library(f"stdnum.{validator}").is_valid(value))


# --- numbers that only a label before them makes private ---


def labelled_values(text: str, start: int, digits: int) -> Iterator[PrivateSpan]:
    """A date of birth, or the number of a person or of a medical record, after the words that say so."""
    left = text[max(start - _BEFORE, 0) : start]
    if not pattern("label_hint").search(left.lower()):
        return
    if pattern("record_label").search(left):
        begin = start - len(left) + max(map(left.rfind, ' :#"=')) + 1
        record = pattern("record_number").match(text, begin if text[begin:start].replace("-", "").isupper() else start)
        if record:
            yield PrivateSpan(*record.span(), "medical_record")
    if pattern("id_label").search(left):
        has_two = _TWO_CAPITALS.match(text, max(start - 4, 0), start) and text[start - 3 : start - 1] not in (
            "NO",
            "NR",
            "ID",
        )
        number = pattern("id_number").match(text, start - 3 if has_two else start)
        if number and sum(map(str.isdigit, number[0])) > 4:
            yield PrivateSpan(*number.span(), "national_id")
    if pattern("born").search(left):
        month = pattern("month_before").search(left)
        day = pattern("day").match(text, digits) or (month and pattern("day").match(text, start - len(month[0])))
        if day:
            yield PrivateSpan(*day.span(), "birth_date")
