"""`Condition`: what a rule of a policy says of one argument, in the words of its file: a glob, or a comparison.

A condition is true of a value, false, or not known: of what is missing, and of what is no plain data. It knows neither
rules nor what follows from them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import translate
from functools import lru_cache
from typing import Any, cast
from unicodedata import normalize

from cellwright.errors import UsageError
from cellwright_guest.wire import type_of

MISSING: Any = object()
LEAVES = 10_000  # single values inside of one argument; of more nothing is known
LONGEST = 1_000_000  # characters of a text; of a longer one nothing is known
_NUMBERS = (int, float, Decimal)
_SHORT = 1 << 64
_LARGE = 10**300  # of a number beyond it nothing is known
_COMPARED = re.compile(r"\s*(>=|<=|!=|>|<|=)\s*(.*)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?\d{1,300}(\.\d{1,300})?")
_URL = re.compile(r"([^:/?#\\]*://[^/?#\\]*)(.*)", re.DOTALL)
_STEP = r"[/\\]|%2f|%5c"
# `..` in a path, from which a text does not tell where it leads
_UPWARDS = re.compile(rf"(?:^|{_STEP})(?:\.|%2e){{2}}(?:{_STEP}|[?#;]|$)")
# nothing shows these, and other code may read the text without them
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_HOST = re.compile(r"\*\.[\w-]+(\.[\w-]+)+")
_BETWEEN = re.compile(r"[\s,;<>()\"'\[\]]+")  # between the addresses in one text
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """One condition: any of its `texts` holds.

    >>> Condition.of("*@corp.example").holds("ann@corp.example")
    [True]
    """

    texts: tuple[str, ...]

    @classmethod
    def of(cls, given: Any) -> Condition:
        """From the value in a file; UsageError for what is no condition."""
        every: list[Any] = list(cast("list[Any]", given)) if isinstance(given, list | tuple) else [given]
        if not every or not all(isinstance(one, str | int | float) for one in every):
            raise UsageError(f"{given!r:.60} is no condition; write a text such as '*@corp.example' or '> 1000'")
        texts = tuple(one if isinstance(one, str) else f"= {_text(one)}" for one in every)
        for text in texts:
            _check(text)
        return cls(texts=texts)

    def holds(self, value: Any) -> list[bool | None]:
        """Of each single value in it: whether the condition is true of it; None where that is not known."""
        short = (type(value) is int and -_SHORT < value < _SHORT) or (type(value) is str and len(value) < 200)
        return _held(self, type_of(value), value) if short else self._holds(value)

    def _holds(self, value: Any) -> list[bool | None]:
        leaves = _leaves(value)
        if leaves is None:
            return [None]
        return [_any(part) for leaf in leaves for part in self._parts(leaf)] or [None]

    def allows(self, value: Any) -> bool:
        """Whether it is true of every single value: what is not known never matches a rule that allows."""
        return all(held is True for held in self.holds(value))

    def may_hold(self, value: Any) -> bool:
        """Whether it is not certainly false of every single value: a rule that asks or denies takes that."""
        return any(held is not False for held in self.holds(value))

    def _parts(self, leaf: Any) -> Iterator[list[bool | None]]:
        """A text with several addresses counts as a list of them, where the condition is about addresses."""
        mails = isinstance(leaf, str) and any("@" in text and "://" not in text for text in self.texts)
        for part in [one for one in _BETWEEN.split(leaf) if one] or [leaf] if mails else [leaf]:
            yield [_matches(text, part) for text in self.texts]

    def __str__(self) -> str:
        return " or ".join(self.texts)


@lru_cache(maxsize=4096)
def _held(condition: Condition, kind: type, value: Any) -> list[bool | None]:
    return condition._holds(value)  # pyright: ignore[reportPrivateUsage] - its own module


def normalised(text: str) -> str:
    folded = normalize("NFKC", normalize("NFKC", text).casefold()).replace("\u3002", ".")
    return folded if folded.isascii() and folded.isprintable() else _UNSEEN.sub("", folded)


def _plain(text: str) -> str:
    return normalize("NFKC", text).lower()


def glob_holds(pattern: str, value: str) -> bool | None:
    """Whether a text matches a glob. Stars of a host, of a URL's or of an address, stay in it: else None, not known.

    None, too, where some code reads a value as one that matches, and some does not: `stra\u00dfe`, `a@b.example.`
    """
    plain = _plain(value)
    pattern, value = normalised(pattern), normalised(value)
    if "/" in pattern and _UPWARDS.search(value):
        return None
    value = value.rstrip(".") if "@" in pattern else value
    if not _compiled(pattern).match(value):
        return False
    if value != plain or (_HOST.fullmatch(pattern) and not _HOST.fullmatch(f"*.{value}")):
        return None
    url = _URL.fullmatch(pattern)
    if url is not None:
        there = _URL.fullmatch(value)
        if there is None or "@" in there[1]:
            return None
        rest = url[2] or ("*" if url[1].endswith("*") else "")
        return bool(_compiled(url[1]).match(there[1]) and _compiled(rest).match(there[2])) or None
    if "@" in pattern:
        name, _, host = pattern.rpartition("@")
        one, _, at = value.rpartition("@")
        plain = "@" not in one and not _BETWEEN.search(value)
        return (plain and bool(_compiled(name).match(one) and _compiled(host).match(at))) or None
    return True


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


def _check(text: str) -> None:
    said = text.removeprefix("not ").strip()
    compared = _COMPARED.fullmatch(said)
    if not said or (compared is not None and not compared[2].strip()):
        raise UsageError(f"the condition {text!r:.60} has no value; write a text such as '*@corp.example' or '> 1000'")


def _any(found: list[bool | None]) -> bool | None:
    return True if True in found else None if None in found else False


def _leaves(value: Any) -> list[Any] | None:
    """The single values in plain data, keys too; None for anything else, and for too much."""
    found: list[Any] = []
    pending: list[Any] = [value]
    for _ in range(LEAVES):
        if not pending:
            return found
        part: Any = pending.pop()
        if type(part) in (list, tuple, set, frozenset):
            pending.extend(part)
            found.extend([] if part else [MISSING])  # nothing is true of an empty list
        elif type(part) is dict:
            whole = cast("Mapping[Any, Any]", part)
            pending.extend((*whole.keys(), *whole.values()))
            found.extend([] if whole else [MISSING])
        elif part is None or type(part) in (str, int, float, bool, Decimal):
            found.append(part)
        else:
            return None
    return None


def _matches(text: str, value: Any) -> bool | None:
    if value is MISSING or not _is_comparable(value):
        return None
    if text.startswith("not "):
        held = _matches(text[4:].strip(), value)
        return None if held is None else not held
    compared = _COMPARED.fullmatch(text)
    if compared is None:
        return glob_holds(text, _text(value))
    return _compares(compared[1], compared[2].strip(), value)


def _compares(sign: str, wanted: str, value: Any) -> bool | None:
    number = type(value) in _NUMBERS
    if number and _NUMBER.fullmatch(wanted):
        left, right = value, (Decimal(wanted) if "." in wanted else int(wanted))
        left, right = (left, float(right)) if type(left) is float else (left, right)
    elif (sign in _ORDERS and number) or (_NUMBER.fullmatch(wanted) and (sign in _ORDERS or type(value) is bool)):
        return None  # a number and a text have no order; True is 1 for some code
    else:
        left, right = _plain(_text(value)), _plain(wanted)
        if left != right and normalised(left) == normalised(right):
            return None  # as in `glob_holds`
        if left != right and right in ("true", "false") and type(value) is not bool:
            return None  # what counts as true is for the operation to say
    if sign in ("=", "!="):
        return (left == right) is (sign == "=")
    return _ORDERS[sign](left, right)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(value).lower() if value is None or type(value) is bool else f"{value}"


def _is_comparable(value: Any) -> bool:
    """Whether to compare it does not take long, and does not fail: numbers may be none, or very large."""
    if isinstance(value, str):
        return len(value) <= LONGEST
    if type(value) is Decimal and not value.is_finite():
        return False
    return type(value) not in _NUMBERS or -_LARGE < value < _LARGE
