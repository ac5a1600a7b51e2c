"""Limits of the operators that the host runs for guest code, checked before they run.

An operator of C code (`list * n`, `Fraction ** n`, `"%99999d" % x`, the `repr` of a tower of lists) holds the
interpreter's lock until it ends, and nobody can give it up: its operands are measured instead. What Python code of a
host object does with an operand is that object's own business.
"""

from __future__ import annotations

import decimal
import numbers
import re
from array import array
from collections import UserDict, UserList, UserString, deque
from collections.abc import Callable
from typing import Any

from cellwright.errors import CallLimit
from cellwright.scope.attributes import own_dict
from cellwright_guest.wire import NODES, type_of

LENGTH = NODES  # items of a result, and parts that an operator walks: as many as cross in one call
BITS = 1 << 17  # of a number: dividing takes the square of its length
MODULAR = 1 << 37  # bits of the exponent, times the square of those of the modulus
WIDTH = 100_000  # of a padded text, or digits
SHOWN = 50_000  # parts of a value whose text is made
HEAD = 1000  # rows of a frame that are looked at
SPEC = 10_000  # characters of a format
DIGITS = 4300  # of a text that becomes a number

_ARITHMETIC = "add sub mul truediv floordiv mod divmod pow lshift rshift and or xor".split()
_NUMBERS = re.compile(r"\d{5,}")
_TEXTS = (str, bytes, bytearray, UserString)
_PLAIN: tuple[type[Any], ...] = (list, tuple, dict, set, frozenset, deque)
_CONTAINERS: tuple[type[Any], ...] = (*_PLAIN, UserList, UserDict, array)
_SIZED = (*_TEXTS, *_CONTAINERS)
_ARRAYS = frozenset(("numpy", "pandas", "polars", "scipy", "torch", "xarray"))
_DICT: Any = dict
_SIDES: tuple[Callable[[Any], Any], ...] = (_DICT.keys, _DICT.values)
_INSIDE = (UserList, UserDict)  # keep their items in `data`


def _is(value: Any, kinds: Any) -> bool:
    return isinstance(value, kinds)  # without a type guard: the checker would make unknown items of an `Any`


def refuse(what: str, most: str) -> CallLimit:
    return CallLimit(f"{what} is refused: {most}; do it on a copy in the cell, or call a method of the object")


def check(value: Any, name: str, args: tuple[Any, ...]) -> None:
    """Raise `CallLimit` if the operator `name` of `value` would make, or walk, more than the host does for a guest."""
    measure = _CHECKS.get(name)
    if measure is not None:
        measure(value, args)


# how large an operand is


def _bits(value: Any) -> int:
    """The bits of a number, or of the numbers that an object of another class consists of."""
    kind = type_of(value)
    if kind is int:
        return value.bit_length()
    if kind in (float, bool, complex):
        return 64
    if _is(value, numbers.Rational):
        return int(value.numerator).bit_length() + int(value.denominator).bit_length()
    if _is(value, decimal.Decimal):
        return 4 * len(value.as_tuple().digits) + (abs(value.adjusted()) if value.is_finite() else 0)
    if _shape(value) is not None:
        return max(map(_bits, _objects(value)), default=64)
    return max((part.bit_length() for part in own_dict(value).values() if type_of(part) is int), default=64)


def _is_array(value: Any) -> bool:
    """Whether a library of arrays made its class: no attribute of another object is read."""
    return type_of(value).__module__.partition(".")[0] in _ARRAYS


def _shape(value: Any) -> tuple[int, ...] | None:
    """The shape of an array or a frame of a library that makes tables of a row and a column."""
    if not _is_array(value):
        return None
    shape: Any = getattr(value, "shape", None)
    return shape if _is(shape, tuple) and all(type_of(n) is int for n in shape) else None


def _objects(value: Any) -> list[Any]:
    """Elements of an array or a frame that are objects of Python, which its operators run one by one: the first."""
    if type_of(value).__module__.partition(".")[0] not in ("numpy", "pandas"):
        return []
    head: Any = value.head(HEAD) if hasattr(value, "head") else value
    flat: Any = head.to_numpy() if hasattr(head, "to_numpy") else head
    dtype: Any = getattr(flat, "dtype", None)
    return list(flat.ravel()[:SPEC]) if getattr(dtype, "kind", "") in ("O", "T") else []


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for length in shape:
        total *= length
    return total


