"""Values over the boundary, on the host's side: what crosses by value, what by handle, what never.

Packing runs on the session's worker or on the loop: on the thread where the object may be touched.
"""

from __future__ import annotations

import asyncio
import collections
import enum
import functools
import inspect
import types
from collections.abc import Callable, Iterable
from typing import Any

from cellwright.doors import Answer, Call, Made
from cellwright.errors import CallLimit, CannotCross, NotPublic
from cellwright.scope import faults, frames, lost_objects
from cellwright.scope.classes import ATOMS, Classes, KnownClass, field_names, is_by_value, kind_of, record_names
from cellwright.scope.construction import from_fields
from cellwright.scope.function_rules import FunctionRules
from cellwright.scope.guest_functions import GuestFunction, GuestIterator, Lender
from cellwright.scope.handles import Handles
from cellwright.scope.members import FUNCTIONS, is_async
from cellwright.scope.parcels import Parcel, handles_in, type_key
from cellwright.scope.placement import Placed, PlaceOf
from cellwright.scope.presets import NEVER, machinery_of, never_crosses
from cellwright.scope.rules import Place
from cellwright.scope.signatures import doc, packed_signature
from cellwright.scope.verbs import is_told
from cellwright_guest import hints, json_records
from cellwright_guest.packer import TooLarge, simple
from cellwright_guest.unpacker import Other, Unpacker
from cellwright_guest.wire import NODES, Bounds, Packed, WireError, type_of

PATH_PARTS = 6
_PLAIN: tuple[type[Any], ...] = (str, int, float, bytes)
_DICTS = (collections.OrderedDict, collections.defaultdict, collections.Counter)
_NEVER = (*NEVER, types.ModuleType)
_ALIKE = (bool, int, float, complex, str, object)  # the same on both sides, also where the scope binds them


