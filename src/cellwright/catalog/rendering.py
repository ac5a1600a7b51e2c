"""Lines and classes of an `Offer` as stub text for a reader. It is Python, and the same for the same offer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from cellwright.catalog.offer import Offer
from cellwright.scope import Line, Shape

SENTENCE = 120
DOC_LINES = 12
_END = re.compile(r"(?<=[.!?])\s")
# What no source text may hold, and what turns the direction of a line: a reader would see another text than is there.
_UNSEEN = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
_HEADS = {"namedtuple": "(NamedTuple)", "model": "(BaseModel)", "dict": "(TypedDict)"}


def sentence(doc: str, limit: int = SENTENCE) -> str:
    """The first sentence of a docstring, on one line."""
    paragraph = " ".join(doc.strip().partition("\n\n")[0].translate(_UNSEEN).split())
    text = _END.split(paragraph, maxsplit=1)[0]
    return text if len(text) <= limit else text[: limit - 1].rsplit(" ", 1)[0] + "…"


def line_text(line: Line, *, indent: str = "", docs: bool = True, call: bool = True) -> str:
    """A function or an attribute on one line, its first sentence behind it; a line for each overload."""
    mark = f"{indent}{line.mark}\n" if line.callable and line.mark else ""
    words = sentence(line.doc) if docs else ""
    body = ": ..." if line.callable and call else ""
    heads = [f"{mark}{indent}{head}{body}" for head in line.heads]
    return "\n".join([heads[0] + (f"  # {words}" if words else ""), *heads[1:]])


def called_text(line: Line, before: str = "", *, docs: bool = True) -> str:
    """A function as code calls it, `await` and all, or an attribute; a line for each overload."""
    words = sentence(line.doc) if docs else ""
    told = [_called(head, before) if line.callable else f"{before}{head}" for head in line.called]
    return "\n".join([told[0] + (f"  # {words}" if words else ""), *told[1:]])


def _called(head: str, before: str) -> str:
    name = head.removeprefix("async ").removeprefix("def ")
    return f"{'await ' if head.startswith('async ') else ''}{before}{name}"


def whole_text(line: Line, doc_lines: int = DOC_LINES) -> str:
    """A function with its docstring, as it is called: without `self`."""
    words = line.doc.translate(_UNSEEN).strip().replace("\\", "\\\\").replace('"""', "'''").splitlines()
    if not line.callable:
        return line_text(line)
    if not words:
        return "\n".join(f"{head}: ..." for head in line.called)
    if len(words) > doc_lines:
        words = [*words[:doc_lines], "…"]
    body = "\n".join([f'    """{words[0]}', *(f"    {word}".rstrip() for word in words[1:])])
    end = '"""' if len(words) == 1 and not words[0].endswith('"') else '\n    """'
    return "\n".join([*(f"{head}: ..." for head in line.called[1:]), f"{line.called[0]}:\n{body}{end}"])


def shape_head(shape: Shape, name: str = "", *, docs: bool = True, place: str = "") -> str:
    """`class Contact:` with where an object of it stands, and what it is."""
    words = sentence(shape.doc) if docs else ""
    words = f"{place}: {words}" if place and words else place or words
    named = name or shape.name.removeprefix("_module_").rpartition(".")[2]
    mark = "@dataclass\n" if shape.kind == "record" else ""
    if shape.kind == "module":
        words = f"a module: {words}" if words else "a module"
    bases = _HEADS.get(shape.kind) or (f"({', '.join(shape.bases)})" if shape.bases else "")
    return f"{mark}class {named}{bases}:" + (f"  # {words}" if words else "")


def shape_text(
    shape: Shape, name: str = "", *, docs: bool = True, place: str = "", lines: Iterable[Line] | None = None
) -> str:
    """A class with its members, one a line."""
    shown = shape.lines if lines is None else lines
    texts = [line_text(line, indent="    ", docs=docs) for line in shown] or ["    ..."]
    return "\n".join([shape_head(shape, name, docs=docs, place=place), *texts])


class Classes(Protocol):
    """Knows classes by the names that stub text has for them: an `Offer`, or an upstream."""

    @property
    def shapes(self) -> Any: ...
    def mentioned(self, text: str) -> Iterator[Shape]: ...


def needed(offer: Classes, texts: Iterable[str], known: Iterable[str] = ()) -> Iterator[Shape]:
    """The classes that the texts name, those that these name, and so on: the nearest first."""
    seen = set(known)
    pending = [shape for text in texts for shape in offer.mentioned(text)]
    while pending:
        shape = pending.pop(0)
        if shape.name not in seen:
            seen.add(shape.name)
            yield shape
            pending += [other for line in shape.lines for head in line.heads for other in offer.mentioned(head)]
            pending += [offer.shapes[base] for base in shape.bases if base in offer.shapes]


def below(offer: Offer, shape: Shape) -> dict[str, Shape]:
    """The attributes of an object that hold further objects with functions: `contacts` of `crm`."""
    inner = {line.name: offer.thing(line.gives) for line in offer.lines_of(shape) if not line.callable}
    return {name: other for name, other in inner.items() if other is not None and other.kind == "handle"}
