"""`Hook`: functions of the developer's before and after a call, which may look at it, change it, or refuse it.

They are run before the policy decides, so that nothing changes after a person's yes. The journal keeps both: what code
asked for, which a replay compares, and what the call was made with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from cellwright.doors import Answer, Call
from cellwright.errors import Denied, GuestError, UsageError
from cellwright.guard.arguments_text import unpack_parts
from cellwright.scope import arguments
from cellwright_guest.packer import Packer, plain
from cellwright_guest.unpacker import Unpacker, simple_arguments
from cellwright_guest.wire import Bounds, Packed, WireError, is_large, type_of


class Unseen:
    """In the place of what is no plain data: a host object, a function, a record. It can be handed back as it is."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"<{self.kind}>"

    def __deepcopy__(self, _: object) -> Unseen:
        return self


@dataclass(frozen=True, kw_only=True, slots=True)
class HookedCall:
    """A call as a hook sees it: plain data is there, other things are `Unseen`.

    `changed` gives the call with other arguments, of plain data or taken from this one.
    """

    name: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    reads: bool = False
    user: str = ""
    session: str = ""
    cell: int = 0

    def changed(self, *args: Any, **kwargs: Any) -> HookedCall:
        return replace(self, args=args, kwargs=kwargs)


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a hook returns after a call: code gets `value`, plain data, instead of the answer."""

    value: Any


Before = Callable[[HookedCall], Awaitable[HookedCall | None]]
After = Callable[[HookedCall, Any], Awaitable[Replaced | None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Hook:
    """Functions for the calls of the operations that a glob covers, by whatever name code reaches them.

    Raising `Denied` refuses the call, or its answer.

    >>> async def small(call: HookedCall) -> None:
    ...     if call.kwargs.get("amount", 0) > 1000:
    ...         raise Denied("no payment over 1000")
    >>> Runtime(scope, hooks=[Hook(operation="bank.*", before=small)])
    """

    operation: str = "*"
    before: Before | None = None
    after: After | None = None


_KINDS = {"h": "object", "f": "function", "g": "function", "c": "class", "o": "record", "e": "member", "a": "frame"}


async def run_before(hooks: Sequence[Hook], call: Call, seen: HookedCall) -> Call:
    """The call as the hooks want it made; refused where one raised."""
    given, as_asked = seen, deepcopy((seen.args, seen.kwargs))
    try:
        for hook in hooks:
            if hook.before is not None:
                given = await hook.before(given) or given
        if type_of(given) is not HookedCall:
            raise UsageError("a hook returns None, or `call.changed(…)`")
        if (seen.args, seen.kwargs) != as_asked:
            raise UsageError("a hook changed an argument in its place: give a copy to `call.changed(…)`")
        if given is seen:
            return call
        changed = repacked(call.arguments, seen, given)
    except asyncio.CancelledError:
        raise
    except Exception as error:  # an outer edge: the hook is the developer's, and its failure is no leave
        return replace(call, refused=_refusal(call, error))
    return call if changed is None else replace(call, arguments=changed, asked=call.arguments)


async def run_after(hooks: Sequence[Hook], call: Call, seen: HookedCall, answer: Answer) -> Answer | Denied:
    """The answer as the hooks let it through."""
    try:
        for hook in hooks:
            if hook.after is not None:
                replaced = await hook.after(seen, read(answer.value))
                if replaced is not None:
                    answer = replace(answer, value=Packer(plain).packed(replaced.value), made=(), kept=None)
    except asyncio.CancelledError:
        raise
    except Exception as error:  # the same edge, after the call
        return _refusal(call, error)
    return answer


def _refusal(call: Call, error: Exception) -> Denied:
    if isinstance(error, GuestError):
        return error if isinstance(error, Denied) else Denied(f"{call.about.title} was denied by a hook: {error}")
    context = {"message": "cellwright: a hook failed", "exception": error}
    asyncio.get_running_loop().call_exception_handler(context)
    return Denied(f"{call.about.title} was denied: a hook of the host failed")


def seen_call(call: Call, user: str, session: str) -> HookedCall:
    """A call for hooks. Takes long for large arguments."""
    args, kwargs = given_values(call.arguments)
    return HookedCall(
        name=call.about.title,
        args=args,
        kwargs=kwargs,
        reads=call.about.operation.reads,
        user=user,
        session=session,
        cell=call.cell,
    )


def given_values(packed: Packed) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, as its function gets them. `WireError` for what no honest guest sends."""
    if (simple := simple_arguments(packed.tree)) is not None:
        return simple
    given = read(packed)
    if type_of(given) is tuple and len(given) == 2 and type_of(given[1]) is Unseen:
        raise WireError("two arguments that are no pair")  # the second may be built as the dict of keywords
    return arguments(given)


def read(packed: Packed) -> Any:
    """A packed value, from either side, with `Unseen` for what is no plain data."""

    def other(tag: str, body: Any, unpacker: Unpacker) -> Any:
        unpack_parts(tag, body, unpacker)
        return Unseen(_KINDS.get(tag, "exception" if tag == "E" else "value"))

    return Unpacker(packed.blobs, other, Bounds()).unpack(packed.tree)


def repacked(packed: Packed, before: HookedCall, after: HookedCall) -> Packed | None:
    """The arguments as a hook changed them; None where nothing is different. What stayed keeps its packed form."""
    old = {**dict(enumerate(before.args)), **before.kwargs}
    if after.args == before.args and dict(after.kwargs) == dict(before.kwargs):
        return None
    if is_large(packed) or _has_references(packed.tree):
        raise UsageError("arguments that are large, or that share a list, are not changed by a hook")
    trees, packer = _trees(packed.tree), Packer(plain)
    packer.blobs.extend(packed.blobs)

    def pack(value: Any) -> Any:
        kept = next((trees[key] for key, each in old.items() if each is value), None)
        return packer.pack(value) if kept is None else kept

    args = [pack(value) for value in after.args]
    kwargs = {name: pack(value) for name, value in after.kwargs.items()}
    tree = {"t": [{"t": args}, {"m": kwargs}]}
    if _has_references(tree):
        raise UsageError("a hook gave the same list or dict twice; give a copy")
    return Packed(tree, packer.blobs)


def _trees(tree: Any) -> dict[int | str, Any]:
    """The packed form of each argument, by its position or its keyword."""
    given: list[Any] = tree["t"]
    if len(given) != 2:
        return dict(enumerate(given))
    parts: list[Any] = [part.get(tag) if type_of(part) is dict else None for part, tag in zip(given, "tm", strict=True)]
    if [type_of(part) for part in parts] != [list, dict]:
        raise Denied("a hook changes no arguments in a form that no code of ours gives them")
    args: list[Any] = parts[0]
    return {**dict(enumerate(args)), **parts[1]}


def _has_references(tree: Any) -> bool:
    pending: list[Any] = [tree]
    while pending:
        part: Any = pending.pop()
        if type_of(part) is dict:
            if len(part) == 1 and "r" in part:
                return True
            pending.extend(part.values())
        elif type_of(part) is list:
            pending.extend(part)
    return False
