"""Words and forms of private values: `private_words.toml`, read when a text is first looked at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any


@cache
def word_file() -> Mapping[str, Any]:
    """What is in the file."""
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("cellwright.guard").joinpath("private_words.toml").read_text(encoding="utf-8"))


@cache
def words(name: str) -> frozenset[str]:
    """A list of words."""
    return frozenset(word_file()["words"][name].split())


@cache
def pattern(name: str) -> re.Pattern[str]:
    """A form, or any of the words in a list."""
    return re.compile(_expression(name))


def _expression(name: str) -> str:
    if name in word_file()["words"]:
        return f"(?:{'|'.join(map(re.escape, word_file()['words'][name].split()))})"
    text = re.sub(r"(?m)^ {4}|\n", "", word_file()["patterns"][name])
    return re.sub(r"<<(\w+)>>", lambda part: _expression(part[1]), text)
