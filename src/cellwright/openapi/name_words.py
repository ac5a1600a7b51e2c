"""Words of names: tags, operation ids and paths taken apart, and put together as Python names.

It knows English plurals and verbs (`name_words.toml`), and no descriptions.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from cellwright.schemas import regular_singular

# `listVMs` → list VMs; `APIResources` → API Resources; `V1beta3` → V1beta3; words of other scripts stay whole
_WORD = re.compile(
    r"[A-Z]{2,}s(?![a-zA-Z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+[0-9]+(?:[a-z]+[0-9]+)*(?![a-z])|[A-Z]?[a-z]+"
    r"|[A-Z]+[0-9]+[a-z]+[0-9]*|[A-Z]+[0-9]*|[0-9]+|[^\W\da-zA-Z_]+"
)
LONGEST = 80  # characters of one name


@lru_cache(maxsize=1)
def word_file() -> Mapping[str, Any]:
    """The content of `name_words.toml`."""
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("cellwright.openapi").joinpath("name_words.toml").read_text(encoding="utf-8"))


def word_list(name: str) -> frozenset[str]:
    """A list of words in `name_words.toml`."""
    return frozenset(word_file()[name].split())


@lru_cache(maxsize=1)
def _one_word() -> re.Pattern[str]:
    return re.compile("|".join(word_file()["one_word"].split()))


@lru_cache(maxsize=65536)
def words(text: str) -> tuple[str, ...]:
    """The words of a name in lower case: `createCoreV1NamespacedPod` → create core v1 namespaced pod."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    text = _one_word().sub(lambda match: match[0].capitalize(), text.replace("'s ", "s "))
    return tuple(word.lower() for word in _WORD.findall(text))


@lru_cache(maxsize=65536)
def singular(word: str) -> str:
    """`issues` → issue. A word that is not plural stays."""
    irregular = word_file()["singular"].get(word)
    if irregular is not None:
        return irregular
    return word[:-2] if word.endswith("zzes") else regular_singular(word)


def is_plural(word: str) -> bool:
    return singular(word) != word


def same(one: str, other: str) -> bool:
    """Whether two words differ only in number."""
    return one == other or singular(one) == singular(other)


def joined(parts: Sequence[str]) -> str:
    """Words as one Python name, "" of none. A keyword gets `_` behind it."""
    name = "_".join(parts)
    if len(name) > LONGEST:
        name = name[: name.rfind("_", 0, LONGEST)] if "_" in name[:LONGEST] else name[:LONGEST]
    if name[:1].isdigit():
        name = f"n{name}"
    if name and not name.isidentifier():
        name = re.sub(r"[^a-z0-9_]+", "", name.encode("ascii", "ignore").decode()).strip("_")
        name = f"n{name}" if name[:1].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) else name


def argument_name(key: str) -> str:
    """A parameter's key as code gives it: spelled as it is, but for what no identifier has."""
    name = "_".join(re.findall(r"\w+", unicodedata.normalize("NFKC", key)))[:LONGEST].strip("_")
    if name[:1].isdigit():
        name = f"n{name}"
    if not name.isidentifier():
        name = "_".join(re.findall(r"[A-Za-z0-9]+", name)) or "value"
        name = f"n{name}" if name[:1].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) or name == "self" else name
