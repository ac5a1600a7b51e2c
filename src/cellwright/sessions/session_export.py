"""Writes a session to one file, from which it can be imported elsewhere; and its turns in the format of OpenAI's chat.

The sessions that it was forked from come first, each up to the fork. Leases, checkpoints and `opened` are left out.
Data is written as it is, so that the session replays; what has the format of a key is counted. Chats are not replayed:
keys are masked in them.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from cellwright.errors import JournalFailed
from cellwright.journal import History, Trees, is_undone, reply_in, request_in, requests_in, trees_of
from cellwright.messages import AssistantMessage, Message, Tool, ToolMessage, UserMessage
from cellwright.redaction import without_keys
from cellwright.sessions.branches import reaches
from cellwright.sessions.export_lines import FORMAT, entry_line, facts_line, text_of
from cellwright.store import BoundedFiles, Reach, Row, Store, StoreReader, TurnRow, digest_of

LOOKED_AT = 8 << 20  # bytes of an entry or a blob in which keys are looked for
PIECE = 3 << 20  # bytes of a blob in one line; by three, so that base64 needs no padding in between


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportedSession:
    """What was written to a file. `sessions` are the session and those that it was forked from.

    `with_keys` counts the entries and blobs in which something has the format of a key.
    """

    sessions: tuple[str, ...]
    entries: int
    blobs: int
    bytes: int
    with_keys: int = 0


def export(store: Store, session: str, file: BinaryIO) -> ExportedSession:
    """Write a session to a file."""
    parts = list(reversed(reaches(store, session, whole=True)))
    exported = _ExportFile(store, file)
    for number, part in enumerate(parts):
        exported.session(part, head=number == 0)
    return ExportedSession(
        sessions=tuple(part.session for part in parts),
        entries=exported.entries,
        blobs=len(exported.written),
        bytes=exported.bytes,
        with_keys=exported.with_keys,
    )


class _ExportFile:
    def __init__(self, store: Store, file: BinaryIO) -> None:
        self._store = store
        self._file = file
        self.written: set[str] = set()  # digests of blobs
        self.entries = 0
        self.bytes = 0
        self.with_keys = 0

    def session(self, part: Reach, *, head: bool) -> None:
        facts = facts_line(self._store.facts(part.session))
        self._write(({"cellwright": FORMAT} if head else {}) | facts)
        trees = Trees(self._store, part.session)
        for entry in self._store.entries(part.session, 1, part.upto):
            for name in trees_of(entry.change):
                self._tree(trees, name)
            self.with_keys += _has_key(self._write(entry_line(entry, self._blob)))
            self.entries += 1

    def _tree(self, trees: Trees, name: str) -> None:
        if name in self.written:
            return
        for digest in trees.needs(name):
            if digest not in self.written:
                try:
                    self._blob(self._store.blob(digest))
                except KeyError:
                    if not isinstance(self._store, BoundedFiles):
                        words = f"the store does not hold {digest}, which the files of a cell need"
                        raise JournalFailed(words) from None
                    self.written.add(digest)
                    self._write({"blob": digest, "dropped": True})

    def _blob(self, content: bytes) -> None:
        digest = digest_of(content)
        if digest in self.written:
            return
        self.written.add(digest)
        self.with_keys += _has_key(content)
        for piece, more in _pieces(content):
            line = {"blob": digest, "base64": base64.b64encode(piece).decode("ascii")}
            self._write(line | ({"more": True} if more else {}))

    def _write(self, line: Mapping[str, Any]) -> bytes:
        text = text_of(line)
        self.bytes += len(text)
        self._file.write(text)
        return text


def _has_key(content: bytes) -> bool:
    text = content[:LOOKED_AT].decode("latin-1")
    return without_keys(text) != text


def _pieces(content: bytes) -> Iterator[tuple[bytes, bool]]:
    for at in range(0, max(len(content), 1), PIECE):
        yield content[at : at + PIECE], at + PIECE < len(content)


# For fine-tuning: one object a turn, with the conversation at the turn's end; code in tool calls, observations in tool
# messages.


def chat(store: StoreReader, session: str) -> Iterator[dict[str, Any]]:
    """A line for each turn of the session that made a request to its model; one line for a session without turns."""
    known = requests_in(History(store, session).through("model"))
    own = requests_in(row for row in store.rows(session) if row.door == "model")
    turns = store.turns(session)
    if not turns and own:
        yield _line(session, TurnRow(number=1, task="", status="done"), known, max(own))
    for turn, following in zip(turns, [*turns[1:], None], strict=False):
        last = [n for n in own if n > turn.asked and (following is None or n <= following.asked)]
        if last:
            yield _line(session, turn, known, max(last))


def _line(session: str, turn: TurnRow, known: Mapping[int, Row], last: int) -> dict[str, Any]:
    request, _ = request_in(known, last)
    messages: list[dict[str, Any]] = []
    if request.instructions:
        messages.append({"role": "system", "content": without_keys(request.instructions)})
    for message in (*request.messages, reply_in(known[last]).message):
        messages += _messages(message)
    status = "undone" if is_undone(turn) else turn.status  # a rewind took it back
    line: dict[str, Any] = {"messages": messages, "session": session, "turn": turn.number, "status": status}
    return line | ({"tools": _tools(request.tools)} if request.tools else {})


def _messages(message: Message) -> list[dict[str, Any]]:
    match message:
        case UserMessage(text=text):
            return [{"role": "user", "content": without_keys(text)}]
        case AssistantMessage(text=text, calls=calls):
            said = without_keys(text)
            told: dict[str, Any] = {"role": "assistant", "content": said or None if calls else said}
            made = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": without_keys(c.arguments)}}
                for c in calls
            ]
            return [told | ({"tool_calls": made} if made else {})]
        case ToolMessage(results=results):
            return [{"role": "tool", "tool_call_id": one.id, "content": without_keys(one.text)} for one in results]


def _tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    functions = (
        {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)} for tool in tools
    )
    return [{"type": "function", "function": function} for function in functions]
