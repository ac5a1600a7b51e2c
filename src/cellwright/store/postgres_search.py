"""Search in PostgreSQL. A search indexes what was written since the last one; writing does not."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from cellwright.errors import JournalFailed
from cellwright.store.codec import decoding
from cellwright.store.entry_codec import change_of
from cellwright.store.entry_texts import EntryTexts, texts_of
from cellwright.store.postgres_database import PostgresDatabase, body_of
from cellwright.store.postgres_failures import reports_failures
from cellwright.store.postgres_schema import INDEXING, plain, safe
from cellwright.store.postgres_terms import any_of, every, marked, terms, vector
from cellwright.store.queries import words_of
from cellwright.store.rows import EntryHit, Reach
from cellwright.store.snippets import snippet_of
from cellwright.store.sql_database import reached

BATCH = 200  # entries of one transaction
# Only rows of the model's door have texts; a body begins with status and door.
TEXTUAL = "(kind <> 'row' or strpos(left(body, 32), '\"model\"') > 0)"
STALE = (
    "select n, indexed, turns > 0, coalesce((select max(number) from entries where session = n), 0) from sessions "
    "where stale order by n limit 1"
)
NEW = (
    "select number, at, kind, cell, path, packed, body from entries "
    f"where session = %s and number > %s and number <= %s and {TEXTUAL} order by number limit %s"
)
INDEXED = (
    "update sessions set indexed = %s, stale = exists (select 1 from entries where session = %s and number > %s "
    f"and {TEXTUAL}) where n = %s"
)
PUT = (
    "insert into texts (session, source, kind, entry, cell, at, content, words) "
    "values (%s, %s, %s, %s, %s, %s, %s, %s::tsvector)"
)
KNOWN = "select n, source, kind, content from texts where session = %s and source = any(%s)"
LAST_REPLY = "select content from texts where session = %s and kind = 'reply' order by n desc limit 1"
FIND = (  # all matches are ranked, but only the texts of the best are fetched
    "with best as (select t.n, t.session, t.entry, t.kind, t.cell, t.at, {rank}(t.words, %s::tsquery, 1) as rank "
    "from texts t {within} where t.words @@ %s::tsquery {kinds} order by rank desc, t.n limit %s) "
    "select s.id, b.entry, b.kind, b.cell, b.at, t.content, b.rank from best b join texts t on t.n = b.n "
    "join sessions s on s.n = b.session order by b.rank desc, b.n"
)
WITHIN = (
    "join unnest(%s::text[], %s::bigint[]) as r (id, upto) on true join sessions o on o.id = r.id and o.n = t.session "
    "and (r.upto is null or t.entry <= r.upto)"
)


class PostgresSearch(PostgresDatabase):
    """See `SearchStore`."""

    @reports_failures
    def search(
        self, query: str, *, within: Sequence[Reach] | None = None, kinds: Sequence[str] = (), limit: int = 20
    ) -> Sequence[EntryHit]:
        wanted = terms(query)
        if not wanted or limit <= 0:
            return []
        self._catch_up()
        # With all words, their nearness counts; with any of them, how many match.
        for match, rank in ((every(wanted), "ts_rank_cd"), (any_of(wanted), "ts_rank")):
            if found := self._found(match, rank, within, kinds, limit):
                words = words_of(query)
                return [
                    EntryHit(
                        session=plain(id),
                        entry=entry,
                        kind=kind,
                        snippet=snippet_of(marked(content, wanted), words),
                        score=score,
                        cell=cell,
                        at=at,
                    )
                    for id, entry, kind, cell, at, content, score in found
                ]
        return []

    @reports_failures
    def catch_up(self) -> int:
        return self._catch_up()

    def _found(
        self, match: str, rank: str, within: Sequence[Reach] | None, kinds: Sequence[str], limit: int
    ) -> list[tuple[Any, ...]]:
        values: list[Any] = [match]
        if within is not None:
            bounds = reached(within)
            values += [[safe(session) for session in bounds], list(bounds.values())]
        values.append(match)
        if kinds:
            values.append(list(kinds))
        sql = FIND.format(
            rank=rank,
            within="" if within is None else WITHIN,
            kinds="and t.kind = any(%s)" if kinds else "",
        )
        return self._link.read(sql, *values, min(limit, 1 << 31))

    def _catch_up(self) -> int:
        taken, more = 0, True
        while more:
            if not self._link.read("select 1 from sessions where stale limit 1"):
                break
            taken_now, more = self._link.transact(self._batch, first=self._locked(INDEXING), quiet=True)
            taken += taken_now
        return taken

    def _batch(self) -> tuple[int, bool]:
        """Index some entries of one session. Gives how many of them have texts, and whether there may be more."""
        found = self._link.fetch(STALE)
        if not found:
            return 0, False
        ((session, indexed, has_turns, last),) = found
        new = self._link.fetch(NEW, session, indexed, last, BATCH)
        texts = [one for entry in new if (one := self._texts(entry, has_turns)) is not None]
        self._put(session, texts)
        upto = new[-1][0] if len(new) == BATCH else last
        # Lock the session: an entry that is being written is seen by the next statement, or marks the session stale.
        self._link.run("select 1 from sessions where n = %s for no key update", session)
        self._link.run(INDEXED, upto, session, upto, session)
        return len(texts), True

    def _texts(self, entry: tuple[Any, ...], has_turns: bool) -> tuple[int, float, EntryTexts] | None:
        number, at, kind, cell, path, packed, body = entry
        with suppress(JournalFailed), decoding(""):  # a damaged entry is reported to whoever reads it
            change = change_of(kind, (cell, plain(path), body_of(packed, body)), self._inner_part)
            texts = texts_of(change, has_turns=has_turns)
            return None if texts is None else (number, at, texts)
        return None

    def _put(self, session: int, found: Sequence[tuple[int, float, EntryTexts]]) -> None:
        """Replace the texts of earlier entries of the same sources. A text that is the same stays with its entry."""
        said = self._link.fetch(LAST_REPLY, session)
        reply = said[0][0] if said else None
        known: dict[tuple[str, str], str] = {}
        ids: dict[tuple[str, str], int] = {}
        sources = list({safe(texts.source) for _, _, texts in found})
        for n, source, kind, text in self._link.fetch(KNOWN, session, sources):
            known[source, kind], ids[source, kind] = text, n
        new: dict[tuple[str, str], tuple[Any, ...]] = {}
        for entry, at, texts in found:
            source = safe(texts.source)
            for key in [key for key in known if key[0] == source and texts.by_kind.get(key[1]) != known[key]]:
                del known[key]
                new.pop(key, None)
            for kind, text in texts.by_kind.items():
                # The answer of a turn is often the model's last reply, which is indexed already.
                if (source, kind) in known or (kind == "reply" and text == reply and source.startswith("turn ")):
                    continue
                known[source, kind], reply = text, text if kind == "reply" else reply
                new[source, kind] = session, source, kind, entry, texts.cell, at, text, vector(text)
        gone = [n for key, n in ids.items() if key in new or key not in known]
        if gone:
            self._link.run("delete from texts where n = any(%s)", gone)
        self._link.many(PUT, list(new.values()))
