"""`cellwright approve`: lists the calls that wait for a person's yes, in sessions of any process, and decides them."""

from __future__ import annotations

import sys
import time
from contextlib import closing, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.answers import json_text
from cellwright.cli.approval_prompt import below, login, read_answer, why_words
from cellwright.cli.arguments import exit_on_error, say, store_option, stores
from cellwright.cli.options import AGENTS_DB, option
from cellwright.errors import NoQuestion, UsageError
from cellwright.short_texts import cut_counted, one_line, printable

if TYPE_CHECKING:
    from cellwright.store import Decision, Question, Store

SHOWN = 300  # characters of the arguments in a list
_ALWAYS = "Say the same of all later calls: in this session, or in every."


def approve(
    question: Annotated[str, typer.Argument(metavar="[QUESTION]", help="Its id. Left out: what waits is listed.")] = "",
    yes: Annotated[bool, option("The call may be made.", "--yes")] = False,
    no: Annotated[bool, option("It may not.", "--no")] = False,
    reason: Annotated[str, option("Why; the code is told.")] = "",
    always: Annotated[str, option(_ALWAYS, metavar="session|operation")] = "",
    who: Annotated[str, option("Who says so. Left out: your login name.")] = "",
    revoke: Annotated[tuple[str, str], option("Take back what was said for always.", metavar="SESSION OPERATION")] = (
        "",
        "",
    ),
    store: Annotated[
        str | None, option(f"Where sessions are kept. Left out: those of `chat`, and {AGENTS_DB}.", metavar="URL")
    ] = None,
    full: Annotated[bool, option("All of the arguments, however long.", "--full")] = False,
    as_json: Annotated[bool, option("One JSON object a line for each question.", "--json")] = False,
) -> None:
    """Decide calls that wait for a person's yes. In a terminal, without --yes or --no, the question is shown and asked.

    Exit codes: 0 it is done, 2 wrong usage, or it was decided already or too late, 4 this machine cannot do it,
    130 cancelled.
    """
    with exit_on_error("cancelled; the question waits"):
        if yes and no:
            raise UsageError("--yes and --no: give one of them")
        urls = stores(store)
        if any(revoke):
            _revoke(urls, *revoke)
        elif not question:
            if yes or no or reason or always:
                raise UsageError("say which question: `cellwright approve QUESTION --yes`; without one, all are listed")
            _list(urls, full=full, as_json=as_json)
        else:
            url, row = _find(urls, question)
            decision = _decision(url, row, yes=yes, no=no, reason=reason, always=always, full=full)
            _decide(url, row, decision, who or login(), as_json=as_json)


def _list(urls: list[str], *, full: bool, as_json: bool) -> None:
    from cellwright.guard import open_questions

    questions = [(url, question) for url in urls for question in open_questions(url)]
    for url, question in questions:
        if as_json:
            print(json_text(_described(url, question, full=full)))
        else:
            print("\n".join(_lines(url, question, full=full, longest=SHOWN)))
    if not questions and not as_json:
        say("nothing waits for a yes")
    elif not as_json:
        (url, first), *_ = questions
        say(f"decide one with `cellwright approve {first.id} --yes{store_option(url)}` or --no")


def _lines(url: str, question: Question, *, full: bool, longest: int | None = None) -> list[str]:
    from cellwright.guard import called_and_flow

    until = "" if question.expires is None else f", until {_moment(question.expires)}"
    line = f", line {question.line}" if question.line else ""
    where = f"session {printable(question.session)}, cell {question.cell}{line}"
    arguments, why = (
        _with_values(url, question, text) for text in (_arguments(url, question, full=full), question.why)
    )
    if longest is not None and not full:
        arguments = cut_counted(arguments, longest)
    head = f"{question.id}  {where}, asked {_moment(question.asked)}{until}"
    called, flow = called_and_flow(question.operation)
    lines = [head, f"    {below(called + arguments)}"]
    lines += [f"    {why_words(why, flow)}"] if why else []
    return lines + ([f"    Always is for: {printable(one_line(flow))}"] if flow else [])


