"""Who a guest is outside its jail: a uid of its own where the host is root and may give it one, else the host's."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from cellwright.errors import PlatformError

GUEST_UID = 65_533  # within the 65,536 ids that a container usually has
# To hand files to another uid, to read and remove what that made, to become it and to end it.
_RIGHTS = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "KILL": 5, "SETGID": 6, "SETUID": 7}


def guest_uid() -> int | None:
    """`GUEST_UID`, or None where guests have the host's own uid; where that is root, the layer `uid` is missing."""
    return _guest_uid_of_root() if os.geteuid() == 0 else None


@functools.cache  # each workspace asks, and the zygote has been told already
def _guest_uid_of_root() -> int | None:
    try:
        status = Path("/proc/self/status").read_text().split("\n")
    except FileNotFoundError:
        raise PlatformError("a sandbox needs /proc, which is not mounted here: mount -t proc proc /proc") from None
    effective = next(int(line.split()[1], 16) for line in status if line.startswith("CapEff:"))
    may = all(effective >> right & 1 for right in _RIGHTS.values())
    return GUEST_UID if may and _mapped("uid_map") and _mapped("gid_map") else None


def _mapped(name: str) -> bool:
    ranges = [map(int, line.split()) for line in Path("/proc/self", name).read_text().splitlines()]
    return any(first <= GUEST_UID < first + count for first, _, count in ranges)
