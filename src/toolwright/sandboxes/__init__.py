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
from toolwright.sandboxes.calls import waiting
from toolwright.sandboxes.entries import MODE, Entry, Listing, Reading
from toolwright.sandboxes.exits import GONE
from toolwright.sandboxes.files import FileEntry, Files
from toolwright.sandboxes.jail import GUEST_UID, LAYERS, STANDARD
from toolwright.sandboxes.packages import Environment, environment
from toolwright.sandboxes.passing import Passing
from toolwright.sandboxes.placing import place
from toolwright.sandboxes.probe import Finding, Report
from toolwright.sandboxes.probe import probe as probe_layers
from toolwright.sandboxes.process import ProcessSandbox
from toolwright.sandboxes.workspace import Workspace

__all__ = [
    "GONE",
    "GUEST_UID",
    "LAYERS",
    "MODE",
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
    "OnEvent",
    "Opening",
    "Outcome",
    "Passing",
    "ProcessSandbox",
    "Reading",
    "Report",
    "Sandbox",
    "Saved",
    "Workspace",
    "environment",
    "place",
    "probe_layers",
    "waiting",
]
