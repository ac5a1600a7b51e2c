"""The landlock rung: the same guests as the process rung's, where a machine forbids namespaces.

Files are guarded by Landlock alone, processes by Landlock and seccomp; what is lost stands in docs/sandboxes.md. Nobody
gets it without asking for it.
"""

from __future__ import annotations

from cellwright.errors import IsolationMissing
from cellwright.sandboxes.base import Limits
from cellwright.sandboxes.jail import LANDLOCK_ABI, NAMESPACES, WITHOUT_NAMESPACES
from cellwright.sandboxes.packages import Environment
from cellwright.sandboxes.process import ProcessSandbox
from cellwright.sandboxes.zygotes import Zygote
from cellwright_guest import kernel


class LandlockSandbox(ProcessSandbox):
    """Opens guests without namespaces. `required` names layers beyond those that this rung has always."""

    rung = "landlock"

    def __init__(self, environment: Environment, *, required: frozenset[str] = frozenset()) -> None:
        super().__init__(environment, required=WITHOUT_NAMESPACES | required, without=NAMESPACES)

    async def _zygote(self, limits: Limits, *, network: bool = False) -> Zygote:
        abi = kernel.landlock_abi()
        if abi < LANDLOCK_ABI:
            raise IsolationMissing(
                f"the landlock sandbox needs Landlock's ABI {LANDLOCK_ABI}, and this kernel has "
                f"{abi or 'none'}: use Linux 6.12 or later, with landlock among the boot parameter lsm=…"
            )
        zygote = await super()._zygote(limits, network=network)
        if zygote.closed:
            raise IsolationMissing(
                f"guests have another uid here, and may not read {zygote.closed}: run the host as an ordinary user, or "
                "use a Python and packages in directories that are open to all users"
            )
        return zygote
