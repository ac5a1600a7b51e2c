"""`Record`: an object of an API as both sides have it. What came as JSON, with the fields of its schema as attributes.

A field that the schema has and the object lacks is None; a key that the schema does not have can be read as well. The
host makes a class for each schema, and the guest one of its own from the description. It knows no schemas.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from cellwright_guest.methods import dress
from cellwright_guest.packer import Packer

_SHOWN = 12


class Record:
    """Reads as an object (`issue.title`) and as the JSON that it was (`issue["title"]`, `"title" in issue`)."""

    __slots__ = ("__dict__", "__weakref__", "_via")
    _fields: ClassVar[Mapping[str, str]] = {}  # each attribute of the schema with its key in JSON
    _names: ClassVar[Mapping[str, str]] = {}  # each key whose attribute has another name, with that name
    _via: Mapping[str, Any]  # the arguments of the call that it came from, for its methods

    @classmethod
    def _of(cls, data: Mapping[str, Any], via: Mapping[str, Any] | None = None) -> Any:
        """The record of a JSON object."""
        names = cls._names
        return build(cls, {names.get(key, key): value for key, value in data.items()} if names else data, via)

    def _json(self) -> dict[str, Any]:
        """The keys and values as they came; records inside stay records. Not called as `self._json`: a key may be."""
        fields = type(self)._fields
        return {fields.get(name, name): value for name, value in self.__dict__.items()}

    def __getattr__(self, name: str) -> Any:
        if name in type(self)._fields:
            return None
        if name.startswith("_"):
            raise AttributeError(name)
        known = [*type(self)._fields, *(n for n in self.__dict__ if n not in type(self)._fields)]
        near = difflib.get_close_matches(name, known, 1) or known[:_SHOWN]
        more = ", …" if len(near) == _SHOWN < len(known) else ""
        hint = f"did you mean {near[0]!r}?" if len(near) == 1 < len(known) else f"it has {', '.join(near)}{more}"
        raise AttributeError(f"{type(self).__name__!r} has no field {name!r}; {hint}")

    def __getitem__(self, key: str) -> Any:
        return self.__dict__[type(self)._names.get(key, key)]

    def get(self, key: str, default: Any = None) -> Any:
        return self.__dict__.get(type(self)._names.get(key, key), default)

    def keys(self) -> Any:
        return Record._json(self).keys()

    def values(self) -> Any:
        return Record._json(self).values()

    def items(self) -> Any:
        return Record._json(self).items()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, all the way down."""
        return {key: plain(inner) for key, inner in Record._json(self).items()}

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and type(self)._names.get(key, key) in self.__dict__

    def __iter__(self) -> Iterator[str]:
        return iter(Record._json(self))

    def __len__(self) -> int:
        return len(self.__dict__)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Record):
            return type(other) is type(self) and self.__dict__ == other.__dict__
        return Record._json(self) == other if isinstance(other, dict) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  it can be changed, as a dict can

    def __reduce_ex__(self, protocol: Any) -> Any:
        return build, (type(self), dict(self.__dict__), dict(self._via))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({inside})"


def build(cls: Any, attributes: Mapping[str, Any], via: Mapping[str, Any] | None = None) -> Any:
    """A record by its attributes."""
    made = object.__new__(cls)
    object.__setattr__(made, "_via", via or {})
    made.__dict__.update(attributes)
    return made


def class_fields(fields: Mapping[str, str]) -> dict[str, Any]:
    """What a record's class knows of its schema. A field called as a method of `Record` is None where it is absent."""
    absent = dict.fromkeys(name for name in fields if name in Record.__dict__)
    return {**absent, "_fields": dict(fields), "_names": {key: name for name, key in fields.items() if name != key}}


def parts(record: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a record is built from: its attributes, and where it came from."""
    return record.__dict__, dict(record._via)


def plain(value: Any) -> Any:
    """JSON data with dicts instead of records."""
    if isinstance(value, Record):
        return Record.to_dict(value)
    if issubclass(type(value), dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if issubclass(type(value), list) else value


# in the guest


def make_class(world: Any, number: int, about: dict[str, Any]) -> Any:
    """The guest's class for a record of the host. Its methods are calls of the upstream that the scope has as root."""
    fields: dict[str, str] = about["fields"]
    namespace: dict[str, Any] = {
        "__slots__": (),
        "__doc__": about["doc"],
        "__module__": about["module"],
        "_cellwright_class": number,
        **class_fields(fields),
    }
    for name, path, fill, signature, doc in about["methods"]:
        namespace[name] = made = _method(world, about["root"], path, fill)
        dress(made, f"{about['name']}.{name}", signature, doc)
    return type(about["name"], (Record,), namespace)


def _method(world: Any, root: str, path: str, fill: dict[str, list[str]]) -> Callable[..., Any]:
    def called(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        target = world.bound[root]
        for part in path.split("."):
            target = getattr(target, part)
        known: dict[str, Any] = {"field": self, "via": self._via}
        given = {name: _dug(known[source], keys) for name, (source, *keys) in fill.items()}
        missing = next((name for name, value in given.items() if value is None and name not in kwargs), None)
        if missing is not None:
            kind = type(self).__name__
            raise TypeError(f"this {kind} does not say its {missing!r}; give it: {missing}=…, or call {path} itself")
        return target(*args, **given | kwargs)

    return called


def _dug(data: Any, keys: list[str]) -> Any:
    """The value below one key after another: the `login` of a repository's `owner`."""
    for key in keys:  # not by `get`, which may be a field of the record
        data = data[key] if issubclass(type(data), (Record, dict)) and key in data else None
    return data


def pack(number: int, value: Record, packer: Packer) -> Any:
    """A record on its way to the other side: its attributes, and where it came from."""
    return {"o": [number, [packer.pack(part) for part in parts(value)]]}


def readable_by_json() -> None:
    """From here on `json.dumps` takes records, as the objects that they are."""
    usual = json.JSONEncoder.default

    def default(self: json.JSONEncoder, o: Any) -> Any:
        # not by `items()`: the API may have a field of that name
        return Record._json(o) if isinstance(o, Record) else usual(self, o)  # pyright: ignore[reportPrivateUsage]  its own

    json.JSONEncoder.default = default
