"""Which rung a name stands for: "process", "landlock", or "best", the first of these two that this machine gives.

"auto" is the operator's word (the setting CELLWRIGHT_SANDBOX), and "process" where there is none: less is never chosen
unless somebody asked for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from errno import EAGAIN, EMFILE, ENFILE, ENOMEM
from typing import Final, Literal, get_args

from cellwright.errors import IsolationMissing, PlatformError
from cellwright.sandboxes.jail import STANDARD
from cellwright.sandboxes.landlock import LandlockSandbox
from cellwright.sandboxes.packages import Environment
from cellwright.sandboxes.process import ProcessSandbox

SandboxName = Literal["auto", "process", "landlock", "best"]
SANDBOXES: Final[tuple[str, ...]] = get_args(SandboxName)
# A machine that is short of something refuses for a while. That lowers nobody's rung: the caller is told of it.
_PASSING = tuple(os.strerror(code) for code in (EAGAIN, ENOMEM, EMFILE, ENFILE))
_refusals: dict[tuple[Environment, frozenset[str] | None], str] = {}  # of the process rung: the machine stays as it is
_told: set[str] = set()


async def choose(
    name: SandboxName,
    packages: Environment,
    *,
    setting: str,
    required: frozenset[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> ProcessSandbox:
    """The sandbox of that name, for these packages. Without `required` each rung has its own minimum.

    `progress` is told, once in a process, where "best" is landlock.
    """
    if setting not in SANDBOXES:
        raise PlatformError(f"CELLWRIGHT_SANDBOX={setting!r}: set one of {', '.join(SANDBOXES)}")
    wanted = setting if name == "auto" else name
    process = ProcessSandbox(packages, required=STANDARD if required is None else required)
    landlock = LandlockSandbox(packages, required=required or frozenset())
    if wanted == "landlock":
        return landlock
    if wanted != "best" or not (why := await _refusal(process, (packages, required))):
        return process
    try:
        await landlock.ready()
    except PlatformError as error:
        await landlock.close()
        raise IsolationMissing(f"{why}; nor does the landlock sandbox open: {error}") from None
    if progress is not None and why not in _told:
        _told.add(why)
        progress(
            f"cellwright: {why}, so guests run in the landlock sandbox. They can see names, sizes and times of its "
            "files, not the contents: give each tenant a container (docs/sandboxes.md)"
        )
    return landlock


async def _refusal(process: ProcessSandbox, key: tuple[Environment, frozenset[str] | None]) -> str:
    """Why this machine has no process rung; "" where it has one. Raises `PlatformError` for what may pass."""
    if key in _refusals:
        return _refusals[key]
    try:
        await process.ready()
    except PlatformError as error:
        await process.close()
        lacking = error.lacking if isinstance(error, IsolationMissing) else ()
        if not lacking or any(words in str(error) for words in _PASSING):
            raise
        _refusals[key] = f"this machine does not give the layers {', '.join(lacking)}"
        return _refusals[key]
    return ""
