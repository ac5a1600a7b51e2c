"""What a compiled description offers, read from its file as it is asked for. Any thread may ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cellwright.openapi.compiled_file import CompiledFile
from cellwright.scope import Offered, Shape

_BATCH = 500


class OpenAPISurface:
    """`scope.Surface` over a compiled file."""

    def __init__(self, file: CompiledFile) -> None:
        self._file = file

    @property
    def key(self) -> str:
        return self._file.key

    def listed(self) -> Iterator[Offered]:
        after = -1
        while batch := self._file.offered_after(after, _BATCH):
            after = batch[-1][0]
            yield from (offered for _, offered in batch)

    def find(self, path: str) -> Offered | None:
        return self._file.offered(path)

    def below(self, path: str) -> tuple[str, ...]:
        return self._file.below(path)

    def about(self, path: str) -> str:
        return self._file.about(path)

    def shape(self, name: str) -> Shape | None:
        return self._file.shape(name)

    def shapes(self) -> Iterator[str]:
        return iter(self._file.shape_names())

    def methods(self, name: str) -> dict[str, Any]:
        """The operations that a record's methods are, by their names."""
        return self._file.methods(name)
