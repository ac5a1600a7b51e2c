"""`IndexRow`: the words by which a function or an attribute is found. Made from declarations and from surfaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from cellwright.catalog.intents import Kind, is_action, is_plural, kind_of, steps_of
from cellwright.catalog.stemmer import split, stem
from cellwright.catalog.stub_text import sentence
from cellwright.scope import Declaration, Surface, UpstreamOperation

DOC = 400  # characters that are read of a docstring
PARAMETERS = 40
_HTTP = re.compile(r"^(GET|PUT|POST|DELETE|PATCH|HEAD|OPTIONS|TRACE) (/\S*)$", re.MULTILINE)
_DEPRECATED = re.compile(r"^[^\w\n]*deprecated\b|\bdeprecated:", re.IGNORECASE | re.MULTILINE)
_OLD = 0.75
_ODD = 0.8  # methods that HTTP clients use on their own
_ALL = 0.93  # deleting a whole collection is seldom meant
METHOD = ":"  # before the key of a method of a class


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexRow:
    """The words of one function or attribute; `prior` scales its score, `depth` is the length of its path."""

    key: str  # by which its source finds it again
    verb: str  # the last part of its name
    name: str  # the parts before
    url: str = ""
    summary: str = ""
    params: str = ""
    doc: str = ""
    tags: str = ""
    noun: str = ""  # the thing that the operation is about
    kind: Kind | Literal["value"] = "act"
    depth: int = 0
    prior: float = 1.0
    reads: bool = False


def rows_of(surface: Surface) -> Iterator[IndexRow]:
    """Every operation of a surface, and those methods of its classes that are no operations of it."""
    known: set[str] = set()
    for offered in surface.listed():
        known.add(_told(offered.line))
        yield row_of(offered)
    for name in surface.shapes():
        shape = surface.shape(name)
        for line in shape.lines if shape is not None else ():
            if line.callable and not line.name.startswith("_") and _told(line) not in known:
                yield row_of_line(f"{METHOD}{name}.{line.name}", f"{name}.{line.name}", line, "")


def _told(line: Declaration) -> str:
    """Equal for two declarations of one operation: its HTTP request, else its name and docs."""
    method, url = _http(line.doc)
    return f"{method} {url}" if url else f"{line.name} {line.doc}"


def row_of(offered: UpstreamOperation) -> IndexRow:
    """An operation of an upstream."""
    line = offered.line
    method, url = _http(line.doc)
    name = offered.path.rpartition(".")[0]
    noun = _noun(name, line.name, method, url)
    prior = (
        (_OLD if _DEPRECATED.search(line.doc) else 1.0)
        * (_ODD if method in ("HEAD", "OPTIONS", "TRACE") else 1.0)
        * (_ALL if method == "DELETE" and is_plural(url.rpartition("/")[2]) else 1.0)
    )
    return replace(
        _row(offered.path, name, line, noun, method, url),
        url=" ".join(steps_of(url)),
        tags=f"{offered.words} {line.gives} {_initials(noun)}",
        depth=len(steps_of(url)) if url else offered.path.count(".") + 1,
        prior=prior,
        reads=offered.reads,
    )


def row_of_line(key: str, name: str, line: Declaration, tags: str) -> IndexRow:
    """A function or an attribute of a live object, by its dotted name."""
    path, _, last = name.rpartition(".")
    made = _row(key, path, line, _noun(path, last, "", ""))
    prior = 1.0 if line.callable else 0.6
    return replace(made, verb=last, tags=f"{tags} {line.gives}", depth=name.count(".") + 1, prior=prior)


def _row(key: str, name: str, line: Declaration, noun: str, method: str = "", url: str = "") -> IndexRow:
    summary = sentence(line.doc, DOC)
    return IndexRow(
        key=key,
        verb=line.name,
        name=name,
        noun=noun,
        summary=summary,
        params=" ".join(one.name for one in line.parameters[:PARAMETERS]),
        doc=_HTTP.sub("", line.doc[: len(summary) + DOC])[len(summary) :],
        kind=kind_of(split(line.name), method, url, line.gives) if line.callable else "value",
    )


def _http(doc: str) -> tuple[str, str]:
    """The method and path of the HTTP request that a docstring names."""
    found = _HTTP.findall(doc)
    return found[-1] if found else ("", "")


def _noun(path: str, last: str, method: str, url: str) -> str:
    """The thing that an operation is about: where its URL ends, else what its name says after the verb."""
    steps = steps_of(url)
    if steps:
        noun = steps[-2] if is_action(method, url) and len(steps) > 1 else steps[-1]
        return _parted(noun, split(last))
    return " ".join(split(last)[1:]) or path.rpartition(".")[2]


def _parted(noun: str, words: list[str]) -> str:
    """`serviceaccounts` as the words that a name writes apart: `service account`."""
    wanted = stem("".join(split(noun)))
    for begin in range(len(words)):
        for end in range(begin + 2, min(begin + 5, len(words)) + 1):
            if stem("".join(words[begin:end])) == wanted:
                return " ".join(words[begin:end])
    return noun


def _initials(noun: str) -> str:
    """`pvc` of `persistent volume claim`."""
    words = split(noun)
    return "".join(word[0] for word in words) if len(words) > 1 else ""
