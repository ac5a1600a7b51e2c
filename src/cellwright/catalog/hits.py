"""`Hit`: one thing that a search found, as it is told: its call, a sentence, what comes back."""

from __future__ import annotations

from dataclasses import dataclass

from cellwright.catalog.entries import Entry, fields_note, record_note
from cellwright.catalog.offer import Offer
from cellwright.catalog.rendering import sentence
from cellwright.catalog.signing import fitted_signature
from cellwright.catalog.upstreams import Upstream


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """One thing that a search found. `note`: the fields of what it returns, or where its object comes from."""

    name: str
    signature: str
    summary: str
    note: str = ""

    def __str__(self) -> str:
        return "\n".join([self.signature, *(f"    {text}" for text in (self.summary, self.note) if text)])


def live_hit(offer: Offer, entry: Entry) -> Hit:
    return Hit(
        name=entry.name,
        signature=fitted_signature(entry.signature),
        summary=entry.summary or (entry.about if entry.shape else ""),
        note=fields_note(offer, entry),
    )


def operation_hit(upstream: Upstream, path: str) -> Hit:
    offered = upstream.surface.find(path)
    name = f"{upstream.name}.{path}"
    if offered is None:  # it went away meanwhile
        return Hit(name=name, signature=name, summary="")
    before = name.rpartition(".")[0]
    return Hit(
        name=name,
        signature=fitted_signature(f"{before}.{offered.line.signature}"),
        summary=sentence(offered.line.doc),
        note=record_note(upstream.mentioned(offered.line.gives)),
    )


def method_hit(upstream: Upstream, name: str) -> Hit:
    owner, _, last = name.partition(".")
    shape = upstream.shape(owner)
    line = next((line for line in shape.lines if line.name == last), None) if shape is not None else None
    signature = fitted_signature(f"{owner}.{line.signature}") if line is not None else name
    note = f"{owner} is what operations of {upstream.name} return"
    return Hit(name=name, signature=signature, summary=sentence(line.doc) if line is not None else "", note=note)
