"""A reply that streams is told as it will be read: whatever its pieces are, code is code and text is text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linear import check_linear

from cellwright.agent.requester import ReplyStream
from cellwright.agent.steps import blocks_of, steps_of
from cellwright.events import CodePiece, Event, TextPiece
from cellwright.messages import AssistantMessage, Piece

WORDS = st.text(alphabet=st.sampled_from("ab `\n\\\"'{}é😀\t#"), max_size=60)


def told(pieces: list[Piece], *, fenced: bool) -> tuple[str, str]:
    heard: list[Event] = []
    hears = ReplyStream(heard.append, fenced=fenced)
    for piece in pieces:
        hears.hear(piece)
    hears.end()
    text = "".join(e.text for e in heard if isinstance(e, TextPiece))
    return text, "".join(e.text for e in heard if isinstance(e, CodePiece))


def cut(text: str, sizes: list[int], **more: object) -> list[Piece]:
    pieces: list[Piece] = []
    for size in [*sizes, len(text)]:
        pieces.append(Piece(text=text[:size], **more))  # pyright: ignore[reportArgumentType] - the fields of a piece
        text = text[size:]
    return pieces


@given(code=WORDS, sizes=st.lists(st.integers(1, 7), max_size=40))
@settings(deadline=None)
def test_the_code_of_a_call_is_decoded_whatever_its_pieces_are(code: str, sizes: list[int]) -> None:
    for ascii_only in (True, False):
        arguments = json.dumps({"code": code}, ensure_ascii=ascii_only)
        assert told(cut(arguments, sizes, kind="call", name="execute"), fenced=False) == ("", code)


@given(text=WORDS, sizes=st.lists(st.integers(1, 7), max_size=40))
@settings(deadline=None)
def test_what_is_told_does_not_depend_on_the_pieces(text: str, sizes: list[int]) -> None:
    assert told(cut(text, sizes), fenced=True) == told([Piece(text=text)], fenced=True)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("```python\nx = 1\n```", ""),
        ("Look:\n```\nx = 1\n```\nDone `so`.", "Look:\nDone `so`."),
        ("a `b` c\n  ```py\nx = 1\n  ```\n", "a `b` c\n"),
        ("```json\n{}\n```\n```python\nx = 1", "```json\n{}\n```\n"),
        ("\ufeff```python\nx = 1\n```\nSo.", "So."),
        ("~~~py\r\nx = 1\r\n~~~\r\nSo.", "So."),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_the_code_that_is_told_is_the_code_that_is_run(reply: str, text: str, size: int) -> None:
    shown = told(cut(reply, [size] * 40), fenced=True)
    (step,) = steps_of(AssistantMessage(text=reply), fenced=True)
    assert shown[0] == text
    assert shown[1].rstrip() == "x = 1"
    assert getattr(step, "code", "").rstrip() == "x = 1"


def test_a_call_of_another_function_is_not_code() -> None:
    assert told([Piece(text='{"code": "x"}', kind="call", name="other")], fenced=False) == ("", "")


@pytest.mark.parametrize("size", [40, 1_000_000])
async def test_the_time_to_read_a_reply_grows_with_its_length_only(size: int) -> None:
    def read(text: str, *, call: bool) -> None:
        hears = ReplyStream(lambda _: None, fenced=not call)
        for at in range(0, len(text), size):
            part = text[at : at + size]
            hears.hear(Piece(text=part, kind="call", name="execute") if call else Piece(text=part))
        hears.end()

    for word in ("a", "x = 1\n", "\n", " ", "`", "```\n"):
        await check_linear(lambda text: read(f"```{text}", call=False), word)
        await check_linear(lambda text: list(blocks_of(f"```{text}")), word)
    await check_linear(lambda text: list(blocks_of(text)), "~")
    for start in ('{"code": "', '{"other": "', "  "):
        await check_linear(lambda text, start=start: read(start + text, call=True), "\\u00e9")
