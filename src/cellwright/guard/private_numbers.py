"""Private numbers in a run of digits: phones, cards, IBANs, national ids, NPIs. By their check digits and forms.

A run holds digits, capitals and the marks between groups. Its pieces are tried from the longest to the shortest; what
is not certain by itself says which words have to stand near it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from cellwright.guard.private_kinds import library

_MOST_PIECES = 9  # groups of four in the longest IBAN
_MARKS = str.maketrans("", "", " \u00a0\u202f.-\u2010\u2011\u2013/()+")
_LUHN_CARD = re.compile(r"\d{12,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{1,7}|\d{4}([ -])\d{6}\2\d{4,5}")
_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d*(?<=^\d{16})|3[47]\d{13}"
    r"|(?:6011|65|64[4-9])\d{12,15}|(?:352[89]|35[3-8]\d)\d{12,15}|3(?:0[0-5]|[689]\d)\d{11,16}|62\d{14,17}"
    r"|(?:50|5[6-9]|6\d)\d{10,17}"
)
_ENDS = ".-/(+\u2010\u2011\u2013"
_WITH_MARKS = ("se.", "fi.", "cz.")  # countries whose marks say the century
_IBAN = re.compile(r"[A-Z]{2}\d\d[0-9A-Z]{11,30}")
_DATE = re.compile(r"(?:19|20)\d\d([-/.])\d{1,2}\1\d{1,2}.*|\d{1,2}([-/.])\d{1,2}\2(?:19|20)?\d\d(?:[ T].*)?")
_NANP = re.compile(r"(?:\+?1[ .-]?)?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}")
_GROUPED = re.compile(r"\(?0\d{1,5}\)?(?:[ ./-]{1,3}\d{2,8}){1,5}|\d{2,4}(?:[ .]\d{2,4}){2,4}")
_TRUNK = re.compile(r"\(0\d{1,4}\) ?\d{2,4}(?:[ -]?\d{2,4}){1,3}|0\d{1,4}[ /-]\d{2,8}(?:[ -]\d{2,4}){0,4}")
_POSTAL = re.compile(r"\d{5}-\d{3,4}")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?|\d{1,3}(?:[ .]\d{3})+")
CALLS = (
    r"phone|tel\b|tel[.:]|mobile|mobil\b|cell|fax|call|dial|reach|text me|whatsapp|sms|telefon|handy|téléphone|teléfono"
    r"|contact\b|☎|portable|mob\b"
)
_VERSION = r"version|release|build|\bv\.?$|§|section"
_LOCATED = r"\bip|host|addr|from|client|server|peer"  # `1.2.0.7` is a version as well
_OTHER = r"order|invoice|isbn|sku|serial|tracking|ticket|case|part|item|version|account|#|\bno\.?|\bref"


@dataclass(frozen=True, slots=True)
class NumberSpan:
    """A private number in a run. It counts where `needs` is empty, or matches the text before or shortly after it, and
    `unless` does not match directly before it.
    """

    start: int
    end: int
    kind: str
    needs: str = ""
    unless: str = ""
    validator: str = ""  # asked when the words are there: most numbers of this form have none


@dataclass(frozen=True, slots=True)
class NationalId:
    """How the ids of a country look, which validator knows their check digits, and the words near a weak one."""

    country: str
    module: str
    lengths: tuple[int, ...]
    pattern: re.Pattern[str]
    needs: str


_ANY_ID = (
    r"national id|identity|id (?:no|number|card)|tax ?(?:id|payer|no)|personal (?:id|no|number)|social (?:sec|ins)"
)
# country, validator, lengths without marks, form; words that must stand near where the form alone says too little
_TABLE = r"""
US us.ssn            9     \d{3}-\d{2}-\d{4}
US us.ssn            9     \d{9}|\d{3} \d{2} \d{4}     ssn|social sec
US us.itin           9     9\d{2}-\d{2}-\d{4}
GB -                 9     (?![DFIQUV])[A-Z](?![DFIQUVO])[A-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]
GB gb.nhs            10    \d{3}[ -]?\d{3}[ -]?\d{4}   nhs
DE de.idnr           11    \d{2} ?\d{3} ?\d{3} ?\d{3}  steuer|id-?nr|identifikation|\btin\b
FR fr.nir            15    [12] ?\d\d ?\d\d ?\d[\dAB] ?\d{3} ?\d{3} ?\d\d
ES es.dni            9     \d{8}[ -]?[A-Z]
ES es.nie            9     [XYZ][ -]?\d{7}[ -]?[A-Z]
IT it.codicefiscale  16    [A-Z]{6}\d\d[A-Z]\d\d[A-Z]\d{3}[A-Z]
NL nl.bsn            9     \d{9}|\d{4}[. ]\d{2}[. ]\d{3}|\d{3}[. ]\d{3}[. ]\d{3}    bsn|burgerservice|sofi
PL pl.pesel          11    \d{11}                      pesel
SE se.personnummer   10,12 (?:\d\d)?\d{6}[-+]\d{4}
SE se.personnummer   10,12 (?:\d\d)?\d{10}             person(?:al )?n
NO no.fodselsnummer  11    \d{6} ?\d{5}
DK dk.cpr            10    [0-3]\d[01]\d{3}-\d{4}
DK dk.cpr            10    \d{6} ?\d{4}                cpr
FI fi.hetu           10,11 \d{6}[-+A-F]\d{3}[0-9A-Z]
BE be.nn             11    \d{2}\.?\d{2}\.?\d{2}-?\d{3}[.-]?\d{2}
PT pt.cc             12    \d{8} ?\d ?[A-Z]{2}\d
IN in_.aadhaar       12    \d{4}[ -]\d{4}[ -]\d{4}
IN in_.aadhaar       12    \d{12}                      aadhaa?r|uidai
IN in_.pan           10    [A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]
BR br.cpf            11    \d{3}\.\d{3}\.\d{3}-\d{2}
BR br.cpf            11    \d{11}|\d{9}-\d{2}          cpf
CA ca.sin            9     \d{3}[- ]?\d{3}[- ]?\d{3}   \bsin\b|social ins|insurance num
CH ch.ssn            13    756\.?\d{4}\.?\d{4}\.?\d{2}
IE ie.pps            8,9   \d{7}[A-W][A-IW]?
AT at.vnr            10    \d{4} ?\d{6}                svnr|sozialvers|vsnr
AU au.tfn            8,9   \d{2,3}[ -]?\d{3}[ -]?\d{3} tfn|tax file
MX mx.curp           18    [A-Z]{4}\d{6}[HMX][A-Z]{5}[0-9A-Z]\d
CZ cz.rc             9,10  \d{6}/\d{3,4}
RO ro.cnp            13    [1-9]\d{12}
TR tr.tckimlik       11    [1-9]\d{10}                 kimlik|tckn|t\.c\.
KR kr.rrn            13    \d{6}-[1-8]\d{6}
CN cn.ric            18    \d{17}[\dX]
ZA za.idnr           13    \d{6} ?\d{4} ?\d{2} ?\d     \bid\b|identity
"""
COUNTRIES = tuple(dict.fromkeys(line.split()[0] for line in _TABLE.strip().splitlines()))


@lru_cache(maxsize=16)
def _ids(countries: tuple[str, ...]) -> dict[int, list[NationalId]]:
    ids: dict[int, list[NationalId]] = {}
    for line in _TABLE.strip().splitlines():
        country, module, lengths, rest = line.split(None, 3)
        form, _, needs = (part.strip() for part in re.sub(r"\s{2,}", "\t", rest + "\t").partition("\t"))
        sizes = tuple(map(int, lengths.split(",")))
        row = NationalId(
            country, module, sizes, re.compile(form), f"{needs.strip()}|{_ANY_ID}" if needs.strip() else ""
        )
        if country in countries:
            for size in sizes:
                ids.setdefault(size, []).append(row)
    return ids


@lru_cache(maxsize=16384)
def numbers_in(run: str, region: str, countries: tuple[str, ...]) -> tuple[NumberSpan, ...]:
    """The private numbers in a run; the first piece of it begins at a boundary. Where they overlap, all are given."""
    spans: list[NumberSpan] = []
    pieces = [found.span() for found in re.finditer(r"[^ \u00a0\u202f]+", run)]
    first = 0
    while first < len(pieces):
        for last in range(min(len(pieces), first + _MOST_PIECES), first, -1):
            start, end = pieces[first][0], pieces[last - 1][1]
            found = list(_kinds_of(run[start:end], region, countries))
            if first and run[start] not in "+(":  # a phone number is not the end of something longer
                found = [each for each in found if each[0] != "phone"]
            if found:
                end = start + len(run[start:end].rstrip(_ENDS))
                spans += [NumberSpan(start, end, *each) for each in found]
                if not all(needs for _, needs, *_ in found):
                    first = last - 1
                    break
        first += 1
    return tuple(spans)


def _kinds_of(value: str, region: str, countries: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Kind, words needed, words that must not stand before, and the validator that is still to be asked."""
    value = value.rstrip(_ENDS)
    compact = value.translate(_MARKS)
    size = len(compact)
    if size < 7:
        if value.count(".") == 3 and _is_ip(value):
            yield "ip", "" if size > 4 else _LOCATED, _VERSION
        return
    if not compact.isdigit():
        if size > 14 and _IBAN.fullmatch(compact) and _is_iban(compact):
            yield "iban", "", ""
        for row in _ids(countries).get(size, ()):
            if row.pattern.fullmatch(value) and (row.module == "-" or is_valid(row.module, value)):
                yield "national_id", row.needs, ""
        return
    if value.count(".") == 3 and _is_ip(value):
        yield "ip", "" if size > 4 else _LOCATED, _VERSION
        return
    if 12 <= size <= 19 and _LUHN_CARD.fullmatch(value) and _ISSUERS.fullmatch(compact) and _luhn(compact):
        doubtful = compact[0] in "56" and not re.match(r"5[1-5]|6011|65|64|62", compact)
        yield "card", r"card|visa|master|amex|maestro|credit|debit|payment" if doubtful else "", ""
    for row in _ids(countries).get(size, ()):
        if row.pattern.fullmatch(value) and (row.needs or is_valid(row.module, value)):
            yield "national_id", row.needs, "isbn|issn", row.module if row.needs else ""
    if size == 10 and compact[0] in "12" and _luhn(f"80840{compact}"):
        yield "npi", r"npi|national provider", ""
    yield from _phone(value, compact, region)


