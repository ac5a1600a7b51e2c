"""Whether a key of an object may be null by its own schema: then a None that code gives is sent, and clears it."""

from __future__ import annotations

from typing import Any

from cellwright.schemas.flattening import Flattener, is_null, kinds_of
from cellwright.schemas.json_values import as_list, as_object
from cellwright.schemas.resolving import Resolve


def takes_null(schema: Any, key: str, resolve: Resolve, base: str = "") -> bool:
    """False where the schema says nothing of the kind: None means "not given" there."""
    flattener = Flattener(resolve)
    found = flattener.flat(as_object(schema), base).properties.get(key)
    if found is None:
        return False
    flat = flattener.flat(as_object(found[0]), found[1])
    null = kinds_of(flat.words)[1] or None in as_list(flat.words.get("enum"))
    return null or any(is_null(one) for group in flat.choices for one, _ in group)
