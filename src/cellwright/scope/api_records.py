"""Classes of the objects that an API gives: one for each schema, made when the first object of the schema comes.

Each class has a name that is the same in every process, so that a resumed session finds it again. This module knows
neither schemas nor how an API is called.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from cellwright.scope.signatures import Signature
from cellwright_guest.json_records import Record, class_fields

RECORDS = "cellwright.records."


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordMethod:
    """An operation that can be called on a record: `issue.list_comments()` for `github.issues.list_comments(…)`.

    `fill` says where the operation's arguments come from: ("field", key), or one key below another, of the record, or
    ("via", name), an argument of the call that gave it.
    `signature` is what is left to give: `(*, since: str | None = None) -> Iterator[Comment]`.
    """

    path: str
    fill: Mapping[str, tuple[str, ...]]
    signature: Signature
    doc: str = ""


class Finder(Protocol):
    """Knows the record classes of one source, and makes each when it is asked for."""

    def record(self, name: str) -> type[Record] | None: ...


_FINDERS: weakref.WeakValueDictionary[str, Finder] = weakref.WeakValueDictionary()


def record_class(
    source: str,
    name: str,
    *,
    fields: Mapping[str, str],
    doc: str = "",
    methods: Mapping[str, RecordMethod] | None = None,
    root: Any = None,
) -> type[Record]:
    """The class of the objects of a schema. `fields`: each attribute with its key.

    Guest code has the methods if the connector's `root` is in its scope, for they are calls through it: the rules for
    an operation hold for the method too.
    """
    namespace: dict[str, Any] = {
        "__slots__": (),
        "__doc__": doc,
        "__module__": RECORDS + source,
        "__qualname__": name,
        **class_fields(fields),
        "_methods": dict(methods or {}),
        "_root": root,
    }
    return type(name, (Record,), namespace)


def find_records_with(source: str, finder: Finder) -> None:
    """Register who knows the record classes of a source. The last finder that is alive is asked."""
    _FINDERS[source] = finder


def find_record(module: str, name: str) -> type[Record] | None:
    """A record class by its name; None if its source is not open in this process."""
    finder = _FINDERS.get(module.removeprefix(RECORDS))
    return None if finder is None else finder.record(name)