def _phone(value: str, compact: str, region: str) -> Iterator[tuple[str, ...]]:
    if not 7 <= len(compact) <= 15 or _DATE.fullmatch(value) or value.count("(") > 1:
        return
    if value.startswith(("+", "(+")):
        if _is_phone("+" + compact, None, possible=True):
            yield "phone", "", ""
        return
    if compact.startswith("00") and value != compact:
        is_certain = _is_phone("+" + compact[2:], None, possible=True)
    elif _NANP.fullmatch(value):
        is_certain = value.startswith("(") or (region in ("US", "CA") and _is_phone(value, region))
    elif _TRUNK.fullmatch(value) and not _POSTAL.fullmatch(value) and 8 <= len(compact) <= 12:
        is_certain = True  # of whichever region
    else:
        grouped = _GROUPED.fullmatch(value) and not _NUMBER.fullmatch(value)
        is_certain = bool(grouped) and _is_phone(value, region)
    yield "phone", "" if is_certain else CALLS, _OTHER


def _is_phone(value: str, region: str | None, *, possible: bool = False) -> bool:
    phones = library("phonenumbers")
    try:
        number = phones.parse(value, region)
        return bool(phones.is_possible_number(number) if possible else phones.is_valid_number(number))
    except phones.NumberParseException:
        return False


def _is_ip(value: str) -> bool:
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


def is_ip(value: str) -> bool:
    """Whether it is an address of a machine; `::1` and `127.0.0.1` are of every machine, and do not count."""
    return _is_ip(value)


_DOUBLED = "0246813579"


def _luhn(digits: str) -> bool:
    doubled = [int(_DOUBLED[int(digit)]) for digit in digits[-2::-2]]
    return (sum(map(int, digits[::-2])) + sum(doubled)) % 10 == 0


def _is_iban(compact: str) -> bool:
    """By its check digits. Lengths by country change, and one of 97 other numbers is no harm."""
    return int("".join(str(int(each, 36)) for each in compact[4:] + compact[:4])) % 97 == 1


def is_valid(validator: str, value: str) -> bool:
    """Whether a national id has the check digits of its country."""
    if not validator.startswith(_WITH_MARKS):
        value = value.translate(_MARKS)
    return bool(library(f"stdnum.{validator}").is_valid(value))
