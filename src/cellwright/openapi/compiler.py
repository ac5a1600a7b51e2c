"""From a description to its compiled form: operations read, named and typed; or the form that was compiled before.

`CompiledCache` is a directory of those, in which an unchanged source is recognised without reading it again:

<digest>.sqlite          the compiled form; the digest is that of the description's content
<digest>.json            the further documents that it was made of, each with its own digest
source-<place>.json      the state of a file or a URL when it was last read: its marks, and the digest
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cellwright.atomic import write_atomic
from cellwright.errors import SpecError
from cellwright.openapi.api_metadata import api_of
from cellwright.openapi.compiled_api import ApiParts, CompiledApi
from cellwright.openapi.documents import Documents, content_of
from cellwright.openapi.name_words import joined, words
from cellwright.openapi.operation_names import operation_paths
from cellwright.openapi.operation_plan import SkippedPart
from cellwright.openapi.operation_reader import OperationDraft, OperationReader, described_operations
from cellwright.openapi.record_methods import methods_of
from cellwright.openapi.spec_content import (
    SpecContent,
    file_mark,
    is_url,
    read_spec_file,
    read_spec_url,
    without_secrets,
)
from cellwright.openapi.spec_parser import parse_spec
from cellwright.schemas import as_list, as_object, as_text, first_sentence, parsed_object


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
            return CompiledApi.write(None, key, parts)  # where nothing can be written there is no cache, and all works
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
        for base, document in as_object(further).items():
            held = as_object(document)
            place = base if is_url(base) else str(Path(location).parent / base)
            if not self._same(place, as_object(held.get("mark"))):
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


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


FORMAT = 7  # goes up with every change of what is compiled
_STEP = 200  # operations between two lines of progress
_ABOUT = 300

Progress = Callable[[str], None]
Source = str | Path | Mapping[str, Any]


def compile_openapi(
    source: Source, *, name: str, cache: Path | None = None, progress: Progress | None = None, remote: bool = False
) -> CompiledApi:
    """A description from a path, an URL, a text or data. SpecError where it cannot be read at all.

    `cache` is the directory where compiled files are kept, None to keep none. `remote` lets a file refer to URLs.
    """
    tell = progress or _silent
    if cache is not None and not is_ours(cache):
        tell(f"{name}: others may write in {cache}, so nothing is kept there; run: chmod go-w {cache}")
        cache = None
    kept = CompiledCache(cache, f"{FORMAT} {version('cellwright')} {remote}") if cache is not None else None
    location = _location(source)
    known = kept.unchanged(location) if kept is not None and location else None
    if isinstance(known, CompiledApi):
        return known
    where = without_secrets(location) or "the description"
    tell(f"{name}: reading {where}")
    fetched, first = (known, None) if known is not None else _read(source, location)
    salt = kept.salt if kept is not None else str(FORMAT)
    digest = hashlib.sha256(salt.encode() + b"\0" + fetched.content).hexdigest()
    found = kept.by_content(digest, fetched, location) if kept is not None else None
    if found is not None:
        return found
    if first is None:
        first = parse_spec(fetched.content, where)
    place = without_secrets(fetched.where) if location else ""
    folder = Path(location).parent if location and not is_url(location) else None
    documents = Documents(first, where=place, folder=folder, remote=remote, login=_login(fetched.where))
    parts = compiled_parts(documents, name=name, tell=tell)
    if kept is None:
        return CompiledApi.write(None, digest, parts)
    return kept.write(digest, fetched, location, documents, parts)


def _silent(line: str) -> None:
    pass


def _location(source: Source) -> str:
    """The absolute path or the URL of a source; "" where it is the description itself."""
    if isinstance(source, Path):
        return str(source.expanduser().absolute())
    if isinstance(source, Mapping):
        return ""
    if is_url(source):
        return source
    told = source.lstrip("\ufeff \t\r\n")
    is_text = "\n" in told or told.startswith(("{", "["))
    return "" if is_text else str(Path(source.removeprefix("file://")).expanduser().absolute())


def _login(where: str) -> str:
    """The user and the password of a URL, with the `@`."""
    user, at, _ = urlsplit(where).netloc.rpartition("@") if is_url(where) else ("", "", "")
    return user + at


def _read(source: Source, location: str) -> tuple[SpecContent, Any]:
    """The content, and the parsed data if it is available."""
    if isinstance(source, Mapping):
        content = content_of(dict(source))
        return SpecContent(content=content, where="", mark={}), None if b"\\ud" in content else dict(source)
    if not location:
        return SpecContent(content=str(source).encode(), where="", mark={}), None
    if not is_url(location):
        return read_spec_file(Path(location)), None
    fetched = read_spec_url(location)
    assert fetched is not None
    return fetched, None


def compiled_parts(documents: Documents, *, name: str, tell: Progress = _silent) -> ApiParts:
    """All that is kept of a description."""
    api, skipped = api_of(documents)
    raws = list(described_operations(documents, skipped))
    paths = operation_paths([raw.entry for raw in raws])
    reader = OperationReader(documents, api)
    drafts: list[OperationDraft] = []
    for at, (raw, path) in enumerate(zip(raws, paths, strict=True)):
        if at and at % _STEP == 0:
            tell(f"{name}: {at:,} of {len(raws):,} operations")
        drafted = reader.read(raw, path, skipped)
        if drafted is not None:
            drafts.append(drafted)
    shapes, records = reader.types.shapes(), reader.types.records()
    methods, lines = methods_of(drafts, records, shapes)
    shapes |= {name: replace(shapes[name], lines=(*shapes[name].lines, *more)) for name, more in lines.items()}
    skipped.extend(SkippedPart(where=ref, reason=reason) for ref, reason in reader.types.missing.items())
    tell(f"{name}: {len(drafts):,} operations")
    return ApiParts(
        api=api,
        operations=[(draft.offered, draft.plan) for draft in drafts],
        abouts=_abouts(documents),
        shapes=shapes,
        records=records,
        methods=methods,
        schemas=reader.collector.schemas,
        skipped=skipped,
    )


def _abouts(documents: Documents) -> dict[str, str]:
    """What the tags of a description say about their namespaces."""
    found: dict[str, str] = {}
    for tag in as_list(documents.first.get("tags")):
        held = as_object(tag)
        about = first_sentence(held.get("description"), _ABOUT)
        if about:
            path = ".".join(joined(words(part)) for part in as_text(held.get("name")).replace("/", ".").split("."))
            found.setdefault(path, about)
    return found
