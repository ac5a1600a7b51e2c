"""Fills the workspace with large files, as fast as it can.

Escape: far more of the host's disk than workspace_mb, for longer than a moment
Control: a file within the limits is written
Limits: workspace_mb=32, file_mb=16, wall_s=8
Expect: WorkspaceLimit
"""

# control
open("small", "wb").write(bytes(1 << 20)) == 1 << 20

# attack

piece = bytes(8 << 20)
for i in range(200):
    with open(f"f{i}", "wb") as file:
        file.write(piece)
"ESCAPED: 1.6 GB"
