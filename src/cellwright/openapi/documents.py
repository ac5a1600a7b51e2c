"""A description with the documents that it refers to: each read once, when a `$ref` first leads there.

A base names a document: "" the first, else its path below the first one's directory, or its URL. A file leads only to
files below that directory; an URL is followed from an URL, or where that was allowed. It knows no operations.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from cellwright.errors import SpecError
from cellwright.openapi.spec_content import SpecContent, is_private, is_url, read_spec_file, read_spec_url
from cellwright.openapi.spec_parser import parse_spec, version_of
from cellwright.schemas import FlatSchema, Flattener, anchors_of, as_object, follow

MOST_DOCUMENTS = 500
_HOPS = 32
_BARE = re.compile(r"\w+$")


class Documents:
    """One description, and what it refers to."""

    def __init__(
        self, first: Any, *, where: str, folder: Path | None = None, remote: bool = False, login: str = ""
    ) -> None:
        self.version = version_of(first, where or "the description")
        self.where = where  # a path, an URL, or "" for data
        self.digests: dict[str, str] = {}  # of each further document, by base
        self.marks: dict[str, dict[str, Any]] = {}  # by base; a later reader compares them to see changes
        self._folder = folder
        self._login = login  # "user:password@" of its server; bases do not contain it, because they are written to disk
        self._remote = remote or is_url(where)
        self._loaded: dict[str, Any] = {"": first}
        self._failed: dict[str, str] = {}
        self._anchors: dict[str, dict[str, Any]] = {}
        self._found: dict[tuple[str, str], tuple[str, Any, str]] = {}
        self._flattener = Flattener(self.resolve)
        self._merged: dict[tuple[int, str], tuple[Any, FlatSchema]] = {}  # holds the node: its id must stay its own

    @property
    def first(self) -> dict[str, Any]:
        return self._loaded[""]

    def resolve(self, ref: str, base: str = "") -> tuple[str, Any, str]:
        """The target of a `$ref`: its canonical name, its value, its base. LookupError where there is no target."""
        found = self._found.get((ref, base))
        if found is None:
            found = self._found[ref, base] = self._resolved(ref, base)
        return found

    def followed(self, node: Any, base: str = "") -> tuple[Any, str]:
        """A node, or the last target of its `$ref`s, with the base of that."""
        for _ in range(_HOPS):
            ref = cast("dict[str, Any]", node).get("$ref") if isinstance(node, dict) else None
            if not isinstance(ref, str):
                return cast("Any", node), base
            _, node, base = self.resolve(ref, base)
        raise LookupError("a $ref that leads round in a circle")

    def merged(self, schema: Any, base: str) -> FlatSchema:
        """A schema with its `allOf` merged. Each schema is merged once."""
        node = as_object(schema)
        if len(node) == 1 and isinstance(node.get("$ref"), str):
            try:
                found, base = self.followed(node, base)
            except LookupError:
                return FlatSchema()
            node = as_object(found)
        kept = self._merged.get((id(node), base))
        if kept is None:
            kept = self._merged[id(node), base] = (node, self._flattener.merged(node, base))
        return kept[1]

    def _resolved(self, ref: str, base: str) -> tuple[str, Any, str]:
        head, fragment = urldefrag(ref)
        if _BARE.match(ref) and (named := self._named(ref)):  # `"$ref": "Pet"`, as old descriptions have it
            head, fragment, base = "", named, ""
        target = base if not head else self._target(head, base, ref)
        document = self._document(target, ref)
        if fragment and not fragment.startswith("/"):
            return f"{target}#{fragment}", self._anchored(document, fragment, target, ref), target
        pointer = unquote(fragment) if "%" in fragment else fragment
        return f"{target}#{pointer}", follow(document, pointer.split("/")[1:], f"{ref} leads nowhere"), target

    def _named(self, name: str) -> str:
        places = (("definitions",), ("components", "schemas"))
        for place in places:
            node: Any = self.first
            for part in (*place, name):
                node = cast("dict[str, Any]", node).get(part) if isinstance(node, dict) else None
            if node is not None:
                return "/" + "/".join((*place, name))
        return ""

    def _target(self, head: str, base: str, ref: str) -> str:
        """The base of another document."""
        if is_url(head) or is_url(base) or (not base and is_url(self.where)):
            url = urljoin(base or self.where, head)
            if not is_url(url):
                raise LookupError(f"{ref} is neither a file nor an URL")
            if not self._remote:
                raise LookupError(f"{ref} leads from a file to an URL, which was not allowed")
            if is_private(url) and urlsplit(url).netloc != urlsplit(self.where).netloc:
                raise LookupError(f"{ref} leads into a private network, which was not allowed")
            return "" if url == self.where else url
        if not self._folder:
            raise LookupError(f"{ref} is relative, and the description was given as data, with no place of its own")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(head)))
        if path.startswith(("/", "../")) or path == "..":
            raise LookupError(f"{ref} leads out of the description's directory")
        return "" if (self._folder / path) == Path(self.where) else path

    def _anchored(self, document: Any, anchor: str, base: str, ref: str) -> Any:
        if base not in self._anchors:
            self._anchors[base] = anchors_of(document)
        if anchor not in self._anchors[base]:
            raise LookupError(f"{ref} leads nowhere")
        return self._anchors[base][anchor]

    def _document(self, base: str, ref: str) -> Any:
        if base in self._loaded:
            return self._loaded[base]
        if base in self._failed:
            raise LookupError(self._failed[base])
        if len(self._loaded) > MOST_DOCUMENTS:
            raise LookupError(f"{ref}: more than {MOST_DOCUMENTS} documents")
        try:
            fetched = self._read(base)
            document = parse_spec(fetched.content, base)
        except SpecError as wrong:
            self._failed[base] = str(wrong)
            raise LookupError(str(wrong)) from None
        self._loaded[base] = document
        self.digests[base] = hashlib.sha256(fetched.content).hexdigest()
        self.marks[base] = fetched.mark
        return document

    def _read(self, base: str) -> SpecContent:
        if is_url(base):
            own = bool(self._login) and urlsplit(base).netloc == urlsplit(self.where).netloc
            fetched = read_spec_url(base.replace("://", f"://{self._login}", 1) if own else base)
            assert fetched is not None
            return fetched
        assert self._folder is not None
        path = (self._folder / base).resolve()
        if not path.is_relative_to(self._folder.resolve()):
            raise SpecError(f"{base} is a link out of the description's directory")
        return read_spec_file(path)


def content_of(first: Any) -> bytes:
    """Data as bytes that are the same for the same data."""
    return json.dumps(first, sort_keys=True, separators=(",", ":"), default=str).encode()
