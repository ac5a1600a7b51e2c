"""`GivenArguments`: the arguments of one call by name, as policy and data flow look at them. Each is read once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from cellwright.doors import Call
from cellwright.guard.hooks import given_values
from cellwright.scope import ATOMS, FieldNames, PackedContent, ScopeHost, content_of, named_arguments
from cellwright_guest.unpacker import simple_arguments
from cellwright_guest.wire import Packed, WireError, is_large, type_of


class GivenArguments:
    """Of `call`. `host` tells names of parameters and fields."""

    def __init__(self, call: Call, host: ScopeHost) -> None:
        self._call = call
        self._host = host
        self._named: dict[str, Packed] | None = None
        self._contents: dict[str, PackedContent] | None = None

    @property
    def may_refer(self) -> bool:
        """Whether objects, functions or classes may be among them: they are no numbers and texts alone."""
        return simple_arguments(self._call.arguments.tree) is None

    @property
    def named(self) -> dict[str, Packed]:
        if self._named is None:
            self._named = named_arguments(self._call.arguments, self._host.parameters(self._call))
        return self._named

    async def contents(self) -> dict[str, PackedContent]:
        """What each holds, keys of dicts too."""
        if self._contents is None:
            names = self._host.field_names
            self._contents = {name: await content_off_loop(one, names, keys=True) for name, one in self.named.items()}
        return self._contents

    async def values(self) -> Mapping[str, Any]:
        """Their plain data, as the call is made with them: private values are there where it may have them.

        A positional-only one and a further keyword of the same name are both there.
        """
        call, parameters = self._call, self._host.parameters(self._call)

        def values() -> dict[str, Any]:
            try:
                made_with = self._host.made_with
                args, kwargs = given_values(call.arguments if made_with is None else made_with(call))
            except WireError:  # what no honest guest sends is told by whoever makes the call
                return {}
            named = dict(zip(parameters, args, strict=False))
            return named | {name: (named[name], one) if name in named else one for name, one in kwargs.items()}

        return await asyncio.to_thread(values) if is_large(call.arguments) else values()


async def content_off_loop(value: Packed, field_names: FieldNames, *, keys: bool = False) -> PackedContent:
    """What a value holds. A large one is read on a thread."""
    if type_of(value.tree) not in ATOMS and is_large(value):
        return await asyncio.to_thread(content_of, value, field_names, keys=keys)
    return content_of(value, field_names, keys=keys)
