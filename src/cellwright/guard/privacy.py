"""`Privacy`: which values are private, and which operations may have them; `SessionPrivacy`: the same for one session.

On its way to the guest a private value becomes a token, which code may compare, group, join and pass on. It becomes the
value again on the host, in a call whose operation may have that kind. It knows neither doors nor models.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, cast

from cellwright.doors import About
from cellwright.errors import UsageError
from cellwright.guard.known_values import KnownValues
from cellwright.guard.operation_globs import covers_name
from cellwright.guard.private_columns import is_private_value
from cellwright.guard.private_kinds import KINDS, Detector, NameFinder
from cellwright.guard.private_names import SpacyNames
from cellwright.guard.private_text import PrivateText
from cellwright.guard.private_trees import TreeHider, TreeRevealer
from cellwright.guard.private_values import PrivateValue, PrivateValues
from cellwright.scope import FieldNames
from cellwright_guest.packer import Packer, plain
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import Bounds, Packed, WireError, type_of

Kinds = bool | Collection[str]
Span = tuple[int, int, str]
_KIND = re.compile(r"[a-z][a-z0-9_]{0,39}")
SEARCHED = frozenset(("name", "address", "medical_record"))  # kinds that no pattern finds again in text
CACHED = 200  # characters of a text whose outcome is kept


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """What is private: `Runtime(private=Privacy(names=True, may_have={"mail.send": ["email"]}))`.

    kinds      of private values: those of `KINDS` when left out, and those of your own detectors and columns
    columns    names of fields, keys, columns or operations whose values are private, each with its kind
    detectors  your own, such as `Pattern(kind="badge", pattern=r"B-[0-9]{6}")`
    names      people's names in free text, by a recogniser: True (needs the extra "names"), or your own
    region     where telephone numbers without a country are from
    may_have   kinds that operations are given as values, by globs of their names, beside `@operation(may_have=…)`
    answers    kinds that the answer of an agent's turn may have; else it has tokens
    strict     a call with a token whose value it may not have is refused; else it is given the token
    """

    kinds: Collection[str] = KINDS
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    detectors: Sequence[Detector] = ()
    names: bool | NameFinder = False
    region: str = "US"
    may_have: Mapping[str, Kinds] = field(default_factory=dict[str, Kinds])
    answers: Kinds = ()
    strict: bool = False

    def __post_init__(self) -> None:
        self._refuse_other_types()
        own = {*self.columns.values(), *(detector.kind for detector in self.detectors)}
        if wrong := [kind for kind in self.kinds if kind not in KINDS and kind not in own]:
            raise UsageError(
                f"private: {wrong[0]!r:.50} is no kind; there are {', '.join(KINDS)}, and those you define"
            )
        if wrong := [kind for kind in own if not _KIND.fullmatch(kind)]:  # else its tokens are not read again
            raise UsageError(f"private: the kind {wrong[0]!r:.50} is no lower-case word, such as 'badge'")
        for kinds in (*self.may_have.values(), self.answers):
            known = {*KINDS, *own}
            if isinstance(kinds, str) or (type(kinds) is not bool and (set(kinds) - known)):
                raise UsageError(
                    f"private: {kinds!r:.80} are no kinds; give True, or a list of {', '.join(sorted(known))}"
                )

    def _refuse_other_types(self) -> None:
        """Options also come from a file, and what is no list would be read letter by letter."""
        if isinstance(self.kinds, str) or not hasattr(self.kinds, "__iter__"):
            raise UsageError(f"private: kinds={self.kinds!r:.50} is no list, such as ['email', 'phone']")
        for name, example in ("columns", {"ward": "place"}), ("may_have", {"mail.*": ["email"]}):
            if not isinstance(getattr(self, name), Mapping):
                raise UsageError(f"private: {name}={getattr(self, name)!r:.50} is no table, such as {example}")
        if wrong := [one for one in self.detectors if not hasattr(one, "find")]:
            raise UsageError(f"private: {wrong[0]!r:.50} is no detector, such as Pattern(kind='badge', pattern=…)")
        if not isinstance(self.names, bool) and not hasattr(self.names, "names"):
            raise UsageError(f"private: names={self.names!r:.50} is neither true, nor false, nor finds names")
        if type(self.strict) is not bool:
            raise UsageError(f"private: strict={self.strict!r:.50} is neither true nor false")

    @classmethod
    def of(cls, given: Privacy | Collection[str] | bool | None) -> Privacy | None:
        """What `private=` stands for: True is all kinds, a list these kinds; None where it is off."""
        if given is None or given is False or isinstance(given, Privacy):
            return given or None
        return cls() if given is True else cls(kinds=given)

    def allowed(self, about: About) -> Kinds:
        """The kinds that an operation may have."""
        allowed: set[str] = set()
        by_name = (kinds for glob, kinds in self.may_have.items() if covers_name(glob, about.names))
        for kinds in (about.operation.may_have, *by_name):
            if kinds is True:
                return True
            allowed.update(kinds or ())
        return allowed


def allows(kinds: Kinds) -> Callable[[PrivateValue], bool]:
    return lambda value: kinds is True or (kinds is not False and value.kind in kinds)


class SessionPrivacy:
    """The tokens of one session. `above`: of the session whose code opened it. Any thread may use it."""

    def __init__(self, options: Privacy, above: SessionPrivacy | None = None) -> None:
        self.options = options
        self._above = above
        finder = options.names if not isinstance(options.names, bool) else SpacyNames() if options.names else None
        self._text = PrivateText(
            options.kinds, region=options.region, columns=options.columns, detectors=options.detectors, names=finder
        )
        self._known = KnownValues() if above is None else above._known
        self._kinds_of = lru_cache(maxsize=1024)(self._text.kinds_of_columns)
        self._hide_short = lru_cache(maxsize=4096)(self._hidden_text)
        self.keep: Callable[[], None] = _nothing  # writes new tokens down, where there is a journal
        self.begin(os.urandom(32))

    @property
    def is_below(self) -> bool:
        """Whether code of another session opened this one."""
        return self._above is not None

    def begin(self, secret: bytes) -> None:
        """`secret`: what no other session has. Tokens are marked with it."""
        self.values = PrivateValues(secret, None if self._above is None else self._above.values)
        self._hide_short.cache_clear()

    # what `TreeHider` and `TreeRevealer` ask

    def kinds_of(self, names: tuple[str, ...]) -> Mapping[str, str]:
        """The kinds of the private fields of one record: what stands beside a name tells whose it is."""
        if len(names) > CACHED or any(len(name) > CACHED for name in names):
            return self._text.kinds_of_columns([name for name in names if len(name) <= CACHED])
        return self._kinds_of(names)

    def token(self, kind: str, tree: Any, *, guessed: bool = False) -> Any:
        """The token of a value that stands in a column of that kind; the value itself where it says nothing."""
        value = PrivateValue(kind, tree, guessed)
        if not is_private_value(kind, value.text):
            return tree
        self._learn(value)
        return self.values.token(value)

    def tokens_in(self, text: str) -> Iterator[tuple[int, int, PrivateValue]]:
        return self.values.tokens_in(text)

    def hide_text(self, text: str, *, guessed: bool = False, steady: bool = False) -> str:
        """The text with tokens instead of what is private in it. `steady`: the same at any time of the session."""
        if len(text) < 3 or guessed or len(text) > CACHED:
            return text if len(text) < 3 else self._hidden_text(text, guessed, steady)
        return self._hide_short(text) if not self._known else self._hidden_text(text)

    def _hidden_text(self, text: str, guessed: bool = False, steady: bool = False) -> str:
        tokens = [(start, end) for start, end, _ in self.tokens_in(text)]
        spans = self._spans(text, 0, len(text))
        if tokens:
            spans += [one for start, end in beside(spans, tokens) for one in self._spans(text, start, end)]
        spans = without_overlaps(spans if steady else [*spans, *self._known.spans(text)], tokens)
        return self._replaced(text, spans, guessed)

    def hide_known(self, text: str) -> str:
        """The text with tokens instead of the values that a column has told of, and of no others."""
        tokens = [(start, end) for start, end, _ in self.tokens_in(text)]
        return self._replaced(text, without_overlaps(list(self._known.spans(text)), tokens), False)

    def _replaced(self, text: str, spans: Sequence[Span], guessed: bool) -> str:
        parts: list[str] = []
        done = 0
        for start, end, kind in spans:
            parts += [text[done:start], str(self.token(kind, text[start:end], guessed=guessed))]
            done = end
        return "".join([*parts, text[done:]]) if parts else text

    def _spans(self, text: str, start: int, end: int) -> list[Span]:
        return [(start + one.start, start + one.end, one.kind) for one in self._text.spans(text[start:end])]

    # packed values

    def hide(
        self, packed: Packed, field_names: FieldNames, kind: str | None = None, row: tuple[str, ...] = ()
    ) -> Packed:
        """With tokens. `kind`: what the whole of it is known to be; `row`: the columns of tuples in it."""
        before = len(self._known)
        hidden = TreeHider(self, packed, field_names).hidden(kind, row)
        if len(self._known) == before:
            return hidden
        return TreeHider(_Learned(self), hidden, field_names).hidden()  # what stood before the column that names it

    def hide_guessed(self, packed: Packed, field_names: FieldNames, *, arguments: bool = False) -> Packed:
        """The same of what guest code had by itself: a value, or the arguments of a call."""
        hider = TreeHider(_Guesses(self, steady=arguments), packed, field_names, of_guest=True)
        return _of_a_guest(hider.arguments if arguments else hider.hidden)

    def reveal(self, packed: Packed, kinds: Kinds) -> tuple[Packed, set[str]]:
        """With the values of tokens of these kinds, and the kinds of the tokens that are left."""
        if not self.values:
            return packed, set()
        revealer = TreeRevealer(self, packed, allows(kinds))
        return _of_a_guest(revealer.revealed), revealer.left

    def reveal_value(self, value: Any, kinds: Kinds = True) -> Any:
        """For people: a value of the host, with the values of the tokens in it."""
        what: Any = type_of(value)
        if what is str:
            return plain_value(self.reveal(Packed(value, []), kinds)[0].tree)
        if what in (list, tuple, set, frozenset):
            return cast(Any, what)([self.reveal_value(item, kinds) for item in value])
        if what is dict:
            return {self.reveal_value(key, kinds): self.reveal_value(part, kinds) for key, part in value.items()}
        if is_dataclass(what):
            parts = {one.name: getattr(value, one.name) for one in fields(what) if one.init}
            return replace(value, **{name: self.reveal_value(part, kinds) for name, part in parts.items()})
        if hasattr(what, "model_copy"):
            return value.model_copy(update={name: self.reveal_value(part, kinds) for name, part in value})
        return value

    def hide_value(self, value: Any) -> Any:
        """Plain data of the host, as JSON has it, with tokens."""
        return plain_value(self.hide(Packer(plain).packed(value), lambda number: ()))

    def reveal_text(self, text: str, kinds: Kinds = True) -> str:
        """For people: the text with the values of its tokens."""
        return TreeRevealer(self, Packed(None, []), allows(kinds)).text(text)

    def restore(self, token: str, value: PrivateValue) -> None:
        """Take in a token of an earlier process."""
        self.values.restore(token, value)
        self._learn(value)

    def _learn(self, value: PrivateValue) -> None:
        if value.kind in SEARCHED or value.kind not in KINDS:
            self._known.add(value.text, value.kind)


def _nothing() -> None:
    """There is no journal to write to."""


def plain_value(packed: Any) -> Any:
    """A packed value without objects as a value of Python."""
    packed = packed if isinstance(packed, Packed) else Packed(packed, [])

    def other(tag: str, body: Any, unpacker: Unpacker) -> Any:
        raise WireError(f"a value of the kind {tag!r:.20}")

    return Unpacker(packed.blobs, other, Bounds()).unpack(packed.tree)


def _of_a_guest(read: Callable[[], Packed]) -> Packed:
    """What `read` makes of what a guest sent: it may be of no known form."""
    try:
        return read()
    except WireError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError):
        raise WireError("a value of no known form") from None


class _Learned:
    """Finds the values alone that a session has just learned of."""

    def __init__(self, privacy: SessionPrivacy) -> None:
        self.hide_text = privacy.hide_known
        self.token = privacy.token
        self.tokens_in = privacy.tokens_in

    def kinds_of(self, names: tuple[str, ...]) -> Mapping[str, str]:
        return {}


class _Guesses:
    """The same for values that guest code had by itself. `steady`: a resumed session makes the same calls again."""

    def __init__(self, privacy: SessionPrivacy, *, steady: bool) -> None:
        self._privacy = privacy
        self._steady = steady
        self.kinds_of = privacy.kinds_of
        self.tokens_in = privacy.tokens_in

    def token(self, kind: str, tree: Any) -> Any:
        return self._privacy.token(kind, tree, guessed=True)

    def hide_text(self, text: str) -> str:
        return self._privacy.hide_text(text, guessed=True, steady=self._steady)


def beside(spans: Sequence[Span], taken: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The pieces beside what is taken, of the spans that have something of it in them."""
    ends = [end for _, end in taken]
    for start, end, _ in spans:
        at = bisect_right(ends, start)
        piece = start
        while at < len(taken) and taken[at][0] < end:
            yield piece, max(taken[at][0], piece)
            piece = taken[at][1]
            at += 1
        if start < piece < end:
            yield piece, end


def without_overlaps(spans: Sequence[Span], taken: Sequence[tuple[int, int]]) -> list[Span]:
    """In order; of those that overlap the longer, and none over what is taken."""
    chosen: list[Span] = []
    blocked = sorted(taken)
    at = 0
    for span in sorted(spans, key=lambda one: (one[0], -one[1])):
        while at < len(blocked) and blocked[at][1] <= span[0]:
            at += 1
        if at < len(blocked) and blocked[at][0] < span[1]:
            continue
        if chosen and span[0] < chosen[-1][1]:
            if span[1] - span[0] > chosen[-1][1] - chosen[-1][0]:
                chosen[-1] = span
            continue
        chosen.append(span)
    return chosen
