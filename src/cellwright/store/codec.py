"""Rows as text, and back: each class by its fields. A store keeps the text, PostgreSQL's too; an export writes it out.

A row is a JSON list of its fields in a fixed order, or an object of them by name. Large parts are set aside by the
digest of their content. Nothing here knows where these are kept. Types are checked as the class declares them: what is
read may be a stranger's.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from types import UnionType
from typing import Any, Generic, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from cellwright.errors import JournalFailed
from cellwright.store.rows import (
    CellRow,
    Checkpoint,
    Decision,
    Facts,
    Message,
    Note,
    Question,
    TurnRow,
)
from cellwright.store.stored_values import (
    Fetch,
    Large,
    base64_of,
    digest_of,
    dumps,
    pack,
    unpack,
)
from cellwright_guest.wire import Packed

T = TypeVar("T")
Body = str | bytes
Put = Callable[[Any, Any], Any]  # a value as JSON; the second argument takes what is set aside
Get = Callable[[Any, Fetch], Any]  # the value of JSON


def checked(digest: str, content: bytes) -> bytes:
    """The content, when it is what its digest says."""
    if digest_of(content) != digest:
        raise damaged(digest)
    return content


def damaged(digest: str) -> JournalFailed:
    return JournalFailed(f"blob {digest} of the journal is damaged: its content is not what was written")


@contextmanager
def decoding(session: str) -> Generator[None]:
    """Columns that no journal wrote are reported as damage, not as errors of this module."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise JournalFailed(f"a row of session {session!r} is damaged: {error}") from error


# Values: what a field holds as JSON, by its declared type.


class Packing(NamedTuple):
    """How packed values are written. Stores and exports set large parts aside under different conditions."""

    put: Put
    get: Get


STORED = Packing(pack, unpack)


def _unpack_at_once(part: dict[str, Any], fetch: Fetch) -> Packed:
    return Packed(*unpack(part, fetch))


AT_ONCE = Packing(pack, _unpack_at_once)  # what is large is read with the row


def bytes_of(text: Any, _: object = None) -> bytes:
    """What `base64_of` was given."""
    try:
        if type(text) is str:
            return base64.b64decode(text, validate=True)
    except binascii.Error:
        pass
    raise ValueError("no base64")


def _put_plain(value: Any, _: object) -> Any:
    return value


