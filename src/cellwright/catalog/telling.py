"""From what a language server says to what the agent reads: positions in the cell, plain words, right signatures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cellwright.catalog.diagnostics import Diagnostic
from cellwright.catalog.mistakes import Mistake
from cellwright.catalog.signatures import Signatures, readable

_AWAIT = "; is an `await` missing?"


def diagnostic(item: dict[str, Any]) -> Diagnostic:
    start, end = item["range"]["start"], item["range"]["end"]
    related: Iterable[Any] = item.get("relatedInformation") or ()
    return Diagnostic(
        rule=str(item["code"]),
        message=str(item["message"]).partition("\n")[0],
        line=start["line"],  # our header is line 0
        column=start["character"],
        end_line=end["line"],
        end_column=end["character"],
        related=tuple(
            (r["location"]["uri"], r["location"]["range"]["start"]["line"] + 1, str(r["message"])) for r in related
        ),
    )


def mistake(found: Diagnostic, code: str, signatures: Signatures, called: str) -> Mistake:
    lines = code.splitlines() or [""]
    source = lines[min(found.line, len(lines)) - 1]
    raw = source.encode(errors="replace")
    column = len(raw[: found.column].decode(errors="replace"))
    end = len(raw[: found.end_column].decode(errors="replace")) if found.end_line == found.line else len(source)
    types = [text.removeprefix("Has type ") for _, _, text in found.related if text.startswith("Has type ")]
    message = readable(found.message) + (f" between {readable(' and '.join(types))}" if types else "")
    if found.rule == "unused-awaitable":
        message = "This is not awaited, and does nothing until it is: write `await` before it"
    elif ("CoroutineType[" in message or "Future[" in message) and found.rule != "missing-await":
        message += _AWAIT
    return Mistake(
        line=found.line,
        column=column,
        rule=found.rule,
        message=message,
        signature=signatures.at(found.of_host) or signatures.named(called) or signatures.meant(found.message),
        source=source,
        width=max(1, end - column),
    )


def syntax(error: SyntaxError, code: str) -> Mistake:
    lines = code.splitlines() or [""]
    line = min(max(error.lineno or 1, 1), len(lines))
    column = max((error.offset or 1) - 1, 0)
    return Mistake(
        line=line, column=column, rule="invalid-syntax", message=f"SyntaxError: {error.msg}", source=lines[line - 1]
    )
