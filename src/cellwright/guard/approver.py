"""`Approve`, the developer's function that is asked, and `Approvals`, the options of asking. Knows no calls."""

from __future__ import annotations

import asyncio
import enum
import inspect
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from cellwright.errors import UsageError
from cellwright.events import ApprovalWanted
from cellwright.store import Decision

BY_CALLBACK = "approve callback"
_ALWAYS = ("", "session", "operation")


class Later(enum.Enum):
    """The approver does not decide: the question stays, and the cell is paused."""

    LATER = "later"


LATER: Final = Later.LATER
"""An approver returns this to leave the question to whoever decides it in the store."""

ApproverReply = bool | str | Decision | Later
Approve = Callable[[ApprovalWanted], Awaitable[ApproverReply] | ApproverReply]
"""Says whether a call may be made: True for yes; False, or a text that is the reason, for no; a `Decision`; `LATER`.

It may be async. Several calls may wait at once. It is cancelled when nobody waits for its answer any more.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Approvals:
    """How long questions to people are good for, in a session that is kept in a store.

    expires_s  a question that nobody answers within so many seconds counts as a no; None: it waits for ever
    wait_s     so long the cell keeps its guest and waits; then it is paused. None: as long as `approve` takes, and not
               at all where there is no `approve`
    at_once    questions that one cell may have open; a call beyond these is denied
    """

    expires_s: float | None = None
    wait_s: float | None = None
    at_once: int = 100

    def __post_init__(self) -> None:
        for name, least in (("expires_s", 0.001), ("wait_s", 0.0), ("at_once", 1)):
            value: Any = getattr(self, name)
            if value is None and name != "at_once":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
                raise UsageError(f"Approvals({name}={value!r}): give a number of at least {least:g}")


async def decision_by(approve: Approve, wanted: ApprovalWanted) -> Decision | None:
    """The approver's decision; None where it says `LATER`. Only True is a yes. An error is a no, told to the loop."""
    try:
        said = approve(wanted)
        said = await said if inspect.isawaitable(said) else said
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return _failed(error)  # nobody cancelled this: the approver raised it
    except Exception as error:  # an outer edge: the approver is the developer's, and its failure is no yes
        return _failed(error)
    return _read(said)


def _read(said: Any) -> Decision | None:
    if said is LATER:
        return None
    if isinstance(said, Decision):
        reason, who = (text if type(text) is str else "" for text in (said.reason, said.who))
        always = said.always if said.always in _ALWAYS else ""
        yes = said.yes is True
        return replace(said, yes=yes, reason=reason, who=who or BY_CALLBACK, always=always, at=said.at or time.time())
    return _decision(said is True, said if isinstance(said, str) else "")


def _decision(yes: bool, reason: str = "") -> Decision:
    return Decision(yes=yes, reason=reason, who=BY_CALLBACK, at=time.time())


def _failed(error: BaseException) -> Decision:
    context = {"message": "cellwright: approve failed", "exception": error}
    asyncio.get_running_loop().call_exception_handler(context)
    return _decision(False, "the approver could not be asked")
