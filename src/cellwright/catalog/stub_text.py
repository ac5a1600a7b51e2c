"""Declarations and classes as stub text for a reader, and a stub cut to a number of characters.

The text is Python, and the same for the same values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from cellwright.catalog.offer import Offer
from cellwright.scope import Declaration, Shape, Signature

SENTENCE = 120
DOC_LINES = 12
LONGEST = 200  # characters of a signature on one line
LEFT = 8  # names of classes that were cut
_END = re.compile(r"(?<=[.!?])\s")
# Characters that no source text may hold, or that turn the direction of a line: a reader would see a different text.
_UNSEEN = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
_BASES = {"namedtuple": "(NamedTuple)", "model": "(BaseModel)", "dict": "(TypedDict)"}


def sentence(doc: str, limit: int = SENTENCE) -> str:
    """The first sentence of a docstring, on one line."""
    paragraph = " ".join(doc.strip().partition("\n\n")[0].translate(_UNSEEN).split())
    text = _END.split(paragraph, maxsplit=1)[0]
    return text if len(text) <= limit else text[: limit - 1].rsplit(" ", 1)[0] + "…"


# functions and attributes


def head(line: Declaration, signature: Signature) -> str:
    """`async def fetch(self, number: int) -> Contact`, as a class has it."""
    return f"{'async ' if signature.is_async else ''}def {line.name}{signature.text(line.first)}"


def bare_head(line: Declaration, signature: Signature) -> str:
    """`def close(won: bool = True) -> None`, as a caller sees it: without `self`."""
    return f"{'async ' if signature.is_async else ''}def {line.name}{signature.text()}"


def fitted_head(line: Declaration, signature: Signature) -> str:
    """The head of a class's function, cut where it is very long."""
    before = f"{'async ' if signature.is_async else ''}def {line.name}"
    return fitted_signature(before, signature, first=line.first)


Head = Callable[[Declaration, Signature], str]


def qualified_signature(line: Declaration, owner: str = "", limit: int | None = None) -> str:
    """A member below its owner: `crm.close(won: bool = True) -> None`, in about `limit` characters."""
    before = f"{owner}." if owner else ""
    if not line.callable:
        return f"{before}{line.declared}"
    signature = line.signatures[0]
    name = f"{'async ' if signature.is_async else ''}{before}{line.name}"
    return name + signature.text() if limit is None else fitted_signature(name, signature, limit)


def fitted_signature(name: str, signature: Signature, limit: int = LONGEST, first: str = "") -> str:
    """`create(owner: str, *, title: str, body: str | None = None, …) -> Issue`, in about so many characters.

    Required parameters are always there, then as many of the others as fit.
    """
    whole = name + signature.text(first)
    if len(whole) <= limit:
        return whole
    parts = [*([(first, True)] if first else ()), *signature.parts()]
    gives = f" -> {signature.returns}" if signature.returns else ""
    room = limit - len(name) - len(gives) - 5 - sum(len(part) + 2 for part, needed in parts if needed)
    shown: list[str] = []
    left = False
    for part, needed in parts:
        if needed:
            shown.append(_short(part, limit))
        elif room >= len(part) + 2 and not left:
            room -= len(part) + 2
            shown.append(part)
        else:
            left = True
    if shown and shown[-1] == "*" and not left:
        shown.pop()
    return f"{name}({', '.join([*shown, '…'] if left else shown)}){gives}"


def _short(part: str, limit: int) -> str:
    """A parameter whose type alone is too long: `kind: Literal['a', 'b', …]`."""
    most = limit // 2
    if len(part) <= most:
        return part
    cut = part[:most].rpartition(", ")[0] or part[:most]
    return f"{cut}, …{']' * (cut.count('[') - cut.count(']'))}"


def line_text(line: Declaration, *, indent: str = "", docs: bool = True, head: Head = head) -> str:
    """A function or an attribute on one line, its first sentence behind it; a line for each overload."""
    mark = f"{indent}{line.mark}\n" if line.callable and line.mark else ""
    words = sentence(line.doc) if docs else ""
    heads = [f"{mark}{indent}{head(line, one)}: ..." for one in line.signatures] or [f"{indent}{line.declared}"]
    return "\n".join([heads[0] + (f"  # {words}" if words else ""), *heads[1:]])


def called_text(line: Declaration, before: str = "", *, docs: bool = True) -> str:
    """A function as code calls it, with `await` where it is async, or an attribute; a line for each overload."""
    words = sentence(line.doc) if docs else ""
    calls = [f"{'await ' if one.is_async else ''}{before}{line.name}{one.text()}" for one in line.signatures]
    calls = calls or [f"{before}{line.declared}"]
    return "\n".join([calls[0] + (f"  # {words}" if words else ""), *calls[1:]])