def _parts(part: Any, sizes: dict[int, int]) -> int:
    """How many values C code meets on its way through a container, one that is met twice counted twice.

    `sizes` are those of the containers that were counted, by their ids: a tower of lists that hold the next one twice
    is counted at once.
    """
    if _is(part, _INSIDE):
        part = part.data
    if _is(part, array):
        return len(part)
    kind = next((kind for kind in _PLAIN if _is(part, kind)), None)  # its methods, not those of a subclass
    if kind is None:
        return 0
    if id(part) in sizes:
        return sizes[id(part)]
    sizes[id(part)] = 1  # of a cycle
    total: int = kind.__len__(part)
    for side in _SIDES if kind is dict else (kind.__iter__,):
        kinds = set(map(type_of, side(part)))
        if total <= LENGTH and any(issubclass(inner, _CONTAINERS) for inner in kinds):
            for item in side(part):
                total += _parts(item, sizes)
                if total > LENGTH:
                    break
        elif any(issubclass(inner, str) for inner in kinds):
            total += sum(len(item) for item in side(part) if _is(item, str)) >> 5
    sizes[id(part)] = total
    return total


# the operators


def _walk(value: Any, args: tuple[Any, ...], most: int = LENGTH) -> None:
    """Comparing, printing, hashing, finding: C code that goes through all of a container."""
    for operand in (value, *args):
        try:
            total = _parts(operand, {}) if _is(operand, _CONTAINERS) else 0
        except RecursionError:
            raise refuse("an operator on such values", "they are nested too deeply") from None
        if total > most:
            raise refuse("an operator on so many values", f"it would go through more than {most} of them")


def _compared(value: Any, args: tuple[Any, ...]) -> None:
    _walk(value, args)
    _arithmetic(value, args, "a comparison")


def _arithmetic(value: Any, args: tuple[Any, ...], what: str) -> None:
    for operand in (value, *args):
        if _bits(operand) > BITS:
            raise refuse(f"{what} of such a number", f"a number has at most {BITS} bits in an operator of the host")
    _arrays(value, args, what)


def _arrays(value: Any, args: tuple[Any, ...], what: str) -> None:
    """Broadcasting a column and a row makes a table; so does joining two series by labels that are not unique."""
    shapes = [shape for operand in (value, *args) if (shape := _shape(operand)) is not None]
    if len(shapes) < 2:
        return
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    made = _product(tuple(map(max, zip(*padded, strict=True))))
    indices = [getattr(operand, "index", None) for operand in (value, *args)]
    if not any(index is None or callable(index) or getattr(index, "is_unique", True) for index in indices):
        made = max(made, _product(tuple(shape[0] for shape in shapes)))
        made = made if indices[0] is not indices[1] else 0
    if made > max(LENGTH, *map(_product, shapes)):
        raise refuse(f"{what} of such arrays", f"its result would have {made} elements")


def _matmul(value: Any, args: tuple[Any, ...]) -> None:
    shapes = [shape for operand in (value, *args) if (shape := _shape(operand)) is not None]
    if len(shapes) == 2 and shapes[0] and shapes[1]:
        rows, columns = _product(shapes[0][:-1]), _product(shapes[1]) // max(shapes[1][-2:][0], 1)
        if rows * columns > max(LENGTH, *map(_product, shapes)):
            raise refuse("@ of such arrays", f"its result would have {rows * columns} elements")


def _joined(value: Any, args: tuple[Any, ...]) -> None:
    """`+` of sequences, `|` of dicts and sets."""
    if sum(len(operand) for operand in (value, *args) if _is(operand, _SIZED)) > LENGTH:
        raise refuse("joining so many values", f"the result would have more than {LENGTH} items")
    _arithmetic(value, args, "such an operator")


def _mul(value: Any, args: tuple[Any, ...]) -> None:
    for sequence, times in ((value, args[:1]), *((arg, (value,)) for arg in args)):
        if _is(sequence, _SIZED) and times and _is(times[0], int):
            made = len(sequence) * times[0]
            if made > LENGTH:
                raise refuse("* of a sequence", f"the result would have more than {LENGTH} items")
            return
    _arithmetic(value, args, "*")
    for array_of, times in ((value, args[:1]), *((arg, (value,)) for arg in args)):
        if times and _is(times[0], int) and (shape := _shape(array_of)) is not None:
            longest = max((len(text) for text in _objects(array_of) if _is(text, _SIZED)), default=0)
            if longest * times[0] * _product(shape) > LENGTH:
                raise refuse("* of such texts", f"the result would have more than {LENGTH} characters")
    if sum(map(_bits, (value, *args))) > 2 * BITS:
        raise refuse("* of such numbers", f"a number has at most {BITS} bits in an operator of the host")


