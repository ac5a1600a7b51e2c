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
    SavedState,
)
from cellwright.sandboxes.container_seccomp import container_profile
from cellwright.sandboxes.containers import Container
from cellwright.sandboxes.directory_tree import DiskUsage
from cellwright.sandboxes.exit_errors import GONE
from cellwright.sandboxes.files import FileEntry, Files, clone
from cellwright.sandboxes.guest_calls import guest_at_work, waiting, waiting_for_agent
from cellwright.sandboxes.guest_network import GuestNetwork, RequestDoor
from cellwright.sandboxes.guest_uid import GUEST_UID
from cellwright.sandboxes.jail import LAYERS, STANDARD
from cellwright.sandboxes.landlock import LandlockSandbox
from cellwright.sandboxes.limit_watch import FILES as MOST_FILES
from cellwright.sandboxes.limit_watch import TOO_FULL
from cellwright.sandboxes.outer_limits import NO_THREAD, OuterLimits
from cellwright.sandboxes.packages import Environment, environment
from cellwright.sandboxes.probe import LayerFinding, LayerReport
from cellwright.sandboxes.probe import probe as probe_layers
from cellwright.sandboxes.process import ProcessSandbox
from cellwright.sandboxes.rungs import SANDBOXES, SandboxName, choose
from cellwright.sandboxes.unkept_session import UnkeptSession
from cellwright.sandboxes.workspace import Workspace, remove_leftovers
from cellwright.sandboxes.workspace_index import (
    WorkspaceDiff,
    WorkspaceEntry,
    WorkspaceIndex,
    WorkspaceListing,
    composed,
)
from cellwright.sandboxes.workspace_reader import CHUNK, MODE, chunks
from cellwright.sandboxes.workspace_tracker import WorkspaceTracker
from cellwright.sandboxes.workspace_writer import restore_workspace

__all__ = [
    "CHUNK",
    "GONE",
    "GUEST_UID",
    "LAYERS",
    "MODE",
    "MOST_FILES",
    "NO_THREAD",
    "SANDBOXES",
    "STANDARD",
    "TOO_FULL",
    "CallRecord",
    "Container",
    "DiskUsage",
    "Environment",
    "FileEntry",
    "Files",
    "GuestNetwork",
    "GuestValue",
    "Interpreter",
    "LandlockSandbox",
    "LayerFinding",
    "LayerReport",
    "Limits",
    "OnEvent",
    "Opening",
    "Outcome",
    "OuterLimits",
    "ProcessSandbox",
    "RequestDoor",
    "Sandbox",
    "SandboxName",
    "SavedState",
    "UnkeptSession",
    "Workspace",
    "WorkspaceDiff",
    "WorkspaceEntry",
    "WorkspaceIndex",
    "WorkspaceListing",
    "WorkspaceTracker",
    "choose",
    "chunks",
    "clone",
    "composed",
    "container_profile",
    "environment",
    "guest_at_work",
    "probe_layers",
    "remove_leftovers",
    "restore_workspace",
    "waiting",
    "waiting_for_agent",
]
