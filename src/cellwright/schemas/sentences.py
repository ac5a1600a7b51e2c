"""Descriptions of schemas and operations as short plain text. They come as markdown, as HTML, or as anything."""

from __future__ import annotations

import html
import re
from typing import Any

SENTENCE = 200
_SCANNED = 4000  # characters of a description that are looked at
_TAG = re.compile(r"<(?:/?[a-zA-Z][^<>]{0,300}|!--.{0,1000}?--)>", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}\)")
_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)[.!?](?=\s+[^a-z\s])")
_PARAGRAPH = re.compile(r"\n\s*\n")


def plain_text(text: Any, limit: int = 1500) -> str:
    """Markdown and HTML as plain lines, bounded. Anything but text is ""."""
    if not isinstance(text, str):
        return ""
    found = text[: max(_SCANNED, limit * 2)]
    if "<" in found or "&" in found:
        found = html.unescape(_TAG.sub(" ", found))
    if "](" in found:
        found = _LINK.sub(r"\1", found)
    lines = (re.sub(r"[ \t\r\f\v]+", " ", line).strip() for line in found.replace("**", "").splitlines())
    return cut(re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip(), limit)


def first_sentence(text: Any, limit: int = SENTENCE) -> str:
    """The first sentence of a description, in one line."""
    if not isinstance(text, str) or not text:
        return ""
    found = plain_text(text[:_SCANNED].lstrip(), 1000)
    found = " ".join(_PARAGRAPH.split(found, maxsplit=1)[0].split()).lstrip("#*- ")
    end = _END.search(found)
    return cut(found[: end.end()] if end else found, limit)


def cut(text: str, limit: int) -> str:
    """The text, or as many whole words of it as fit."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    return (kept.rpartition(" ")[0] or kept).rstrip(" ,;:\n") + "…"
