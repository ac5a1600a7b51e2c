"""Texts as a language model gets them: without what no person would see in them, and without marks of roles.

A text that code read may have been written to look like something else to a model: characters that nothing shows,
sequences that move a cursor, tokens by which a chat template tells who speaks. What code has is never changed.
"""

from __future__ import annotations

import re
from typing import Any

from cellwright_guest.wire import type_of

# Sequences of a terminal: with parameters, with a text, of two characters. One that is cut off counts too.
_SEQUENCE = (
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,4000}+(?:\x07|\x1b\\|\x9c)?|\x1b.?"
)
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
_HIDDEN = (
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ufffe\uffff\U00013430-\U0001345f\U0001d159]"
)
# Joiners stand between two characters of a script or of emoji, the two selectors of emoji behind one; others are out.
_SELECTOR = r"(?<![^\x00-\"$-)+-/:-\x7f\u200c\u200d\ufe0e\ufe0f])[\ufe0e\ufe0f]"
_JOINER = r"(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f\u200c\u200d])"
_UNSEEN = [re.compile(part) for part in (f"{_SEQUENCE}|{_CONTROL}|{_HIDDEN}", _SELECTOR, _JOINER)]
_ENDS = re.compile(r"\r\n?|[\x85\u2028\u2029]")
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # letters and signs as wide as Chinese ones
_ROLES = "system|assistant|human|developer|system[-_]reminder"
_TAGS = "function_(?:calls|results?)|tool_(?:calls?|results?|response)|(?:start|end)_of_turn|s|bos|eos|think"
_TOKEN = re.compile(
    rf"<(?=[|¦][^<>\n]{{1,60}}[|¦]>|/?(?:{_ROLES}|{_TAGS})\s*>|</?SYS>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])",
    re.IGNORECASE,
)
_SPEAKER = re.compile(
    r"((?:\A|^[ \t]*\n)[ \t]*)"
    r"(?=(?:Human|Assistant|System|Developer|User)[ \t]*:|#+ *(?:Instruction|Response|System)s?\b)",
    re.MULTILINE,
)


def sendable(text: str) -> str:
    """The text without control sequences and characters that nothing shows; tokens of chat templates are broken.

    A lone surrogate, which guest code can make, would fail every later request: it is replaced.
    """
    if not text.isascii():
        text = text.encode(errors="replace").decode()
    text = _ENDS.sub("\n", text)
    for unseen in _UNSEEN:
        text = unseen.sub("", text)
    return _marked(_TOKEN, "\\", text)


def sendable_schema(schema: Any) -> Any:
    """A JSON schema with the descriptions in it `sendable`: an upstream wrote them. What is compared stays."""
    if type_of(schema) is list:
        return [sendable_schema(part) for part in schema]
    if type_of(schema) is not dict:
        return schema
    return {
        key: sendable(part) if key in ("description", "title") and type_of(part) is str else sendable_schema(part)
        for key, part in schema.items()
    }


def without_speakers(text: str) -> str:
    """The text with a bar before a line, at the beginning or after an empty line, that names who speaks."""
    return _marked(_SPEAKER, "| ", text)


def readable(text: str) -> str:
    """The text of an output, as a model gets it."""
    return without_speakers(sendable(text))


def _marked(pattern: re.Pattern[str], mark: str, text: str) -> str:
    """The text with the mark after each match, which is looked for in letters of ordinary width."""
    ends = [found.end() for found in pattern.finditer(text if text.isascii() else text.translate(_WIDE))]
    if not ends:
        return text
    return mark.join(text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True))
