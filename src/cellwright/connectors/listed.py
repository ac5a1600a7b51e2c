"""`ListedSurface`: a surface whose operations are all in memory. For upstreams of tens or hundreds of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

from cellwright.scope import Offered, Shape


class ListedSurface:
    """`about` is what a namespace is, by its path; "" is the whole."""

    def __init__(
        self,
        offered: Iterable[Offered],
        shapes: Mapping[str, Shape] | None = None,
        about: Mapping[str, str] | None = None,
    ) -> None:
        self._offered = {one.path: one for one in offered}
        self._shapes = dict(shapes or {})
        self._about = dict(about or {})
        whole = repr((sorted(self._offered.items()), sorted(self._shapes.items()), sorted(self._about.items())))
        self._key = hashlib.sha256(whole.encode()).hexdigest()

    @property
    def key(self) -> str:
        return self._key

    def listed(self) -> Iterator[Offered]:
        yield from self._offered.values()

    def find(self, path: str) -> Offered | None:
        return self._offered.get(path)

    def below(self, path: str) -> tuple[str, ...]:
        start = f"{path}." if path else ""
        return tuple(dict.fromkeys(p[len(start) :].partition(".")[0] for p in self._offered if p.startswith(start)))

    def about(self, path: str) -> str:
        return self._about.get(path, "")

    def shape(self, name: str) -> Shape | None:
        return self._shapes.get(name)

    def shapes(self) -> Iterator[str]:
        yield from self._shapes
