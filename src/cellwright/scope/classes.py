"""The classes that a session's guest was told of, by number, and how each is described to it.

Numbers are negative, so that a class and a handle are never taken for each other.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import threading
from collections.abc import Callable, Iterable
from typing import Any, Literal

from cellwright.doors import Made
from cellwright.errors import StaleHandle
from cellwright.scope import heads, presets
from cellwright.scope.members import is_async, members, module_members, operators
from cellwright.scope.parcels import Parcel, find_type, type_key
from cellwright.scope.rules import Place, Rules
from cellwright.scope.signatures import doc, packed_signature
from cellwright_guest.objects import Record

MIXINS = (str, int, float, bytes)  # what an enum's members may be besides
Kind = Literal["handle", "record", "model", "namedtuple", "object", "enum", "error"]


class Known:
    """One class that the guest can name."""

    __slots__ = ("abouts", "bound", "buildable", "key", "kind", "listed", "number", "place", "told", "value")

    def __init__(self, value: Any, number: int, kind: Kind, place: Place, key: str) -> None:
        self.value = value
        self.number = number
        self.kind = kind
        self.place = place
        self.key = key  # names it for other processes
        self.bound = False  # by name in the scope: its class methods and attributes may be used
        self.buildable = False  # the guest may make instances
        self.told = False  # its description has been sent
        self.listed = False  # some answer, or the opening, said that it was made
        self.abouts: dict[Any, Any] = {}  # what the host found out about calls on it


class Classes:
    """The table of one session. `known` are classes that its guest was told of by an earlier process."""

    def __init__(self, rules: Rules, known: Iterable[Made] = ()) -> None:
        self._rules = rules
        self._lock = threading.RLock()
        self._by_key: dict[Any, Known] = {}
        self._by_number: dict[int, Known] = {}
        self._waiting = {made.number: made for made in known if made.number < 0}  # not entered here yet
        self._next = min(self._waiting, default=0) - 1
        self.name_of: Callable[[Any], str] = lambda value: ""  # what the scope calls a bound object

    def find_number(self, number: int) -> Known | None:
        return self._by_number.get(number)

    def get(self, number: object) -> Known:
        known = self._by_number.get(number) if type(number) is int else None
        if known is None and type(number) is int and number in self._waiting:
            known = self._again(self._waiting[number])
        if known is None:
            told = f"{number!r:.40}" if type(number) is int else f"of a {type(number).__name__}"
            raise StaleHandle(f"class {told} is not known to this session")
        return known

    def find(self, cls: Any) -> Known | None:
        """The entry of a class that is in scope by name, or declared."""
        return self._by_key.get((cls, "named"))

    def enter(
        self, cls: Any, place: Place, *, bound: bool = False, buildable: bool = False, by_handle: bool = False
    ) -> Known:
        """The entry of a class. A type that shows different members in different places has one entry for each.

        So has a data class whose instances cross by value, save those that hold an object: these go `by_handle`.
        """
        usual = kind_of(cls)
        kind = "handle" if by_handle else usual
        hidden = self._hidden(cls, place) if kind == "handle" and isinstance(cls, type) else ()
        key = (id(cls), "module") if not isinstance(cls, type) else (cls, hidden if kind == usual else (kind, *hidden))
        with self._lock:
            known = self._by_key.get(key)
            if known is None:
                known = self._by_key[key] = self._entry(cls, kind, place, hidden)
            if bound and not known.bound:
                known.bound, known.told = True, False  # told again: the guest may use the class itself from now on
            if bound or buildable:
                known.buildable = True
                self._by_key.setdefault((cls, "named"), known)
            return known

    def _entry(self, cls: Any, kind: Kind, place: Place, hidden: tuple[str, ...]) -> Known:
        named = f"{type_key(cls)}|{kind}" if isinstance(cls, type) else f"{cls.__name__}|module"
        key = f"{named}|{','.join(hidden)}"
        number = next((n for n, made in self._waiting.items() if made.kind == key), None)
        known = Known(cls, self._next if number is None else number, kind, place, key)
        if number is None:
            self._next -= 1
        else:
            del self._waiting[number]
            known.listed = True
        self._by_number[known.number] = known
        return known

    def _again(self, made: Made) -> Known | None:
        """A class that the guest uses before this process had a reason to enter it; never one that must be imported."""
        named, kind, _ = made.kind.split("|") if made.kind.count("|") == 2 else ("", "", "")
        cls = find_type(named)
        if cls is None or kind not in (kind_of(cls), "handle"):
            return None
        with self._lock:
            known = self.enter(cls, Place(made.path, cls), by_handle=kind == "handle")
            known.listed = True
            self._waiting.pop(made.number, None)
            return self._by_number.setdefault(made.number, known)  # hides other members now: one more number for it

    def reference(self, known: Known, parcel: Parcel) -> list[Any]:
        """The class on its way to the guest: its number, and its description the first time."""
        if not known.listed:
            parcel.made.append(Made(number=known.number, path=known.place.path, kind=known.key))
        with self._lock:
            if known.told:
                return [known.number, None]
            known.told = True
        return [known.number, self._about(known, parcel)]

    def _hidden(self, cls: type, place: Place) -> tuple[str, ...]:
        found = members(cls)
        return tuple(n for n, m in found.items() if not self._visible(place, n, m.kind == "property"))

    def _visible(self, place: Place, name: str, data: bool) -> bool:
        return self._rules.verdict(place, name, data=data).visible

    def _about(self, known: Known, parcel: Parcel) -> dict[str, Any]:
        cls = known.value
        module = str(getattr(cls, "__module__", "") or "")
        about: dict[str, Any] = {
            "kind": known.kind,
            "name": getattr(cls, "__name__", "module"),
            "module": "cellwright" if module.startswith("cellwright.") else module,
            "doc": doc(cls),
            "bound": known.bound,
            "ancestors": self._ancestors(cls),
            "signature": packed_signature(cls) if known.buildable else None,
        }
        match known.kind:
            case "record" | "model":
                params = getattr(cls, "__dataclass_params__", None)
                frozen = bool(params.frozen) if params else bool(cls.model_config.get("frozen"))
                about |= {"fields": list(field_names(cls)), "frozen": frozen, "eq": params.eq if params else True}
                about |= {"hash": bool(params and params.unsafe_hash), "order": bool(params and params.order)}
            case "namedtuple":
                about["fields"] = list(cls._fields)
            case "object":
                about |= self._object_members(cls)
            case "enum":
                about["base"] = enum_base(cls)
                about["mixin"] = next((k.__name__ for k in MIXINS if k in cls.__mro__), None)
                about["members"] = [[n, parcel.pack(m.value)] for n, m in cls.__members__.items()]
            case "error":
                about |= self._error_bases(cls, parcel)
            case _:
                about |= self._handle_members(known)
        return about

    def _ancestors(self, cls: Any) -> list[int]:
        if not isinstance(cls, type):
            return []
        found = (self._by_key.get((base, which)) for base in cls.__mro__ for which in ((), "named"))
        return sorted({known.number for known in found if known is not None})

    def _error_bases(self, cls: type, parcel: Parcel) -> dict[str, Any]:
        bases = [b for b in cls.__bases__ if issubclass(b, BaseException) and not is_builtin(b)]
        names = [b.__name__ for b in cls.__bases__ if is_builtin(b) and b is not object]
        place = Place("", cls)
        return {
            "bases": [self.reference(self.enter(b, place), parcel) for b in bases],
            "builtins": names if names or bases else ["Exception"],
        }

    def _object_members(self, cls: Any) -> dict[str, Any]:
        root = self.name_of(cls._root)
        methods = [
            [name, one.path, {k: list(v) for k, v in one.fill.items()}, heads.packed(one.head), one.doc[:200]]
            for name, one in cls._methods.items()
        ]
        return {"fields": dict(cls._fields), "root": root, "methods": methods if root else []}

    def _handle_members(self, known: Known) -> dict[str, Any]:
        methods: list[Any] = []
        properties: list[Any] = []
        place = known.place
        if not isinstance(known.value, type):  # a module: its functions, each with its own signature
            for name, value in module_members(known.value).items():
                if self._visible(place, name, not callable(value)):
                    properties.append([name, ""])
            return {"methods": [], "properties": properties, "operators": []}
        for name, member in members(known.value).items():
            if not self._visible(place, name, member.kind == "property"):
                continue
            if member.kind == "property":
                properties.append([name, doc(member.value, 200)])
                continue
            flags = ("a" if member.is_async else "") + ("c" if member.kind in ("class", "static") else "")
            signature = packed_signature(member.value, bound=member.kind != "static")
            methods.append([name, flags, signature, doc(member.value, 200)])
        found = list(operators(known.value))
        if "__call__" in found and is_async(known.value.__call__):
            found[found.index("__call__")] = "async __call__"
        return {"methods": methods, "properties": properties, "operators": found}


def is_builtin(cls: Any) -> bool:
    return isinstance(cls, type) and getattr(builtins, cls.__name__, None) is cls


def is_model(cls: Any) -> bool:
    """A pydantic model class, known without importing pydantic."""
    return hasattr(cls, "__pydantic_validator__") and hasattr(cls, "model_fields") and hasattr(cls, "model_validate")


def field_names(cls: Any) -> tuple[str, ...]:
    if is_model(cls):
        return tuple(cls.model_fields)
    return tuple(f.name for f in dataclasses.fields(cls))


def enum_base(cls: Any) -> str:
    for name in ("IntFlag", "Flag", "IntEnum", "StrEnum"):
        if issubclass(cls, getattr(enum, name)):
            return name
    return "Enum"


def kind_of(thing: Any) -> Kind:
    """How instances of a class cross."""
    if not isinstance(thing, type):
        return "handle"
    cls: type[Any] = thing
    if issubclass(cls, enum.Enum):
        return "enum"
    if issubclass(cls, Record):
        return "object"
    if issubclass(cls, BaseException):
        return "error"
    if tuple in cls.__mro__ and hasattr(cls, "_fields") and not _methods(cls, ("count", "index")):
        return "namedtuple"
    if is_model(cls) and not _methods(cls, ()):
        return "model"
    if dataclasses.is_dataclass(cls) and not _methods(cls, ()):
        return "record"
    return "handle"


def _methods(cls: Any, inherited: tuple[str, ...]) -> bool:
    """Whether a data class has public behaviour of its own, or fields that presets hide."""
    names = set(cls._fields) if hasattr(cls, "_fields") else set(field_names(cls))
    if any(name.lower() in presets.CREDENTIALS or name.startswith("_") for name in names):
        return True
    skipped = names | set(inherited) | _validators(cls)
    for base in cls.__mro__:
        if base is object or base is tuple or base.__module__.startswith("pydantic."):
            continue
        for name, raw in base.__dict__.items():
            if not name.startswith("_") and name not in skipped and (callable(raw) or hasattr(raw, "__get__")):
                return True
    return False


def _validators(cls: Any) -> set[str]:
    found = getattr(cls, "__pydantic_decorators__", None)
    groups = ("validators", "field_validators", "root_validators", "model_validators")
    return {name for group in groups for name in getattr(found, group, {})} | {"model_config"}
