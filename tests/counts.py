"""How often the crash tests kill: `make crash` some hundred times, `make crash-long` some thousand times."""

from __future__ import annotations

import os


def deaths(usual: int, long: int) -> int:
    return long if os.environ.get("CRASH") == "long" else usual