def _item(value: Any, args: tuple[Any, ...]) -> None:
    """`array[[0, 0, 0, …]]` is as long as the list, and each item of it may be a row."""
    shape = _shape(getattr(value, "obj", value)) if _is_array(value) else None  # of `.iloc` and `.loc`
    for index in args if shape else ():
        parts: Any = index if _is(index, tuple) else (index,)
        picked = _product(tuple(len(part) for part in parts if _is(part, list) or _shape(part)))
        rows = max(shape[0], 1) if shape else 1
        if picked * (_product(shape or ()) // rows) > max(LENGTH, _product(shape or ())):
            raise refuse("[] with so many places", f"the result would have more than {LENGTH} elements")


def _pow(value: Any, args: tuple[Any, ...]) -> None:
    _arithmetic(value, args, "**")
    exponent, *modulus = args or (0,)
    if modulus and _is(modulus[0], int):
        if _bits(exponent) * _bits(modulus[0]) ** 2 > MODULAR:
            raise refuse("pow() with such a modulus", "the numbers are too long together")
        return
    of_objects = _shape(value) is None or bool(_objects(value))
    exact = _is(exponent, numbers.Rational) and of_objects and type_of(value) not in (float, complex)
    if exact and _bits(value) * abs(int(exponent)) > BITS:
        raise refuse("** with such an exponent", f"the result would have more than {BITS} bits")


def _rpow(value: Any, args: tuple[Any, ...]) -> None:
    for base in args[:1]:
        _pow(base, (value, *args[1:]))


def _lshift(value: Any, args: tuple[Any, ...]) -> None:
    _arithmetic(value, args, "<<")
    if any(_is(places, int) and places > BITS for places in args):
        raise refuse("<< by so many places", f"the result would have more than {BITS} bits")


def _rlshift(value: Any, args: tuple[Any, ...]) -> None:
    for operand in args[:1]:
        _lshift(operand, (value,))


def _mod(value: Any, args: tuple[Any, ...]) -> None:
    """`%` of a text is a format, and the guest may give either side of it."""
    for text in (value, *args):
        if _is(text, _TEXTS):
            _template(text)
            _walk(value, args, SHOWN)
            for operand in (value, *args):
                given = operand if _is(operand, tuple) else (operand,)
                if any(_is(width, int) and abs(width) > WIDTH for width in given) and b"*" in _raw(text):
                    raise refuse("% with such a width", f"a width is at most {WIDTH}")
    _arithmetic(value, args, "%")


def _raw(text: Any) -> bytes:
    return bytes(text) if _is(text, (bytes, bytearray)) else str(text).encode("utf-8", "surrogatepass")


def _template(text: Any) -> None:
    if len(text) > LENGTH:
        raise refuse("% of such a text", f"it has more than {LENGTH} characters")
    shown = text if _is(text, str) else str(text) if _is(text, UserString) else text.decode("latin-1")
    if any(int(digits[:20]) > WIDTH for digits in _NUMBERS.findall(shown)):
        raise refuse("a format with such a width", f"a width or precision is at most {WIDTH}")


def _format(value: Any, args: tuple[Any, ...]) -> None:
    for spec in args:
        if len(str(spec)) > SPEC:
            raise refuse("such a format", f"it has more than {SPEC} characters")
        _template(str(spec))
    _shown(value, args)


def _shown(value: Any, args: tuple[Any, ...]) -> None:
    """Digits of a long number are made in the square of their number."""
    _walk(value, (), SHOWN)
    if _bits(value) > BITS:
        raise refuse("the text of such a number", f"a number has at most {BITS} bits in an operator of the host")


def _round(value: Any, args: tuple[Any, ...]) -> None:
    _arithmetic(value, (), "round()")
    if any(_is(digits, int) and abs(digits) > SPEC for digits in args):
        raise refuse("round() to so many digits", f"it rounds to at most {SPEC}")


def _number(value: Any, args: tuple[Any, ...]) -> None:
    if _is(value, _TEXTS) and len(value) > DIGITS:
        raise refuse("such a text as a number", f"it has more than {DIGITS} digits")
    _arithmetic(value, args, "such a conversion")


def _named(name: str) -> Callable[[Any, tuple[Any, ...]], None]:
    return lambda value, args: _arithmetic(value, args, name)


_OWN = {"add": _joined, "or": _joined, "mul": _mul, "pow": _pow, "lshift": _lshift, "mod": _mod}
_REFLECTED = _OWN | {"pow": _rpow, "lshift": _rlshift}
_CHECKS: dict[str, Callable[[Any, tuple[Any, ...]], None]] = {
    **{f"__{name}__": _OWN.get(name) or _named(name) for name in _ARITHMETIC},
    **{f"__i{name}__": _OWN.get(name) or _named(name) for name in _ARITHMETIC},
    **{f"__r{name}__": _REFLECTED.get(name) or _named(name) for name in _ARITHMETIC},
    **{f"__{prefix}matmul__": _matmul for prefix in ("", "i", "r")},
    **{f"__{name}__": _walk for name in ("contains", "hash", "bytes")},
    **{f"__{name}__": _compared for name in "eq ne lt le gt ge".split()},
    **{f"__{name}__": _shown for name in ("repr", "str")},
    **{f"__{name}__": _number for name in "int float complex index trunc floor ceil abs neg pos invert".split()},
    "__getitem__": _item,
    "__format__": _format,
    "__round__": _round,
}
