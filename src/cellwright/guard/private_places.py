"""Street addresses and postal lines round a number, by the forms of several languages."""

from __future__ import annotations

import re

_UP = "A-ZÀ-ÖØ-ÞĀ-Ž"
_KINDS = (
    "Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Square|Sq|Terrace|Ter|Way|Parkway|"
    "Pkwy|Highway|Hwy|Circle|Cir|Close|Crescent|Cres|Gardens|Grove|Mews|Row|Trail|Trl|Alley|Plaza|Loop|Ridge|Path|Pike|"
    "Walk|Hill|Park|Estate|Estates|Station|Crossing|Track|Run|Pass|Bypass|Turnpike|Cove|Creek|Ford|Forge|Fork|Glen|"
    "Green|Harbor|Heights|Hollow|Island|Junction|Key|Knoll|Lake|Landing|Lodge|Manor|Meadow|Meadows|Mill|Mission|"
    "Mountain|Orchard|Oval|Pine|Point|Port|Prairie|Ranch|Rest|River|Shoal|Shore|Spring|Springs|Spur|Summit|Throughway|"
    "Trace|Tunnel|Union|Valley|Via|Viaduct|View|Village|Ville|Vista|Wall|Well|Wells"
)
_CODE_AND_TOWN = (
    rf"(?:(?:[A-Z]{{1,2}}-)?(?:\d{{5}}-?\d{{3}}|\d{{5}}|(?!19|20)\d{{4}}|\d\d-\d{{3}})[, ]{{1,2}}|\d{{4}} "
    rf"?[A-Z]{{2}}[, \n]{{1,2}})[{_UP}][\w'’-]+"
    rf"(?:[ -](?:(?:d[aeio]s?|del|am|im|sur|en|aan) )?[{_UP}][\w'’-]*){{0,3}}(?: \([A-Z]{{2}}\)| / [A-Z]{{2}}\b)?"
)
_TOWN_AND_CODE = (
    rf"[{_UP}][\w'’.-]*(?: [{_UP}][\w'’.-]*){{0,2}}"
    rf"(?:,? [A-Z]{{2}},? (?:\d{{5}}(?:-\d{{4}})?|[A-Z]\d[A-Z] ?\d[A-Z]\d)|[- ]\d{{6}})\b"
)
_TOWN_LINE = f"{_CODE_AND_TOWN}|{_TOWN_AND_CODE}"
_TAIL = (
    rf"(?:,?\s(?:Apt|Apartment|Suite|Ste|Unit|Floor|Fl|Flat)\b\.? ?#?[\w-]{{1,6}})?"
    rf"(?:,?\s{{1,2}}(?:{_TOWN_LINE})|(?:,?\s{{1,2}}[{_UP}][\w'’ "
    rf"-]{{2,30}}){{0,2}},?\s{{1,2}}[A-Z]{{1,2}}\d[A-Z\d]? \d[A-Z]{{2}}\b)?"
)
_NUMBER_FIRST = re.compile(
    rf"\d{{1,5}}[A-Za-z]?(?:[-/]\d{{1,4}})?,? (?:[{_UP}\d][\w'’.-]* ){{1,4}}?(?:{_KINDS})\b(?! [a-z]+ly\b)\.?{_TAIL}"
)
_FRENCH = re.compile(
    rf"\d{{1,4}}(?: ?(?:bis|ter))?,? (?:rue|avenue|av\.|boulevard|bd|chemin|place|allée|impasse|quai|route|cours"
    rf"|passage)\b"
    rf" (?:(?:de la|de l'|des|du|de|d'|le|la|les) ?)?[{_UP}][\w'’-]+(?:[ -](?:de |du |la "
    rf")?[{_UP}][\w'’-]+){{0,3}}{_TAIL}"
)
_STREETS = re.compile(
    rf"[\dA-Za-z/-]{{1,9}},? (?:(?:bis|ter),? )?(?:[{_UP}\d]|rue|av|bo?u?l?|chem|pla|all|imp|qu|rou|cou|pas)"
)
_COMPOUND = (
    "straße", "strasse", "str.", "weg", "platz", "allee", "gasse", "damm", "ufer", "straat", "laan", "gracht", "plein",
    "kade", "gatan", "gata", "vägen", "vegen", "veien", "katu", "gade", "vej", "straße,", "stien", "gaten",
)  # fmt: skip
_ROMANCE = re.compile(
    rf"(?:[Vv]ia|[Vv]iale|[Pp]iazza|[Cc]orso|[Vv]icolo|[Cc]alle|C/|[Aa]venida|[Aa]vda\.?|[Pp]aseo|[Pp]laza|[Rr]ua"
    rf"|[Cc]arrer|[Rr]onda|"
    rf"rue|avenue|chemin|boulevard|place|[Tt]ravessa|[Ll]argo|[Ss]trada|[Uu]l\.|[Aa]l\.|[Uu]lica|[Pp]asaje"
    rf"|[Cc]amino|[Gg]lorieta|[Uu]rbanización|Cuesta|Callejón|Vial|Pasadizo|Alameda) "
    rf"(?:(?:de|du|des|le|del|della|delle|dei|di|da|do|dos|das|la|las|los|el|san|santa) "
    rf"){{0,3}}[{_UP}][\w'’.-]*(?: [\w'’.-]+){{0,4}},?\s"
)
_ROADS = frozenset(
    "via viale piazza corso vicolo calle c/ avenida avda avda. paseo plaza rua carrer ronda rue avenue "
    "chemin boulevard place travessa largo strada ul. al. ulica pasaje camino glorieta urbanización cuesta "
    "callejón vial pasadizo alameda".split()
)
_HOUSE = re.compile(
    rf"\d{{1,4}} ?[a-zA-Z]?\b(?:[-/]\d{{1,3}}\b)?(?:,? (?:piso|puerta|bajo|m\.|appartamento) ?\w{{0,3}})?{_TAIL}"
)
_TOWN = re.compile(_TOWN_LINE)
# any words in capitals and a number, if a postal code and a town follow; or a number, such words, a town and its code
_STREET_AND_TOWN = re.compile(
    rf"\d{{1,4}}(?: ?[a-zA-Z])?\b(?:[ /-]{{1,2}}(?:\d{{1,4}}|[A-Za-z]{{1,5}}\.? \d{{1,4}})\b){{0,2}}?"
    rf"(?:,?\s{{1,2}}[{_UP}][^\n,\d]{{2,30}}(?:\dª[^\n,\d]{{2,20}})?)?,?\s{{1,2}}(?:{_TOWN_LINE})"
)
_NUMBER_AND_TOWN = re.compile(
    rf"\d{{1,6}}(?:/\d{{1,4}})?,? (?:[{_UP}][\w'’.-]*[\s,]{{1,2}}){{1,5}}?(?:(?:Apt|Suite|Unit|Flat|Ste)\.? "
    rf"\w{{1,6}},?\s)?{_TOWN_AND_CODE}"
)
_WORDS_BEFORE = re.compile(
    rf"[{_UP}][\w'’.-]*(?: (?:(?:de|da|do|del|der|van|la|of|af|von|zum|am|den|het) )*[{_UP}\d][\w'’.-]*){{0,3}},? \Z"
)
_LINES_BEFORE = re.compile(rf"(?:(?<!\S)[{_UP}\d][\w'’.-]*(?: [{_UP}\d][\w'’.-]*){{0,4}}(?:, ?|\n)){{1,4}}\Z")
_STATES = frozenset(
    "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH "
    "OK OR PA "
    "PR RI SC SD TN TX UT VT VA WA WV WI WY GU VI AS MP FM MH PW AP AE AA".split()
)
_CITY = re.compile(rf"(?:[{_UP}][\w'’.-]+ ){{0,2}}[{_UP}][\w'’.-]+, ?\Z")
_POSTCODE = re.compile(r"[A-Z]{1,2}\d[A-Z\d]? \d[ABD-HJLNP-UW-Z]{2}\b")
_ZIP = re.compile(r"\d{5}(?:-\d{4})?(?!\d)")
_LEFT = 72


