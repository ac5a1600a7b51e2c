"""A small upstream in memory: what a connector would tell of an issue tracker, and a large one made by counting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tests.signatures import read_signature

from cellwright.connectors import ListedSurface, make_root
from cellwright.scope import Declaration, Scope, Shape, UpstreamOperation


class Listed(ListedSurface):
    """Of what it is given, under a key of its own. `read` counts how often all of it was asked for."""

    def __init__(
        self,
        offered: Iterable[UpstreamOperation],
        shapes: Iterable[Shape] = (),
        *,
        key: str,
        about: dict[str, str] | None = None,
    ) -> None:
        super().__init__(offered, {one.name: one for one in shapes}, about)
        self._key = key
        self.read = 0

    def listed(self) -> Iterator[UpstreamOperation]:
        self.read += 1
        return super().listed()


class Called(Listed):
    """Its operations have a second name each, as those of an MCP server do, and it knows the methods of its classes."""

    def methods(self, name: str) -> dict[str, Any]:
        """Which operations the methods of a class are."""
        return {"list_comments": {"path": "issues.list_comments"}} if name == "Issue" else {}

    def alias(self, name: str) -> str | None:
        path = name.removeprefix("mcp__tracker__")
        return path if path != name and self.find(path) is not None else None


def offered(path: str, head: str, doc: str, *, reads: bool = False, words: str = "") -> UpstreamOperation:
    """An operation by its stub text: `(self, owner: str) -> Issue`."""
    line = method(path.rpartition(".")[2], head, doc)
    return UpstreamOperation(path=path, line=line, reads=reads, words=words)


def method(name: str, head: str, doc: str = "") -> Declaration:
    """A method by its stub text: `(self, owner: str) -> Issue`."""
    return Declaration(name=name, signatures=(read_signature(head),), first="self", doc=doc)


def field(name: str, kind: str) -> Declaration:
    return Declaration(name=name, type=kind)


REPO = "self, owner: str, repo: str"
OPERATIONS = (
    offered(
        "issues.create",
        f"({REPO}, *, title: str | int, body: str | None = None, labels: list[str | LabelInput] | None = None, "
        "state: Literal['open', 'closed'] = 'open') -> Issue",
        "Create an issue.\n\nAny user with pull access can create one.\n\nPOST /repos/{owner}/{repo}/issues",
    ),
    offered(
        "issues.list",
        f"({REPO}, *, state: Literal['open', 'closed', 'all'] = 'open', since: str | None = None) -> Iterator[Issue]",
        "List the issues of a repository.\n\nGET /repos/{owner}/{repo}/issues",
        reads=True,
    ),
    offered(
        "issues.get",
        f"({REPO}, issue_number: int) -> Issue",
        "Get an issue.\n\nGET /repos/{owner}/{repo}/issues/{issue_number}",
        reads=True,
    ),
    offered(
        "issues.update",
        f"({REPO}, issue_number: int, *, title: str | None = None, state: str | None = None) -> Issue",
        "Update an issue.\n\nPATCH /repos/{owner}/{repo}/issues/{issue_number}",
    ),
    offered(
        "issues.create_comment",
        f"({REPO}, issue_number: int, *, body: str) -> Comment",
        "Create an issue comment.\n\nPOST /repos/{owner}/{repo}/issues/{issue_number}/comments",
    ),
    offered(
        "issues.list_comments",
        f"({REPO}, issue_number: int) -> Iterator[Comment]",
        "List issue comments.\n\nGET /repos/{owner}/{repo}/issues/{issue_number}/comments",
        reads=True,
    ),
    offered("repos.get", f"({REPO}) -> Repository", "Get a repository.\n\nGET /repos/{owner}/{repo}", reads=True),
    offered("repos.delete", f"({REPO}) -> None", "Delete a repository.\n\nDELETE /repos/{owner}/{repo}"),
    offered("repos.list_tags", f"({REPO}) -> list[str]", "List tags.\n\nGET /repos/{owner}/{repo}/tags", reads=True),
    offered("markdown.render", "(self, *, text: str) -> str", "Render a Markdown document.\n\nPOST /markdown"),
    offered("ping", "(self) -> bool", "Whether it is there.\n\nGET /ping", reads=True),
)
SHAPES = (
    Shape(
        name="Issue",
        kind="record",
        doc="Something to be done.",
        lines=(
            field("number", "int"),
            field("title", "str"),
            field("user", "User | None"),
            field("labels", "list[Label]"),
            method(
                "list_comments",
                "(self) -> Iterator[Comment]",
                "List issue comments.\n\nGET /repos/{owner}/{repo}/issues/{issue_number}/comments",
            ),
        ),
    ),
    Shape(name="User", kind="record", lines=(field("login", "str"), field("id", "int"))),
    Shape(name="Label", kind="record", lines=(field("name", "str"), field("color", "str"))),
    Shape(name="LabelInput", kind="dict", lines=(field("name", "str"), field("color", "str"))),
    Shape(name="Comment", kind="record", lines=(field("id", "int"), field("body", "str"), field("user", "User"))),
    Shape(name="Repository", kind="record", lines=(field("name", "str"), field("owner", "User"))),
)
ABOUT = {"": "An issue tracker.", "issues": "What is to be done."}


def tracker(key: str = "tracker-1", **changed: Any) -> Listed:
    """The issue tracker."""
    return Listed(changed.get("operations", OPERATIONS), SHAPES, key=key, about=ABOUT)


def many(count: int, key: str = "many-1") -> Listed:
    """As many operations as that, in namespaces of a hundred."""
    kinds = "list get create update delete".split()
    found = (
        offered(
            f"part{number // 100}.{kinds[number % 5]}_thing{number}",
            "(self, ident: int, *, name: str | None = None, size: int = 3) -> Thing",
            f"{kinds[number % 5].title()} the thing number {number} of part {number // 100}.",
            reads=number % 5 < 2,
        )
        for number in range(count)
    )
    return Listed(found, (Shape(name="Thing", kind="record", lines=(field("id", "int"),)),), key=key)


async def refuse(path: str, arguments: dict[str, Any]) -> Any:
    raise AssertionError(f"{path} was called with {arguments}")


def scope_of(**surfaces: Any) -> Scope:
    """A scope with an upstream under each name."""
    return Scope({name: make_root(name, surface, refuse) for name, surface in surfaces.items()})
