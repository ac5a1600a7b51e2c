"""`rt.search`: what an agent finds by saying what it wants to do."""

from __future__ import annotations

import ast
import sys
import types
from typing import Any

import pytest
from tests.catalog import office

from toolwright import Runtime, Scope
from toolwright.catalog import Catalog, Hit, catalog_functions
from toolwright.scope import Operation, operation

QUERIES = {
    "send an email": "mail.send",
    "notify someone by mail": "mail.send",
    "read my unread messages": "mail.inbox",
    "respond to a message": "mail.reply",
    "forward a letter": "mail.forward",
    "archive letters": "mail.archive",
    "add a new contact": "crm.contacts.create",
    "register a customer": "crm.contacts.create",
    "find people in Oslo": "crm.contacts.list",
    "list contacts by city": "crm.contacts.list",
    "remove a contact": "crm.contacts.delete",
    "deleting contacts": "crm.contacts.delete",
    "edit contact": "crm.contacts.update",
    "change a person's email": "crm.contacts.update",
    "start a deal": "crm.deals.open",
    "mark deal as won": "Deal.win",
    "total revenue for the year": "crm.deals.revenue",
    "book a meeting": "calendar.schedule_meeting",
    "create calendar event": "calendar.schedule_meeting",
    "cancel meeting": "calendar.cancelMeeting",
    "delete an event from the calendar": "calendar.cancelMeeting",
    "what meetings are there today": "calendar.meetings",
    "available time slots": "calendar.free_slots",
    "invite an attendee": "calendar.invite",
    "upload a document": "files.upload",
    "download file": "files.download",
    "list files in a directory": "files.list_folder",
    "rename a file": "files.rename",
    "share a document with a colleague": "files.share",
    "create an invoice": "payments.createInvoice",
    "bill a customer": "payments.createInvoice",
    "charge a credit card": "payments.charge_card",
    "refund payment": "payments.refund",
    "account balance": "payments.balance",
    "unpaid overdue invoices": "payments.overdue",
    "open a support ticket": "tickets.open_ticket",
    "close the issue": "tickets.close_ticket",
    "assign ticket to staff": "tickets.assign",
    "hire an employee": "staff.hire",
    "how many vacation days are left": "staff.vacation_days",
    "weather forecast": "weather",
    "exchange rate between currencies": "convert_currency",
    "translate text to French": "translate",
    "cancelMeeting": "calendar.cancelMeeting",
    "crm.contacts.get": "crm.contacts.get",
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog(office.scope())


@pytest.mark.parametrize("query", QUERIES)
def test_the_right_function_is_among_the_first_three(catalog: Catalog, query: str) -> None:
    assert QUERIES[query] in [hit.name for hit in catalog.search(query, 3)]


def test_most_queries_find_it_first(catalog: Catalog) -> None:
    missed = {q: catalog.search(q, 1) for q, name in QUERIES.items() if [h.name for h in catalog.search(q, 1)] != [name]}
    assert len(missed) <= len(QUERIES) // 10, missed
