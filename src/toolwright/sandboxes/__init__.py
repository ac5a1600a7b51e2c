"""The rungs: what runs a cell, under which limits, and what comes of it."""

from toolwright.sandboxes.base import (
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
from toolwright.sandboxes.calls import guest_at_work, waiting
from toolwright.sandboxes.cloning import clone
from toolwright.sandboxes.entries import CHUNK, MODE, chunks
from toolwright.sandboxes.exits import GONE
from toolwright.sandboxes.files import FileEntry, Files
from toolwright.sandboxes.jail import GUEST_UID, LAYERS, STANDARD
from toolwright.sandboxes.nodes import Entry, Listing, Nodes, Step, composed
from toolwright.sandboxes.packages import Environment, environment
from toolwright.sandboxes.passing import Passing
from toolwright.sandboxes.placing import place
from toolwright.sandboxes.probe import Finding, Report
from toolwright.sandboxes.probe import probe as probe_layers
from toolwright.sandboxes.process import ProcessSandbox
from toolwright.sandboxes.tracking import Tracking
from toolwright.sandboxes.tree import Usage
from toolwright.sandboxes.watchers import FILES as MOST_FILES
from toolwright.sandboxes.workspace import Workspace

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
