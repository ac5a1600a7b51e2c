"""The classes that a session's guest knows, by number; how each is described to it, and how its instances cross.

Numbers are negative, so that a class and a handle are never taken for each other.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import hashlib
import threading
import typing
from collections.abc import Callable, Iterable
from typing import Any, Literal

from cellwright.doors import Made
from cellwright.errors import CannotCross, StaleHandle
from cellwright.scope.distributions import package_of
from cellwright.scope.hidden_fields import secret_names, validators
from cellwright.scope.members import is_async, members, operators
from cellwright.scope.parcels import Parcel, find_type, type_key
from cellwright.scope.rules import Place, Rules
from cellwright.scope.signatures import doc, packed_signature
from cellwright_guest.json_records import Record
from cellwright_guest.wire import type_of

MIXINS = (str, int, float, bytes)  # types that the members of an enum may have, too
ATOMS = (type(None), bool, int, float, str, bytes, complex)
KEY = 200  # characters of a class's key
DEEPEST = 50  # of a value that crosses by value
_PLAIN_MODULES = ("datetime", "decimal", "uuid", "pathlib")
Kind = Literal["handle", "record", "model", "namedtuple", "object", "enum", "error"]


class KnownClass:
    """One class that the guest can name."""

    __slots__ = (
        *("abouts", "announced", "bound", "buildable", "described"),
        *("hints", "key", "kind", "number", "place", "value"),
    )

    def __init__(self, value: Any, number: int, kind: Kind, place: Place, key: str) -> None:
        self.value = value
        self.number = number
        self.kind = kind
        self.place = place
        self.key = key  # its name for other processes
        self.bound = False  # by name in the scope: its class methods and attributes may be used
        self.buildable = False  # the guest may make instances
        self.described = False  # its description has been sent
        self.announced = False  # in the `made` of an answer, or of the opening
        self.abouts: dict[Any, Any] = {}  # the facts of calls on it
        self.hints: dict[str, Any] | None = None  # the types of its fields, when they are first checked


class ImportedClass(StaleHandle):
    """A class that only an import says the guest was sent: nothing is built of it."""


class Classes:
    """The table of one session. `known` are the classes that an earlier process described to its guest."""

    def __init__(
        self, rules: Rules, known: Iterable[Made] = (), imported: Callable[[int], bool] = lambda number: False
    ) -> None:
        self.rules = rules
        self.hides_field = rules.hides_field
        self._imported = imported
        self._lock = threading.RLock()
        self._by_key: dict[Any, KnownClass] = {}
        self._by_number: dict[int, KnownClass] = {}
        self._waiting = {made.number: made for made in known if made.number < 0}  # not yet entered here
        self._next = min(self._waiting, default=0) - 1
        self.name_of: Callable[[Any], str] = lambda value: ""  # the name of a bound object in the scope

    def find_number(self, number: int) -> KnownClass | None:
        return self._by_number.get(number)

    def get(self, number: object) -> KnownClass:
        known = self._by_number.get(number) if type(number) is int else None
        if known is None and type(number) is int and number in self._waiting:
            known = self._again(self._waiting[number])
        if known is None:
            shown = f"{number!r:.40}" if type(number) is int else f"of a {type(number).__name__}"
            raise StaleHandle(f"class {shown} is not known to this session")
        return known

    def find(self, cls: Any) -> KnownClass | None:
        """The entry of a class that is in scope by name, or declared."""
        return self._by_key.get((cls, "named"))

    def enter(
        self, cls: Any, place: Place, *, bound: bool = False, buildable: bool = False, by_handle: bool = False
    ) -> KnownClass:
        """The entry of a class. A type that shows different members in different places has an entry for each place.

        A data class has two entries: its instances cross by value, and those that hold an object go `by_handle`.
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
                known.bound, known.described = True, False  # described again: the guest may use the class itself now
            if bound or buildable:
                known.buildable = True
                self._by_key.setdefault((cls, "named"), known)
            return known

    def _entry(self, cls: Any, kind: Kind, place: Place, hidden: tuple[str, ...]) -> KnownClass:
        named = f"{type_key(cls)}|{kind}" if isinstance(cls, type) else f"{cls.__name__}|module"
        names = ",".join(hidden)  # of a library's class hundreds: the rows of a journal name them by their hash
        key = f"{named}|{names if len(names) < KEY else hashlib.sha256(names.encode()).hexdigest()[:16]}"
        number = next((n for n, made in self._waiting.items() if made.kind == key), None)
        known = KnownClass(cls, self._next if number is None else number, kind, place, key)
        if number is None:
            self._next -= 1
        else:
            del self._waiting[number]
            known.announced = True
        self._by_number[known.number] = known
        return known

    def _again(self, made: Made) -> KnownClass | None:
        """Enter a class that the guest uses before this process did; never one that would have to be imported."""
        named, kind, _ = made.kind.split("|") if made.kind.count("|") == 2 else ("", "", "")
        cls = find_type(named)
        if cls is None or kind not in (kind_of(cls), "handle"):
            return None
        if (cls, "named") not in self._by_key and self._imported(made.number):
            raise ImportedClass(f"the class {cls.__name__} came with an import; first have the host send one of it")
        with self._lock:
            known = self.enter(cls, Place(made.path, cls), by_handle=kind == "handle")
            known.announced = True
            self._waiting.pop(made.number, None)
            return self._by_number.setdefault(made.number, known)  # if it hides other members now, it has two numbers

    def require_known(self, place: Place) -> None:
        """`CannotCross` for an object of a distribution that nothing is known of, where the binding is strict."""
        if self.rules.strict_binding and package_of(place.kind) and not self.rules.is_narrowed(place):
            package, line = package_of(place.kind), f'scope.declare("{place.kind.__name__}.*", only=[…])'
            raise CannotCross(
                f"a {place.kind.__name__} of {package} does not cross under strict_binding; {line} grants it"
            )

    def reference(self, known: KnownClass, parcel: Parcel) -> list[Any]:
        """The class as it is sent to the guest: its number, and the first time its description."""
        if not known.announced:
            parcel.made.append(Made(number=known.number, path=known.place.path, kind=known.key))
        with self._lock:
            if known.described:
                return [known.number, None]
            known.described = True
        return [known.number, self._about(known, parcel)]

    def _hidden(self, cls: type, place: Place) -> tuple[str, ...]:
        shown = members(cls).items()
        hidden = tuple(name for name, m in shown if not self._visible(place, name, m.kind == "property"))
        granted = self.rules.operators(place)
        return hidden if len(granted) == len(operators(cls)) else (*hidden, *set(operators(cls)).difference(granted))

    def _visible(self, place: Place, name: str, data: bool) -> bool:
        return self.rules.verdict(place, name, data=data).visible

    def _about(self, known: KnownClass, parcel: Parcel) -> dict[str, Any]:
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
        entries = (self._by_key.get((base, which)) for base in cls.__mro__ for which in ((), "named"))
        return sorted({known.number for known in entries if known is not None})

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
            [name, one.path, {k: list(v) for k, v in one.fill.items()}, one.signature.packed(), one.doc[:200]]
            for name, one in cls._methods.items()
        ]
        return {"fields": dict(cls._fields), "root": root, "methods": methods if root else []}

    def _handle_members(self, known: KnownClass) -> dict[str, Any]:
        methods: list[Any] = []
        properties: list[Any] = []
        place = known.place
        if not isinstance(known.value, type):  # a module: its functions, each with its own signature
            properties = [[name, ""] for name in self.rules.of_module(place, known.value)]
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
        special = list(self.rules.operators(place))
        if "__call__" in special and is_async(known.value.__call__):
            special[special.index("__call__")] = "async __call__"
        return {"methods": methods, "properties": properties, "operators": special}


