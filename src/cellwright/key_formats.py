"""Formats of keys: of providers' tokens, private keys in PEM, logins in URLs; and where such a key stands in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator

FORMATS = re.compile(
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:"  # in the repr of a text a line break is a letter
    r"(?:AKIA|ASIA)[0-9A-Z]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}"
    r"|(?:[sr]k_(?:live|test)|whsec|npm|hf|shp(?:at|ca|pa|ss)|lin_api|do[opr]_v1|dckr_pat)_[A-Za-z0-9]{16,}"
    r"|(?:hvs\.|ATATT3|PMAK-|AGE-SECRET-KEY-1)[\w-]{16,}|dapi[0-9a-f]{32}"
    r"|(?:xox[a-z]|xapp)-[\w-]{10,}|hooks\.slack\.com/services/[\w/]{8,}"
    r"|AIza[\w-]{16,}|ya29\.[\w-]{16,}|SG\.[\w-]{16,}(?:\.[\w-]+)?"
    # with a digit: `sk-learn-contributors` is a word
    r"|(?P<digit>(?:sk-|gsk_|xai-|pypi-|pplx-|key-|nvapi-|tvly-|tskey-|figd_|sntrys_)[\w*.-]{12,})"
    r"|eyJ[\w-]{8,}+(?P<jwt>\.[\w-]{4,}(?:\.[\w-]+)?)?"
    r")"
)
MARKS = tuple(  # one of these is in each
    "AKIA ASIA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- k_live_ k_test_ whsec_ npm_ hf_ shp lin_api_ _v1_ dckr_pat_ "
    "xox xapp- hooks.slack AIza ya29. SG. sk- gsk_ xai- pypi- pplx- key- eyJ hvs. ATATT3 "
    "PMAK- AGE-SECRET dapi nvapi- tvly- figd_ sntrys_".split()
)
_DASHED_MARKS = tuple(f"{mark.partition('-')[0]}-" for mark in MARKS if "-" in mark)
_RARE_MARKS = tuple(mark for mark in MARKS if "-" not in mark)
_PLAIN_MARKS = tuple(mark for mark in _RARE_MARKS if "_" not in mark)
_CHUNK = 1 << 14  # characters in which no mark with an underscore is sought where there is none
_BEFORE_MARK = 6  # characters of a format before its mark: `sk_live_`, `dop_v1_`
SHORTEST_KEY = 15  # characters, of what has one of these formats
PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----(?:[^-]|-(?!----))*+(?:-----END [^-]{1,60}-----)?"
)
LOGIN = re.compile(r"(?<=://)[^/\s@:'\"]*:[^/\s'\"]*@")


def key_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of keys and logins by their form, for long texts in which they are rare; they may overlap."""
    ends = dict.fromkeys(_RARE_MARKS, 0)
    for low in range(0, len(text), _CHUNK):
        high = low + _CHUNK
        for mark in _RARE_MARKS if text.find("_", low, high + _BEFORE_MARK) >= 0 else _PLAIN_MARKS:
            at = text.find(mark, max(low, ends[mark]), high + len(mark) - 1)
            while at >= 0:
                found = _format_at(text, at)
                if found and is_key(found):
                    yield found.span()
                ends[mark] = max(found.end() if found else 0, at + len(mark))
                at = text.find(mark, ends[mark], high + len(mark) - 1)
    for sign, form, skip in (("-", None, 0), ("-----BEGIN ", PEM, 0), ("://", LOGIN, 3)):
        at = text.find(sign)
        while at >= 0:
            if form is None:
                found = _format_at(text, at) if text.endswith(_DASHED_MARKS, max(at - 6, 0), at + 1) else None
            else:
                found = form.match(text, at + skip)
            if found and (form is not None or is_key(found)):
                yield found.start(), found.end() - found[0].endswith("@")
            at = text.find(sign, found.end() if found else at + len(sign))


def _format_at(text: str, mark: int) -> re.Match[str] | None:
    begins = range(max(mark - _BEFORE_MARK, 0), mark + 1)
    return next((found for begin in begins if (found := FORMATS.match(text, begin))), None)


def is_key(found: re.Match[str]) -> bool:
    text = found[0]
    if text.startswith("eyJ"):
        return bool(found["jwt"])
    return not found["digit"] or any(c.isdigit() for c in text)
