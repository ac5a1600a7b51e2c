"""What both databases do with the same statements: sessions, claims, questions, and what an entry follows.

A statement has `?` for each value; `PostgresDatabase` writes PostgreSQL's own mark instead. All of these run within the
transaction, or under the lock, of the method that calls them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from cellwright.errors import Fenced, NoQuestion, NoSession, UsageError
from cellwright.store import leases
from cellwright.store.codec import QUESTIONS, decoding, digest_of
from cellwright.store.entry_codec import question_of
from cellwright.store.large_files import digest_file
from cellwright.store.rows import Claim, Decision, Note, Question, Reach
from cellwright.store.session_state import follows, whole

QUESTION = "select q.body, d.body from questions q left join decisions d on d.question = q.n"
ANYWHERE = 0  # the session of a grant that is for all
SNAPSHOTS_MB = 1024  # of files that a session keeps, where nobody says another number
BATCH = 500  # digests in one statement


@dataclass(kw_only=True, slots=True)
class OpenClaim:
    """A claim as this process knows it: the session's number in the database, and the number of its last entry.

    In SQLite, while it is `live`, a row of a cell up to `top` is written without a change to the session's own row:
    whoever reads finds and counts such rows by themselves.
    """

    session: str
    number: int
    last: int
    top: int = 0
    live: bool = True


class SqlDatabase:
    """The common half of `SqliteDatabase` and `PostgresDatabase`.

    In `uses`, the number of a session stands for what its rows need, the same below zero for contents of its files.
    """

    newest = "n"  # the column that orders the entries of a session

    def __init__(self) -> None:
        self.snapshots_mb = SNAPSHOTS_MB
        self._claims: dict[int, OpenClaim] = {}  # by epoch

    def _fetch(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def _run(self, sql: str, *values: Any) -> int:
        """How many rows it changed."""
        raise NotImplementedError

    def _key(self, key: Any) -> Any:
        """A text or a number as the database takes it."""
        raise NotImplementedError

    def _text(self, key: Any) -> str:
        """The text that `_key` was given."""
        raise NotImplementedError

    def _open_claim(self, session: str, number: int) -> OpenClaim:
        """A claim as the database has it."""
        raise NotImplementedError

    # sessions

    def _number(self, session: str) -> int | None:
        found = self._fetch("select n from sessions where id = ?", self._key(session))
        return found[0][0] if found else None

    def _known(self, session: str) -> int:
        number = self._number(session)
        if number is None:
            raise no_session(session)
        return number

    def _root(self, number: int) -> int:
        """The session that this one comes from, over all forks and children."""
        seen: set[int] = set()
        up = "select p.n from sessions s join sessions p on p.id = coalesce(s.parent, s.child_of) where s.n = ?"
        while number not in seen:
            seen.add(number)
            found = self._fetch(up, number)
            number = found[0][0] if found else number
        return number

    def _check_alone(self, session: str, number: int) -> None:
        for column, what in (("parent", "fork"), ("child_of", "child")):
            sql = f"select id from sessions where {column} = ? and n <> ? limit 1"
            for (other,) in self._fetch(sql, self._key(session), number):
                raise UsageError(f"session {session!r} has a {what}, {self._text(other)!r}; forget that one first")

    # claims and entries

    def _claimed(self, claim: Claim) -> OpenClaim:
        """What is known of a claim. Whether it still holds, the write itself finds out."""
        held = self._claims.get(claim.epoch)
        if held is None or held.session != claim.session:
            sql = "select n from sessions where id = ? and epoch = ?"
            found = self._fetch(sql, self._key(claim.session), self._key(claim.epoch))
            if not found:
                raise self._fenced(claim)
            held = self._claims[claim.epoch] = self._open_claim(claim.session, found[0][0])
        return held

    def _fenced(self, claim: Claim) -> Fenced:
        self._claims.pop(claim.epoch, None)
        return leases.fenced(claim, gone=self._number(claim.session) is None)

    def _is_known(self, number: int, kind: str, of: int) -> bool:
        sql = f"select 1 from entries where session = ? and kind = '{kind}' and cell = ? limit 1"
        return bool(self._fetch(sql, number, self._key(of)))

    def _before(self, held: OpenClaim, note: Note) -> int:
        """The number of the entry that a note follows."""
        entry = follows(note, held.last)
        if entry is not None:
            return entry
        sql = (
            "select number from entries where session = ? and kind = 'cell' and cell <= ? "
            f"order by cell desc, {self.newest} desc limit 1"
        )
        found = self._fetch(sql, held.number, whole(note.about) or 0)
        return found[0][0] if found else 0

    # questions and grants

    def _question(self, question: str) -> Question:
        found = self._fetch(f"{QUESTION} where q.id = ?", self._key(question))
        if not found:
            raise no_question(question)
        with decoding(question):
            return question_of(*found[0])

    def _ask(self, claim: Claim, number: int, question: Question) -> bool:
        """Write a question. False where it is there already, `UsageError` where it is another session's."""
        sql = (
            "insert into questions (id, session, asked, expires, body) values (?, ?, ?, ?, ?) "
            "on conflict (id) do nothing"
        )
        id = self._key(question.id)
        is_new = self._run(sql, id, number, question.asked, question.expires, QUESTIONS.body(question)) > 0
        owner = self._fetch("select session from questions where id = ?", id)
        if owner != [(number,)] or question.session != claim.session:
            raise UsageError(f"there is a question {question.id!r} of another session already; give it another id")
        return is_new

    def _grant(self, operation: str, session: int, body: str | None) -> None:
        """What is decided for good. It is taken back by a row of its own, without a body."""
        sql = "insert into grants (operation, session, body) values (?, ?, ?)"
        self._run(sql, self._key(operation), session, body)

    def _granted(self, operation: str, session: int) -> str | None:
        """The last decision; None where it was taken back."""
        sql = "select body from grants where operation = ? and session = ? order by n desc limit 1"
        found = self._fetch(sql, self._key(operation), session)
        return found[0][0] if found else None

    def _granted_in(self, session: str, operation: str) -> str | None:
        """The decision for this session, or else for all."""
        return self._granted(operation, self._number(session) or ANYWHERE) or self._granted(operation, ANYWHERE)

    def _revoke(self, session: str, operation: str) -> bool:
        granted = {self._number(session) or ANYWHERE, ANYWHERE}
        granted = [of for of in granted if self._granted(operation, of) is not None]
        for of in granted:
            self._grant(operation, of, None)
        return bool(granted)

    # contents

    def digest(self, content: bytes) -> str:
        """See `BlobFiles`."""
        return digest_of(content)

    def digest_file(self, file: int, size: int) -> str:
        return digest_file(file, size)

    def _unknown(self, digests: Collection[str]) -> set[str]:
        """See `BoundedFiles.lacking`."""
        known: set[str] = set()
        for some in _batches(digests):
            sql = f"select distinct digest from blobs where digest in ({_marks(some)})"
            known |= {digest for (digest,) in self._fetch(sql, *map(self._key, some))}
        return {digest for digest in digests if self._key(digest) not in known}

    def _let_go(self, number: int, digests: Collection[str], is_file: str = "") -> list[str]:
        """Remove contents of a session's files that nobody else needs. Gives those of which `is_file` is true."""
        files: list[str] = []
        for some in _batches(digests):
            keys = [self._key(digest) for digest in some]
            self._run(f"delete from uses where session = ? and digest in ({_marks(some)})", -number, *keys)
            unused = f"from blobs where digest in ({_marks(some)}) and digest not in (select digest from uses"
            unused += f" where digest in ({_marks(some)}))"
            if is_file:
                files += [name for (name,) in self._fetch(f"select digest {unused} and {is_file}", *keys, *keys)]
            self._run(f"delete {unused}", *keys, *keys)
        return files


