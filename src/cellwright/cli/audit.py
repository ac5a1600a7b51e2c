"""`cellwright audit`: what an audit tells, whether it was changed, and its lines for other programs.

Its lines hold what models, guests and outsiders wrote: they are shown without control characters. They are read one by
one, however many there are.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, cast

import typer

from cellwright.cli.answers import json_text
from cellwright.cli.arguments import FAILED, exit_on_error, say
from cellwright.cli.audit_lines import AuditPage
from cellwright.cli.options import JsonObject, Texts, option, with_options
from cellwright.errors import PlatformError, UsageError
from cellwright.short_texts import counted, printable

if TYPE_CHECKING:
    from cellwright.guard import AuditHead

_CALL = "session user cell verb operation arguments result approved rule labels question why error ms"
COLUMNS = ("at", "file", "n", "event", *_CALL.split(), "more")
_EVENTS = ("begin", "session", "intent", "done", "failed", "unfinished", "denied", "read", "end")
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

audit = typer.Typer(
    help="Show an audit, find out whether it was changed, and export it.",
    no_args_is_help=True,
    epilog="Example: cellwright audit show audit/ --operation 'mail.*' --since 2h",
)
Place = Annotated[str, typer.Argument(metavar="DIR", help="Where the audit is; or one file of it.")]


class AuditForm(StrEnum):
    """What is written."""

    jsonl = "jsonl"
    csv = "csv"


@dataclass(frozen=True, kw_only=True)
class AuditFilter:
    """Which lines are wanted: those that fit all that is said."""

    session: Annotated[str, option("Of this session.", metavar="ID")] = ""
    user: Annotated[str, option("For this user; a glob.", metavar="NAME")] = ""
    operation: Annotated[str, option("Of these operations, such as mail.*", metavar="GLOB")] = ""
    event: Annotated[Texts, option(f"{', '.join(_EVENTS)}; again for another.", metavar="EVENT")] = ()
    since: Annotated[
        str, option("Not before: 30m, 2h, 7d ago; or a time in UTC, 2026-11-19T12:30.", metavar="TIME")
    ] = ""
    last: Annotated[int | None, typer.Option(min=1, help="The last of these, so many.", metavar="N")] = None

    def records(self, place: str) -> Iterable[dict[str, Any]]:
        """The lines of the audit that fit, the earliest first."""
        from cellwright.guard import audit_records

        wrong = [name for name in self.event if name not in _EVENTS]
        if wrong:
            raise UsageError(f"--event {wrong[0]}: give one of {', '.join(_EVENTS)}")
        since = _moment(self.since) if self.since else ""
        _require_audit(place)
        fitting = (record for record in audit_records(place) if self._fits(record, since))
        return fitting if self.last is None else deque(fitting, maxlen=self.last)

    def _fits(self, record: Mapping[str, Any], since: str) -> bool:
        from cellwright.guard import covers_name

        names = [str(record[key]) for key in ("operation", "title") if key in record]
        return (
            (not self.session or record.get("session") == self.session)
            and (not self.user or covers_name(self.user, [str(record.get("user", ""))]))
            and (not self.operation or covers_name(self.operation, names))
            and (not self.event or record.get("event") in self.event)
            and str(record.get("at", "")) >= since
        )


@audit.command("show", epilog="Example: cellwright audit show audit/ --user 'intern*' --event denied --last 20")
@with_options
def show(
    place: Place,
    wanted: AuditFilter,
    full: Annotated[bool, option("Arguments and results as long as they were kept.", "--full")] = False,
    as_json: Annotated[bool, option("One JSON object a line.", "--json")] = False,
) -> None:
    """Show what was done, the earliest first, with times in UTC. Whether it is what was written, `verify` says.

    Exit codes: 0, 2 wrong usage or no audit there, 4 it cannot be read.
    """
    with exit_on_error():
        page, record = AuditPage(full=full), None
        for record in wanted.records(place):
            if as_json:
                print(json_text(record))
            else:
                page.show(record)
        sys.stdout.flush()
        if record is None and not as_json:
            say("no line of an audit there fits")


@audit.command("export", epilog="Example: cellwright audit export audit/ audit.csv --format csv --since 1d")
@with_options
def export(
    place: Place,
    wanted: AuditFilter,
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="Where to; left out, or -: stdout.")] = "-",
    format: Annotated[AuditForm, option("JSON Lines; or CSV with a head, whose last column has the rest as JSON.")] = (
        AuditForm.jsonl
    ),
) -> None:
    """Write the lines of all processes as one stream for other programs, the earliest first, each with its file.

    Exit codes: 0, 2 wrong usage or no audit there, 4 it cannot be read or written.
    """
    from cellwright.atomic import open_atomic

    with exit_on_error():
        records = wanted.records(place)
        _require_elsewhere("" if file == "-" else file, place)
        try:
            with nullcontext(sys.stdout.buffer) if file == "-" else open_atomic(Path(file)) as out:
                lines = _exported(records, AuditForm(format), out)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise PlatformError(f"cannot write {file}: {error.strerror or error}") from None
        if file != "-":
            say(f"{file}: {counted(lines, 'line')}")


def _exported(records: Iterable[dict[str, Any]], form: AuditForm, out: BinaryIO) -> int:
    number = 0
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    table = csv.writer(text, lineterminator="\n")
    if form == AuditForm.csv:
        table.writerow(COLUMNS)
    for number, record in enumerate(records, 1):  # noqa: B007  how many there were
        if form == AuditForm.csv:
            table.writerow(_cells(record))
        else:
            text.write(json_text(record) + "\n")
    text.flush()
    text.detach()
    return number


def _cells(record: Mapping[str, Any]) -> Iterator[str]:
    more = {key: value for key, value in record.items() if key not in COLUMNS}
    for name in COLUMNS:
        value = more if name == "more" else record.get(name, "")
        text = value if isinstance(value, str) else json_text(value)
        text = printable(text).replace("\n", "\\n")
        yield f"'{text}" if text[:1] in tuple("=+-@") and isinstance(value, str) else text  # no formula for a table


@audit.command(
    "verify",
    epilog="Example: cellwright audit verify audit/ --heads /mnt/other/heads.json --write-heads /mnt/other/heads.json",
)
def verify(
    place: Place,
    heads: Annotated[str, option("What --write-heads kept earlier: a cut end is found too.", metavar="FILE")] = "",
    write_heads: Annotated[
        str, option("Keep the last line of each file there: on another machine, say.", metavar="FILE")
    ] = "",
    as_json: JsonObject = False,
) -> None:
    """Say whether a line was changed, removed, added or moved; with --heads, also whether an end was cut off.

    A last line that is not whole is told and is no change: its process died meanwhile. Heads are written only where
    nothing was changed.

    Exit codes: 0 nothing was changed, 1 something was, 2 wrong usage or no audit there, 4 it cannot be read.
    """
    from cellwright.guard import audit_heads, verify_audit

    with exit_on_error():
        kept = _read_heads(heads) if heads else {}
        if not kept:
            _require_audit(place)
        _require_elsewhere(write_heads, place)
        now = audit_heads(place)  # before they are verified: what is changed meanwhile is found
        findings = verify_audit(place, kept)
        changed = any(finding.kind != "torn" for finding in findings)
        lines, files = sum(head.n for head in now.values()), len(now)
        if as_json:
            told = {"changed": changed, "files": files, "lines": lines, "findings": list(map(asdict, findings))}
            print(json_text(told, indent=2))
        else:
            for finding in findings:
                print(printable(str(finding)).replace("\n", "\\n"))
            if not changed:
                against = "" if heads else "; an end that was cut off is only found with --heads"
                print(f"nothing was changed: {counted(lines, 'line')} in {counted(files, 'file')}{against}")
        if changed and write_heads:
            say(f"{write_heads} was not written")
        elif write_heads:
            _write_heads(write_heads, now)
        if changed:
            raise typer.Exit(FAILED)


def _require_audit(place: str) -> None:
    """`UsageError` where there is no file of an audit: a wrong path is not an audit in which nothing was changed."""
    from cellwright.guard import audit_files

    if not audit_files(place):
        raise UsageError(f"there is no audit in {place}")


def _require_elsewhere(file: str, place: str) -> None:
    if file and Path(file).resolve().is_relative_to(Path(place).resolve()):
        raise UsageError(f"{file} is in the audit itself; give another place")


def _read_heads(file: str) -> dict[str, AuditHead]:
    from cellwright.guard import AuditHead

    try:
        found: Any = json.loads(Path(file).read_text(encoding="utf-8"))
        heads = {str(chain): AuditHead(head["n"], head["hash"]) for chain, head in found.items()}
    except OSError as error:
        raise UsageError(f"--heads {file}: {error.strerror or error}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        heads = {}
    if not heads or not all(type(head.n) is int and isinstance(cast("Any", head.hash), str) for head in heads.values()):
        raise UsageError(f"--heads {file}: it is none that --write-heads wrote")
    return heads


def _write_heads(file: str, heads: Mapping[str, AuditHead]) -> None:
    from cellwright.atomic import write_atomic

    try:
        write_atomic(Path(file), json_text({chain: head._asdict() for chain, head in heads.items()}, indent=2) + "\n")
    except OSError as error:
        raise PlatformError(f"cannot write {file}: {error.strerror or error}") from None


def _moment(text: str) -> str:
    """As the lines of an audit have it, so that texts can be compared."""
    if found := re.fullmatch(r"(\d{1,9})([smhd])", text):
        try:
            at = datetime.now(UTC) - timedelta(seconds=int(found[1]) * _UNITS[found[2]])
        except OverflowError:
            return ""
    else:
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise UsageError(f"--since {text}: give 30m, 2h or 7d, or a time such as 2026-11-19T12:30") from None
        at = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    return at.isoformat(timespec="microseconds")
