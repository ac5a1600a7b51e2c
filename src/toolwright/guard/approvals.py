"""`Approved`: operations that wait for a person's yes, at the door. Asks before the effect: without a yes, none.

It knows calls and who approves them; not how that person is asked, nor what is kept of the answer: where the session is
journaled, a call that was made is answered from there and never comes here again.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace

from toolwright.doors import Answer, Call, Host, Wrapper
from toolwright.errors import Denied
from toolwright.events import ApprovalWanted
from toolwright.guard.told import told
from toolwright.sandboxes import waiting
from toolwright_guest.wire import NOTHING, is_large

Approve = Callable[[ApprovalWanted], Awaitable[bool | str] | bool | str]
"""Says whether a call may be made: True for yes; False, or a text that is the reason, for no. It may be async.

Several calls may wait at once. It is cancelled when nobody waits for its answer any more.
"""

_VERBS = ("call", "new", "op")
_CLASS_VERB, _OBJECT_VERB = "new", "dir"  # whose titles are the bare names


class Approved(Wrapper):
    """`approve` is asked; None: nobody can be. `began` tells of a call that had its yes in an earlier life."""

    def __init__(
        self,
        inner: Host,
        approve: Approve | None,
        *,
        session: str = "",
        began: Callable[[Call], bool] = lambda call: False,
    ) -> None:
        super().__init__(inner)
        self._approve = approve
        self._session = session
        self._began = began

    async def call(self, call: Call) -> Answer:
        if call.refused is not None:
            return await self.inner.call(call)
        about = self.inner.about(call)
        if not about.operation.ask:
            return await self.inner.call(call)
        no = None if self._began(call) else await self._asked(call, about.title)
        if no is not None:
            return await self.inner.call(replace(call, refused=no))
        return await self.inner.call(replace(call, approved=True))

    async def _asked(self, call: Call, title: str) -> Denied | None:
        """None for a yes."""
        if self._approve is None:
            return Denied(
                f"{title} waits for a person's yes, and there is nobody to ask: Runtime(approve=…) says who is"
            )
        wanted = ApprovalWanted(
            session=self._session,
            cell=call.cell,
            call=call.id,
            name=title if call.verb in _VERBS else f"{call.verb} {title}",
            arguments=await self._arguments(call),
        )
        with waiting(wanted):
            said = await self._said(self._approve, wanted)
        if said is True:
            return None
        return Denied(f"{title} was denied: {said}" if said else f"{title} was denied")

    async def _said(self, approve: Approve, wanted: ApprovalWanted) -> bool | str:
        """What the approver says. Nothing but True is a yes; what it raises is told to the loop, and is none."""
        try:
            said = approve(wanted)
            said = await said if inspect.isawaitable(said) else said
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return self._failed(error)  # nobody cancelled this call: the approver raised it
        except Exception as error:  # an outer edge: the approver is the developer's, and its failure is no yes
            return self._failed(error)
        return said if said is True or isinstance(said, str) else False

    def _failed(self, error: BaseException) -> str:
        context = {"message": "toolwright: approve failed", "exception": error}
        asyncio.get_running_loop().call_exception_handler(context)
        return "the one who is to say yes could not be asked"

    async def _arguments(self, call: Call) -> str:
        if is_large(call.arguments):
            return await asyncio.to_thread(told, call.arguments, self._name)
        return told(call.arguments, self._name)

    def _name(self, number: int) -> str:
        verb = _OBJECT_VERB if number > 0 else _CLASS_VERB
        named = Call(id=0, cell=0, verb=verb, target=number, name="", arguments=NOTHING)
        return self.inner.about(named).title
