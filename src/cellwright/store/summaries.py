"""A session's columns as a `Summary`. A list may have ten thousand of them, so what is usual is taken as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from cellwright.store.encoding import restored
from cellwright.store.rows import Holder, Summary

COLUMNS = tuple(one.name for one in fields(Summary) if one.name != "holder")

Put = Callable[[Summary, Any], None]


def _putter(name: str) -> Put:
    return getattr(Summary, name).__set__


# What `Summary(…)` does, in a third of the time: a frozen class looks each of its fields up by its name.
_new: Callable[[type[Summary]], Summary] = object.__new__
_id, _title, _state, _created, _updated, _turns, _cells = map(_putter, COLUMNS[:7])
_entries, _name, _agent, _parent, _parent_cell, _parent_entry, _child_of = map(_putter, COLUMNS[7:])
_holder = _putter("holder")


def summary_of(columns: tuple[Any, ...], holder: Holder | None = None) -> Summary:
    """Of `COLUMNS`. An id that is no UTF-8 is bytes there, and a large number a text."""
    id, title, state, created, updated, turns, cells, entries, name, agent, parent, cell, entry, child_of = columns
    made = _new(Summary)
    _id(made, id if type(id) is str else restored(id))
    _title(made, name or title)
    _state(made, state)
    _created(made, created)
    _updated(made, updated)
    _turns(made, turns)
    _cells(made, cells)
    _entries(made, entries)
    _name(made, name)
    _agent(made, agent and restored(agent))
    if parent is None:
        _parent(made, "")
        _parent_cell(made, 0)
        _parent_entry(made, 0)
    else:
        _parent(made, restored(parent))
        _parent_cell(made, int(cell))
        _parent_entry(made, int(entry))
    _child_of(made, (child_of and restored(child_of)) or "")
    _holder(made, holder)
    return made
