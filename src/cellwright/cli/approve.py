"""`cellwright approve`: lists the calls that wait for a person's yes, in sessions of any process, and decides them."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.asking import login, read_answer
from cellwright.cli.given import CANCELLED, ended, in_options
from cellwright.cli.recover import stores
from cellwright.cli.wishes import AGENTS_DB, code_of

if TYPE_CHECKING:
    from cellwright.store import Decision, Question, Store

SHOWN = 300  # characters of the arguments in a list

QuestionArgument = Annotated[str, typer.Argument(metavar="[QUESTION]", help="Its id. Left out: what waits is listed.")]
StoreOption = Annotated[
    str | None,
    typer.Option(metavar="URL", help=f"Where sessions are kept. Left out: those of `chat`, and {AGENTS_DB}."),
]
AlwaysOption = Annotated[
    str,
    typer.Option(metavar="session|operation", help="Say the same of all later calls: in this session, or in every."),
]
RevokeOption = Annotated[
    tuple[str, str], typer.Option(metavar="SESSION OPERATION", help="Take back what was said for always.")
]


def approve(
    question: QuestionArgument = "",
    yes: Annotated[bool, typer.Option("--yes", help="The call may be made.")] = False,
    no: Annotated[bool, typer.Option("--no", help="It may not.")] = False,
    reason: Annotated[str, typer.Option(help="Why; the code is told.")] = "",
    always: AlwaysOption = "",
    who: Annotated[str, typer.Option(help="Who says so. Left out: your login name.")] = "",
    revoke: RevokeOption = ("", ""),
    store: StoreOption = None,
    full: Annotated[bool, typer.Option("--full", help="All of the arguments, however long.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line for each question.")] = False,
) -> None:
    """Decide calls that wait for a person's yes. In a terminal, without --yes or --no, the question is shown and asked.

    Exit codes: 0 it is done, 2 wrong usage, or it was decided already or too late, 4 this machine cannot do it,
    130 cancelled.
    """
    from cellwright.errors import CellwrightError, UsageError

    try:
        if yes and no:
            raise UsageError("--yes and --no: give one of them")
        places = stores(store)
        if any(revoke):
            _revoke(places, *revoke)
        elif not question:
            if yes or no or reason or always:
                raise UsageError("say which question: `cellwright approve QUESTION --yes`; without one, all are listed")
            _list(places, full=full, as_json=as_json)
        else:
            place, found = _find(places, question)
            decision = _decision(place, found, yes=yes, no=no, reason=reason, always=always, full=full)
            _decide(place, found, decision, who or login(), as_json=as_json)
    except CellwrightError as error:
        raise ended(code_of(error), in_options(_plain(str(error)))) from None
    except KeyboardInterrupt:
        raise ended(CANCELLED, "cancelled; the question waits") from None


# what waits


def _list(places: list[str], *, full: bool, as_json: bool) -> None:
    from cellwright.guard import open_questions

    found = [(place, one) for place in places for one in open_questions(place)]
    for place, one in found:
        if as_json:
            print(json.dumps(_described(place, one, full=full)))
        else:
            print("\n".join(_lines(place, one, full=full, longest=SHOWN)))
    if not found and not as_json:
        print("cellwright: nothing waits for a yes", file=sys.stderr)
    elif not as_json:
        print(f"cellwright: decide one with `cellwright approve {found[0][1].id} --yes` or --no", file=sys.stderr)


def _lines(place: str, one: Question, *, full: bool, longest: int | None = None) -> list[str]:
    until = "" if one.expires is None else f", until {_moment(one.expires)}"
    where = f"session {_plain(one.session)}, cell {one.cell}" + (f", line {one.line}" if one.line else "")
    arguments = _arguments(place, one, full=full)
    if longest is not None and not full and len(arguments) > longest:
        arguments = f"{arguments[:longest]}… [{len(arguments) - longest:,} characters more]"
    return [f"{one.id}  {where}, asked {_moment(one.asked)}{until}", f"    {_plain(one.operation)}{arguments}"]


def _arguments(place: str, one: Question, *, full: bool) -> str:
    from cellwright.guard import full_arguments

    return _plain(full_arguments(place, one) if full else one.arguments)


def _described(place: str, one: Question, *, full: bool = False) -> dict[str, Any]:
    told = asdict(one)
    told["arguments"] = _arguments(place, one, full=full)
    return told | {"store": place}


def _plain(text: str) -> str:
    from cellwright.journal import printable

    return printable(text)


def _moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _find(places: list[str], question: str) -> tuple[str, Question]:
    from cellwright.errors import NoQuestion
    from cellwright.store import open_store

    for place in places:
        journal = open_store(place, make=False)
        try:
            return place, journal.question(question)
        except NoQuestion:
            continue
        finally:
            journal.close()
    raise NoQuestion(f"there is no question {question!r} here; `cellwright approve` lists what waits")


# deciding it


def _decision(
    place: str, found: Question, *, yes: bool, no: bool, reason: str, always: str, full: bool
) -> Decision | None:
    """What was given as options, or is typed; None where it is to wait."""
    from cellwright.errors import UsageError
    from cellwright.store import Decision

    if always not in ("", "session", "operation"):
        raise UsageError(f"--always {always}: give session or operation")
    if yes or no:
        return Decision(yes=yes, reason=reason, always=always)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"say --yes or --no to {found.id}; nobody can be asked here")
    if found.decision is not None:
        raise UsageError(f"question {found.id!r} is decided already: {_said(found)}")
    print("\n".join(_lines(place, found, full=full)), file=sys.stderr)
    return read_answer()


def _decide(place: str, found: Question, decision: Decision | None, who: str, *, as_json: bool) -> None:
    from cellwright.guard import decide
    from cellwright.store import open_store

    if decision is None:
        print("cellwright: it waits", file=sys.stderr)
        return
    journal = open_store(place, make=False)
    try:
        reason, always = decision.reason, decision.always
        decided = decide(journal, found.id, yes=decision.yes, reason=reason, who=who, always=always)
        next_step = _next_step(journal, place, decided)
    finally:
        journal.close()
    if as_json:
        print(json.dumps(_described(place, decided) | {"next": next_step}))
    else:
        print(f"{decided.id}: {_plain(_said(decided))}. {next_step}")


def _said(question: Question) -> str:
    said = question.decision
    if said is None:
        return "not decided"
    always = {"session": ", always in this session", "operation": ", always", "": ""}[said.always]
    return f"{'yes' if said.yes else 'no'}{always}, by {said.who}" + (f": {said.reason}" if said.reason else "")


def _next_step(journal: Store, place: str, decided: Question) -> str:
    """How the code goes on now."""
    from cellwright.journal import open_in

    session = decided.session
    while above := journal.facts(session).child_of:
        session = above
    left = len(open_in(journal, session))
    if left:
        return f"{left} more {'question' if left == 1 else 'questions'} of session {_plain(session)} wait"
    summary = journal.summary(session)
    if summary.holder is not None:
        return f"Session {_plain(session)} is open in a process, which goes on with it"
    turns = journal.turns(session)
    if turns and turns[-1].status in ("running", "waiting") and turns[-1].opened:
        return f"Carry it on with `cellwright recover {_plain(session)} --store {_plain(place)}`"
    return f"Session {_plain(session)} goes on when the program that opened it carries it on"


def _revoke(places: list[str], session: str, operation: str) -> None:
    from cellwright.errors import UsageError
    from cellwright.store import open_store

    taken = False
    for place in places:
        journal = open_store(place, make=False)
        try:
            taken = journal.revoke(session, operation) or taken
        finally:
            journal.close()
    if not taken:
        raise UsageError(f"nothing was said for always of {operation} in session {session}")
    print(f"{_plain(operation)} is asked for again in session {_plain(session)}")
