"""`ContextWindow`: the conversation of a session, kept small enough for the model's window.

The journal has every request whole; this has what the next request needs.

Old outputs are cut to a reference, all at once and only when the window fills, because each change of earlier messages
costs the provider's cache. When that is not enough, a `ConversationHead` replaces the earlier messages, with a summary
that the model writes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from cellwright.agent.conversation_head import (
    ADDED,
    DONE_SO_FAR,
    REDIRECTED,
    REST,
    ConversationHead,
    clipped,
    listed_steps,
    quoted,
    rest_of,
    sections,
    words_in,
)
from cellwright.agent.observation import Observation
from cellwright.errors import UsageError
from cellwright.messages import AssistantMessage, Message, ToolMessage, ToolResult, Usage, UserMessage, estimated_tokens
from cellwright.model_texts import readable, sendable

FULL = 0.7  # of the window
RECENT = 4  # messages that stay as they are
STUB = 160  # characters of an old output that stay
SMALLEST = 64  # tokens of messages, without which there is no use in asking

SUMMARY = (
    "Tell in short what was done and found so far, for somebody who goes on from here and has not seen it: facts and "
    "values that matter, names that are defined in the interpreter, what failed and why, what is left to do. No code."
)
NO_SUMMARY = "(There is no summary; these are the last steps.)"
LAST_STEP = "The last step:"


class ContextWindow:
    """The messages of a session, and about how much of the window they take.

    `task` is the number of the message that set the task of the turn.
    """

    def __init__(self, window: int, messages: Sequence[Message] = (), task: int = 0) -> None:
        self.messages: list[Message] = list(messages)
        self.window = window
        self.fixed = 0  # tokens of what each request has besides: instructions and tools
        self._counted = 0  # tokens of the first `_seen` messages and the instructions, as the provider counted them
        self._seen = 0
        self._measured = (0, 0)  # of the last request that was counted: the provider's tokens; its messages, estimated
        another = (i for i, m in enumerate(messages) if isinstance(m, UserMessage) and REDIRECTED in words_in(m))
        self._task = max([task, *another])
        self._names: dict[str, str] = {}  # by an observation's call, or its text: what `show` knows the output by

    def begin(self, task: str) -> None:
        """A new task. A summary does not replace it."""
        self.settle()
        self.messages.append(UserMessage(text=quoted(sendable(task))))
        self._task = len(self.messages) - 1

    def ask(self, text: str, name: str = "") -> None:
        last = self.messages[-1] if self.messages else None
        after_words = isinstance(last, UserMessage) and (len(self.messages) - 1 == self._task or bool(words_in(last)))
        self._add(quoted(readable(text)), name, REST if after_words else "")

    def hear(self, words: str, *, task: bool = False) -> None:
        """The words of a person, after a mark. They stay, like a task; with `task` they are the task from now on."""
        mark = REDIRECTED if words.startswith(REDIRECTED) else ADDED
        self._add(mark + quoted(sendable(words.removeprefix(mark))))
        if task:
            self._task = len(self.messages) - 1

    def _add(self, text: str, name: str = "", mark: str = "") -> None:
        if self.messages and isinstance(self.messages[-1], UserMessage):  # not every provider takes two in a row
            last = self.messages.pop()
            assert isinstance(last, UserMessage)
            self._forget_count()
            text = f"{last.text}\n\n{mark}{text}"
            name = name or self._names.get(last.text, "")
        self._names[text] = name
        self.messages.append(UserMessage(text=text))

    def say(self, said: AssistantMessage, usage: Usage) -> None:
        self.measure(usage, len(self.messages))
        self.messages.append(said)

    def measure(self, usage: Usage, count: int) -> None:
        """What the provider counted of a request with the first `count` messages.

        What it counted of the reply may be thoughts, which are not sent again.
        """
        if usage.input_tokens > 0:  # not every server counts; then the guess stays
            self._counted, self._seen = usage.input_tokens, count
            self._measured = usage.input_tokens, estimated_tokens(*self.messages[:count])

    @property
    def _scale(self) -> float:
        """Of the provider's tokens to those that are estimated here."""
        counted, estimated = self._measured
        # a small count is mostly what a provider adds to every request
        return max(1.0, counted / (self.fixed + estimated or 1)) if 4 * counted > self.window else 1.0

    def anew(self, messages: Sequence[Message]) -> ContextWindow:
        """Another conversation with the same model."""
        another = ContextWindow(self.window, messages)
        another.fixed, another._measured = self.fixed, self._measured
        return another

    def answer(self, result: ToolResult, name: str = "") -> None:
        """The answer to one call of the last reply. Those of one reply stand together."""
        result = replace(result, text=readable(result.text))
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
        copy = ContextWindow(self.window, self.messages, self._task)
        copy._names, copy.fixed, copy._measured = dict(self._names), self.fixed, self._measured
        return copy

    @property
    def is_open(self) -> bool:
        """Whether the last message is a reply, of which the model was not told what came."""
        return bool(self.messages) and isinstance(self.messages[-1], AssistantMessage)

    def end_reply(self, text: str) -> None:
        """What came of the last reply, whose turn ended before that was told."""
        last = self.messages[-1]
        if not isinstance(last, AssistantMessage) or not last.calls:
            self.ask(text)
            return
        for place, call in enumerate(last.calls):
            told = text if not place else "the first result has all that is known"
            self.answer(ToolResult(id=call.id, name=call.name, text=told))

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
                words = words_in(self.messages[place + 1])
                self.messages[place : place + 2] = [UserMessage(text=words)] if words else []
                self._join(place)
                self._join(place + 1)
                self._forget_count()

    def _join(self, place: int) -> None:
        """Two user messages in a row become one."""
        first, second = (self.messages[place - 1 : place + 1] + [None, None])[:2]
        if not isinstance(first, UserMessage) or not isinstance(second, UserMessage):
            return
        joined = f"{first.text}\n\n{second.text}"
        self._names[joined] = self._names.get(first.text, "")
        self.messages[place - 1 : place + 1] = [UserMessage(text=joined)]
        self._task -= self._task >= place

    @property
    def tokens(self) -> int:
        fixed = 0 if self._counted else self.fixed
        return self._counted + int(self._scale * (fixed + estimated_tokens(*self.messages[self._seen :])))

    @property
    def full(self) -> bool:
        return self.tokens > self._most

    @property
    def _most(self) -> float:
        """The tokens of a request, from which on room is made. Of what large instructions leave, messages get half."""
        return max(FULL * self.window, (self.window + self._scale * self.fixed) / 2)

    async def compact(self, summarize: Callable[[tuple[Message, ...]], Awaitable[str]]) -> tuple[int, int]:
        """Make room: cut old outputs; if that is not enough, replace the beginning by its head, with a summary.

        The first task, the task of the turn and the words of people stay; other messages go into the summary. Gives the
        tokens before and after, both estimated. `UsageError` if the instructions leave no room.
        """
        self._forget_count()
        before, room = self.tokens, int(self._most / self._scale) - self.fixed
        if room < SMALLEST:
            raise UsageError(
                f"the instructions and tools take about {int(self._scale * self.fixed):,} tokens, and the model's "
                f"window has {self.window:,}: bind less, shorten instructions=, or use a model with a larger window"
            )
        old = len(self.messages) - RECENT
        stay = (0, self._task)
        self.messages = [self._shortened(m) if i < old and i not in stay else m for i, m in enumerate(self.messages)]
        if estimated_tokens(*self.messages) > min(FULL * self.window / self._scale / 2, room * 3 / 4):
            await self._replace_beginning(room, summarize)
        return before, self.tokens

    async def _replace_beginning(self, room: int, summarize: Callable[[tuple[Message, ...]], Awaitable[str]]) -> None:
        """Half of the room is for tasks and words, an eighth for the summary, the rest for the last messages."""
        start, share, last, rest = self._start(room * 3 // 8), room // 8, "", ""
        replaced = self.messages[:start]
        head = ConversationHead(replaced, self._task)
        done = clipped(head.summary, share)
        steps = [message for i, message in enumerate(replaced) if i != self._task]
        if any(isinstance(message, AssistantMessage) for message in replaced):
            material = self._material(replaced)
            summary = quoted(sendable((await summarize(material)).strip())) if material else ""
            listed = f"{clipped(head.summary, share // 2)}\n{NO_SUMMARY}\n{listed_steps(steps, share // 3)}"
            done = clipped(summary or listed.strip(), share)
        if start == len(self.messages):  # too long to stay as it is
            rest = rest_of(replaced[-1], room // 4)
            reply = max((i for i, message in enumerate(steps) if isinstance(message, AssistantMessage)), default=0)
            listed = listed_steps(steps[reply:], room // 3 - estimated_tokens(rest), room // 14 if rest else room // 7)
            last = f"\n\n{LAST_STEP}\n{listed}" if listed else ""
        text = head.words(room // 2 - 4) + (f"\n\n{DONE_SO_FAR}{done}{last}" if done or last else "") + rest
        self.messages[:start] = [UserMessage(text=clipped(text, room - estimated_tokens(*self.messages[start:])))]
        self._task = max(0, self._task - start + 1)

    def _start(self, room: int) -> int:
        """The number of the first message that stays. It is a reply, because no result may lose its call."""
        recent = range(max(1, len(self.messages) - RECENT), len(self.messages))
        replies = (i for i in recent if isinstance(self.messages[i], AssistantMessage))
        return next((i for i in replies if estimated_tokens(*self.messages[i:]) <= room), len(self.messages))

    def _material(self, replaced: list[Message]) -> tuple[Message, ...]:
        """The messages that the model sums up, as many as one request has room for; none if that is no reply."""
        room = int(self.window / self._scale * 7 / 8) - self.fixed
        if estimated_tokens(*replaced) <= room:
            return tuple(replaced)
        first = UserMessage(text=clipped(getattr(replaced[0], "text", ""), room // 4))
        replies = (i for i, message in enumerate(replaced) if i and isinstance(message, AssistantMessage))
        start = next((i for i in replies if estimated_tokens(*replaced[i:]) <= room * 3 // 4), 0)
        return (first, *replaced[start:]) if start else ()

    def _forget_count(self) -> None:
        self._counted = self._seen = 0

    def _shortened(self, message: Message) -> Message:
        if isinstance(message, UserMessage):
            own = _cut(sections(message.text)[0].text, self._names.get(message.text, ""))
            return UserMessage(text="\n\n".join(filter(None, (own, words_in(message)))))
        if isinstance(message, ToolMessage):
            cut = (replace(r, text=_cut(r.text, self._names.get(r.id, ""))) for r in message.results)
            return ToolMessage(results=tuple(cut))
        return message


def _cut(text: str, name: str) -> str:
    if len(text) <= 2 * STUB:
        return text
    again = f"; show({name!r}) has it" if name else ""
    return f"{text[:STUB]}… [an old output, {len(text):,} characters{again}]"
