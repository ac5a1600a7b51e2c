"""`cellwright tell`: say something to a session while it works, from another terminal. Knows the store and no agent."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.answers import json_text
from cellwright.cli.arguments import USAGE, ended, exit_on_error, stores
from cellwright.cli.options import JsonObject, option
from cellwright.errors import NoSession, UsageError
from cellwright.short_texts import printable

if TYPE_CHECKING:
    from cellwright.store import Message, MessageKind, Store, Summary

LOOK_S = 0.2


def tell(
    session: Annotated[str, typer.Argument(help="The session, by its id or its name.")],
    text: Annotated[str, typer.Argument(help="What to add to its task; - reads it from stdin.")] = "",
    ask: Annotated[bool, option("A question: it is answered, and the task goes on.", "--ask")] = False,
    redirect: Annotated[bool, option("Another task, in the place of the turn's.", "--redirect")] = False,
    cancel: Annotated[bool, option("End the turn at its next step.", "--cancel")] = False,
    now: Annotated[bool, option("With --cancel: at once, and the cell that runs too.", "--now")] = False,
    wait: Annotated[bool, option("Wait until it is taken up; with --ask print the answer.", "--wait")] = False,
    store: Annotated[
        str | None,
        option("Where the session is kept. Left out: agents.db here, then your own state directory.", metavar="URL"),
    ] = None,
    as_json: JsonObject = False,
) -> None:
    """Say something to a session while it works. It is seen at the next step, and no step is disturbed by it.

    Exit codes: 0 it is posted (with --wait: taken up), 2 wrong usage, 4 the store cannot be used, 130 you did not wait.
    """
    with exit_on_error("it is posted; nobody waits for it here any more"):
        kind = _kind(ask=ask, redirect=redirect, cancel=cancel, now=now)
        try:
            words = sys.stdin.read() if text == "-" else text
        except UnicodeDecodeError as error:
            raise ended(USAGE, str(error)) from None
        with _opened(session, store) as (journal, id):
            message, summary = _post(journal, id, kind, words.strip())
            post = _Post(journal, id, message, summary, as_json=as_json)
            post.announce(waits=wait)
            if wait:
                post.wait()
            post.end()


def _kind(*, ask: bool, redirect: bool, cancel: bool, now: bool) -> MessageKind:
    if ask + redirect + cancel > 1:
        raise UsageError("--ask, --redirect, --cancel: give one of them")
    if now and not cancel:
        raise UsageError("--now goes with --cancel")
    if cancel:
        return "stop" if now else "cancel"
    return "ask" if ask else "redirect" if redirect else "add"


@contextmanager
def _opened(session: str, given: str | None) -> Generator[tuple[Store, str]]:
    """The store that has the session, and its id."""
    from cellwright.sessions import Sessions
    from cellwright.store import open_store

    looked: list[str] = []
    for place in reversed(stores(given)):  # a session of this directory before one of `chat`
        with closing(open_store(place, make=False)) as journal:
            try:
                id = Sessions(journal).resolve(session)
            except NoSession:
                if given is not None:
                    raise
                looked.append(place)
                continue
            yield journal, id
            return
    where = " nor in ".join(looked) or "any store: there is none here, nor in your own state directory"
    raise NoSession(f"there is no session {session!r} in {where}; give --store")


def _post(journal: Store, id: str, kind: MessageKind, text: str) -> tuple[Message, Summary]:
    from cellwright.cli.approval_prompt import login
    from cellwright.journal import new_message

    before = journal.summary(id)
    return journal.post(id, new_message(kind, text, login())), before


class _Post:
    """One message that was posted, and what is known of it so far."""

    def __init__(self, journal: Store, id: str, message: Message, session: Summary, *, as_json: bool) -> None:
        self._journal = journal
        self._id = id
        self._message = message
        self._session = session
        self._as_json = as_json
        self._taken: bool | None = None
        self._answer: str | None = None

    @property
    def _runs(self) -> bool:
        return self._session.state == "running" and self._session.holder is not None

    def announce(self, *, waits: bool) -> None:
        """Say what was posted, and when it will be seen."""
        if self._as_json:
            return
        what = {"add": "told", "ask": "asked", "redirect": "redirected", "cancel": "cancelled", "stop": "cancelled"}
        when = "at once" if self._message.kind == "stop" else "at the next step"
        seen = f"it is seen {when}" if self._runs else "no turn is running; it will be seen when one is"
        words = f"{what[self._message.kind]} {self._id}: message {self._message.number}; {seen}"
        print(words, file=sys.stderr if waits else sys.stdout, flush=True)

    def wait(self) -> None:
        """Until it is taken up, however long that takes."""
        number = self._message.number
        while any(message.number == number for message in self._journal.inbox(self._id)):
            time.sleep(LOOK_S)
        self._taken = True
        if self._message.kind == "ask":
            about = str(number)
            notes = [n for n in self._journal.notes(self._id) if n.kind == "answered" and n.about == about]
            self._answer = notes[-1].text if notes else "it was not answered: the turn ended"

    def end(self) -> None:
        """What a program reads; or, for a person who waited, its outcome."""
        if self._as_json:
            print(json_text(self._object(), ensure_ascii=False))
        elif self._answer is not None:
            print(printable(self._answer))
        elif self._taken:
            print("it was taken up")

    def _object(self) -> dict[str, Any]:
        message = self._message
        return {
            "session": self._id,
            "message": message.number,
            "kind": message.kind,
            "text": message.text,
            "running": self._runs,
            "taken": self._taken,
            "answer": self._answer,
        }
