"""A directory of compiled descriptions, and how an unchanged source is recognised without reading it again.

<digest>.sqlite          the compiled form; the digest is that of the description's content
<digest>.json            the further documents that it was made of, each with its own digest
source-<place>.json      the state of a file or a URL when it was last read: its marks, and the digest
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from cellwright.atomic import write_atomic
from cellwright.errors import SpecError
from cellwright.openapi.compiled_api import ApiParts, CompiledApi
from cellwright.openapi.documents import Documents
from cellwright.openapi.spec_content import SpecContent, file_mark, is_url, read_spec_url
from cellwright.schemas import as_object, as_text, parsed_object


def is_ours(folder: Path) -> bool:
    """Whether nobody else may write here: a compiled description decides where keys are sent."""
    try:
        found = folder.stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)


class CompiledCache:
    """A directory of compiled files. It may be deleted at any time."""

    def __init__(self, folder: Path, salt: str) -> None:
        self.salt = salt
        self._folder = folder

    def unchanged(self, location: str) -> CompiledApi | SpecContent | None:
        """The compiled form of an unchanged source; else its content, if the check for changes has read it."""
        note = self._got(self._source(location))
        mark, digest = as_object(note.get("mark")), as_text(note.get("digest"))
        if not mark or not digest:
            return None
        if not is_url(location):
            return self._whole(digest, location) if file_mark(Path(location)) == mark else None
        whole = self._whole(digest, location)
        return None if whole is None else read_spec_url(location, known=mark) or whole

    def by_content(self, digest: str, fetched: SpecContent, location: str) -> CompiledApi | None:
        """The compiled form that was made of the same content before."""
        found = self._whole(digest, location)
        if found is not None:
            self._note(location, fetched, digest)
        return found

    def write(
        self, digest: str, fetched: SpecContent, location: str, documents: Documents, parts: ApiParts
    ) -> CompiledApi:
        further = {
            base: {"mark": documents.marks[base], "digest": found} for base, found in sorted(documents.digests.items())
        }
        key = _key(digest, documents.digests)
        try:
            file = CompiledApi.write(self._folder / f"{key}.sqlite", key, parts)
        except OSError:
            return CompiledApi.write(
                None, key, parts
            )  # without a directory that can be written there is no cache, and all else works
        self._put(self._folder / self._parts_name(digest, location), {"documents": further})
        self._note(location, fetched, digest)
        return file

    def _whole(self, digest: str, location: str) -> CompiledApi | None:
        """The compiled form of a content, if the further documents are unchanged."""
        note = self._got(self._folder / self._parts_name(digest, location))
        further = note.get("documents")
        if not isinstance(further, dict):
            return None
        digests: dict[str, str] = {}
        for base, one in as_object(further).items():
            held = as_object(one)
            if not self._same(_beside(location, base), as_object(held.get("mark"))):
                return None
            digests[base] = as_text(held.get("digest"))
        key = _key(digest, digests)
        return CompiledApi.open(self._folder / f"{key}.sqlite", key)

    def _parts_name(self, digest: str, location: str) -> str:
        """The location is part of the name: relative references lead elsewhere from another place."""
        return f"{digest}.{_short(location)}.json"

    def _same(self, location: str, mark: dict[str, Any]) -> bool:
        if not mark:
            return False
        if not is_url(location):
            return file_mark(Path(location)) == mark
        try:
            return read_spec_url(location, known=mark) is None
        except SpecError:
            return False  # the source is read again, and that raises the error

    def _source(self, location: str) -> Path:
        return self._folder / f"source-{_short(self.salt + location)}.json"

    def _note(self, location: str, fetched: SpecContent, digest: str) -> None:
        if location and fetched.mark:
            self._put(self._source(location), {"mark": fetched.mark, "digest": digest})

    def _got(self, path: Path) -> dict[str, Any]:
        try:
            return parsed_object(path.read_bytes())
        except OSError:
            return {}

    def _put(self, path: Path, value: Any) -> None:
        with suppress(OSError):  # what is not noted is read again
            write_atomic(path, json.dumps(value))


def _key(digest: str, further: dict[str, str]) -> str:
    if not further:
        return digest
    told = json.dumps(further, sort_keys=True).encode()
    return hashlib.sha256(digest.encode() + told).hexdigest()


def _beside(location: str, base: str) -> str:
    return base if is_url(base) else str(Path(location).parent / base)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
