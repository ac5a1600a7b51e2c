"""Frames for fuzzing: honest ones, honest ones with a few things changed, and bytes that were never frames."""

from __future__ import annotations

import copy
import json
import random
import struct
from typing import Any

from cellwright_guest.wire import type_of

TAGS = (
    "m",
    "d",
    "s",
    "F",
    "t",
    "r",
    "i",
    "S",
    "b",
    "B",
    "x",
    "h",
    "c",
    "o",
    "e",
    "E",
    "g",
    "a",
    "f",
    "T",
    "G",
    "stays",
    "",
    "zz",
)
EXTRAS = (
    "datetime date time timedelta timezone decimal uuid path complex range slice ellipsis notimplemented nothing"
).split()
VERBS = "call get set del dir op items new about await".split()
NAMES = (
    "echo add name fail call note notes paint each later _secret hidden api_key __class__ __len__ __getitem__ __add__ "
    "__iter__ __next__ __anext__ __aenter__ __exit__ __eq__ __hash__ __repr__ __format__ __contains__ __rmod__ mro "
    "gi_frame"
).split()
ATOMS: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        -2,
        -3,
        7,
        1.5,
        -0.0,
        float("nan"),
        float("inf"),
        1e308,
        2**31,
        2**63,
        -(2**64),
    ),
    *(10**40, 10**300, "", "x", "_secret", "\0", "\ud800", "😀", "a" * 1100, "2024-01-01", "2024-01-01T00:00:00+02:00"),
    *(
        "Europe/Oslo",
        "../../etc/passwd",
        "1E+999999",
        "sNaN",
        "00000000000000000000000000000000",
        "/etc",
        "%r",
        "{0}",
        "0x",
    ),
    *(
        "function",
        "async",
        "iterator",
        "async iterator",
        "ValueError",
        "SystemExit",
        "exec",
        "RED",
        "numpy.ndarray",
        "|O",
    ),
    *("<i8", "pandas.DataFrame", [], {}, [[]], [1, 2], {"t": []}, {"r": 0}, {"r": 1}, {"b": 0}, {"S": 0}, {"h": 1}),
)


def seeds() -> list[list[Any]]:
    """Honest messages of every kind, on objects as `sessions.scope` binds them."""
    calls: list[list[Any]] = [
        ["call", 1, "echo", {"t": [1, "x", {"m": {"a": [1, 2, {"r": 1}]}}]}],
        ["call", 1, "echo", {"t": [{"t": [{"x": ["decimal", "1.5"]}]}, {"m": {}}]}],
        ["call", 1, "echo", {"t": [{"d": [1, 2, {"t": [1]}, 3]}, {"s": [1, 2]}, {"F": ["a"]}]}],
        ["call", 1, "echo", {"t": [{"b": 0}, {"S": 1}, {"B": 2}]}],
        ["call", 1, "echo", {"t": [{"x": ["datetime", "2024-01-01T00:00:00", "Europe/Oslo", 0]}, {"h": 1}, {"c": -1}]}],
        ["call", 1, "echo", {"t": [{"x": ["range", 1, 5, 2]}, {"x": ["slice", 1, None, {"x": ["ellipsis"]}]}]}],
        ["call", 1, "echo", {"t": [{"a": ["numpy.ndarray", 0, "<i8", [2, 2]]}]}],
        ["call", 1, "call", {"t": [{"g": [1, "function", "f"]}, 1]}],
        ["call", 1, "later", {"t": [0.5]}],
        ["call", 1, "note", {"t": [{"o": [-1, ["title", [["a"], ["b"]], 3]]}]}],
        ["call", 1, "notes", {"t": [{"t": [[{"o": [-1, ["t", [], 1]]}]]}, {"m": {"more": True}}]}],
        ["call", 1, "paint", {"t": [{"e": [-2, "RED"]}]}],
        ["call", 1, "each", {"t": [5]}],
        ["call", 1, "fail", {"t": ["text"]}],
        ["call", 2, "", {"t": [1]}],
        ["get", 1, "name", {"t": []}],
        ["set", 1, "name", {"t": ["new"]}],
        ["del", 1, "extra", {"t": []}],
        ["dir", 1, "", {"t": []}],
        ["op", 1, "__len__", {"t": []}],
        ["op", 1, "__getitem__", {"t": [{"x": ["slice", 0, 1, None]}]}],
        ["op", 1, "__add__", {"t": [1]}],
        ["items", 3, "", {"t": []}],
        ["new", -1, "", {"t": [{"t": []}, {"m": {"title": "x", "rows": [["a"]], "stars": 2}}]}],
        ["about", -1, "", {"t": []}],
        ["await", 4, "", {"t": []}],
    ]
    made = [["c", 100 + i, 1, verb, target, name, [[9, 1]], tree] for i, (verb, target, name, tree) in enumerate(calls)]
    error = {"E": ["ValueError", ["x", 1], "ValueError", "x"]}
    made += [["k", 107], ["v", 1, 1, [1, 2]], ["v", 1, 0, error], ["d", 1, "value", [], {"m": {"a": 1}}]]
    told = {"type": "ValueError", "message": "x", "text": "x", "line": 1, "limit": None}
    return [*made, ["d", 1, "error", [], told], ["d", 1, "value", [], {"stays": ["T", "repr"]}]]


