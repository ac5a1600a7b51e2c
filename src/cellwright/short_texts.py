"""Texts made short: on one line, cut to a bound, what an error says; and long texts that are read page by page."""

from __future__ import annotations

import re

from cellwright.errors import CodeError, GuestError, TypeMistake

LONGEST_WORD = 4_000  # characters: no key has more
# Characters that Python calls printable, and that nothing shows. The two selectors of emoji are none of them.
_BLANK = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)
_ENDS = frozenset(" \t\r\n\"'`<>,;(){}[]")  # a key has none of these


def cut(text: str, longest: int) -> str:
    """The text in at most `longest` characters: a mark stands for what is cut off."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def whole_words(text: str, longest: int) -> str:
    """The first `longest` characters at most, without a last word that the cut would part.

    For a redactor: it does not recognise half a key. A word of more than `LONGEST_WORD` characters is parted.
    """
    if len(text) <= longest:
        return text
    ends = (at for at in range(longest, max(longest - LONGEST_WORD, 0), -1) if text[at] in _ENDS)
    return text[: next(ends, longest)]


def cut_counted(text: str, longest: int) -> str:
    """The first `longest` characters, and a mark that says how many more there are."""
    more = len(text) - longest
    return f"{text[:longest]}… [{more:,} characters more]" if more > 0 else text


def one_line(text: str) -> str:
    """The text with a single space for each run of white space."""
    return " ".join(text.split())


def counted(number: int, word: str) -> str:
    """`1 cell`, `2 cells`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """For a terminal: what guest code wrote moves no cursor, turns no line round, and hides nothing."""
    if text.isprintable() and (text.isascii() or _BLANK.search(text) is None):
        return text
    return "".join(_shown(c) for c in text)


def _shown(letter: str) -> str:
    plain = letter == "\n" or (letter.isprintable() and _BLANK.match(letter) is None)
    return letter if plain else letter.encode("unicode_escape").decode("ascii")


def error_line(error: BaseException) -> str:
    """What an error says, on one line; the name of its class if it says nothing."""
    return one_line(str(error)) or type(error).__name__


def named_error(error: BaseException | None) -> str:
    """`ValueError: what it says`"""
    return f"{type(error).__name__}: {error}"


def with_notes(text: str, error: BaseException) -> str:
    """The text of an error, and below it the error's notes."""
    notes: list[str] = getattr(error, "__notes__", [])
    return "\n".join([text, *notes])


def guest_error(error: GuestError) -> str:
    """The error of a cell as a model reads it: without the head of the traceback, without the module of the class."""
    if isinstance(error, TypeMistake):
        return f"Not run. {error}"
    if isinstance(error, CodeError):
        text = str(error).removeprefix("Traceback (most recent call last):\n")
        return re.sub(rf"^[\w.]+\.(?={re.escape(error.type)}\b)", "", text, flags=re.MULTILINE)
    return named_error(error)


class LongTexts:
    """Texts by name, whole, of which a reader was shown a part. Above `most_chars` in all, the oldest go first.

    `limit` is how many characters a reader is shown at once.
    """

    BEFORE_START = ":"  # in the mark that says where the next page starts

    def __init__(self, limit: int, most_chars: int) -> None:
        self.limit = limit
        self._most_chars = most_chars
        self._texts: dict[str, str] = {}
        self._size = 0

    def put(self, name: str, text: str) -> None:
        self._size += len(text) - len(self._texts.pop(name, ""))
        self._texts[name] = text
        while self._size > self._most_chars and len(self._texts) > 1:
            self._size -= len(self._texts.pop(next(iter(self._texts))))

    def find(self, name: str) -> str | None:
        return self._texts.get(name)

    def page(self, name: str, start: int) -> str | None:
        """Part of a text from `start` on, and where the next part begins; None if no text has this name."""
        text = self.find(name)
        if text is None:
            return None
        end = start + self.limit * 3 // 4
        more = f"\n… [{len(text) - end:,} more{self.BEFORE_START} start={end}]" if end < len(text) else ""
        return text[start:end] + more