def value_codec(hint: Any, packing: Packing) -> tuple[Put, Get]:
    """How values of a declared type are written and read."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Packed:
        return packing
    if hint is bytes:
        return base64_of, bytes_of
    if is_dataclass(hint):  # small ones, inside a row: a list of their fields
        inner = Codec(cast("type[Any]", hint), packing=packing)
        return inner.tree, inner.of_tree
    if origin is tuple:
        return _tuple_codec([value_codec(each, packing) for each in args if each is not ...], many=args[-1] is ...)
    if origin in (Union, UnionType) and Packed in args:
        put, get = packing
        return (lambda value, large: value and put(value, large)), (
            lambda tree, fetch: None if tree is None else get(tree, fetch)
        )
    return _put_plain, _plain_reader(hint)


def _plain_reader(hint: Any) -> Get:
    origin, args = get_origin(hint), get_args(hint)
    choices = frozenset(args) if origin is Literal else None
    kinds = tuple(args) if origin in (Union, UnionType) else (origin or hint,)
    kinds = (*kinds, int) if float in kinds else kinds
    texts = hint == dict[str, str]

    def get(tree: Any, _: object) -> Any:
        if tree not in choices if choices is not None else type(tree) not in kinds:
            raise ValueError("a field of another type")
        if texts and not all(type(text) is str for text in tree.values()):
            raise ValueError("a field of another type")
        return tree

    return get


def _tuple_codec(codecs: Sequence[tuple[Put, Get]], *, many: bool) -> tuple[Put, Get]:
    def put(value: Any, large: Any) -> Any:
        if all(each is _put_plain for each, _ in codecs):
            return value
        return [each(item, large) for (each, _), item in _pairs(value)]

    def get(tree: Any, fetch: Fetch) -> Any:
        if type(tree) is not list:
            raise ValueError("a field of another type")
        return tuple([each(item, fetch) for (_, each), item in _pairs(tree)])

    def _pairs(items: Any) -> Iterable[tuple[tuple[Put, Get], Any]]:
        return ((codecs[0], item) for item in items) if many else zip(codecs, items, strict=True)

    return put, get


# Rows: all the fields of a class.


def filler(cls: type[T], names: Sequence[str]) -> Callable[[Iterable[Any]], T]:
    """Makes a value of these fields, in this order; the others are as usual.

    A frozen class itself sets each field by a call that looks up its name, which takes three times as long.
    """
    new: Callable[[type[T]], T] = object.__new__
    puts: list[Callable[[T, Any], None]] = [getattr(cls, name).__set__ for name in names]
    usual = [(getattr(cls, name).__set__, value) for name, value in _usual(cls).items() if name not in names]

    def fill(values: Iterable[Any]) -> T:
        instance = new(cls)
        for put, value in zip(puts, values, strict=True):
            put(instance, value)
        for put, value in usual:
            put(instance, value())
        return instance

    return fill


def _usual(cls: type[Any]) -> dict[str, Callable[[], Any]]:
    """What gives the default of each field that has one."""
    return {
        field.name: field.default_factory if field.default_factory is not MISSING else lambda field=field: field.default
        for field in fields(cls)
        if field.default is not MISSING or field.default_factory is not MISSING
    }


def _nothing_aside(digest: str) -> bytes:
    raise KeyError(digest)


class Codec(Generic[T]):
    """The values of one class as JSON.

    names    the fields in the order in which they are written; all fields where none are named
    keys     fields that the reader knows from elsewhere, such as columns
    large    fields whose content may be large, and is then set aside
    by_name  an object, and not a list
    optional fields that older rows lack; of a list the last ones
    sparse   the same, without the fields that are as usual
    """

    def __init__(
        self,
        cls: type[T],
        names: str = "",
        *,
        keys: str = "",
        large: str = "",
        by_name: bool = False,
        optional: str = "",
        sparse: bool = False,
        packing: Packing = STORED,
    ) -> None:
        hints = get_type_hints(cls)
        self.names = tuple(names.split()) or tuple(field.name for field in fields(cast("Any", cls)))
        self._codecs = {name: value_codec(hints[name], packing) for name in self.names}
        for name in large.split():
            self._codecs[name] = _large_codec(*self._codecs[name])
        self._usual = _usual(cls)
        self._by_name, self._sparse = by_name or sparse, sparse
        self._optional = set(self._usual) & set(self.names) if sparse else set(optional.split())
        self._fill = filler(cls, (*keys.split(), *self.names))

    def tree(self, value: T, large: Any) -> Any:
        """A value as JSON. `large` takes what is set aside."""
        trees = {name: put(getattr(value, name), large) for name, (put, _) in self._codecs.items()}
        if self._sparse:
            trees = {name: tree for name, tree in trees.items() if not self._is_usual(value, name)}
        return trees if self._by_name else list(trees.values())

    def of_tree(self, tree: Any, fetch: Fetch, keys: Sequence[Any] = ()) -> T:
        """The value that `tree` was given. `ValueError` or another for what no value gave."""
        if not self._by_name:
            if type(tree) is not list:
                raise ValueError("a row of another shape")
            items = cast("list[Any]", tree)
            absent = [name for name in self.names[len(items) :] if name in self._optional]
            pairs = zip(
                (self._codecs[name] for name in self.names[: len(self.names) - len(absent)]), items, strict=True
            )
            given = [get(item, fetch) for (_, get), item in pairs]
            return self._fill((*keys, *given, *(self._usual[name]() for name in absent)))
        if type(tree) is not dict or not cast("set[object]", tree.keys()) <= self._codecs.keys():
            raise ValueError("a row of another shape")
        given = cast("dict[str, Any]", tree)
        if missing := self._codecs.keys() - given.keys() - self._optional:
            raise ValueError(f"a row without {', '.join(sorted(missing))}")
        gets = ((name, get) for name, (_, get) in self._codecs.items())
        values = [get(given[name], fetch) if name in given else self._usual[name]() for name, get in gets]
        return self._fill((*keys, *values))

    def _is_usual(self, value: T, name: str) -> bool:
        return name in self._usual and getattr(value, name) == self._usual[name]()

    def body(self, value: T, large: Large | None = None) -> str:
        return dumps(self.tree(value, {} if large is None else large))

    def of_body(self, body: Body, *keys: Any, fetch: Fetch = _nothing_aside) -> T:
        return self.of_tree(json.loads(body), fetch, keys)


def _large_codec(put: Put, get: Get) -> tuple[Put, Get]:
    """As a packed value, whose tree is set aside where it is large."""

    def put_large(value: Any, large: Large) -> Any:
        return pack(Packed(put(value, large), []), large)

    def get_large(part: Any, fetch: Fetch) -> Any:
        return get(part["tree"] if "tree" in part else unpack(part, fetch).tree, fetch)

    return put_large, get_large


FACTS = Codec(
    Facts,
    "created seed pins names made parent parent_cell parent_entry child_of agent imported import_key",
    keys="id",
    large="made",
    by_name=True,
    optional="parent_entry child_of agent imported import_key",
    packing=AT_ONCE,
)
CELLS = Codec(
    CellRow,
    "code status at before after tree pending undone value stdout error calls rung duration_s tree_after files",
    keys="number",
    large="code stdout error calls files",
    by_name=True,
    optional="tree_after files",
)
TURNS = Codec(
    TurnRow,
    "task answer opened status at cell asked data heard",
    keys="number",
    large="task answer opened data",
    optional="data heard",
)
NOTES = Codec(Note, large="text")
CHECKPOINTS = Codec(Checkpoint, "digest signature missing", keys="cell")
QUESTIONS = Codec(
    Question,
    "id session cell path operation arguments asked expires line digest why",
    keys="decision",
    optional="digest why",
)
DECISIONS = Codec(Decision)
MESSAGES = Codec(Message, "kind text who at", keys="number")