def whole_text(line: Declaration, doc_lines: int = DOC_LINES, *, head: Head = bare_head) -> str:
    """A function with its docstring, as it is called: without `self`."""
    words = line.doc.translate(_UNSEEN).strip().replace("\\", "\\\\").replace('"""', "'''").splitlines()
    if not line.callable:
        return line_text(line)
    heads = [head(line, one) for one in line.signatures]
    if not words:
        return "\n".join(f"{one}: ..." for one in heads)
    if len(words) > doc_lines:
        words = [*words[:doc_lines], "…"]
    body = "\n".join([f'    """{words[0]}', *(f"    {word}".rstrip() for word in words[1:])])
    end = '"""' if len(words) == 1 and not words[0].endswith('"') else '\n    """'
    return "\n".join([*(f"{one}: ..." for one in heads[1:]), f"{heads[0]}:\n{body}{end}"])


# classes


def shape_text(
    shape: Shape,
    name: str = "",
    *,
    docs: bool = True,
    lines: Iterable[Declaration] | None = None,
    head: Head = head,
) -> str:
    """A class with its members, one a line."""
    words = sentence(shape.doc) if docs else ""
    if shape.kind == "module":
        words = f"a module: {words}" if words else "a module"
    mark = "@dataclass\n" if shape.kind == "record" else ""
    named = name or shape.name.removeprefix("_module_").rpartition(".")[2]
    bases = _BASES.get(shape.kind) or (f"({', '.join(shape.bases)})" if shape.bases else "")
    first = f"{mark}class {named}{bases}:" + (f"  # {words}" if words else "")
    shown = shape.lines if lines is None else lines
    members = [line_text(line, indent="    ", docs=docs, head=head) for line in shown]
    return "\n".join([first, *(members or ["    ..."])])


class NamedShapes(Protocol):
    """Classes by the names that they have in stub text: an `Offer`, or an upstream."""

    def shape(self, name: str) -> Shape | None: ...
    def mentioned(self, text: str) -> Iterator[Shape]: ...


def needed_shapes(offer: NamedShapes, texts: Iterable[str], known: Iterable[str] = ()) -> Iterator[Shape]:
    """The classes that the texts name, those that these name, and so on: the nearest first."""
    seen = set(known)
    pending = [shape for text in texts for shape in offer.mentioned(text)]
    while pending:
        shape = pending.pop(0)
        if shape.name not in seen:
            seen.add(shape.name)
            yield shape
            pending += [other for line in shape.lines for text in line.types() for other in offer.mentioned(text)]
            pending += [other for base in shape.bases if (other := offer.shape(base)) is not None]


def objects_below(offer: Offer, shape: Shape) -> dict[str, Shape]:
    """The attributes of an object that hold further objects with functions: `contacts` of `crm`."""
    inner = {line.name: offer.object_shape(line.gives) for line in offer.lines_of(shape) if not line.callable}
    return {name: other for name, other in inner.items() if other is not None and other.kind == "handle"}


# a budget


def fitted_stub(
    text: str, further: Iterable[Shape], written: Callable[[Shape], str], budget: int | None, name: str
) -> str:
    """A stub and the classes it needs, cut at a line, with a mark that says what was cut and how to see it.

    Without a budget it is the stub alone, all of it.
    """
    if budget is None:
        return text.rstrip("\n") + "\n"
    if len(text) > budget:
        return _cut(text, budget, name)
    left: list[str] = []
    for shape in further:
        also = "" if left else written(shape)
        if also and len(text) + len(also) + 2 <= budget:
            text += f"\n\n{also}"
        else:
            left.append(shape.name.rpartition(".")[2])
    text = text.rstrip("\n")
    if not left:
        return f"{text}\n"
    names = ", ".join(left[:LEFT]) + (f" and {len(left) - LEFT} more" if len(left) > LEFT else "")
    return f'{text}\n# … also needs {names}: show("{left[0]}")\n'


def _cut(text: str, budget: int, name: str) -> str:
    lines = text.splitlines()
    kept: list[str] = []
    for line in lines:
        budget -= len(line) + 1
        if budget < 0 and kept:
            break
        kept.append(line)
    more = f"… {len(lines) - len(kept)} more lines"
    if sum(line.count('"""') for line in kept) % 2:  # in the middle of a docstring
        return "\n".join([*kept, f'    {more}: help({name})"""', ""])
    return "\n".join([*kept, f'    # {more}; show("{name}.<member>") tells one', ""])
