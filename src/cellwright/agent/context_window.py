"""`ContextWindow`: the conversation of a session, kept small enough for the model's window.

The journal has every request whole; this has what the next request needs.

Old outputs are cut to a reference, all at once and only when the window fills, because each change of earlier messages
costs the provider's cache. When that is not enough, the model writes a summary of the earlier messages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from cellwright.agent.observation import Observation
from cellwright.messages import AssistantMessage, Message, ToolMessage, ToolResult, Usage, UserMessage, estimated_tokens

FULL = 0.7  # of the window
RECENT = 4  # messages that stay as they are
STUB = 160  # characters of an old output that stay

ADDED = "A person adds, while you work:\n"
REDIRECTED = (
    "A person has put another task in the place of the earlier one. Do no more for that one. The task is now:\n"
)
DONE_SO_FAR = "\n\nWhat was done so far, in short:\n"
SUMMARY = (
    "Tell in short what was done and found so far, for somebody who goes on from here and has not seen it: facts and "
    "values that matter, names that are defined in the interpreter, what failed and why, what is left to do. No code."
)


class ContextWindow:
    """The messages of a session, and about how much of the window they take."""

    def __init__(self, window: int, messages: Sequence[Message] = (), task: int = 0) -> None:
        self.messages: list[Message] = list(messages)
        self.window = window
        self._counted = 0  # tokens of the first `_seen` messages and the instructions, as the provider counted them
        self._seen = 0
        again = (i for i, m in enumerate(messages) if isinstance(m, UserMessage) and m.text.startswith(REDIRECTED))
        self._task = max([task, *again])  # the number of the message that set it
        self._names: dict[str, str] = {}  # by an observation's call, or its text: what `show` knows the output by
        # of a message that ends with a person's own words: these, by all of it
        added = (m.text for m in messages if isinstance(m, UserMessage) and ADDED in m.text)
        self._words = {text: text[text.index(ADDED) :] for text in added}

    def begin(self, task: str) -> None:
        """A new task. A summary does not replace it."""
        self.settle()
        self.messages.append(UserMessage(text=sendable(task)))
        self._task = len(self.messages) - 1

    def ask(self, text: str, name: str = "") -> None:
        text = sendable(text)
        if self.messages and isinstance(self.messages[-1], UserMessage):  # not every provider takes two in a row
            last = self.messages.pop()
            assert isinstance(last, UserMessage)
            self._forget_count()
            text = f"{last.text}\n\n{text}"
            name = name or self._names.get(last.text, "")
        self._names[text] = name
        self.messages.append(UserMessage(text=text))

    def hear(self, words: str, *, task: bool = False) -> None:
        """The words of a person. They are kept as they are, like a task; with `task` they are the task from now on."""
        last = self.messages[-1] if self.messages else None
        before = self._words.get(last.text, "") if isinstance(last, UserMessage) else ""
        self.ask(words)
        if task:
            self._task = len(self.messages) - 1
        said = self.messages[-1]
        assert isinstance(said, UserMessage)
        self._words[said.text] = "\n\n".join(filter(None, (before, sendable(words))))

    def say(self, said: AssistantMessage, usage: Usage) -> None:
        self.messages.append(said)
        if usage.input_tokens > 0:  # not every server counts; then the guess stays
            self._counted, self._seen = usage.input_tokens + usage.output_tokens, len(self.messages)

    def answer(self, result: ToolResult, name: str = "") -> None:
        """The answer to one call of the last reply. Those of one reply stand together."""
        result = replace(result, text=sendable(result.text))
        last = self.messages[-1] if self.messages else None
        if isinstance(last, ToolMessage):
            self.messages[-1] = ToolMessage(results=(*last.results, result))
        else:
            self.messages.append(ToolMessage(results=(result,)))
        self._names[result.id] = name

    def add_observations(self, reply: AssistantMessage, observed: Sequence[Observation], texts: Sequence[str]) -> None:
        """What came of a reply: each observation answers its call; without calls all are one message."""
        if not reply.calls:
            self.ask("\n".join(texts), observed[-1].name)
            return
        for call, seen, text in zip(reply.calls, observed, texts, strict=True):
            self.answer(ToolResult(id=call.id, name=call.name, text=text, failed=not seen.ok), seen.name)

    def copy(self) -> ContextWindow:
        copy = ContextWindow(self.window, self.messages)
        copy._names, copy._words, copy._task = dict(self._names), dict(self._words), self._task
        return copy

    def settle(self, words: str = "the turn ended here") -> None:
        """After a turn: answer calls without a result, and add a reply after an observation without one.

        No provider takes a call without its result, and some take no two messages of the same role in a row.
        """
        last = self.messages[-1] if self.messages else None
        if isinstance(last, AssistantMessage) and last.calls:
            for call in last.calls:
                self.answer(ToolResult(id=call.id, name=call.name, text=words))
        elif isinstance(last, UserMessage):
            self.messages.append(AssistantMessage(text=f"({words})"))

    def forget(self, replies: Sequence[AssistantMessage]) -> None:
        """Remove replies with their observations: a model repeats what it reads, also its own mistakes."""
        for said in replies:
            place = next((i for i, message in enumerate(self.messages) if message is said), 0)
            if self._task < place < len(self.messages) - 1:
                words = self._said_with(self.messages[place + 1])
                self.messages[place : place + 2] = [UserMessage(text=words)] if words else []
                self._words |= {words: words} if words else {}
                self._join(place)
                self._join(place + 1)
                self._forget_count()

    def _said_with(self, message: Message) -> str:
        """The words of a person in a message."""
        return self._words.get(message.text, "") if isinstance(message, UserMessage) else ""

    def _join(self, place: int) -> None:
        """Two user messages in a row become one."""
        first, second = (self.messages[place - 1 : place + 1] + [None, None])[:2]
        if not isinstance(first, UserMessage) or not isinstance(second, UserMessage):
            return
        joined = f"{first.text}\n\n{second.text}"
        words = "\n\n".join(filter(None, (self._said_with(first), self._said_with(second))))
        if words:
            self._words[joined] = words
        self._names[joined] = self._names.get(first.text, "")
        self.messages[place - 1 : place + 1] = [UserMessage(text=joined)]
        self._task -= self._task >= place

    @property
    def tokens(self) -> int:
        return self._counted + estimated_tokens(*self.messages[self._seen :])

    @property
    def full(self) -> bool:
        return self.tokens > FULL * self.window

    async def compact(self, summarize: Callable[[tuple[Message, ...]], Awaitable[str]]) -> tuple[int, int]:
        """Make room: cut old outputs; if that is not enough, replace the beginning by a summary.

        The task of the turn stays as it was set; messages of earlier turns go into the summary. Gives the tokens before
        and after, both estimated.
        """
        self._forget_count()
        before = self.tokens
        old = len(self.messages) - RECENT
        self.messages = [self._shortened(m) if i < old and i != self._task else m for i, m in enumerate(self.messages)]
        if self.tokens > FULL * self.window / 2:
            # It goes on with a reply: no result may lose its call.
            start = next(
                (i for i in range(max(2, old), len(self.messages)) if isinstance(self.messages[i], AssistantMessage)), 0
            )
            if start:
                told = f"{DONE_SO_FAR}{await summarize(tuple(self.messages[:start]))}"
                if self._task < start:
                    task, *after = self.messages[self._task : start]
                    said = [words for words in map(self._said_with, after) if words]
                    if isinstance(task, UserMessage):
                        told = "\n\n".join((task.text.partition(DONE_SO_FAR)[0], *said)) + told
                self.messages[:start] = [UserMessage(text=told)]
                self._task = max(0, self._task - start + 1)
        return before, self.tokens

    def _forget_count(self) -> None:
        self._counted = self._seen = 0

    def _shortened(self, message: Message) -> Message:
        if isinstance(message, UserMessage):
            words, name = self._said_with(message), self._names.get(message.text, "")
            if not words:
                return UserMessage(text=_cut(message.text, name))
            before = message.text.removesuffix(words).rstrip("\n")
            text = "\n\n".join(filter(None, (_cut(before, name), words)))
            self._words[text] = words
            return UserMessage(text=text)
        if isinstance(message, ToolMessage):
            cut = (replace(r, text=_cut(r.text, self._names.get(r.id, ""))) for r in message.results)
            return ToolMessage(results=tuple(cut))
        return message


def sendable(text: str) -> str:
    """Text that can be sent: a lone surrogate, which guest code can make, would fail every later request."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _cut(text: str, name: str) -> str:
    if len(text) <= 2 * STUB:
        return text
    again = f"; show({name!r}) has it" if name else ""
    return f"{text[:STUB]}… [an old output, {len(text):,} characters{again}]"