def journaled_seeds() -> list[list[Any]]:
    """The same of a guest whose session is journaled: calls have a path and a line, and there are more kinds."""
    made = [[*message, f"1#{100 + i}", 3] if message[0] == "c" else message for i, message in enumerate(seeds())]
    blocks: list[tuple[str, str, Any]] = [
        ("begin", "1+1", {"t": [False]}),
        ("begin", "1+1+2", {"t": [True]}),
        ("commit", "1+1+2", {"t": []}),
        ("undo", "1+1", {"t": []}),
        ("commit", "1+1", {"t": []}),
        ("begin", "1.1+1", {"t": [False]}),
    ]
    for i, (verb, name, tree) in enumerate(blocks):
        made.append(["c", 200 + i, 1, verb, 0, name, [], tree, f"{name}#{i + 1}", 5])
    made += [["c", 300 + i, 1, "sleep", 0, "", [], {"t": [0.0]}, f"1:timer#{i + 1}", 0] for i in range(3)]
    made += [["c", 310, 1, "call", 1, "pay", [], {"t": [1]}, "1+1#7", 2]]
    return made


SEEDS = seeds()
JOURNALED = journaled_seeds()
UNASKED: list[list[Any]] = [["p", ["name: why"]], ["l", ""], ["w"], ["r"]]
PATHS = (
    "1#1 1#2 1.1#1 1.2.3#4 1~1#1 1+1#1 1+1.1#2 1+1+2#1 1:timer#1 1!.1#1 1#1!1#1 !1#1 !2.1#1 0#1 2#1 1#1!1 !1 names#1 "
    "rollback 1 1# #1 1#0 01#1"
).split()
BLOBS = (b"1234567890123456" * 2, "text ä€😀".encode(), b"")


def spice(rng: random.Random, depth: int = 0) -> Any:
    """A value that stands where it should not, more or less."""
    kind = rng.randrange(10)
    if kind < 5 or depth > 3:
        return copy.deepcopy(rng.choice(ATOMS))
    if kind < 8:
        body = [spice(rng, depth + 1) for _ in range(rng.randrange(4))]
        tag = rng.choice(TAGS)
        if tag == "x" and rng.random() < 0.8:
            body.insert(0, rng.choice(EXTRAS))
        return {tag: body if rng.random() < 0.8 else spice(rng, depth + 1)}
    if kind == 8:
        return rng.choice((rng.choice(NAMES), rng.choice(VERBS), rng.randrange(-20, 20)))
    return [spice(rng, depth + 1) for _ in range(rng.randrange(4))]


