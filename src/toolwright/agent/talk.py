"""`Talk`: the conversation of a session, kept small. The journal has every request whole; this has what the next needs.

Old outputs are cut to a reference, all at once and only when the window fills, because each change of what was said
costs the provider's cache. When that is not enough, the middle is told in short by the model itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from toolwright.messages import Answered, Asked, Message, Said, ToolResult, Usage, estimated_tokens

FULL = 0.7  # of the window
RECENT = 4  # messages that stay as they are
STUB = 160  # characters of an old output that stay

SUMMARY = (
    "Tell in short what was done and found so far, for somebody who goes on from here and has not seen it: facts and "
    "values that matter, names that are defined in the interpreter, what failed and why, what is left to do. No code."
)


class Talk:
    """What was said, and about how much of the window that takes."""

    def __init__(self, window: int, messages: Sequence[Message] = ()) -> None:
        self.messages: list[Message] = list(messages)
        self._window = window
        self._counted = 0  # tokens of the first `_seen` messages and the instructions, as the provider counted them
        self._seen = 0
        self._names: dict[str, str] = {}  # by an observation's call, or its text: what `show` knows the output by

    def ask(self, text: str, name: str = "") -> None:
        if self.messages and isinstance(self.messages[-1], Asked):  # not every provider takes two in a row
            last = self.messages.pop()
            assert isinstance(last, Asked)
            self._forget_count()
            text = f"{last.text}\n\n{text}"
        self._names[text] = name
        self.messages.append(Asked(text=text))

    def say(self, said: Said, usage: Usage) -> None:
        self.messages.append(said)
        self._counted, self._seen = usage.input_tokens + usage.output_tokens, len(self.messages)

    def answer(self, result: ToolResult, name: str = "") -> None:
        """The answer to one call of the last reply. Those of one reply stand together."""
        last = self.messages[-1] if self.messages else None
        if isinstance(last, Answered):
            self.messages[-1] = Answered(results=(*last.results, result))
        else:
            self.messages.append(Answered(results=(result,)))
        self._names[result.id] = name

    def copy(self) -> Talk:
        made = Talk(self._window, self.messages)
        made._names = dict(self._names)
        return made

    def settle(self) -> None:
        """After a turn: calls that nobody answered, because it ended with them, are answered."""
        last = self.messages[-1] if self.messages else None
        if isinstance(last, Said) and last.calls:
            for call in last.calls:
                self.answer(ToolResult(id=call.id, name=call.name, text="the turn ended here"))

    @property
    def tokens(self) -> int:
        return self._counted + estimated_tokens(*self.messages[self._seen :])

    @property
    def full(self) -> bool:
        return self.tokens > FULL * self._window

    async def compact(self, summarize: Callable[[tuple[Message, ...]], Awaitable[str]]) -> bool:
        """Make room: cut old outputs; if that is not enough, put a summary in the place of the middle."""
        self._forget_count()
        before = self.tokens
        old = len(self.messages) - RECENT
        self.messages = [self._shortened(i) if 0 < i < old else m for i, m in enumerate(self.messages)]
        if self.tokens > FULL * self._window / 2:
            # It goes on with a reply: no result may lose its call.
            start = next((i for i in range(max(2, old), len(self.messages)) if isinstance(self.messages[i], Said)), 0)
            if start:
                told = await summarize(tuple(self.messages[:start]))
                self.messages[:start] = [Asked(text=f"{self._task()}\n\nWhat was done so far, in short:\n{told}")]
        return self.tokens < before

    def _task(self) -> str:
        first = self.messages[0]
        return first.text.partition("\n\nWhat was done so far")[0] if isinstance(first, Asked) else ""

    def _forget_count(self) -> None:
        self._counted = self._seen = 0

    def _shortened(self, i: int) -> Message:
        message = self.messages[i]
        if isinstance(message, Asked):
            return Asked(text=_cut(message.text, self._names.get(message.text, "")))
        if isinstance(message, Answered):
            cut = (replace(r, text=_cut(r.text, self._names.get(r.id, ""))) for r in message.results)
            return Answered(results=tuple(cut))
        return message


def _cut(text: str, name: str) -> str:
    if len(text) <= 2 * STUB:
        return text
    again = f"; show({name!r}) has it" if name else ""
    return f"{text[:STUB]}… [an old output, {len(text):,} characters{again}]"
