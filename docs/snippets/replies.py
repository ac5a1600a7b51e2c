"""A stand-in for a language model: it replies with the cells that it was given, one for each request."""

from textwrap import dedent

from cellwright.messages import Traits
from cellwright.testing import ScriptedModel, code
from cellwright.testing.model import Script


def model(*cells: Script, window: int = 128_000) -> ScriptedModel:
    """A text is a cell; anything else is a reply as `ScriptedModel` takes it."""
    replies = [code(dedent(cell).strip()) if isinstance(cell, str) else cell for cell in cells]
    return ScriptedModel(*replies, traits=Traits(window=window))


def quoted(text: str) -> str:
    """What a model reads, behind a bar: it may hold fences, and so does the page that shows it."""
    return "\n".join(f"| {line}".rstrip() for line in text.rstrip().splitlines())
