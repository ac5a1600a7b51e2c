"""The arguments of a call as text, for the person who is asked about it: all of them, plain, up to a bound.

The text is made from the tree that the call will be made with. Only plain data and frames are built from it, and no
code of a host object runs: who asks knows what is shown of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from cellwright.redaction import MASK
from cellwright.scope import ValueWriter, given_frame_text
from cellwright.short_texts import printable
from cellwright_guest.unpacker import Unpacker, simple_arguments
from cellwright_guest.wire import Bounds, Packed, WireError, type_of

LONGEST = 20_000  # characters
MOST = 1 << 26  # of them, where all is asked for: more than crosses in one call
CUT = "… [cut: there is more than is shown here]"
ARGUMENTS = 200  # that are shown
_FEW, _SHORT = 10, 64  # arguments; characters of a text, bits of a number
_DEPTH = 250  # beyond what crosses: only a list that holds itself is deeper

Name = Callable[[int], str]
"""What a host object (a number above zero) or a class (below) is called."""
Hides = Callable[[int | str], bool]


def arguments_text(
    arguments: Packed,
    name: Name,
    longest: int | None = LONGEST,
    *,
    functions: Name = lambda number: "",
    whole: bool = False,
    hides: Hides = lambda place: False,
) -> str:
    """`(7, to='ann')`, up to `longest` characters, of which a long argument leaves the others their part. Raises
    `WireError` for what no honest guest sends.

    `functions` gives more about a function of the guest. With `whole`, all rows of frames are told. Of what
    `hides` names, by its position or its keyword, only a mask is.
    """

    def other(tag: str, body: Any, unpacker: Unpacker) -> Any:
        if tag == "a" and (text := given_frame_text(body, unpacker, whole=whole)):
            return _StandIn(f"<{text}>")
        return _stand_in(tag, body, unpacker, name, functions)

    given = Unpacker(arguments.blobs, other, Bounds()).unpack(arguments.tree)
    if type_of(given) is not tuple:
        raise WireError("arguments that are not a tuple")
    room = MOST if longest is None else longest
    texts, more = _texts(given, room, hides)
    share = _share([len(text) for text in texts], room)
    shown = (printable(text) if len(text) <= share else printable(text[:share]) + CUT for text in texts)
    return f"({', '.join(shown)}{f', {CUT}' if more else ''})"


def atoms_text(arguments: Packed, hides: Hides = lambda place: False) -> str | None:
    """What `arguments_text` gives for a few arguments that are numbers and short texts; None for others, and where one
    of them is hidden.
    """
    simple = simple_arguments(arguments.tree)
    if simple is None or len(simple[0]) + len(simple[1]) > _FEW:
        return None
    args, kwargs = simple
    if any(map(hides, range(len(args)))) or any(map(hides, kwargs)):
        return None
    texts = [atom_text(value) for value in args]
    texts += [None if (text := atom_text(value)) is None else f"{_word(key)}={text}" for key, value in kwargs.items()]
    return None if None in texts else f"({', '.join(filter(None, texts))})"


def atom_text(value: Any) -> str | None:
    """A number, a truth or a short text as `arguments_text` writes it; None for any other value."""
    kind = type_of(value)
    if kind is str:
        return printable(repr(value)) if len(value) <= _SHORT else None
    plain = kind in (bool, float) or value is None or (kind is int and value.bit_length() <= _SHORT)
    return repr(value) if plain else None


def answer_text(value: Packed, name: Name, longest: int) -> str:
    """What the host gives the guest, as text: `Contact('ann', 7)`, up to about `longest` characters."""

    def other(tag: str, body: Any, unpacker: Unpacker) -> Any:
        parts = unpack_parts(tag, body, unpacker)
        match tag, body:
            case (("h" | "f" | "c"), [int(number), *_]):
                return _StandIn(f"<{name(number)}>")
            case "o", [int(number), *_]:
                return _StandIn(name(number), parts)
            case "e", [int(number), _, member]:
                return _StandIn(f"{name(number)}.{_word(member)}")
            case "E", [kind, *_, text]:
                return _StandIn(name(kind[0]) if type_of(kind) is list else str(kind), [text])
            case _:
                return _StandIn(f"<a {body[0]}>" if tag == "a" and type_of(body) is list else f"<{tag}>")

    made = Unpacker(value.blobs, other, Bounds()).unpack(value.tree)
    text = _start(_ArgumentWriter(longest).parts(made), longest)
    return printable(text if len(text) <= longest else text[:longest] + CUT)


def unpack_parts(tag: str, body: Any, unpacker: Unpacker) -> list[Any]:
    """The fields of what is no plain data, from either side. Later parts refer to values by number, and all that
    whoever builds it unpacks is among them.
    """
    match tag, body:
        case "o", [_, fields]:
            return unpacker.values(fields)
        case "o", [_, about, fields]:
            _unpack_members(about, unpacker)
            return unpacker.values(fields)
        case "e", [_, about, _]:
            _unpack_members(about, unpacker)
        case "E", [_, arguments, str(), text]:
            return [unpacker.unpack(arguments), unpacker.unpack(text)]
        case "E", [kind, arguments, attributes, _]:
            unpacker.values(arguments)
            _unpack_members(kind[-1] if type_of(kind) is list else None, unpacker)
            unpacker.unpack(attributes)
        case _:
            pass
    return []


def _unpack_members(about: Any, unpacker: Unpacker) -> None:
    for _, value in about.get("members", ()) if type_of(about) is dict else ():
        unpacker.unpack(value)


def _texts(given: tuple[Any, ...], room: int, hides: Hides) -> tuple[list[str], bool]:
    """Each argument, longer than its share where that is too long; and whether there are more arguments."""
    args: tuple[Any, ...] = given
    kwargs: dict[Any, Any] = {}
    if len(given) == 2 and type_of(given[0]) is tuple and type_of(given[1]) is dict:
        args, kwargs = given
    named = [("", MASK if hides(at) else value) for at, value in enumerate(args[:ARGUMENTS])]
    named += [(f"{_word(key)}=", MASK if hides(key) else value) for key, value in kwargs.items()]
    writer, texts, left = _ArgumentWriter(room), list[str](), 2 * room
    least = room // max(min(len(named), ARGUMENTS), 1)
    for name, value in named[:ARGUMENTS]:
        texts.append(_start(chain((name,), writer.parts(value)), max(min(room, left), least)))
        left -= len(texts[-1])
        writer.within.clear()  # of what was not written to its end
    return texts, len(args) + len(kwargs) > ARGUMENTS


def _start(parts: Iterator[str], most: int) -> str:
    """At most one character more than `most`."""
    texts = list[str]()
    for part in parts:
        texts.append(part[: most + 1])
        most -= len(part)
        if most < 0:
            break
    return "".join(texts)


def _share(lengths: list[int], room: int) -> int:
    """How long an argument may be, so that all fit in the room: short ones leave their rest to long ones."""
    share = room
    for left, length in zip(range(len(lengths), 0, -1), sorted(lengths), strict=True):
        share = room // left
        if length > share:
            break
        share, room = room, room - length
    return share


class _ArgumentWriter(ValueWriter):
    """A list that holds itself is written up to the bound: a person sees what the function would see."""

    LARGE_BITS = 4000

    def instead(self, value: Any, kind: type) -> str:
        return "…" if len(self.within) > _DEPTH else ""

    def inner(self, value: Any, kind: type) -> Iterator[str] | None:
        if kind is not _StandIn:
            return super().inner(value, kind)
        return iter((value.word,)) if value.fields is None else self.items(f"{value.word}(", value.fields, ")")


class _StandIn:
    """In the place of what is no plain data. Equal to itself alone: as a key it takes no other key's place."""

    __slots__ = ("fields", "word")

    def __init__(self, word: str, fields: list[Any] | None = None) -> None:
        self.word = word
        self.fields = fields


