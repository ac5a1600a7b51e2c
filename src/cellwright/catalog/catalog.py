"""`Catalog`: `search` and `show` over what a scope offers. Built at the first use, and again when the scope changes.

It reads the scope's classes and never its objects: a search runs none of the developer's code. An upstream is read from
its surface, once for each content: its index is kept on disk.
"""

from __future__ import annotations

import difflib
import functools
import itertools
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from cellwright.catalog.catalog_entries import CatalogEntry, entries, fields_note, record_note
from cellwright.catalog.fulltext import FullTextIndex
from cellwright.catalog.index_rows import METHOD, IndexRow, row_of_line, rows_of
from cellwright.catalog.offer import Offer, read_offer
from cellwright.catalog.ranking import SearchSource, find
from cellwright.catalog.stemmer import split
from cellwright.catalog.stub_text import (
    LONGEST,
    fitted_stub,
    needed_shapes,
    qualified_signature,
    sentence,
    shape_text,
    whole_text,
)
from cellwright.catalog.upstream_text import upstream_stub
from cellwright.catalog.upstreams import Upstream
from cellwright.errors import NotInScope
from cellwright.scope import Scope
from cellwright.settings import Settings

LIMIT = 8
BUDGET = 4_000  # characters of one `show`
NEAR = 3  # names that are suggested for a missing one
COMPARED = 500  # operations of one upstream that a missing name is compared with
MISSING = 200  # characters of a missing name that are compared
HITS = 2_000  # that are kept
NAMES = 40  # of the scope, in the error about a missing name


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchHit:
    """One result of a search. `note` has the fields of what it returns, or tells where its object comes from."""

    name: str
    signature: str
    summary: str
    note: str = ""

    def __str__(self) -> str:
        return "\n".join([self.signature, *(f"    {text}" for text in (self.summary, self.note) if text)])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Built:
    """What the catalog made of the scope at one version of it."""

    version: int
    names: tuple[tuple[str, Any], ...]
    keys: tuple[str, ...]  # of the upstreams' contents
    offer: Offer
    entries: tuple[CatalogEntry, ...]
    by_name: dict[str, CatalogEntry]
    sources: tuple[SearchSource, ...]  # the live objects, then each upstream
    hits: dict[tuple[int, str], SearchHit] = field(
        default_factory=dict[tuple[int, str], SearchHit]
    )  # that were told before

    @property
    def upstreams(self) -> tuple[Upstream, ...]:
        return tuple(self.offer.upstreams.values())