def is_builtin(cls: Any) -> bool:
    return isinstance(cls, type) and getattr(builtins, cls.__name__, None) is cls


def is_model(cls: Any) -> bool:
    """Whether a class is a pydantic model; pydantic is not imported for it."""
    return hasattr(cls, "__pydantic_validator__") and hasattr(cls, "model_fields") and hasattr(cls, "model_validate")


def is_typed_dict(cls: Any) -> bool:
    """Whether a class is a `TypedDict`, of `typing` or of `typing_extensions`."""
    return isinstance(cls, type) and dict in cls.__mro__ and hasattr(cls, "__required_keys__")


def field_names(cls: Any) -> tuple[str, ...]:
    if is_model(cls):
        return tuple(cls.model_fields)
    return tuple(f.name for f in dataclasses.fields(cls))


def record_names(cls: Any) -> tuple[str, ...]:
    """The names of the fields of a data class, in the order in which they cross; none for what crosses otherwise."""
    kind = kind_of(cls)
    if kind in ("record", "model"):
        return field_names(cls)
    if kind == "object":  # its attributes, as a dict, and where it came from
        return ("*", "*")
    return tuple(cls._fields) if kind == "namedtuple" else ()


def type_hints(thing: Any) -> dict[str, Any]:
    """The evaluated annotations of a class or function; none if one of them is only for a type checker to read."""
    try:
        return typing.get_type_hints(thing)
    except (NameError, TypeError, AttributeError, ValueError, LookupError, ImportError, SyntaxError):
        return {}


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
    if secret_names(tuple(names)) or any(name.startswith("_") for name in names):
        return True
    skipped = names | set(inherited) | validators(cls)
    for base in cls.__mro__:
        if base is object or base is tuple or base.__module__.startswith("pydantic."):
            continue
        for name, raw in base.__dict__.items():
            if not name.startswith("_") and name not in skipped and (callable(raw) or hasattr(raw, "__get__")):
                return True
    return False


def is_by_value(value: Any, depth: int = 0, seen: set[int] | None = None) -> bool:
    """Whether a record holds only what crosses by value. A part that stands in several places is looked at once."""
    kind = type_of(value)
    if kind in ATOMS or depth > DEEPEST:
        return depth <= DEEPEST
    seen = set() if seen is None else seen
    if id(value) in seen:
        return True
    seen.add(id(value))
    if kind in (list, tuple, set, frozenset):
        return all(is_by_value(v, depth + 1, seen) for v in value)
    if kind is dict:
        return all(is_by_value(k, depth + 1, seen) and is_by_value(v, depth + 1, seen) for k, v in value.items())
    how = kind_of(kind)
    if how in ("record", "model"):
        # kept until the end: a property may make its value anew, and an id is only good while its object lives
        parts = [getattr(value, n, None) for n in field_names(kind)]
        return all(is_by_value(v, depth + 1, seen) for v in parts)
    if how == "object":
        return all(is_by_value(v, depth + 1, seen) for v in value.__dict__.values())
    if how == "namedtuple":
        return all(is_by_value(v, depth + 1, seen) for v in value)
    return how == "enum" or kind.__module__ in _PLAIN_MODULES or kind in (range, slice, bytearray)
