"""`Hold`: what a person is told of a call that the data flow holds, in one sentence, and what a yes is kept under."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cellwright.doors import Call
from cellwright.guard.flow_state import FlowState
from cellwright.guard.labels import PRIVATE, UNTRUSTED
from cellwright.guard.proofs import normalised
from cellwright.scope import PackedContent, Scalar
from cellwright.short_texts import cut, one_line, printable
from cellwright.store import fingerprint

SHOWN = 3
LONG = 80
ARROW = "->"
_PLAIN = re.compile(r"[\w@.+:/-]{1,80}", re.ASCII)  # says all by itself


Selecting = Mapping[str, PackedContent]
Unproven = Sequence[tuple[str, Scalar | None]]
"""Names of arguments with their values; None for one that is no plain value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hold:
    """Why a call is held: a sentence for the person, and what a yes for all such calls is kept under.

    `own`: the key names objects of this session.
    """

    why: str
    key: str
    own: bool = False


def hold_of(call: Call, state: FlowState, selecting: Selecting, unproven: Unproven | None) -> Hold:
    """`unproven` None: private data goes out. Takes long after long answers of outsiders.

    `key` names the operation and all that it acts on: another destination, or two, is another question.

    So is private data to a destination to which a person has said yes without it.
    """
    acts: list[tuple[str, str]] = [("", f"object {call.target}")] if call.target > state.clean_objects else []
    for name, content in selecting.items():
        acts += [(name, normalised(leaf.value)) for leaf in content.leaves]
        acts += [(name, f"object {number}") for number in content.handles]
    opaque = fingerprint(call.arguments) if any(content.opaque for content in selecting.values()) else ""
    digest = hashlib.sha256(repr((acts, opaque)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    to = ", ".join(value for _, value in acts)
    if len(acts) == 1 and not opaque and _PLAIN.fullmatch(to):
        digest = ""
    shown = printable(one_line(cut(to, LONG))) or "what it acts on"
    arrow = f"with private data {ARROW}" if unproven is None else ARROW
    key = " ".join(filter(None, (call.about.known_as or call.about.title, arrow, shown, digest)))
    why = _private_words(call, state) if unproven is None else _unproven_words(state, unproven)
    return Hold(why=why, key=key, own=any(value.startswith("object ") for _, value in acts))


def called_and_flow(operation: str) -> tuple[str, str]:
    """What is called, and, where a question is of the data flow, the key that a yes for always is kept under."""
    name, is_flow, _ = operation.partition(f" {ARROW} ")
    return name, operation if is_flow else ""


def _text(value: Scalar) -> str:
    return normalised(value) if isinstance(value, int) else str(value)  # a long number has no other text


def _private_words(call: Call, state: FlowState) -> str:
    private, untrusted = state.sources(PRIVATE), state.sources(UNTRUSTED)
    read = f"code that may follow {untrusted}, which outsiders can write," if untrusted else "code"
    return f"{read} has read private data ({private}), and {call.about.title} sends its arguments out"


def _unproven_words(state: FlowState, unproven: Unproven) -> str:
    parts: list[str] = []
    unproven = list({(name, value is None or _text(value)): (name, value) for name, value in unproven}.values())
    for name, value in unproven[:SHOWN]:
        if value is None:
            parts.append(f"{name or 'the call'} was chosen by code that may follow outsiders' text")
            continue
        origin = state.origins.of(value)
        source = f"it stands in {origin}, which outsiders can write" if origin else "nobody asked for it"
        parts.append(f"{name}={printable(_text(value)[:LONG])!r}: {source}")
    more = f", and {len(unproven) - SHOWN} more" if len(unproven) > SHOWN else ""
    return f"{'; '.join(parts)}{more} (this session has read {state.sources(UNTRUSTED)})"
