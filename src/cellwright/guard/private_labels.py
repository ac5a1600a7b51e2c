"""Numbers that only the words before them make private: dates of birth, medical records, national ids."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cellwright.guard.private_kinds import PrivateSpan

_BEFORE = 40  # characters in which the words stand
TWO_CAPITALS = re.compile(r"[^A-Za-z0-9]?[A-Z]{2} \Z")  # `AB 12 34 56 C`
_DATE = (
    r"(?:\d{1,4}[-/. ]{1,2}\d{1,2}[-/. ]{1,2}\d{1,4}"
    r"|\d{1,2}(?:st|nd|rd|th|er|\.)? (?:of |de )?[^\W\d_]{3,10}\.?,?(?: de)? \d{4}|[^\W\d_]{3,10}\.? "
    r"\d{1,2}(?:st|nd|rd|th)?,? \d{4})"
)
_BORN_ON = re.compile(_DATE + r"(?!\d)")
_BORN = re.compile(
    r"\b(?:born|dob|d\.o\.b\.?|birth(?:day|date|s)?|geboren|geb\.|geburtsdatum|née?|naissance|nacid[oa]|nacimiento"
    r"|nat[oa] il|nascita|"
    r"nasc(?:id[oa]|imento)|urodz\w*|född|født)\b[^\n\d]{0,24}\Z",
    re.IGNORECASE,
)
_RECORD = re.compile(
    r"(?:\bmrn|medical record|patient (?:id|no|number)|\bchart)(?:[ _]?(?:number|no|num|id|is|was|of)\b\.?|[ "
    r":#=.\"'()-]|mrn){0,6}[a-z]{0,4}-?\Z",
    re.IGNORECASE,
)
BIRTH_DAY = re.compile(r"(?:st|nd|rd|th|er|\.)?(?: (?:of |de )?[^\W\d_]{3,10}\.?)?,?(?: de)? \d{4}")
_ID_LABEL = re.compile(
    r"(?:\b(?:ssn|itin|nino|bsn|pesel|cpf|curp|nir|dni|nie|cpr|sin|tfn|pps)|national insurance|social "
    r"security|aadhaa?r|personnummer"
    r"|fødselsnummer|henkilötunnus|codice fiscale|steuer-?id(?:nr)?|passport|national id|tax id)"
    r"(?:[- ](?:number|no|nr|num|is|was|id)\b\.?){0,2}[ :#=.\"']{1,4}[a-z]{0,6} ?\Z",
    re.IGNORECASE,
)
_HINTS = tuple(
    "ssn itin nino bsn pesel cpf curp nir dni nie cpr sin tfn pps insurance security aadha nummer tunnus fiscale "
    "steuer passport tax born birth dob d.o.b geb né naiss naci nat nasc urodz föd fød mrn record patient chart".split()
)
_LABELLED_ID = re.compile(r"[A-Z]{0,6} ?\d(?:[ .+/-]?[\dA-Z](?![a-z])){4,20}\b")
_RECORD_ID = re.compile(r"[A-Z0-9][A-Z0-9-]{3,19}\b")


def labelled_values(text: str, start: int, digits: int) -> Iterator[PrivateSpan]:
    """A date of birth, or the number of a medical record, after the words that say so."""
    left = text[max(start - _BEFORE, 0) : start]
    lower = left.lower()
    for hint in _HINTS:
        if hint in lower:
            break
    else:
        return
    if _RECORD.search(left):
        begin = (
            start
            - len(left)
            + max(left.rfind(" "), left.rfind(":"), left.rfind("#"), left.rfind('"'), left.rfind("="))
            + 1
        )
        found = _RECORD_ID.match(text, begin if text[begin:start].replace("-", "").isupper() else start)
        if found:
            yield PrivateSpan(*found.span(), "medical_record")
    labelled = _ID_LABEL.search(left)
    if labelled:
        two = TWO_CAPITALS.match(text, start - 4 if start > 3 else 0, start)
        found = _LABELLED_ID.match(
            text, start - 3 if two and text[start - 3 : start - 1] not in ("NO", "NR", "ID") else start
        )
        if found and sum(map(str.isdigit, found[0])) > 4:
            yield PrivateSpan(*found.span(), "national_id")
    born = _BORN.search(left)
    if born:
        found = _BORN_ON.match(text, digits)
        word = re.search(r"[^\W\d_]{3,10}\.? \Z", left)
        if not found and word:
            found = _BORN_ON.match(text, start - len(word[0]))
        if found:
            yield PrivateSpan(*found.span(), "birth_date")
