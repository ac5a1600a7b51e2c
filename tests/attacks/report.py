"""How many attacks are aimed at which layer: `python -m tests.attacks` prints it, and so does the end of `make test`.

A file of `cells/` names its layer by how its name begins (`BY_NAME`), or in its docstring: `Layer: kernel`. A test
file names it by a line `LAYER = "binding"`, for all its tests.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
LAYERS = {
    "kernel": "system calls, namespaces, other processes, the network",
    "files": "the host's files, and workspaces that the host reads",
    "limits": "memory, disk, processor time, tasks, output",
    "wire": "frames, calls and answers between guest and host",
    "objects": "bound objects, their attributes, callbacks and exceptions",
    "binding": "what binding an object of a library or of a user grants",
    "secrets": "keys and paths in what guest code and people read",
    "host": "work that the host does for guest code",
    "approval": "what a person was shown, and what is then called",
    "journal": "rows, replay, transactions",
    "imports": "sessions that came in a file",
    "requests": "requests to APIs and MCP servers",
}
BY_NAME = {
    "wire_": "wire",
    "objects_": "objects",
    "journal_": "journal",
    "scratch_": "files",
    "swap_": "files",
    "read_": "files",
    "memory_": "limits",
    "disk_": "limits",
    "burn_": "limits",
    "output_": "limits",
    "descriptor_": "limits",
    "exit_": "kernel",
    "network_": "kernel",
    "spawn_": "kernel",
}
OF_THE_HARNESS = frozenset(("test_attacks.py", "test_report.py"))


def cell_files() -> list[Path]:
    return sorted((HERE / "cells").glob("*.py"))


def files_of_tests() -> list[Path]:
    return sorted(path for path in HERE.glob("test_*.py") if path.name not in OF_THE_HARNESS)


def layer_of(path: Path) -> str:
    """The layer of an attack's file. Raises ValueError, with what to write."""
    text = path.read_text(encoding="utf-8")
    if path.parent.name == "cells":
        named = re.search(r"^Layer: (.*)$", text, re.MULTILINE)
        layer = named.group(1) if named else next((BY_NAME[p] for p in BY_NAME if path.name.startswith(p)), "")
        line = "`Layer: kernel` in its docstring"
    else:
        named = re.search(r'^LAYER = "(.*)"$', text, re.MULTILINE)
        layer, line = named.group(1) if named else "", 'LAYER = "binding" after its imports'
    if layer not in LAYERS:
        raise ValueError(f"{path.name}: write the layer that it attacks, as {line}; one of {', '.join(LAYERS)}")
    return layer


def counts() -> Counter[str]:
    """Attacks by layer: each file of `cells/` is one, and each test of a test file."""
    found: Counter[str] = Counter()
    for path in cell_files():
        found[layer_of(path)] += 1
    for path in files_of_tests():
        found[layer_of(path)] += len(
            re.findall(r"^(?:async )?def test_", path.read_text(encoding="utf-8"), re.MULTILINE)
        )
    return found


def table() -> str:
    found = counts()
    rows = [(layer, str(found[layer]), about) for layer, about in LAYERS.items()]
    rows.append(("all", str(found.total()), f"{len(cell_files())} as guest code, the others as tests"))
    return "\n".join(f"{layer:<9} {count:>4}  {about}" for layer, count, about in rows)


def one_line() -> str:
    return "attacks: " + ", ".join(f"{count} {layer}" for layer, count in counts().most_common())
