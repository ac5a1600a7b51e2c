"""Assembles a seccomp policy into the kernel's filter program: a binary search over call numbers.

The search keeps both the install (the kernel walks the program once for each call number) and each call short. Knows no
policy: `seccomp` says which call gets which verdict.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMP, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _JUMP_IF_ANY_BIT = 0x05, 0x15, 0x35, 0x45
_KILL_PROCESS, _ERRNO, _ALLOW = 0x8000_0000, 0x0005_0000, 0x7FFF_0000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_X32_BIT = 0x4000_0000

_Code = list[tuple[int, int, int, int]]


@dataclass(frozen=True, kw_only=True)
class ArgumentCheck:
    """One condition on one argument. `one_of` looks at all 64 bits, the others at the lower half, where flags are."""

    argument: int
    kind: Literal["one_of", "any_bit", "no_bit", "not_all_bits"]
    values: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class SyscallVerdict:
    """What becomes of a call: allowed when all checks hold, otherwise refused with `errno`. `errno=0` allows always.

    `pretended`: instead of being allowed it is answered with success, and nothing happens.
    """

    errno: int
    checks: tuple[ArgumentCheck, ...] = ()
    pretended: bool = False


ALLOW = SyscallVerdict(errno=0)
_KILLED = SyscallVerdict(errno=-1)


def assemble(
    architecture: int, verdicts: Mapping[int, SyscallVerdict], *, otherwise: SyscallVerdict, beyond: SyscallVerdict
) -> bytes:
    """The program. Calls without a verdict get `otherwise`; numbers after the last known one get `beyond`."""
    ranges: list[tuple[int, SyscallVerdict]] = []
    for number in range(max(verdicts) + 1):
        verdict = verdicts.get(number, otherwise)
        if not ranges or ranges[-1][1] != verdict:
            ranges.append((number, verdict))
    ranges.append((max(verdicts) + 1, beyond))
    ranges.append((_X32_BIT, _KILLED))
    code: _Code = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_IF_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER),
        *_search(ranges),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def _search(ranges: list[tuple[int, SyscallVerdict]]) -> _Code:
    if len(ranges) == 1:
        return _decide(ranges[0][1])
    middle = len(ranges) // 2
    lower, upper = _search(ranges[:middle]), _search(ranges[middle:])
    return [*_skip(_JUMP_IF_AT_LEAST, ranges[middle][0], len(lower)), *lower, *upper]


def _skip(condition: int, value: int, distance: int) -> _Code:
    """Jumps `distance` instructions on when the condition holds. A conditional jump reaches 255, a plain one all."""
    if distance < 256:
        return [(condition, distance, 0, value)]
    return [(condition, 0, 1, value), (_JUMP, 0, 0, distance)]


def _decide(verdict: SyscallVerdict) -> _Code:
    if verdict is _KILLED:
        return [(_RETURN, 0, 0, _KILL_PROCESS)]
    refused = (_RETURN, 0, 0, _ERRNO | verdict.errno)
    passed = (_RETURN, 0, 0, _ERRNO if verdict.pretended else _ALLOW)
    if not verdict.checks:
        return [refused if verdict.errno else passed]
    return [*(line for check in verdict.checks for line in _test(check, refused)), passed]


def _test(check: ArgumentCheck, refused: tuple[int, int, int, int]) -> _Code:
    """Falls through when the check holds, returns otherwise."""
    low, high = _ARGUMENTS + 8 * check.argument, _ARGUMENTS + 8 * check.argument + 4
    load, values = (_LOAD, 0, 0, low), check.values
    match check.kind:
        case "any_bit":
            return [load, (_JUMP_IF_ANY_BIT, 1, 0, values[0]), refused]
        case "no_bit":
            return [load, (_JUMP_IF_ANY_BIT, 0, 1, values[0]), refused]
        case "not_all_bits":
            return [load, (_AND, 0, 0, values[0]), (_JUMP_IF_EQUAL, 0, 1, values[0]), refused]
        case "one_of":
            tail: _Code = [(_JUMP_IF_EQUAL, len(values) - i, 0, value) for i, value in enumerate(values)]
            return [(_LOAD, 0, 0, high), (_JUMP_IF_EQUAL, 1, 0, 0), refused, load, *tail, refused]