class Catalog:
    """What a scope offers, to be searched and shown. Any thread may use it.

    leave_out  names that a search does not find
    cache      a directory for the indexes of upstreams; None keeps them in memory. By default the user's own
    progress   is called when an upstream is indexed, which takes seconds for ten thousand operations
    """

    def __init__(
        self,
        scope: Scope,
        leave_out: Collection[str] = (),
        *,
        cache: Path | Literal["default"] | None = "default",
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.scope = scope
        self._leave_out = frozenset(leave_out)
        self._cache: Path | Literal["default"] | None = cache
        self._progress = progress
        self._built: _Built | None = None
        self._indexes: dict[str, FullTextIndex] = {}  # by the key of an upstream's content
        self._lock = threading.Lock()

    def search(self, query: str, limit: int = LIMIT) -> tuple[SearchHit, ...]:
        """The hits for a query, the best first."""
        built = self._ready()
        try:
            rows = find(built.sources, query, limit)
        except sqlite3.DatabaseError:  # a damaged file is made anew
            built = self._rebuilt()
            rows = find(built.sources, query, limit)
        hits = [_hit(built, row.source, row.key) for row in rows]
        named = _named_hit(built, query.strip().removesuffix("()"))
        if named is not None and limit > 0:
            hits = [named, *(hit for hit in hits if hit.name != named.name)][:limit]
        return tuple(hits)

    @property
    def offer(self) -> Offer:
        """What the scope offers now."""
        return self._ready().offer

    def functions(self, name: str) -> Iterator[CatalogEntry]:
        """The functions of live objects below a name of the scope, and the function that the name itself is."""
        for entry in self._ready().entries:
            if entry.line.callable and entry.name.partition(".")[0] == name:
                yield entry

    def warm(self) -> None:
        """Get ready before the first search."""
        self._ready()

    def show(self, name: str, budget: int | None = BUDGET) -> str:
        """The stub of a name with the classes it needs, in about `budget` characters; None: the stub alone."""
        built = self._ready()
        entry = built.by_name.get(name)
        if entry is not None:
            return self._stub(entry, built.offer, budget)
        if name in built.offer.shapes and "." not in name and not name.startswith("_"):
            text = shape_text(built.offer.shapes[name], lines=built.offer.lines_of(built.offer.shapes[name]))
            return fitted_stub(text, needed_shapes(built.offer, [text], (name,)), shape_text, budget, name)
        text = upstream_stub(built.upstreams, name, budget)
        if not text:
            raise NotInScope(self.missing(name))
        return text

    def _stub(self, entry: CatalogEntry, offer: Offer, budget: int | None) -> str:
        shape = offer.shapes.get(entry.shape)
        text = whole_text(entry.line)
        if "." in entry.name and shape is None:
            text = f"# {entry.name}\n{text}"
        known: tuple[str, ...] = ()
        if shape is not None:
            known = (shape.name,)
            init = (shape.init,) if shape.init is not None and shape.kind == "handle" and entry.line.callable else ()
            body = shape_text(shape, lines=(*init, *offer.lines_of(shape)))
            text = body if entry.line.callable or shape.kind == "module" else f"{text}\n\n{body}"
        further = (other for other in needed_shapes(offer, [text], known) if not other.standard)
        return fitted_stub(text, further, shape_text, budget, entry.name)

    def missing(self, name: str) -> str:
        """The text of the error about a name that is not in scope."""
        built = self._ready()
        near = _near(name, built)
        meant = f"did you mean {' or '.join(f'`{n}`' for n in near)}? " if near else ""
        names = list(built.offer.names)
        more = f", and {len(names) - NAMES} more" if len(names) > NAMES else ""
        return f"`{name}` is not in scope; {meant}in scope: {', '.join(names[:NAMES]) or 'nothing'}{more}"

    def _ready(self) -> _Built:
        names = tuple(self.scope.names())
        version = self.scope.rules.version
        with self._lock:
            built = self._built
            if (
                built is None
                or built.version != version
                or not _same(built.names, names)
                or built.keys != tuple(one.surface.key for one in built.upstreams)
            ):
                built = self._built = self._build(version, names)
            return built

    def _rebuilt(self) -> _Built:
        """Throw away the indexes, which cannot be read, and build the catalog again."""
        with self._lock:
            for index in self._indexes.values():
                if index.path is not None:
                    index.path.unlink(missing_ok=True)
            self._indexes.clear()
            self._built = None
        return self._ready()

    def _build(self, version: int, names: tuple[tuple[str, Any], ...]) -> _Built:
        offer = read_offer(self.scope, self._leave_out)
        listed = entries(offer)
        live = SearchSource(index=FullTextIndex.of(_row(number, entry) for number, entry in enumerate(listed)))
        sources = [live]
        keys: list[str] = []
        for upstream in offer.upstreams.values():
            index = self._index(upstream)
            keys.append(upstream.surface.key)
            upstream.paths = functools.partial(_paths, index)
            shows = _shower(upstream) if upstream.ruled else None
            sources.append(SearchSource(index=index, name=upstream.name, shows=shows))
        self._indexes = {key: self._indexes[key] for key in keys}
        return _Built(
            version=version,
            names=names,
            keys=tuple(keys),
            offer=offer,
            entries=listed,
            by_name={entry.name: entry for entry in listed},
            sources=tuple(sources),
        )

    def _index(self, upstream: Upstream) -> FullTextIndex:
        """The index of what an upstream offers; a content that has one is not read again."""
        key = upstream.surface.key
        if key not in self._indexes:

            def rows() -> Iterator[IndexRow]:
                if self._progress is not None:
                    self._progress(f"{upstream.name}: indexing its operations for search")
                return rows_of(upstream.surface)

            cache = self._cache
            folder = Settings.from_environment().cache_dir / "catalog" if cache == "default" else cache
            self._indexes[key] = FullTextIndex.of(rows()) if folder is None else FullTextIndex.kept(folder, key, rows)
        return self._indexes[key]


def _paths(index: FullTextIndex) -> list[tuple[str, bool]]:
    return [(key, reads) for key, reads in index.listed() if not key.startswith(METHOD)]


def _shower(upstream: Upstream) -> Callable[[str, bool], bool]:
    return lambda key, reads: key.startswith(METHOD) or upstream.shows(key, reads)


def _near(name: str, built: _Built) -> list[str]:
    """Names that look like a missing one, or end as it does."""
    words = set(split(name))
    names = {
        n.lower(): n for n in (*built.offer.shapes, *built.by_name, *built.offer.upstreams) if not n.startswith("_")
    }
    for upstream in built.upstreams:
        telling = words - set(split(upstream.name))
        paths = (path for path, _ in upstream.paths() if not telling.isdisjoint(split(path)))
        for path in itertools.islice((p for p in paths if upstream.find(p) is not None), COMPARED):
            names[f"{upstream.name}.{path}".lower()] = f"{upstream.name}.{path}"
    last = name.lower().rpartition(".")[2]
    same = [n for lowered, n in names.items() if last and lowered.rpartition(".")[2] == last]
    close = [names[n] for n in difflib.get_close_matches(name.lower()[:MISSING], names, NEAR, 0.6)]
    same.sort(key=lambda n: -len(words & set(split(n))))
    return list(dict.fromkeys([*same[:2], *close]))[:NEAR]


def _same(one: tuple[tuple[str, Any], ...], other: tuple[tuple[str, Any], ...]) -> bool:
    return len(one) == len(other) and all(a == b and x is y for (a, x), (b, y) in zip(one, other, strict=True))


def _row(number: int, entry: CatalogEntry) -> IndexRow:
    return row_of_line(str(number), entry.name, entry.line, f"{entry.about} {entry.owner}")


# hits


def _hit(built: _Built, source: int, key: str) -> SearchHit:
    hit = built.hits.get((source, key))
    if hit is not None:
        return hit
    if source == 0:
        hit = _live_hit(built.offer, built.entries[int(key)])
    else:
        upstream = built.upstreams[source - 1]
        hit = _method_hit(upstream, key[1:]) if key.startswith(METHOD) else _operation_hit(upstream, key)
    if len(built.hits) >= HITS:
        built.hits.clear()
    built.hits[source, key] = hit
    return hit


def _named_hit(built: _Built, name: str) -> SearchHit | None:
    """The hit for something of exactly this name."""
    for upstream in built.upstreams:
        path = upstream.alias(name) or name.removeprefix(f"{upstream.name}.")
        if path and path != name and upstream.find(path) is not None:
            return _operation_hit(upstream, path)
        if name == upstream.name or (path and path != name and upstream.counts()[path]):
            count = upstream.counts()["" if name == upstream.name else path]
            about = sentence(upstream.surface.about("" if name == upstream.name else path))
            return SearchHit(name=name, signature=f"{name}  # {count:,} operations", summary=about)
    entry = built.by_name.get(name)
    return None if entry is None else _live_hit(built.offer, entry)


def _live_hit(offer: Offer, entry: CatalogEntry) -> SearchHit:
    return SearchHit(
        name=entry.name,
        signature=entry.fitted(LONGEST),
        summary=entry.summary or (entry.about if entry.shape else ""),
        note=fields_note(offer, entry),
    )


def _operation_hit(upstream: Upstream, path: str) -> SearchHit:
    offered = upstream.surface.find(path)
    name = f"{upstream.name}.{path}"
    if offered is None:  # the upstream no longer offers it
        return SearchHit(name=name, signature=name, summary="")
    return SearchHit(
        name=name,
        signature=qualified_signature(offered.line, name.rpartition(".")[0], LONGEST),
        summary=sentence(offered.line.doc),
        note=record_note(upstream.mentioned(offered.line.gives)),
    )


def _method_hit(upstream: Upstream, name: str) -> SearchHit:
    owner, _, last = name.partition(".")
    shape = upstream.shape(owner)
    line = next((line for line in shape.lines if line.name == last), None) if shape is not None else None
    signature = qualified_signature(line, owner, LONGEST) if line is not None else name
    note = f"{owner} is what operations of {upstream.name} return"
    return SearchHit(name=name, signature=signature, summary=sentence(line.doc) if line is not None else "", note=note)