def place_at(text: str, start: int, digits: int) -> tuple[int, int] | None:
    """The address that the number at `digits` is part of; `start` is where capitals before it begin."""
    if start < digits:
        found = _POSTCODE.match(text, start)
        lines = _LINES_BEFORE.search(text[max(start - _LEFT, 0) : start]) if found else None
        return (start - len(lines[0]) if lines else start, found.end()) if found else None
    if _STREETS.match(text, digits):
        found = _NUMBER_FIRST.match(text, digits) or _FRENCH.match(text, digits) or _NUMBER_AND_TOWN.match(text, digits)
        if found:
            return found.span()
    if digits < 4 or text[digits - 1] != " ":
        return None
    left = text[max(digits - _LEFT, 0) : digits]
    word = (left.rsplit(None, 1) or [""])[-1]
    if not word[:1].isupper() and word[-1:] not in (",", "."):
        return None
    if len(word) == 2 and word in _STATES:
        return _postal_line(text, left, digits)
    if word[:-1].lower() == "bo" and left.lower().rstrip().endswith(("po box", "p.o. box")):
        return digits - (len(left) - left.lower().rfind("p")), _digits_end(text, digits)
    lower = word.lower().rstrip(",")
    if lower.endswith(_COMPOUND):
        begin = digits - len(left) + left.rfind(word)
        if lower in _COMPOUND:  # `Lange Straße 5`
            before = left[: left.rfind(word)].rsplit(None, 1)
            begin -= len(before[-1]) + 1 if before and before[-1][0].isupper() else 0
        house = _HOUSE.match(text, digits)
        return (begin, house.end()) if house and text[begin].isupper() else None
    street = None
    if not _ROADS.isdisjoint(left.lower().split()):
        street = next((found for found in _ROMANCE.finditer(left) if found.end() == len(left)), None)
    if street:
        house = _HOUSE.match(text, digits) or _TOWN.match(text, digits)
        return (digits - len(left) + street.start(), house.end()) if house else None
    house = _STREET_AND_TOWN.match(text, digits)
    words = _WORDS_BEFORE.search(left) if house else None
    return (digits - len(words[0]), house.end()) if house and words else None


def _postal_line(text: str, left: str, digits: int) -> tuple[int, int] | None:
    """`Springfield, IL 62701`"""
    code = _ZIP.match(text, digits)
    state = left.rstrip()[:-2]
    city = _CITY.search(state) if state.endswith((" ", ",")) else None
    return (digits - len(left) + city.start(), code.end()) if code and city else None


def _digits_end(text: str, at: int) -> int:
    while at < len(text) and text[at].isdigit():
        at += 1
    return at
