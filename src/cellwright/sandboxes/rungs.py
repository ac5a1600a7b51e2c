"""Which rung a name stands for: "process", "landlock", or "best", the first of these two that this machine gives.

"auto" is the operator's word (the setting CELLWRIGHT_SANDBOX), and "process" where there is none: less is never chosen
unless somebody asked for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, get_args

from cellwright.errors import IsolationMissing, PlatformError, SandboxDied
from cellwright.sandboxes.jail import STANDARD
from cellwright.sandboxes.landlock import LandlockSandbox
from cellwright.sandboxes.packages import Environment
from cellwright.sandboxes.process import ProcessSandbox

SandboxName = Literal["auto", "process", "landlock", "best"]
SANDBOXES: Final[tuple[str, ...]] = get_args(SandboxName)
_refusals: dict[tuple[Environment, frozenset[str]], str] = {}  # of the process rung: the machine stays as it is
_told: set[str] = set()


async def choose(
    name: SandboxName,
    packages: Environment,
    *,
    setting: str,
    required: frozenset[str] = STANDARD,
    progress: Callable[[str], None] | None = None,
) -> ProcessSandbox:
    """The sandbox of that name, for these packages. `progress` is told, once in a process, where "best" is landlock."""
    if setting not in SANDBOXES:
        raise PlatformError(f"CELLWRIGHT_SANDBOX={setting!r}: set one of {', '.join(SANDBOXES)}")
    wanted = setting if name == "auto" else name
    if wanted == "landlock":
        return LandlockSandbox(packages, required=required)
    process = ProcessSandbox(packages, required=required)
    if wanted != "best" or not (why := await _refusal(process, packages, required)):
        return process
    landlock = LandlockSandbox(packages, required=required)
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


async def _refusal(process: ProcessSandbox, packages: Environment, required: frozenset[str]) -> str:
    """Why there is no process rung here; "" where there is one."""
    key = (packages, required)
    if key not in _refusals:
        try:
            await process.ready()
        except (IsolationMissing, SandboxDied) as error:
            await process.close()
            layers = ", ".join(error.lacking) if isinstance(error, IsolationMissing) else ""
            _refusals[key] = f"this machine does not give the layers {layers}" if layers else str(error)
        else:
            return ""
    return _refusals[key]
