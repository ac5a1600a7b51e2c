"""The lines of an audit as a person reads them. Knows no files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from cellwright.short_texts import cut, one_line, printable

SHOWN = 200  # characters of arguments and of a result
IN = " " * 21  # what stands below the words of a line, after its time
_STYLES = {"denied": "red", "failed": "red", "unfinished": "yellow", "intent": "cyan", "done": "green"}


class AuditPage:
    """Prints one line after the other; the session is said where it is another than before."""

    def __init__(self, *, full: bool) -> None:
        from cellwright.cli.session_pages import shown_console

        self._console = shown_console()
        self._full = full
        self._about = ""

    def show(self, record: Mapping[str, Any]) -> None:
        from rich.text import Text

        about = _about(record)
        if about and about != self._about:
            self._print(Text(f"{about}:", "bold"))
        self._about = about
        event, at = _shown(record.get("event")), _shown(record.get("at"))[:19].replace("T", " ")
        head = Text.assemble((at, "dim"), "  ", (event.ljust(8), _STYLES.get(event, "")), "  ", self._what(record))
        head.rstrip()
        self._print(head)
        for note in _notes(record):
            self._print(Text(f"{IN}{note}", "dim"))

    def _what(self, record: Mapping[str, Any]) -> str:
        match record.get("event"):
            case "begin":
                program = os.path.basename(_shown(record.get("program"))) or "a program"
                number, machine = _shown(record.get("process")), _shown(record.get("machine"))
                return f"{program}, process {number} on {machine}, uid {_shown(record.get('uid'))}"
            case "session":
                origin = ", imported" if record.get("origin") == "imported" else ""
                return f"{_shown(record.get('start'))}{origin}"
            case _:
                asked = self._cut(record.get("arguments"))
                result = self._cut(record.get("result") or (None if record.get("why") else record.get("error")))
                said = f": {result}" if result and not asked else f" -> {result}" if result else ""
                verb = _shown(record.get("verb"))
                verb = f"{verb} " if verb not in ("", "call", "new") else ""  # undo, set, del …
                return f"{verb}{_shown(record.get('operation'))}{asked}{said}{_where(record)}"

    def _cut(self, value: object) -> str:
        text = _shown(value)
        return text if self._full else cut(text, SHOWN)

    def _print(self, text: Any) -> None:
        if self._console.is_terminal:
            self._console.print(text, soft_wrap=True)
        else:
            print(text.plain)


def _about(record: Mapping[str, Any]) -> str:
    """`session s1, user kari`"""
    return ", ".join(f"{key} {_shown(record[key])}" for key in ("session", "user") if record.get(key))


def _where(record: Mapping[str, Any]) -> str:
    """`  (cell 3, 12 ms)`"""
    ms = record.get("ms")
    parts = [f"cell {_shown(record['cell'])}"] if record.get("cell") else []
    parts += (
        [f"{ms:,.3g} ms" if ms < 1_000 else f"{ms / 1_000:,.1f} s"]
        if isinstance(ms, int | float) and abs(ms) < 1e12
        else []
    )
    return f"  ({', '.join(parts)})" if parts else ""


def _notes(record: Mapping[str, Any]) -> Iterator[str]:
    """What stands below a line: who decided, what was read before, why not."""
    if record.get("asked"):
        yield f"asked for: {cut(_shown(record['asked']), SHOWN)}"
    rule, why, question = (_shown(record.get(key)) for key in ("rule", "why", "question"))
    yield from [rule] if rule and rule not in why else []
    yield from [f"asked because: {question}"] if question and question not in rule else []
    flow = rule.partition(": ")[2] if rule.startswith("data flow") else ""
    yield from [f"why: {why}"] if why and why not in rule and not (flow and flow in why) else []
    if record.get("approved") and not rule.endswith(": allow") and not rule.startswith("data flow (warn)"):
        yield "a person said yes"
    labels = record.get("labels")
    if labels:
        yield f"labels: {_shown(', '.join(map(str, labels)) if isinstance(labels, list) else labels)}"  # pyright: ignore[reportUnknownArgumentType] - JSON
    if record.get("lost"):
        yield f"before it {_shown(record['lost'])} lines could not be written"


def _shown(value: object) -> str:
    return "" if value is None else printable(one_line(str(value)))
