"""`Searcher`: the search in earlier sessions that an agent's code may use. Read-only, bounded by its policy.

    branch   this session, and what it was forked from        tree   all of its family: forks and children too
    agent    the sessions of agents of the same name          all    every session of the store

Its calls are recorded in the journal as all calls, and a replay gives the same hits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from cellwright.errors import NoSession, NotPublic, UsageError, WrongArguments
from cellwright.guard import PRIVATE, SERVED_FLOW, UNTRUSTED
from cellwright.journal import reply_in, value_text
from cellwright.scope import operation
from cellwright.sessions.branches import reaches
from cellwright.store import CellRow, EntryChange, EntryHit, Note, Reach, Row, Store, StoreReader, TurnRow

SearchPolicy = Literal["branch", "tree", "agent", "all"]
QUERY, HITS = 1000, 50
SEARCH_HINT = """\
`sessions.search(words, limit=10)` finds what was asked, run and answered in earlier work: hits with session, entry,
kind and text. `sessions.show(session, entry)` gives the whole of one.
"""
TEXT = 8000  # characters of an entry that is shown


def check_policy(policy: str, agent: str = "") -> SearchPolicy:
    if policy not in get_args(SearchPolicy):
        raise UsageError(f'sessions={policy!r}: give "branch", "tree", "agent" or "all"')
    if policy == "agent" and not agent:
        raise UsageError('sessions="agent" needs an agent with a name: Agent(name="…")')
    return policy  # pyright: ignore[reportReturnType] - it is one of them


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionHit:
    """A match: `kind` is prompt, reply, code, output, error or file; `show` gives the whole entry."""

    session: str
    entry: int
    kind: str
    text: str
    cell: int = 0


class Searcher:
    """Earlier work: `sessions.search("words")`, then `sessions.show(session, entry)`."""

    __cellwright_crosses__ = True

    def __init__(self, store: Callable[[], Store | None], session: str, policy: SearchPolicy, agent: str = "") -> None:
        self._store = store
        self._session = session
        self._policy: SearchPolicy = check_policy(policy, agent)
        self._agent = agent

    @operation(reads=True, own=True, thread="task")
    async def search(self, query: str, limit: int = 10) -> list[SessionHit]:
        """What was asked, run, printed and answered before that has these words, the best first."""
        if type(query) is not str or not query.strip() or len(query) > QUERY:
            raise WrongArguments(f"sessions.search: the query is 1 to {QUERY} characters of text")
        if type(limit) is not int or not 1 <= limit <= HITS:
            raise WrongArguments(f"sessions.search: limit is a number from 1 to {HITS}")
        hits = await asyncio.to_thread(self._found, query, limit)
        await self._label({hit.session for hit in hits})
        texts = [hit.snippet.replace("\x02", "").replace("\x03", "") for hit in hits]  # the marks of the words
        return [
            SessionHit(session=hit.session, entry=hit.entry, kind=hit.kind, text=text, cell=hit.cell)
            for hit, text in zip(hits, texts, strict=True)
        ]

    @operation(reads=True, own=True, thread="task")
    async def show(self, session: str, entry: int) -> str:
        """One entry that a search found: the task and its answer, or the code and its outcome."""
        if type(session) is not str or type(entry) is not int or entry < 1:
            raise WrongArguments("sessions.show: give the session and the entry of a hit")
        text = await asyncio.to_thread(self._shown, session, entry)
        await self._label({session})
        return text

    async def _label(self, sessions: set[str]) -> None:
        """What a session says that had labels, or that a file brought, carries them on."""
        if (served := SERVED_FLOW.get()) is not None and await asyncio.to_thread(self._has_labels, sessions):
            served.labels.update((UNTRUSTED, PRIVATE))

    def _has_labels(self, sessions: set[str]) -> bool:
        store = self._opened()
        return any(
            store.facts(id).imported or any(note.kind == "labelled" for note in store.notes(id)) for id in sessions
        )

    def _found(self, query: str, limit: int) -> Sequence[EntryHit]:
        store = self._opened()
        return store.search(query, within=self._within(store), limit=limit)

    def _shown(self, session: str, entry: int) -> str:
        store = self._opened()
        within = self._within(store)
        reach = Reach(session=session) if within is None else next((r for r in within if r.session == session), None)
        seen = reach is not None and (reach.upto is None or entry <= reach.upto)
        try:
            entries = store.entries(session, entry, entry) if seen else ()
        except NoSession:
            entries = ()
        if reach is None or not entries:  # the same message whether it does not exist or may not be seen
            raise NotPublic(f"there is no entry {entry} of a session {session[:80]!r} that may be read here")
        return _text(_whole(store, reach, entries[0].change))[:TEXT]

    def _within(self, store: Store) -> Sequence[Reach] | None:
        match self._policy:
            case "branch":
                return reaches(store, self._session)
            case "tree":
                return [Reach(session=one.id) for one in store.family(self._session)]
            case "agent":
                return [Reach(session=one.id) for one in store.summaries(agent=self._agent)]
            case "all":
                return None

    def _opened(self) -> Store:
        store = self._store()
        if store is None:
            raise UsageError("the sessions are not open")
        return store


def _whole(store: StoreReader, reach: Reach, change: EntryChange) -> EntryChange:
    """A turn or a cell with its outcome, as far as may be seen: the entry may be the one that began it."""
    match change:
        case TurnRow(number=number):
            return next((one for one in store.turns(reach.session, reach.upto) if one.number == number), change)
        case CellRow(number=number):
            return next(iter(store.cells(reach.session, number, reach.upto)), change)
        case _:
            return change


def _text(change: EntryChange) -> str:
    parts = [part for part in _parts(change) if part[1]]
    return "\n".join(f"{name}: {text}" if "\n" not in text else f"{name}:\n{text}" for name, text in parts)


def _parts(change: EntryChange) -> list[tuple[str, str]]:
    match change:
        case TurnRow(task=task, answer=answer):
            return [("task", task), ("answer", answer)]
        case CellRow(code=code, stdout=stdout, value=value, error=error, files=files):
            failed = str(error.get("text", ""))
            told = [("code", code), ("output", stdout), ("value", value_text(value)), ("error", failed)]
            return [*told, ("files", ", ".join(files))]
        case Note(text=text):
            return [("message", text)]
        case Row(door="model", value=value) if value is not None:
            said = reply_in(change).message
            return [("reply", said.text), *(("code", call.arguments) for call in said.calls)]
        case Row(title=title, status=status):
            return [("call", f"{title} ({status})")]
