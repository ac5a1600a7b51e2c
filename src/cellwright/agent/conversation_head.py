"""`ConversationHead`: the message that a compacted conversation begins with. It has tasks, words of people, a summary.

It is written and read as text, because the journal has a conversation as its messages alone: whoever resumes a session
reads in its head what the process before knew. What code or a model wrote is `quoted`, so that it is not read as the
words of a person.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from cellwright.messages import AssistantMessage, Message, ToolMessage, UserMessage, estimated_tokens
from cellwright.short_texts import one_line

ADDED = "A person adds, while you work:\n"
REDIRECTED = (
    "A person has put another task in the place of the earlier one. Do no more for that one. The task is now:\n"
)
NOW = "What is above was said in earlier turns. The task is now:\n"
LEFT_OUT = "Older messages of people that are left out here: "
REST = "[The words of the person end here.]\n"
DONE_SO_FAR = "What was done so far, in short:\n"
_MARKS = "|".join(map(re.escape, (ADDED, REDIRECTED, NOW, LEFT_OUT, REST, DONE_SO_FAR)))
_MARK = re.compile(rf"(?:\A|\n\n)({_MARKS})")
_AT_LINE = re.compile(rf"(^)({_MARKS})", re.MULTILINE)
SHORT = 32  # tokens of an older message of a person that stay
COUNT = 20  # tokens of the line that counts what is left out
STEP = 40  # tokens of a reply, and of its outcome, in a list of steps


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a message. `mark` says whose words follow it; it is "" before the first mark."""

    mark: str
    text: str


def sections(text: str) -> list[Section]:
    before, *rest = _MARK.split(text)
    return [Section("", before), *(Section(mark, body) for mark, body in zip(rest[::2], rest[1::2], strict=True))]


def quoted(text: str) -> str:
    """The text, with a bar before each mark in it."""
    return _AT_LINE.sub(r"| \2", text)


def words_in(message: Message) -> str:
    """The words of people in a message, each with its mark."""
    said = sections(message.text) if isinstance(message, UserMessage) else []
    return "\n\n".join(s.mark + s.text for s in said if s.mark in (ADDED, REDIRECTED))


def rest_of(message: Message, tokens: int) -> str:
    """What stands after the words of people in a message, with its mark: the wish for a plan."""
    said = sections(message.text)[-1] if isinstance(message, UserMessage) else Section("", "")
    return f"\n\n{REST}{clipped(said.text, tokens)}" if said.mark == REST else ""


def clipped(text: str, tokens: int) -> str:
    """The text in at most so many tokens, as they are estimated: its beginning, a note, its end."""
    if estimated_tokens(text) <= tokens:
        return text
    encoded = text.encode(errors="replace")
    room = 4 * tokens - len(_note(len(text)).encode())
    if room <= 0:
        return encoded[: max(0, 4 * tokens)].decode(errors="ignore")
    head = encoded[: room * 2 // 3].decode(errors="ignore")
    tail = encoded[len(encoded) - room // 3 :].decode(errors="ignore")
    return f"{head}{_note(len(text) - len(head) - len(tail))}{tail}"


def _note(left_out: int) -> str:
    return f"… [{left_out:,} characters left out] …"


class ConversationHead:
    """Of the messages that it replaces: the first task, the words of people, and the task of the turn.

    `task` is the number of the message that set the task of the turn.
    """

    def __init__(self, messages: Sequence[Message], task: int) -> None:
        self.first = self.summary = ""
        self._said: list[Section] = []
        self._left_out = 0
        for number, message in enumerate(messages):
            if isinstance(message, UserMessage):
                self._read(number, sections(message.text), task)

    def _read(self, number: int, parts: list[Section], task: int) -> None:
        own, *others = parts
        if number == 0:
            self.first = own.text
        elif number == task and not any(part.mark == REDIRECTED for part in others):
            self._said.append(Section(NOW, own.text))
        for part in others:
            if part.mark in (ADDED, REDIRECTED) or (part.mark == NOW and task == 0):
                self._said.append(part)
            elif part.mark == DONE_SO_FAR:
                self.summary = part.text
            elif part.mark == LEFT_OUT:
                self._left_out += int(part.text) if part.text.isdecimal() else 0

    def words(self, room: int) -> str:
        """The tasks and the words of people, in about `room` tokens: tasks first, then the newest words."""
        tasks = [i for i, part in enumerate(self._said) if part.mark in (NOW, REDIRECTED)]
        first = clipped(self.first, room * (1 if tasks else 2) // 5)
        kept = {i: _clip(self._said[i], room * 2 // 5) for i in tasks[-1:]}
        left = room - estimated_tokens(first, *kept.values()) - COUNT
        left_out, newest = self._left_out, True
        for i in reversed(range(len(self._said))):
            if i in kept:
                continue
            part, share = self._said[i], left * 3 // 4
            whole = estimated_tokens(part.mark + part.text) < share
            if not whole and share < SHORT:
                left_out += 1
                continue
            kept[i] = _clip(part, share if newest or whole else SHORT)
            left -= estimated_tokens(kept[i]) + 1
            newest = False
        counted = [f"{LEFT_OUT}{left_out}"] if left_out else []
        return "\n\n".join([first, *counted, *(kept[i] for i in sorted(kept))])


def _clip(part: Section, tokens: int) -> str:
    return part.mark + clipped(part.text, max(0, tokens - estimated_tokens(part.mark)))


def listed_steps(messages: Sequence[Message], room: int, each: int = STEP) -> str:
    """The newest steps, each a line: what the model wrote, and what came of it."""
    lines: list[str] = []
    for said, after in pairwise((*messages, None)):
        if isinstance(said, AssistantMessage):
            did = "; ".join(call.arguments for call in said.calls) or said.text
            lines.append(f"- {clipped(one_line(did), each)} -> {clipped(one_line(_outcome(after)), each)}")
    while lines and estimated_tokens("\n".join(lines)) > room:
        del lines[0]
    return quoted("\n".join(lines))


def _outcome(message: Message | None) -> str:
    if isinstance(message, ToolMessage):
        return "; ".join(result.text for result in message.results)
    return sections(message.text)[0].text if isinstance(message, UserMessage) else ""
