"""Compiled files that are kept, and how a source that was read before is known again without reading it.

<digest>.sqlite          the compiled form; the digest is that of the description's content
<digest>.json            the further documents that it was made of, each with its own digest
source-<place>.json      what a file or an URL was when it was last read: its marks, and the digest
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from pathlib import Path
from typing import Any

from cellwright.errors import SpecError
from cellwright.openapi.compiled_file import CompiledFile, Parts
from cellwright.openapi.documents import Documents
from cellwright.openapi.fetching import Fetched, file_mark, is_url, read_url
from cellwright.openapi.reading import mapping, text


def is_ours(folder: Path) -> bool:
    """Whether nobody else may write here: what is compiled says where keys are sent."""
    try:
        found = folder.stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)


class Cache:
    """A directory of compiled files. It may be deleted at any time."""

    def __init__(self, folder: Path, salt: str) -> None:
        self.salt = salt
        self._folder = folder

    def unchanged(self, location: str) -> CompiledFile | Fetched | None:
        """What a source gave the last time, where it is seen to be the same; else its content, if that came along."""
        note = self._got(self._source(location))
        mark, digest = mapping(note.get("mark")), text(note.get("digest"))
        if not mark or not digest:
            return None
        if not is_url(location):
            return self._whole(digest, location) if file_mark(Path(location)) == mark else None
        whole = self._whole(digest, location)
        return None if whole is None else read_url(location, known=mark) or whole

    def by_content(self, digest: str, fetched: Fetched, location: str) -> CompiledFile | None:
        """What was made of the same content before."""
        found = self._whole(digest, location)
        if found is not None:
            self._note(location, fetched, digest)
        return found

    def write(self, digest: str, fetched: Fetched, location: str, documents: Documents, parts: Parts) -> CompiledFile:
        further = {
            base: {"mark": documents.marks[base], "digest": found} for base, found in sorted(documents.digests.items())
        }
        key = _key(digest, documents.digests)
        try:
            file = CompiledFile.write(self._folder / f"{key}.sqlite", key, parts)
        except OSError:
            return CompiledFile.write(None, key, parts)  # a directory that cannot be written costs the cache alone
        self._put(self._folder / self._parts_name(digest, location), {"documents": further})
        self._note(location, fetched, digest)
        return file

    def _whole(self, digest: str, location: str) -> CompiledFile | None:
        """The compiled form of a content, where its further documents are what they were."""
        note = self._got(self._folder / self._parts_name(digest, location))
        further = note.get("documents")
        if not isinstance(further, dict):
            return None
        digests: dict[str, str] = {}
        for base, one in mapping(further).items():
            held = mapping(one)
            if not self._same(_beside(location, base), mapping(held.get("mark"))):
                return None
            digests[base] = text(held.get("digest"))
        key = _key(digest, digests)
        return CompiledFile.open(self._folder / f"{key}.sqlite", key)

    def _parts_name(self, digest: str, location: str) -> str:
        """Relative references mean something else elsewhere."""
        return f"{digest}.{_short(location)}.json"

    def _same(self, location: str, mark: dict[str, Any]) -> bool:
        if not mark:
            return False
        if not is_url(location):
            return file_mark(Path(location)) == mark
        try:
            return read_url(location, known=mark) is None
        except SpecError:
            return False  # it is read in earnest, and then the error is told

    def _source(self, location: str) -> Path:
        return self._folder / f"source-{_short(self.salt + location)}.json"

    def _note(self, location: str, fetched: Fetched, digest: str) -> None:
        if location and fetched.mark:
            self._put(self._source(location), {"mark": fetched.mark, "digest": digest})

    def _got(self, path: Path) -> dict[str, Any]:
        try:
            return mapping(json.loads(path.read_bytes()))
        except (OSError, ValueError):
            return {}

    def _put(self, path: Path, value: Any) -> None:
        passing = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            passing.write_text(json.dumps(value), encoding="utf-8")
            passing.replace(path)
        except OSError:
            passing.unlink(missing_ok=True)  # what is not noted is read again


def _key(digest: str, further: dict[str, str]) -> str:
    if not further:
        return digest
    told = json.dumps(further, sort_keys=True).encode()
    return hashlib.sha256(digest.encode() + told).hexdigest()


def _beside(location: str, base: str) -> str:
    return base if is_url(base) else str(Path(location).parent / base)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
