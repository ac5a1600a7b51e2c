"""Python names for the keys of JSON and for schemas: readable, valid, unique, and the same each time.

It knows no schemas: texts come in, names go out.
"""

from __future__ import annotations

import builtins
import keyword
import re
import typing
import unicodedata
from collections.abc import Iterable, Iterator

LONGEST = 72  # characters of a class's name
_SIGNS = {"+": "plus_", "-": "minus_"}
_WORD = re.compile(r"[^\W_]+")
_RECORD_OWN = frozenset("_fields _json _names _of _via get to_dict".split())  # a `Record` has them already
# Names must not depend on the version of Python: names that only some versions have are listed here.
_NEWER = frozenset(
    "BaseExceptionGroup ExceptionGroup EncodingWarning PythonFinalizationError NoDefault ReadOnly TypeIs TypeAliasType "
    "Buffer Self Never NotRequired Required Unpack TypeVarTuple LiteralString Record TypedDict".split()
)
_RESERVED = frozenset((*dir(builtins), *dir(typing), *keyword.kwlist, *_NEWER))


def attribute_name(key: str) -> str:
    """A key as an attribute: `class` → `class_`, `+1` → `plus_1`, `x-y` → `x_y`, `1a` → `n1a`; `createdAt` stays."""
    name = unicodedata.normalize("NFKC", key)
    if not name.isidentifier():
        if len(name) > 1 and name[0] in _SIGNS and name[1].isdigit():
            name = _SIGNS[name[0]] + name[1:]
        lead = name[: len(name) - len(name.lstrip("_"))]
        name = lead + "_".join(re.findall(r"\w+", name[len(lead) :])).strip("_")
        name = unicodedata.normalize("NFKC", name)
        name = "n" + name if name[:1].isdigit() else name
        name = name if name.isidentifier() else _ascii(name)
    if name.startswith("__") or not name.strip("_"):
        name = (name.strip("_") or "field") + "_"
        name = "n" + name if name[:1].isdigit() else name
    if keyword.iskeyword(name) or name in _RECORD_OWN:
        name = name.lstrip("_") + "_"
    return name


def _ascii(name: str) -> str:
    kept = "_".join(re.findall(r"[A-Za-z0-9]+", name))
    kept = "n" + kept if kept[:1].isdigit() else kept
    return kept or "field"


def attribute_names(keys: Iterable[str]) -> dict[str, str]:
    """Each key's attribute, in order, no two alike. A key that is a name itself keeps it, whichever comes first."""
    listed = list(dict.fromkeys(keys))
    wanted = {key: attribute_name(key) for key in listed}
    used = {key for key, name in wanted.items() if key == name}
    for key, name in wanted.items():
        if key != name:
            wanted[key] = _free(name, used)
            used.add(wanted[key])
    return wanted


def _free(name: str, used: set[str]) -> str:
    number, tried = 1, name
    while tried in used:
        number += 1
        tried = f"{name.rstrip('_')}_{number}"
    return tried


def class_name(text: str) -> str:
    """`simple-user` → `SimpleUser`. What is written in capitals inside stays: `HTTPError`."""
    words = _WORD.findall(unicodedata.normalize("NFKC", text))
    name = "".join(word[:1].upper() + word[1:] for word in words)
    name = unicodedata.normalize("NFKC", name)
    if len(name) > LONGEST:
        tail = name[-LONGEST:]  # the end of a name says more than its beginning
        word = re.search(r"[A-Z]", tail)
        name = tail[word.start() :] if word else tail
    name = "N" + name if name[:1].isdigit() else name
    return name if name.isidentifier() else class_name(_ascii(name).title())


def class_candidates(name: str) -> tuple[str, ...]:
    """What a dotted schema name may be called, shortest first: `io.k8s.api.core.v1.Pod` → Pod, CoreV1Pod …"""
    segments = [segment for segment in re.split(r"[./:]+", name) if segment]
    if len(segments) < 2 or re.search(r"[\s\[\]<>(),`«»]", name):
        return (class_name(name),)
    starts = [at for at, segment in enumerate(segments) if not re.fullmatch(r"[vV]?\d+[a-z0-9]{0,8}", segment)]
    tails = ("_".join(segments[at:]) for at in reversed(starts))  # none begins with a version
    return tuple(dict.fromkeys(map(class_name, tails))) or (class_name(name),)


def regular_singular(word: str) -> str:
    """`labels` → `label`, by the rules of English alone. A word that is not plural stays."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def item_name(word: str) -> str:
    """One of several: `labels` → `label`; a word that is not plural gets `item` behind it."""
    item = regular_singular(word)
    return item if item != word else f"{word} item"


class ClassNames:
    """The names of the classes of one source, given out once each."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._used = set(taken)
        self._last: dict[str, int] = {}  # the number that a name was given last

    def free(self, candidates: tuple[str, ...], suffix: str = "") -> str:
        """The first candidate that is not in use; else the last candidate with a number."""
        for name in self._forms(candidates, suffix):
            if name not in self._used and name not in _RESERVED:
                self._used.add(name)
                return name
        raise AssertionError("numbers do not end")

    def _forms(self, candidates: tuple[str, ...], suffix: str) -> Iterator[str]:
        yield from (name + suffix for name in candidates)
        last = candidates[-1]
        if last + suffix in _RESERVED:
            yield f"{last}Object{suffix}"
        number = self._last.get(last + suffix, 1)
        while True:
            number += 1
            self._last[last + suffix] = number
            yield f"{last}{'_' if last[-1].isdigit() else ''}{number}{suffix}"
