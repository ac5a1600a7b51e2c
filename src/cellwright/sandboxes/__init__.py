"""The rungs: what runs a cell, under which limits, and what comes of it."""

from cellwright.sandboxes.base import (
    CallRecord,
    GuestValue,
    Interpreter,
    Limits,
    OnEvent,
    Opening,
    Outcome,
    Sandbox,
    Saved,
)
from cellwright.sandboxes.calls import guest_at_work, waiting
from cellwright.sandboxes.cloning import clone
from cellwright.sandboxes.entries import CHUNK, MODE, chunks
from cellwright.sandboxes.exits import GONE
from cellwright.sandboxes.files import FileEntry, Files
from cellwright.sandboxes.jail import GUEST_UID, LAYERS, STANDARD
from cellwright.sandboxes.nodes import Entry, Listing, Nodes, Step, composed
from cellwright.sandboxes.packages import Environment, environment
from cellwright.sandboxes.passing import Passing
from cellwright.sandboxes.placing import place
from cellwright.sandboxes.probe import Finding, Report
from cellwright.sandboxes.probe import probe as probe_layers
from cellwright.sandboxes.process import ProcessSandbox
from cellwright.sandboxes.tracking import Tracking
from cellwright.sandboxes.tree import Usage
from cellwright.sandboxes.watchers import FILES as MOST_FILES
from cellwright.sandboxes.workspace import Workspace

__all__ = [
    "CHUNK",
    "GONE",
    "GUEST_UID",
    "LAYERS",
    "MODE",
    "MOST_FILES",
    "STANDARD",
    "CallRecord",
    "Entry",
    "Environment",
    "FileEntry",
    "Files",
    "Finding",
    "GuestValue",
    "Interpreter",
    "Limits",
    "Listing",
    "Nodes",
    "OnEvent",
    "Opening",
    "Outcome",
    "Passing",
    "ProcessSandbox",
    "Report",
    "Sandbox",
    "Saved",
    "Step",
    "Tracking",
    "Usage",
    "Workspace",
    "chunks",
    "clone",
    "composed",
    "environment",
    "guest_at_work",
    "place",
    "probe_layers",
    "waiting",
]