def _arguments(url: str, question: Question, *, full: bool) -> str:
    from cellwright.guard import full_arguments

    return printable(full_arguments(url, question) if full else question.arguments)


def _with_values(url: str, question: Question, text: str) -> str:
    """What a person reads: whom a mail goes to is what the question is about. Programs get tokens, by --json."""
    from cellwright.guard import with_values
    from cellwright.settings import Settings
    from cellwright.store import open_store

    with closing(open_store(url, make=False)) as journal:
        return printable(with_values(journal, question.session, text, Settings.from_environment().state_dir))


def _described(url: str, question: Question, *, full: bool = False) -> dict[str, Any]:
    return asdict(question) | {"arguments": _arguments(url, question, full=full), "store": url}


def _moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _find(urls: list[str], question: str) -> tuple[str, Question]:
    from cellwright.store import open_store

    for url in urls:
        with closing(open_store(url, make=False)) as journal, suppress(NoQuestion):
            return url, journal.question(question)
    raise NoQuestion(f"there is no question {question!r} here; `cellwright approve` lists what waits")


def _decision(
    url: str, question: Question, *, yes: bool, no: bool, reason: str, always: str, full: bool
) -> Decision | None:
    """What was given as options, or is typed; None where it is to wait."""
    from cellwright.guard import called_and_flow
    from cellwright.store import Decision

    if always not in ("", "session", "operation"):
        raise UsageError(f"--always {always}: give session or operation")
    if yes or no:
        return Decision(yes=yes, reason=reason, always=always)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"say --yes or --no to {question.id}; nobody can be asked here")
    if question.decision is not None:
        raise UsageError(f"question {question.id!r} is decided already: {_said(question)}")
    print("\n".join(_lines(url, question, full=full)), file=sys.stderr)
    return read_answer(called_and_flow(question.operation)[1])


def _decide(url: str, question: Question, decision: Decision | None, who: str, *, as_json: bool) -> None:
    from cellwright.guard import decide
    from cellwright.store import open_store

    if decision is None:
        say("it waits")
        return
    with closing(open_store(url, make=False)) as journal:
        reason, always = decision.reason, decision.always
        decided = decide(journal, question.id, yes=decision.yes, reason=reason, who=who, always=always)
        next_step = _next_step(journal, url, decided)
    if as_json:
        print(json_text(_described(url, decided) | {"next": next_step}))
    else:
        print(f"{decided.id}: {printable(_said(decided))}. {next_step}")


def _said(question: Question) -> str:
    from cellwright.guard import called_and_flow

    said = question.decision
    if said is None:
        return "not decided"
    flow = called_and_flow(question.operation)[1]
    what = f" for {one_line(flow)}" if flow else ""
    always = {"session": f", always{what} in this session", "operation": f", always{what}", "": ""}[said.always]
    return f"{'yes' if said.yes else 'no'}{always}, by {said.who}" + (f": {said.reason}" if said.reason else "")


def _next_step(journal: Store, url: str, decided: Question) -> str:
    """How the code goes on now."""
    from cellwright.journal import open_questions_in

    session = decided.session
    while above := journal.facts(session).child_of:
        session = above
    left = len(open_questions_in(journal, session))
    if left:
        return f"{left} more {'question' if left == 1 else 'questions'} of session {printable(session)} wait"
    summary = journal.summary(session)
    if summary.holder is not None:
        return f"Session {printable(session)} is open in a process, which goes on with it"
    turns = journal.turns(session)
    if turns and turns[-1].status in ("running", "waiting") and turns[-1].opened:
        return f"Carry it on with `cellwright recover {printable(session)}{store_option(url)}`"
    return f"Session {printable(session)} goes on when the program that opened it carries it on"


def _revoke(urls: list[str], session: str, operation: str) -> None:
    from cellwright.store import open_store

    taken = False
    for url in urls:
        with closing(open_store(url, make=False)) as journal:
            taken = journal.revoke(session, operation) or taken
    if not taken:
        raise UsageError(f"nothing was said for always of {operation} in session {session}")
    print(f"{printable(operation)} is asked for again in session {printable(session)}")