class Values:
    """Packs and unpacks for one session."""

    def __init__(
        self, handles: Handles, classes: Classes, lender: Lender, bounds: Bounds, place_of: PlaceOf = lambda value: None
    ) -> None:
        self.handles = handles
        self.classes = classes
        self.libraries: frozenset[str] = frozenset()  # of frames, that the guest has too
        self._lender = lender
        self._bounds = bounds
        self._functions = FunctionRules(classes.rules, handles)
        self._place_of = place_of  # the place of an object in another session
        self.guarded: Callable[[object], str] = lambda number: ""  # what speaks against giving it to host code

    # to the guest

    def answer(self, value: Any, path: str, keeps: bool, others: tuple[str, ...] = ()) -> Answer:
        """`value`, reached by `path`, for the guest. Its `made` is `confirmed` when the answer is sent.

        `others` are the paths of the same access from other paths of its object.
        """
        if simple(value):
            return Answer(value=Packed(value, []))
        parcel = Parcel(self._pack_other, path, keeps)
        parcel.others = others
        if type_of(value) is Placed:
            value, parcel.places = value.value, value.places
        packed = self._packed(parcel, value)
        if not parcel.made:
            return Answer(value=packed)
        return Answer(value=packed, made=tuple(parcel.made), kept=lost_objects.pack_kept(parcel.kept))

    def arguments(self, value: Any) -> tuple[Packed, tuple[Made, ...]]:
        """The arguments that host code gives to a function of the guest."""
        parcel = Parcel(self._pack_other, "callback")
        packed = self._packed(parcel, value)
        return packed, self.confirmed(parcel.made)

    def names(self, names: dict[str, tuple[Any, str]]) -> tuple[Packed, tuple[Made, ...]]:
        """The names that a guest begins with. Objects inside a bound value have the path that is given with it."""
        parcel = Parcel(self._pack_other, "")
        parcel.bound = True
        parcel.seen(names)
        tree: dict[str, Any] = {}
        for name, (value, path) in names.items():
            parcel.path = path
            tree[name] = parcel.pack(value)
        return Packed({"m": tree}, parcel.blobs), self.confirmed(parcel.made)

    def failed(self, error: BaseException, call: Call | None = None) -> Answer:
        """The answer for what a call raised. Takes long where the arguments are large."""
        parcel = Parcel(self._pack_other, "")
        named = [] if call is None else self._named_in(call)
        packed = Packed(faults.pack(error, self.classes, parcel, self._is_told, named), parcel.blobs)
        return Answer(value=packed, failed=True, made=tuple(parcel.made))

    def _named_in(self, call: Call) -> list[Any]:
        """The objects of a call: its target, the function behind its name, and those among its arguments."""
        entries = map(self.handles.find, {call.target, *handles_in(call.arguments.tree)})
        target = self.handles.find(call.target)
        function = None if target is None else inspect.getattr_static(target.value, call.name, None)
        return [*(entry.value for entry in entries if entry is not None), function]

    def _is_told(self, value: Any, name: str) -> bool:
        known = self.handles.known(value)
        place = Place(type_of(value).__name__, type_of(value)) if known is None else known.place
        return is_told(self.classes.rules, place, name)

    def described(self, number: object) -> Answer:
        """The description of a class, for a guest that has only its number."""
        known = self.classes.get(number)
        known.described = False
        parcel = Parcel(self._pack_other, "")
        tree = {"about": self.classes.reference(known, parcel)}
        return Answer(value=Packed(tree, parcel.blobs), made=tuple(parcel.made))

    def confirmed(self, made: Iterable[Made]) -> tuple[Made, ...]:
        """The objects and classes that nothing has announced yet. Called when they are sent: packing may be in vain."""
        fresh: list[Made] = []
        for item in made:
            entry = self.handles.find(item.number) or self.classes.find_number(item.number)
            if entry is not None and not entry.announced:
                entry.announced = True
                fresh.append(item)
        return tuple(fresh)

    def _packed(self, parcel: Parcel, value: Any) -> Packed:
        try:
            return parcel.packed(value)
        except RecursionError:
            raise CannotCross("the value is nested too deeply to cross") from None
        except TooLarge:
            most = f"{NODES} values or {Bounds().blob_bytes >> 20} MB"
            raise CallLimit(f"the value is too large to cross: more than {most}; ask for fewer at a time") from None

    def is_copied(self, value: Any) -> bool:
        """Whether an object that is no plain data still crosses by value: a frame, a number of numpy."""
        return self._by_value(value, Parcel(self._pack_other, "")) is not None

    def _pack_other(self, value: Any, packer: Parcel) -> Any:
        known = self.handles.known(value)
        if known is not None:
            if not known.bound and len(self.classes.rules):
                known.move(self._placed(known.place, value, (packer.path, *packer.others), packer))
            return self._handle(known.value, known.place, packer)
        if isinstance(value, GuestFunction | GuestIterator):
            home = self._lender.number_of(value)
            if home is not None:
                return {"g": home}
        if hints.is_expression(value):
            return self._expression(value, packer)
        if isinstance(value, type):
            return self._class(value, packer)
        if isinstance(value, BaseException):
            return faults.pack(value, self.classes, packer, self._is_told)
        by_value = self._by_value(value, packer)
        if by_value is not None:
            return by_value
        if isinstance(value, _NEVER) or never_crosses(type_of(value)):
            raise CannotCross(f"a {type(value).__name__} never crosses; bind what you need of it by name")
        if not packer.bound and (kind := machinery_of(value)):
            raise CannotCross(f"a method of a {kind.__name__} never crosses; bind it by name")
        place = packer.places.get(id(value)) or self._place_of(value)
        place = place or Place(step(packer.path, value), type_of(value))
        self.classes.require_known(place)
        return self._handle(value, self._placed(place, value, packer.others, packer), packer)

    def _placed(self, place: Place, value: Any, others: tuple[str, ...], packer: Parcel) -> Place:
        renew, packer.looked = not packer.looked, True  # no host code runs between two objects of one parcel
        return self.classes.rules.placed(place, value, others, renew=renew)

    def _by_value(self, value: Any, packer: Parcel) -> Any:
        kind = type_of(value)
        framed = frames.pack(value, packer, self.libraries)
        if framed is not None:
            return framed
        how = kind_of(kind)
        if how == "enum":
            return self._enum(value, packer)
        if how in ("object", "record", "model", "namedtuple"):
            place = Place(step(packer.path, value), kind)
            alone = how == "object" or (is_by_value(value) and not self.classes.hides_field(place))
            if alone and not self._asks(kind):
                return self._record_parts(value, how, place, packer)
        if isinstance(value, _PLAIN) and how == "handle":
            plain = next(k for k in _PLAIN if isinstance(value, k))
            return packer.pack(plain(value))
        if kind in _DICTS:
            return packer.pack(dict(value))
        if kind.__module__ == "numpy" and getattr(value, "shape", None) == () and hasattr(value, "item"):
            scalar = value.item()
            return packer.pack(scalar) if type(scalar) in ATOMS else None
        return None

    def _asks(self, kind: type) -> bool:
        """Whether building the class waits for a yes: a copy that comes back would be built without one."""
        known = self.classes.find(kind)
        return known is not None and bool(self.guarded(known.number))

    def _record_parts(self, value: Any, how: str, place: Place, packer: Parcel) -> Any:
        reference = self.classes.reference(self.classes.enter(place.kind, place), packer)
        if how == "object":
            parts: Any = json_records.parts(value)
        else:
            parts = value if how == "namedtuple" else [getattr(value, n) for n in field_names(place.kind)]
        packer.count(len(parts))
        return {"o": [*reference, [packer.pack(part) for part in parts]]}

    def _enum(self, value: enum.Enum, packer: Parcel) -> Any:
        known = self.classes.enter(type(value), Place(type(value).__name__, type(value)))
        is_member = value.name in type(value).__members__  # else a combination of flags, sent as its number
        return {"e": [*self.classes.reference(known, packer), value.name if is_member else value.value]}

    def _class(self, cls: Any, packer: Parcel) -> Any:
        named = hints.pack_named(cls)
        known = self.classes.find(cls)
        if named is not None and (known is None or not known.bound or cls in _ALIKE):
            return named
        if known is None:
            raise CannotCross(f"class {cls.__name__} is not in scope; bind it by name, or declare it")
        return {"c": self.classes.reference(known, packer)}

    def _expression(self, value: Any, packer: Parcel) -> Any:
        def number(cls: type) -> Any:
            known = self.classes.find(cls)
            return None if known is None else {"c": self.classes.reference(known, packer)}

        try:
            return hints.pack(value, number, packer)
        except TypeError as error:
            raise CannotCross(str(error)) from None

    def _handle(self, value: Any, place: Place, packer: Parcel) -> Any:
        known = self.handles.known(value)
        if known is None or not known.bound:  # the call of a bound one is refused
            self._functions.require_handed(value)
        held = self.handles.hold(value, place)
        if not held.announced:
            packer.made.append(Made(number=held.handle, path=held.place.path, kind=type_key(type_of(value))))
            if packer.keeps and held.handle not in packer.kept and lost_objects.is_revivable(type_of(value)):
                packer.kept[held.handle] = value.to_journal()
        if isinstance(value, (*FUNCTIONS, functools.partial, GuestFunction)):
            return {"f": [held.handle, _function_about(value)]}
        cls: Any = value if isinstance(value, types.ModuleType) else type_of(value)
        number, about = self.classes.reference(self.classes.enter(cls, held.place, by_handle=True), packer)
        return {"h": [held.handle, number, about]}

    # from the guest

    def unpack(self, packed: Packed, other: Other | None = None) -> Any:
        """A value of the guest. `other` reads what is not plain data, instead of `unpack_other`."""
        return Unpacker(packed.blobs, other or self.unpack_other, self._bounds).unpack(packed.tree)

    def unpack_told(self, packed: Packed) -> Any:
        """A value that is only told, and given to no code: a record that its class does not accept is a dict."""

        def other(tag: str, body: Any, unpacker: Unpacker) -> Any:
            if tag != "o":
                return self.unpack_other(tag, body, unpacker)
            number, parts = _parts(body, 2)
            known, values = self._record(number), unpacker.values(parts)
            try:
                return from_fields(known, values)
            except (TypeError, ValueError):
                return dict(zip(record_names(known.value), values, strict=False))

        return self.unpack(packed, other)

    def unpack_given(self, packed: Packed, pattern: Callable[[], str]) -> Any:
        """A value for host code that may call what is in it. A function with a rule is refused: nobody would ask."""

        def other(tag: str, body: Any, unpacker: Unpacker) -> Any:
            if tag in ("h", "c") and (why := self.guarded(body)):
                receiver = pattern()
                how = f"scope.declare({receiver!r}, takes_guarded=True) allows that" if receiver else "call it yourself"
                raise NotPublic(f"{why}; {receiver or 'host code'} would call it past that rule: {how}")
            return self.unpack_other(tag, body, unpacker)

        return self.unpack(packed, other)

    def guest_function(self, body: Any) -> Any:
        """What a guest function in a packed value is like. Not to be called, nor kept: the guest does not count it."""
        return self._lender.described(*_parts(body, 3))

    def unpack_other(self, tag: str, body: Any, unpacker: Unpacker) -> Any:
        match tag:
            case "h":
                value = self.handles.get(body).value
                self._functions.require_argument(value)
                return value
            case "c":
                return self._buildable(body).value
            case "T":
                return hints.named(body)
            case "G":
                return hints.build(body, unpacker, called=False)
            case "o":
                number, values = _parts(body, 2)
                return from_fields(self._record(number), unpacker.values(values))
            case "e":
                number, name = _parts(body, 2)
                return self._member(self.classes.get(number), name)
            case "E":
                return faults.build(body, self.classes, unpacker)
            case "g":
                return self._lender.take(*_parts(body, 3))
            case "a":
                return frames.build(body, unpacker, self.libraries)
            case _:
                raise WireError(f"a value of the kind {tag!r:.20}")

    def _buildable(self, number: object) -> KnownClass:
        known = self.classes.get(number)
        if not known.buildable:
            how = "bind the class by name, or declare it in the scope"
            raise CannotCross(f"a {known.value.__name__} cannot be built by guest code: {how}")
        return known

    def _record(self, number: object) -> KnownClass:
        """A data class whose instances the guest was sent: it may send them back, and each field is checked."""
        known = self.classes.get(number)
        sent = known.described or known.announced
        if why := self.guarded(number):
            raise NotPublic(f"{why}, which a copy of one would go past: send an object that was built with it")
        return known if known.kind in ("record", "model", "namedtuple", "object") and sent else self._buildable(number)

    def _member(self, known: KnownClass, name: object) -> Any:
        if known.kind == "enum" and type(name) is str and name in known.value.__members__:
            return known.value.__members__[name]
        if known.kind == "enum" and type(name) is int and issubclass(known.value, enum.Flag):
            every = 0
            for member in known.value:
                every |= member.value
            if not name & ~every:  # an enum keeps each combination that was made of it for ever
                return known.value(name)
        raise WireError("an unknown member of an enum")


def step(path: str, value: Any) -> str:
    """The path of a call's result: kept short, because the guest decides how far it walks."""
    if path.count(".") < PATH_PARTS:
        return path
    return f"{path.partition('.')[0]}.{type(value).__name__}"


def _function_about(function: Any) -> dict[str, Any]:
    name = getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", "function")
    return {
        "name": str(name),
        "async": is_async(function),
        "signature": packed_signature(function),
        "doc": doc(getattr(function, "func", function)),
    }


def _parts(body: Any, count: int) -> list[Any]:
    if type_of(body) is not list or len(body) != count:
        raise WireError("a tag with the wrong parts")
    return body


def on_loop(value: Any) -> bool:
    """Whether an object belongs to the event loop, so that only the loop's thread may touch it."""
    top = type(value).__module__.partition(".")[0].lstrip("_")
    return top == "asyncio" or isinstance(value, (asyncio.Future, types.AsyncGeneratorType))
