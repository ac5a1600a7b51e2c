"""The two tasks of the token counts, and what a model that does them rightly writes: code, and calls made from it.

The calls of direct mode are those that the code makes, recorded while it runs here: the same job by construction.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from inspect import CO_COROUTINE
from types import FunctionType
from typing import Any

from benchmarks import office
from benchmarks.wire import Line


@dataclass(frozen=True, kw_only=True)
class Errand:
    """A task. `cells` are the code for it, `looks` what a careful model looks at after each, `end` the answer."""

    title: str
    task: str
    scope: Callable[[], dict[str, Any]]
    cells: tuple[str, ...]
    looks: tuple[str, ...]
    end: str
    was_done: Callable[[Mapping[str, Any]], bool]

    def in_one_cell(self) -> list[Line]:
        return [_cell("\n".join([*self.cells, f"done({self.end})"]))]

    def with_looks(self) -> list[Line]:
        """A cell, what it came to, and so on; `done` in a cell of its own."""
        seen = [_cell(f"{cell}{look}") for cell, look in zip(self.cells, self.looks, strict=True)]
        return [*seen, _cell(f"done({self.end})")]

    async def one_by_one(self) -> list[Line]:
        """Each call in a reply of its own, then the answer."""
        calls, answer = await self._calls()
        return [*(Line(calls=(call,)) for call in calls), Line(text=answer)]

    async def all_at_once(self) -> list[Line]:
        """All calls in one reply, for a task whose calls do not need each other."""
        calls, answer = await self._calls()
        return [Line(calls=tuple(calls)), Line(text=answer)]

    async def _calls(self) -> tuple[list[tuple[str, dict[str, Any]]], str]:
        made: list[tuple[str, dict[str, Any]]] = []
        answers: list[str] = []
        names = {name: _Recording(thing, name, made) for name, thing in self.scope().items()}
        code = "\n".join([*self.cells, f"done({self.end})"])
        compiled = compile(code, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        assert compiled.co_flags & CO_COROUTINE
        await FunctionType(compiled, {**names, "done": answers.append})()
        return made, answers[0]


class _Recording:
    """An object whose calls are written down, as a model would write them, and made."""

    def __init__(self, thing: object, name: str, made: list[tuple[str, dict[str, Any]]]) -> None:
        self._thing, self._name, self._made = thing, name, made

    def __getattr__(self, method: str) -> Callable[..., Any]:
        real = getattr(self._thing, method)

        def call(**arguments: Any) -> Any:
            self._made.append((f"{self._name}__{method}", json.loads(json.dumps(arguments, default=_date))))
            return real(**arguments)

        return call


def _date(value: object) -> str:
    assert isinstance(value, date)
    return value.isoformat()


def _cell(code: str) -> Line:
    return Line(calls=(("execute", {"code": code}),))


EVENTS = Errand(
    title="31 calendar events",
    task="Create a calendar event for each of the 31 days of January 2027: the daily stand-up, 9:00 to 9:15, with "
    "grace@example.com and alan@example.com, in Fjord, with reminders 10 minutes and 1 minute before. "
    "Say how many were created.",
    scope=office.calendar_scope,
    cells=(
        """\
from datetime import datetime, timedelta

first = datetime(2027, 1, 1, 9)
created = []
for day in range(31):
    start = first + timedelta(days=day)
    event = await calendar.create(
        title="Daily stand-up",
        start=start,
        end=start + timedelta(minutes=15),
        attendees=["grace@example.com", "alan@example.com"],
        location="Fjord",
        reminders=[10, 1],
    )
    created.append(event)
""",
    ),
    looks=("len(created)",),
    end='f"{len(created)} events were created."',
    was_done=lambda scope: len({event.start for event in office.events_of(scope["calendar"])}) == 31,
)

WORKFLOW = Errand(
    title="a workflow of 10 steps",
    task="Nordlys AS complains about missing parts. Find their unpaid invoices of 2026 and the late fees on them, look "
    "up the deliveries and their open tickets, give a credit over the late fees, answer and close the tickets, write a "
    "summary document and send it to their contact. Say what was done.",
    scope=office.office_scope,
    cells=(
        """\
from datetime import date

customer = await crm.find_customer(name="Nordlys AS")
contract = await crm.contract(customer_id=customer.id)
invoices = await billing.invoices(customer_id=customer.id, since=date(2026, 1, 1))
unpaid = [i.id for i in invoices if i.status == "open"]
fees = await billing.late_fees(contract_id=contract.id, invoice_ids=unpaid)
""",
        """\
deliveries = await shipping.deliveries(invoice_ids=unpaid)
tickets = await support.tickets(delivery_ids=[d.id for d in deliveries])
still_open = [t.id for t in tickets if t.status == "open"]
credit = await billing.credit(
    customer_id=customer.id, ticket_ids=still_open, amount=sum(f.amount for f in fees)
)
""",
        """\
closed = await support.close(ticket_ids=still_open, answer=f"We are sorry; credit {credit.id} is on its way.")
summary = await documents.write(
    title=f"Missing parts: {customer.name}",
    lines=[f"{i.id}: {i.amount} {i.currency}, due {i.due}" for i in invoices if i.id in unpaid]
    + [f"Late fees credited: {credit.amount} {invoices[0].currency}"],
)
sent = await mail.send(
    to=customer.email,
    subject=summary.title,
    body=f"Dear {customer.contact},\\nplease find what we found and did attached.",
    attachments=[summary.id],
)
""",
    ),
    looks=("(contract, unpaid, fees)", "(tickets, credit)", "sent"),
    end='f"{len(closed)} tickets were closed, {credit.amount} credited, and {customer.contact} was written to."',
    was_done=lambda scope: [sent.to for sent in office.sent_of(scope["mail"])] == ["grace@nordlys.example.com"],
)
