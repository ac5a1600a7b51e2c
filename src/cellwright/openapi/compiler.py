"""From a description to its compiled form: operations read, named and typed; or the form that was compiled before."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cellwright.openapi.api_metadata import api_of
from cellwright.openapi.compiled_api import ApiParts, CompiledApi
from cellwright.openapi.compiled_cache import CompiledCache, is_ours
from cellwright.openapi.documents import Documents, content_of
from cellwright.openapi.name_words import joined, words
from cellwright.openapi.operation_names import operation_paths
from cellwright.openapi.operation_plan import SkippedPart
from cellwright.openapi.operation_reader import OperationDraft, OperationReader, described_operations
from cellwright.openapi.record_methods import Lines, methods_of
from cellwright.openapi.spec_content import SpecContent, is_url, read_spec_file, read_spec_url, without_secrets
from cellwright.openapi.spec_parser import parse_spec
from cellwright.schemas import as_list, as_object, as_text, first_sentence
from cellwright.scope import Shape

FORMAT = 5  # goes up with every change of what is compiled
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
    documents = Documents(first, where=place, folder=_folder(location), remote=remote, login=_login(fetched.where))
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


def _folder(location: str) -> Path | None:
    return Path(location).parent if location and not is_url(location) else None


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
    skipped.extend(SkippedPart(where=ref, reason=reason) for ref, reason in reader.types.missing.items())
    tell(f"{name}: {len(drafts):,} operations")
    return ApiParts(
        api=api,
        operations=[(draft.offered, draft.plan) for draft in drafts],
        abouts=_abouts(documents),
        shapes=_with_methods(shapes, lines),
        records=records,
        methods=methods,
        schemas=reader.collector.schemas,
        skipped=skipped,
    )


def _with_methods(shapes: Mapping[str, Shape], lines: Lines) -> dict[str, Shape]:
    return {
        name: replace(shape, lines=(*shape.lines, *lines[name])) if name in lines else shape
        for name, shape in shapes.items()
    }


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
