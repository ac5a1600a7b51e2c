"""Stub text of an upstream: an operation, a namespace, a class, or an outline of all, each within a budget."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from cellwright.catalog.stub_text import (
    LONGEST,
    bare_head,
    fitted_head,
    fitted_stub,
    head,
    needed_shapes,
    qualified_signature,
    sentence,
    shape_text,
    whole_text,
)
from cellwright.catalog.upstreams import Upstream
from cellwright.scope import Declaration, Shape, Signature, UpstreamOperation

WIDE = 100  # a signature that is longer has a line for each parameter
NEAREST = 60  # classes that an operation mentions, directly or not
EXAMPLES = 6
DOC_LINES = 60


def operation_text(upstream: Upstream, offered: UpstreamOperation) -> str:
    """An operation with its docs, as it is called."""
    return f"# {upstream.name}.{offered.path}\n{whole_text(offered.line, DOC_LINES, head=_wrapped)}"


def _wrapped(line: Declaration, signature: Signature) -> str:
    """The head of an operation; a long one has a line for each parameter."""
    text = bare_head(line, signature)
    if len(text) <= WIDE or not signature.returns or not signature.parameters:
        return text
    parts = "".join(f"    {part},\n" for part, _ in signature.parts())
    return f"{text.partition('(')[0]}(\n{parts}) -> {signature.returns}"


def shapes_for(upstream: Upstream, line: Declaration, known: tuple[str, ...] = ()) -> Iterator[Shape]:
    """The classes that a function or an attribute needs, the nearest first."""
    return itertools.islice(needed_shapes(upstream, line.types(), known), NEAREST)


def class_text(shape: Shape) -> str:
    """A class with its fields and methods."""
    return shape_text(shape, head=_brief).removeprefix("@dataclass\n")


def _brief(line: Declaration, signature: Signature) -> str:
    text = head(line, signature)
    return fitted_head(line, signature) if len(text) > 2 * WIDE else text


def namespace_text(upstream: Upstream, path: str, budget: int | None) -> str:
    """The operations of a namespace, one a line; without docs, then without signatures, where there are many."""
    title = f"{upstream.name}.{path}" if path else upstream.name
    count = upstream.counts()[path]
    about = sentence(upstream.surface.about(path))
    first = f"# {title}: {f'{about} ' if about else ''}{_operations(count)}"
    members = list(upstream.below(path))
    spaces = [_space(upstream, f"{path}.{name}" if path else name) for name, offered in members if offered is None]
    operations = [offered for _, offered in members if offered is not None]
    for written in (_with_docs, _called, _named):
        text = "\n".join([first, *spaces, *(f"{title}.{written(offered)}" for offered in operations)])
        if budget is None or len(text) <= budget:
            return f"{text}\n"
    names = ", ".join(offered.line.name for offered in operations)
    return _cut("\n".join([first, *spaces, *([f"# {names}"] if names else [])]), budget or 0, title)


def _cut(text: str, budget: int, title: str) -> str:
    mark = f'\n# … search("…") finds the rest, show("{title}.<name>") tells one\n'
    if len(text) <= budget:
        return text + mark
    kept = text[: budget - len(mark)]
    return kept[: max(kept.rfind("\n"), kept.rfind(", "))].rstrip(", ") + mark


def _with_docs(offered: UpstreamOperation) -> str:
    words = sentence(offered.line.doc, 80)
    return qualified_signature(offered.line, limit=LONGEST) + (f"  # {words}" if words else "")


def _called(offered: UpstreamOperation) -> str:
    return qualified_signature(offered.line, limit=60)


def _named(offered: UpstreamOperation) -> str:
    return offered.line.name


def _space(upstream: Upstream, path: str, examples: int = EXAMPLES) -> str:
    names = [name for name, _ in itertools.islice(upstream.below(path), examples + 1)]
    listed = ", ".join(names[:examples]) + (", …" if len(names) > examples else "") if examples else ""
    count = _operations(upstream.counts()[path])
    return f"{upstream.name}.{path}  # {count}" + (f": {listed}" if listed else "")


def _operations(count: int) -> str:
    return f"{count:,} operation{'' if count == 1 else 's'}"


def outline_text(upstream: Upstream, budget: int) -> str:
    """The upstream for a prompt: a line for each namespace with some of its names, fewer where there are many."""
    counts = upstream.counts()
    about = sentence(upstream.surface.about(""), 80)
    first = f'# {upstream.name}: {f"{about} " if about else ""}{_operations(counts[""])}; search("…") finds them'
    members = list(upstream.below(""))
    own = [offered for _, offered in members if offered is not None]
    spaces = [name for name, offered in members if offered is None]
    for examples in (EXAMPLES, 2, 0):
        lines = [_space(upstream, name, examples) for name in spaces]
        written = _with_docs if examples == EXAMPLES else _named
        text = "\n".join([first, *(f"{upstream.name}.{written(offered)}" for offered in own), *lines])
        if len(text) < budget:
            return f"{text}\n"
    names = [*(offered.line.name for offered in own), *(f"{name} ({counts[name]})" for name in spaces)]
    kept: list[str] = []
    room = budget - len(first) - 20
    for name in names:
        room -= len(name) + 2
        if room < 0:
            break
        kept.append(name)
    more = f" and {len(names) - len(kept)} more" if len(kept) < len(names) else ""
    return f"{first}: {', '.join(kept)}{more}\n" if kept else f"{first}\n"


def upstream_stub(upstreams: Iterable[Upstream], name: str, budget: int | None) -> str:
    """The stub of an operation by either of its names, of a namespace, or of a class; "" where there is none."""
    for upstream in upstreams:
        path = upstream.alias(name) or name.removeprefix(f"{upstream.name}.")
        if name == upstream.name:
            return namespace_text(upstream, "", budget)
        if path and path != name:
            offered = upstream.find(path)
            if offered is not None:
                text = operation_text(upstream, offered)
                return fitted_stub(text, shapes_for(upstream, offered.line), class_text, budget, name)
            if upstream.counts()[path]:
                return namespace_text(upstream, path, budget)
        text = _class_stub(upstream, path, budget)
        if text:
            return text
    return ""


def _class_stub(upstream: Upstream, name: str, budget: int | None) -> str:
    owner, _, member = name.partition(".")
    shape = upstream.shape(owner) if owner and not owner.startswith("_") else None
    if shape is None:
        return ""
    if not member:
        text = class_text(shape)
        further = itertools.islice(needed_shapes(upstream, [text], (owner,)), NEAREST)
        return fitted_stub(text, further, class_text, budget, owner)
    line = next((line for line in shape.lines if line.name == member), None)
    if line is None:
        return ""
    return fitted_stub(f"# {name}\n{whole_text(line)}", shapes_for(upstream, line, (owner,)), class_text, budget, name)
