"""Replaces the guest's own runtime: the door, the loop, the report, with code that says what it likes.

Layer: wire
Escape: the host believes a report that no cell made, or fails
Control: the runtime's modules are there to be seen
Limits: wall_s=4
"""

# control
import sys

"cellwright_guest.door" in sys.modules

# attack
import cellwright_guest.cells as cells
import cellwright_guest.door as door

cells.error_report = lambda error: {"type": 5, "message": ["x"], "text": {"a": 1}, "line": "seven", "limit": ["memory"]}
door.Door.send = (lambda send: lambda self, message, blobs: [send(self, message, blobs) for _ in range(3)])(
    door.Door.send
)
raise ValueError("told three times")
