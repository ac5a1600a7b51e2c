"""A mistake in a cell as the agent reads it: a position in the cell, plain words, the right signature.

It is made from what a language server says, and does not know what happens to the cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cellwright.catalog.checker_signatures import Signatures, readable
from cellwright.catalog.diagnostics import Diagnostic
from cellwright.errors import TypeMistake

_AWAIT = "; is an `await` missing?"
SHOWN = 10  # mistakes in one error: more are counted


@dataclass(frozen=True, kw_only=True, slots=True)
class Mistake:
    """One mistake. `signature` is the right signature, if the mistake is about a host function."""

    line: int  # from 1, in the cell
    column: int  # from 0
    rule: str
    message: str
    signature: str = ""
    source: str = ""  # the line of the cell
    width: int = 1

    @property
    def text(self) -> str:
        """The line with a caret, the message, and the right signature."""
        shown = self.source.lstrip()
        indent = max(0, self.column - (len(self.source) - len(shown)))
        marks = "^" * max(1, min(self.width, len(shown) - indent))
        parts = [f"line {self.line}:", f"    {shown}", f"    {' ' * indent}{marks}", self.message]
        if self.signature:
            parts.append(f"{'signature' if '(' in self.signature else 'right is'}: {self.signature}")
        return "\n".join(parts)

    def __str__(self) -> str:
        return self.text


def type_mistake(mistakes: Sequence[Mistake]) -> TypeMistake:
    """One error with the texts of all mistakes."""
    count = f"{len(mistakes)} mistakes" if len(mistakes) != 1 else "1 mistake"
    texts = [mistake.text for mistake in mistakes[:SHOWN]]
    if len(mistakes) > SHOWN:
        texts.append(f"and {len(mistakes) - SHOWN} more")
    return TypeMistake("\n\n".join((f"nothing of this cell ran: it has {count}", *texts)), mistakes=tuple(mistakes))


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


def mistake(found: Diagnostic, code: str, signatures: Signatures, called: str, own: Iterable[str] = ()) -> Mistake:
    """The mistake of a diagnostic. `called` is the function that it is about; `own` are names that code made."""
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
        signature=signatures.at(found.of_host) or signatures.named(called) or signatures.meant(found.message, own),
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