def is_room(text: str) -> bool:
    """Whether it can be `snapshots_mb`."""
    return text.isascii() and text.isdecimal() and len(text) < 10


def _batches(digests: Collection[str]) -> Iterator[list[str]]:
    rest = iter(digests)
    while some := list(islice(rest, BATCH)):
        yield some


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))


def no_session(session: str) -> NoSession:
    return NoSession(f"the journal has no session {session!r}")


def reached(within: Sequence[Reach]) -> dict[str, int | None]:
    """Each session once, as far as any of these goes."""
    last: dict[str, int | None] = {}
    for reach in within:
        known = last.get(reach.session, 0)
        last[reach.session] = None if known is None or reach.upto is None else max(known, reach.upto)
    return last


# Which questions can be decided.


def check_open(question: Question, now: float) -> None:
    """`UsageError` where the question is decided or has expired."""
    decision = question.decision
    if decision is not None:
        who = f" by {decision.who}" if decision.who else ""
        answer = "yes" if decision.yes else "no"
        raise UsageError(f"question {question.id!r} is decided already: {answer}{who}, at {_moment(decision.at)}")
    if question.expires is not None and question.expires <= now:
        until = _moment(question.expires)
        raise UsageError(f"question {question.id!r} is not asked any more: it was to be decided until {until}")


def signed(decision: Decision, now: float) -> Decision:
    """The decision with its time."""
    return decision if decision.at else replace(decision, at=now)


def no_question(question: str) -> NoQuestion:
    return NoQuestion(f"the journal has no question {question!r}")


def _moment(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at))
    except (ValueError, OverflowError, OSError):
        return repr(at)
