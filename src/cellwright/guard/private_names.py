"""Names of people: after a title, a greeting or a farewell, before an address of e-mail, and in free text.

`SpacyNames` finds those in free text, by a spaCy model that `cellwright models pull names` fetches. The model is
English: it knows names in Latin script, and fewer of them in lower case. It reads about 40 KB a second.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cellwright.errors import ModelMissing
from cellwright.guard.private_kinds import NameFinder, PrivateSpan, library
from cellwright.guard.private_words import pattern, words
from cellwright.settings import Settings

NAMES_MODEL = "en_core_web_md-3.8.0"
_PIECE = 8_000  # characters at a time: memory is for a piece, and not for the text
_UNUSED = ("parser", "tagger", "lemmatizer", "attribute_ruler", "senter")
_ROUND = " \r\f\v.,'’-"  # what stands round a name


def names_model(settings: Settings) -> Path:
    """Where the model is kept, whether or not it is there."""
    return settings.cache_dir / "models" / NAMES_MODEL


class SpacyNames:
    """A `NameFinder`. The model is loaded at the first text; `model` is its directory, else the one that was pulled."""

    def __init__(self, model: Path | None = None) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._nlp: Any = None

    def names(self, text: str) -> list[tuple[int, int]]:
        names: list[tuple[int, int]] = []
        at = 0
        while at < len(text):
            end = min(at + _PIECE, len(text))
            if end < len(text):
                cut = max(text.rfind("\n", at + _PIECE // 2, end), text.rfind(". ", at + _PIECE // 2, end))
                end = cut + 1 if cut > 0 else end
            with self._lock:  # a pipeline of spaCy is not for two threads
                entities = self._pipeline()(text[at:end]).ents
                people = [(at + e.start_char, at + e.end_char) for e in entities if e.label_ == "PERSON"]
            names += [name for start, stop in people for name in _parts(text, start, stop)]
            at = end
        return names

    def _pipeline(self) -> Any:
        if self._nlp is None:
            spacy = library("spacy", "names")
            model = self._model or names_model(Settings.from_environment())
            if not (model / "config.cfg").is_file():
                raise ModelMissing("the model that finds names is not here: cellwright models pull names")
            self._nlp = spacy.load(model, exclude=list(_UNUSED))
        return self._nlp


def _parts(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """The name on each line of what was found, without marks round it."""
    parts: list[tuple[int, int]] = []
    for line in pattern("name_line").finditer(text, start, stop):
        name = line[0].strip(_ROUND)
        name = name.removesuffix("'s").removesuffix("’s").rstrip(_ROUND)
        begin = text.find(name, line.start())
        end = begin + len(name)
        is_code = pattern("in_code").match(text, max(begin - 1, 0)) or pattern("after_code").match(text, end)
        if not is_code and len(name) > 1 and any(map(str.isalpha, name)):
            parts.append((begin, end))
    return parts


def people_in(text: str, finder: NameFinder | None) -> list[PrivateSpan]:
    """Names after a title, and those that the finder finds, without the title before them."""
    people = list(_titled_names(text))
    for start, end in finder.names(text) if finder else ():
        title = pattern("title").match(text, start, end)
        start = title.end() if title and title.end() < end else start
        if words("no_names").isdisjoint(text[start:end].split()) and (end - start > 2 or text[start].isupper()):
            people.append(PrivateSpan(start, end, "name"))
    return people


def _titled_names(text: str) -> Iterator[PrivateSpan]:
    for begun in pattern("maybe_title").finditer(text):
        title = pattern("title").match(text, begun.start())
        name = pattern("person").match(text, title.end(), title.end() + 60) if title else None
        if not title or not name or text[title.start() - 1 : title.start()].isalpha():
            continue
        start, parts = title.end(), re.split(r"[ ,]+", name[0])
        while parts and parts[0] in words("titles"):
            start += len(parts.pop(0)) + 1
        if parts and words("no_names").isdisjoint(parts) and (len(parts) > 1 or title[0] != "Patient "):
            yield PrivateSpan(start, name.end(), "name")


def name_before_mail(text: str, at: int) -> Iterator[PrivateSpan]:
    """`Ann Lee <ann@lee.example>`"""
    begin = max(at - 60, 0)
    name = pattern("before_mail").search(text[begin:at])
    if name:
        yield PrivateSpan(begin + name.start(1), begin + name.end(1), "name")