def _stand_in(tag: str, body: Any, unpacker: Unpacker, name: Name, functions: Name) -> _StandIn:
    parts = unpack_parts(tag, body, unpacker)
    match tag, body:
        case (("h" | "c"), int(number)):
            return _StandIn(f"<{name(number)}>")
        case "o", [int(number), _]:
            return _StandIn(name(number), parts)
        case "e", [int(number), (str() | int()) as member]:
            return _StandIn(f"{name(number)}.{_word(member)}")
        case "g", [int(number), str(), str(function)]:
            return _StandIn(f"<function {_word(function)}{functions(number)}>")
        case "E", [_, _, str(kind), _]:
            return _StandIn(f"<exception {_word(kind)}>", parts)
        case "a", [str(kind), *_]:
            return _StandIn(f"<a {_word(kind)}>")
        case "T" | "G", _:
            return _StandIn("<a type>")
        case _:
            raise WireError(f"a value of the kind {tag!r:.20}")


def _word(text: Any) -> str:
    """A name that the guest chose, so that it can be taken for nothing else."""
    if type_of(text) is str and all(part.isidentifier() for part in text.split(".")):
        return text[: LONGEST + 1]
    return repr(text[: LONGEST + 1] if type_of(text) is str else text) if type_of(text) in (str, int) else "?"
