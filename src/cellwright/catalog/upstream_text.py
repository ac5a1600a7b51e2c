"""What a reader is shown of an upstream: an operation, a namespace, all of it, each in about a number of characters."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace

from cellwright.catalog.fitting import fitted
from cellwright.catalog.rendering import needed, sentence, shape_text, whole_text
from cellwright.catalog.signing import fitted_signature, parts_of
from cellwright.catalog.upstreams import Upstream
from cellwright.scope import Line, Offered, Shape

WIDE = 100  # a signature that is longer has a line for each parameter
NEAREST = 60  # classes that are looked at for what an operation needs
EXAMPLES = 6
DOC_LINES = 60


def operation_text(upstream: Upstream, offered: Offered) -> str:
    """An operation with its docs, as it is called."""
    name = f"{upstream.name}.{offered.path}"
    return f"# {name}\n{whole_text(wrapped(offered.line), DOC_LINES)}"


def wrapped(line: Line) -> Line:
    """With a line for each parameter where it is long."""
    return replace(line, heads=tuple(_wrapped(head, line.gives) for head in line.called))


def _wrapped(head: str, gives: str) -> str:
    end = f") -> {gives}"
    if len(head) <= WIDE or not head.endswith(end):  # by its end: a default, or a literal, may hold an arrow
        return head
    before, _, inside = head.removesuffix(end).partition("(")
    if not inside:
        return head
    return f"{before}(\n" + "".join(f"    {part},\n" for part in parts_of(inside)) + f") -> {gives}"


def types_text(upstream: Upstream, text: str, known: tuple[str, ...] = ()) -> list[str]:
    """The classes that a text needs, the nearest first."""
    return [class_text(shape) for shape in itertools.islice(needed(upstream, [text], known), NEAREST)]


def class_text(shape: Shape) -> str:
    """A class with its fields and methods."""
    lines = [line if not line.callable else _brief(line) for line in shape.lines]
    return shape_text(shape, lines=lines).removeprefix("@dataclass\n")


def _brief(line: Line) -> Line:
    return replace(line, heads=tuple(fitted_signature(head) if len(head) > 2 * WIDE else head for head in line.heads))


def namespace_text(upstream: Upstream, path: str, budget: int) -> str:
    """The operations of a namespace, one a line; with less of each where they are many."""
    title = f"{upstream.name}.{path}" if path else upstream.name
    count = upstream.counts()[path]
    about = sentence(upstream.surface.about(path))
    head = f"# {title}: {f'{about} ' if about else ''}{_operations(count)}"
    members = list(upstream.below(path))
    spaces = [_space(upstream, f"{path}.{name}" if path else name) for name, offered in members if offered is None]
    found = [offered for _, offered in members if offered is not None]
    for told in (_with_docs, _called, _named):
        text = "\n".join([head, *spaces, *(f"{title}.{told(offered)}" for offered in found)])
        if len(text) <= budget:
            return f"{text}\n"
    names = ", ".join(offered.line.name for offered in found)
    return _cut("\n".join([head, *spaces, *([f"# {names}"] if names else [])]), budget, title)


def _cut(text: str, budget: int, title: str) -> str:
    mark = f'\n# … search("…") finds the rest, show("{title}.<name>") tells one\n'
    if len(text) <= budget:
        return text + mark
    kept = text[: budget - len(mark)]
    return kept[: max(kept.rfind("\n"), kept.rfind(", "))].rstrip(", ") + mark


def _with_docs(offered: Offered) -> str:
    words = sentence(offered.line.doc, 80)
    return fitted_signature(offered.line.signature) + (f"  # {words}" if words else "")


def _called(offered: Offered) -> str:
    return fitted_signature(offered.line.signature, 60)


def _named(offered: Offered) -> str:
    return offered.line.name


def _space(upstream: Upstream, path: str, examples: int = EXAMPLES) -> str:
    names = list(itertools.islice(_names(upstream, path), examples + 1))
    listed = ", ".join(names[:examples]) + (", …" if len(names) > examples else "") if examples else ""
    count = _operations(upstream.counts()[path])
    return f"{upstream.name}.{path}  # {count}" + (f": {listed}" if listed else "")


def _names(upstream: Upstream, path: str) -> Iterator[str]:
    return (name for name, _ in upstream.below(path))


def _operations(count: int) -> str:
    return f"{count:,} operation{'' if count == 1 else 's'}"


def outline_text(upstream: Upstream, budget: int) -> str:
    """All of it for a prompt: a line for each namespace with some of its names, with less where they are many."""
    counts = upstream.counts()
    about = sentence(upstream.surface.about(""), 80)
    head = f'# {upstream.name}: {f"{about} " if about else ""}{_operations(counts[""])}; search("…") finds them'
    members = [(name, offered) for name, offered in upstream.below("")]
    own = [offered for _, offered in members if offered is not None]
    spaces = [name for name, offered in members if offered is None]
    for examples in (EXAMPLES, 2, 0):
        lines = [_space(upstream, name, examples) for name in spaces]
        told = _with_docs if examples == EXAMPLES else _named
        text = "\n".join([head, *(f"{upstream.name}.{told(offered)}" for offered in own), *lines])
        if len(text) < budget:
            return f"{text}\n"
    every = [*(offered.line.name for offered in own), *(f"{name} ({counts[name]})" for name in spaces)]
    kept: list[str] = []
    room = budget - len(head) - 20
    for one in every:
        room -= len(one) + 2
        if room < 0:
            break
        kept.append(one)
    more = f" and {len(every) - len(kept)} more" if len(kept) < len(every) else ""
    return f"{head}: {', '.join(kept)}{more}\n" if kept else f"{head}\n"


def upstream_stub(upstreams: Iterable[Upstream], name: str, budget: int) -> str:
    """By the name of an operation, a namespace, a class, or the other name that an operation has; "" for none."""
    for upstream in upstreams:
        path = upstream.alias(name) or name.removeprefix(f"{upstream.name}.")
        if name == upstream.name:
            return namespace_text(upstream, "", budget)
        if path and path != name:
            offered = upstream.find(path)
            if offered is not None:
                text = operation_text(upstream, offered)
                return fitted(text, types_text(upstream, " ".join(offered.line.heads)), budget, name)
            if upstream.counts()[path]:
                return namespace_text(upstream, path, budget)
        text = _class_stub(upstream, path, budget)
        if text:
            return text
    return ""


def _class_stub(upstream: Upstream, name: str, budget: int) -> str:
    owner, _, member = name.partition(".")
    shape = upstream.shape(owner) if owner and not owner.startswith("_") else None
    if shape is None:
        return ""
    if not member:
        text = class_text(shape)
        return fitted(text, types_text(upstream, text, (owner,)), budget, owner)
    line = next((line for line in shape.lines if line.name == member), None)
    if line is None:
        return ""
    text = f"# {name}\n{whole_text(line)}"
    return fitted(text, types_text(upstream, " ".join(line.heads), (owner,)), budget, name)