def slots(tree: Any) -> list[tuple[Any, Any]]:
    """Every place in a tree: its container, and its index or key there."""
    found: list[tuple[Any, Any]] = []
    pending: list[Any] = [tree]
    while pending:
        one = pending.pop()
        kind = type_of(one)
        for key in range(len(one)) if kind is list else list(one) if kind is dict else ():
            found.append((one, key))
            pending.append(one[key])
    return found


def plausible(rng: random.Random) -> Any:
    """A value that might well stand there."""
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice((*NAMES, *VERBS, "value", "error", "a text"))
    if kind == 1:
        return rng.randrange(-6, 10)
    owner, key = rng.choice(slots(rng.choice(SEEDS)[-1:]))
    return copy.deepcopy(owner[key])


def mutated(rng: random.Random, *, gentle: bool = False, journaled: bool = False) -> list[Any]:
    """An honest message with a few things changed; gently, so that most of it still makes sense."""
    unasked = journaled and not gentle and rng.random() < 0.1
    message = copy.deepcopy(rng.choice(UNASKED if unasked else JOURNALED if journaled else SEEDS))
    for _ in range(rng.choice(((0, 0, 0, 1) if journaled else (0, 1, 1, 2)) if gentle else (1, 1, 1, 2, 3, 6))):
        places = slots(message)
        if not places:
            break
        owner, key = rng.choice(places)
        match rng.randrange(3 if gentle else 8):
            case 0 | 1:
                owner[key] = plausible(rng) if gentle else spice(rng)
            case 2 | 3:
                other, at = rng.choice(places)
                owner[key] = copy.deepcopy(other[at])
            case 4:
                owner[key] = {rng.choice(TAGS): owner[key]}
            case 5:
                owner[key] = [copy.deepcopy(owner[key]) for _ in range(rng.randrange(5))]
            case 6:
                del owner[key]
            case _:
                if type_of(owner) is dict:
                    owner[rng.choice(TAGS)] = owner.pop(key)
                else:
                    owner.insert(key, spice(rng))
    if gentle and message and message[0] == "c" and len(message) > 1:
        message[1] = rng.randrange(2**40)  # numbers of calls differ, as those of honest guests do
        if len(message) == 10 and rng.random() < 0.9:  # and so do their paths, most of the time
            block = rng.choice(("", "", ".1", "+1", "+1.2", "~1"))
            message[8] = f"1{block}#{rng.randrange(1, 2**40)}" if rng.random() < 0.97 else rng.choice(PATHS)
    return message


def encoded(message: Any, blobs: tuple[bytes, ...] = BLOBS, sizes: Any = None) -> bytes:
    header = json.dumps([message, [len(b) for b in blobs] if sizes is None else sizes], separators=(",", ":")).encode()
    data = b"".join(blobs)
    return struct.pack("<II", len(header), len(data)) + header + data


def frame_of(rng: random.Random, *, journaled: bool = False) -> bytes:
    """One frame, or something that looks like one from afar."""
    kind = 0 if journaled and rng.random() < 0.8 else rng.randrange(40)  # long lives leave more to be repeated
    if kind < 20:
        return encoded(mutated(rng, gentle=True, journaled=journaled))
    if kind < 34:
        return encoded(mutated(rng, journaled=journaled))
    if kind == 34:
        return encoded(mutated(rng), sizes=[spice(rng) for _ in range(rng.randrange(4))])
    if kind == 35:
        return encoded(spice(rng), ())
    raw = bytearray(encoded(mutated(rng, journaled=journaled)))
    if kind < 39:
        for _ in range(rng.randrange(1, 6)):
            raw[rng.randrange(8, len(raw))] = rng.randrange(256)
        return bytes(raw)
    return struct.pack("<II", rng.choice((0, 5, 100)), rng.choice((0, 3))) + rng.randbytes(103)
