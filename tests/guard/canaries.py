"""Keys that stand nowhere else, and where they, or a part of them, are found in bytes and below directories.

All keys of one run begin with the same eight letters, so that one look at any number of bytes finds each of them. They
are letters alone: no format and no name tells them from other words.
"""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PART = "(the beginning of one)"
_ROUND = 120  # bytes before and after a find that say where it was


def _letters(seed: str, length: int) -> str:
    drawn = random.Random(hashlib.sha256(seed.encode()).digest())
    return "".join(drawn.choices("bcdfghjklmnpqrstvwxz", k=length))  # no vowels: no word has them all


def _inner(encode: Callable[[bytes], bytes], text: bytes, shift: int) -> bytes:
    """What the base64 of a longer text has of this one, which begins `shift` bytes after a group of three."""
    whole = (shift + len(text)) // 3 * 4
    return encode(b"\0" * shift + text)[(0, 2, 3)[shift] : whole]


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "as it is": lambda text: text,
    "in capitals": bytes.upper,
    "as a title": bytes.title,
    "backwards": lambda text: text[::-1],
    "in hex": lambda text: text.hex().encode(),
    "in hex with capitals": lambda text: text.hex().upper().encode(),
    "in URL quotes": lambda text: b"".join(b"%%%02X" % byte for byte in text),
    "in UTF-16": lambda text: text.decode().encode("utf-16-le"),
    "in UTF-32": lambda text: text.decode().encode("utf-32-le"),
    **{
        f"in base64 from byte {shift}": lambda text, shift=shift: _inner(base64.b64encode, text, shift)
        for shift in (0, 1, 2)
    },
}


@dataclass(frozen=True, kw_only=True)
class Find:
    """A key at a place. `shown` are the bytes round it, for the one who looks for the leak."""

    canary: str
    form: str
    place: str
    shown: bytes

    def __str__(self) -> str:
        return f"the key {self.canary!r} stands {self.form} in {self.place}: …{self.shown!r}…"


class Canaries:
    """The keys of a run: `canaries["httpx header"]` is made when it is first asked for, the same in each process."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._mark = _letters(seed, 8)
        self._keys: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        return self._keys.setdefault(name, self._mark + _letters(f"{self._seed} {name}", 12))

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._keys)

    def within(self, content: bytes, place: str, forms: Iterable[str] = FORMS) -> Iterator[Find]:
        """Each key that stands in the content, in any of the forms, whole or in part."""
        mark = self._mark.encode()
        for form in forms:
            write, at = FORMS[form], -1
            while (at := content.find(write(mark), at + 1)) >= 0:
                shown = content[max(at - _ROUND, 0) : at + _ROUND]
                yield Find(canary=self._whose(shown, write), form=form, place=place, shown=shown)

    def _whose(self, shown: bytes, write: Callable[[bytes], bytes]) -> str:
        """The name of a key of which four letters or more stand behind the letters that all have."""
        names = (name for name, key in self._keys.items() if write(key[: len(self._mark) + 4].encode()) in shown)
        return next(names, PART)

    def below(self, path: Path, place: str = "") -> Iterator[Find]:
        """The same for a file, or for all files below a directory and their names."""
        for each in sorted(path.rglob("*")) if path.is_dir() else (path,):
            where = f"{place or path.name}/{each.relative_to(path)}" if path.is_dir() else place or path.name
            yield from self.within(each.name.encode(), f"the name of {where}")
            if each.is_file() and not each.is_symlink():
                yield from self.within(each.read_bytes(), where)
