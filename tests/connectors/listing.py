"""A surface in memory, and a small upstream behind it, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.signatures import read_signature

from cellwright.connectors import make_root
from cellwright.scope import (
    Declaration,
    Record,
    RecordMethod,
    Shape,
    UpstreamOperation,
    find_records_with,
    record_class,
)


def offered(path: str, head: str, doc: str = "", **facts: Any) -> UpstreamOperation:
    """An operation by its stub text: `(self, owner: str) -> Issue`."""
    name = path.rpartition(".")[2]
    line = Declaration(name=name, signatures=(read_signature(head),), first="self", doc=doc)
    return UpstreamOperation(path=path, line=line, **facts)


class Listing:
    """A surface of given operations."""

    def __init__(self, *operations: UpstreamOperation, shapes: tuple[Shape, ...] = ()) -> None:
        self.operations = {one.path: one for one in operations}
        self._shapes = {shape.name: shape for shape in shapes}

    @property
    def key(self) -> str:
        return ",".join(self.operations)

    def listed(self) -> Iterator[UpstreamOperation]:
        yield from self.operations.values()

    def find(self, path: str) -> UpstreamOperation | None:
        return self.operations.get(path)

    def below(self, path: str) -> tuple[str, ...]:
        start = f"{path}." if path else ""
        return tuple(dict.fromkeys(p[len(start) :].partition(".")[0] for p in self.operations if p.startswith(start)))

    def about(self, path: str) -> str:
        return f"All about {path or 'it'}."

    def shape(self, name: str) -> Shape | None:
        return self._shapes.get(name)

    def shapes(self) -> Iterator[str]:
        yield from self._shapes


class Tracker:
    """An upstream with issues, in memory."""

    def __init__(self, name: str = "tracker") -> None:
        self.surface = Listing(
            offered("issues.get", "(self, owner: str, number: int) -> Issue", reads=True),
            offered("issues.list", "(self, owner: str, *, state: str | None = None) -> list[Issue]", reads=True),
            offered("issues.create", "(self, owner: str, *, title: str, body: str | None = None) -> Issue"),
            offered("issues.comment", "(self, owner: str, number: int, *, text: str) -> str"),
            offered("ping", "(self) -> str", "Answers.", reads=True),
        )
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.root = make_root(name, self.surface, self.call)
        comment = RecordMethod(
            path="issues.comment",
            fill={"owner": ("via", "owner"), "number": ("field", "number")},
            signature=read_signature("(self, *, text: str) -> str"),
        )
        self.issue = record_class(
            name,
            "Issue",
            fields={"number": "number", "title": "title", "class_": "class", "body": "body", "items": "items"},
            doc="An issue.",
            methods={"comment": comment},
            root=self.root,
        )
        find_records_with(name, self)

    def record(self, name: str) -> type[Record] | None:
        return self.issue if name == "Issue" else None

    async def close(self) -> None: ...

    async def call(self, path: str, arguments: dict[str, Any]) -> Any:
        self.calls.append((path, arguments))
        match path:
            case "ping":
                return "pong"
            case "issues.comment":
                return f"{arguments['owner']}#{arguments['number']}: {arguments['text']}"
            case "issues.list":
                return [self._issue(n, arguments) for n in (1, 2)]
            case _:
                return self._issue(arguments.get("number", 7), arguments)

    def _issue(self, number: int, arguments: dict[str, Any]) -> Any:
        found = {"number": number, "title": arguments.get("title", "A bug"), "class": "bug", "x-more": [1, {"a": 2}]}
        return self.issue._of(found, {"owner": arguments["owner"]})  # pyright: ignore[reportPrivateUsage]  as connectors do
