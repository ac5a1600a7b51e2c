"""`DescriptionPins`: what upstreams said of their operations when they were bound. Changed, it is outsiders' text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cellwright.scope import ScopeHost


class DescriptionPins:
    """For one session. `strict`: the description of a new operation is a changed one, too."""

    def __init__(self, host: ScopeHost, *, strict: bool) -> None:
        self._host = host
        self._strict = strict
        self._pins: dict[str, tuple[str, Mapping[str, str]]] = {}  # of each upstream: key, and texts by path

    def changed(self) -> Iterator[str]:
        """The upstreams whose descriptions have changed since this was asked last."""
        for name, surface in self._host.described().items():
            key, before = self._pins.get(name, ("", None))
            if key == surface.key:
                continue
            docs = surface.docs()
            self._pins[name] = surface.key, docs if before is None else {**before, **docs}
            if before is not None and any(
                before.get(path, "" if self._strict else doc) != doc for path, doc in docs.items()
            ):
                yield name
