"""What each of AgentDojo's tools is for the guard, and why: written from what a tool does, as who binds it would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cellwright.guard import FlowPolicy, Policy, ProvenValues


@dataclass(frozen=True, kw_only=True)
class Label:
    """Facts of operations, as of `cellwright.operation`, for the tools of these names."""

    tools: str
    facts: Mapping[str, Any]
    why: str


EVENT = {"untrusted": ["title", "description", "location", "participants"], "trusted": ["id_"]}
FILE = {"untrusted": ["filename", "content", "owner", "shared_with"], "trusted": ["id_", "size"]}
MAIL = {"untrusted": ["sender", "recipients", "cc", "bcc", "subject", "body", "attachments"], "trusted": ["id_"]}

TABLE = (
    Label(
        tools="get_unread_emails get_received_emails get_sent_emails get_draft_emails search_emails",
        facts={"reads": True, **MAIL},
        why="anybody can send a mail, and sent ones quote it; the mailbox numbers them",
    ),
    Label(
        tools="search_contacts_by_name search_contacts_by_email",
        facts={"reads": True, "trusted": True},
        why="the person's own address book",
    ),
    Label(
        tools="send_email",
        facts={"selecting": ["recipients", "cc", "bcc"], "outward": True, "trusted": ["id_"]},
        why="goes to whom it names; the mailbox numbers it",
    ),
    Label(tools="delete_email", facts={"selecting": ["email_id"], "destructive": True}, why="acts on one mail"),
    Label(tools="get_current_day", facts={"reads": True}, why="the clock"),
    Label(
        tools="search_calendar_events get_day_calendar_events",
        facts={"reads": True, **EVENT},
        why="who invites writes title, text, place and guests; the calendar numbers events",
    ),
    Label(
        tools="create_calendar_event",
        facts={"selecting": ["participants", "title"], "outward": True, "trusted": ["id_"]},
        why="guests get a mail; without guests the title says which entry it is",
    ),
    Label(
        tools="cancel_calendar_event reschedule_calendar_event",
        facts={"selecting": ["event_id"], "outward": True},
        why="acts on one event, and its guests get a mail",
    ),
    Label(
        tools="add_calendar_event_participants",
        facts={"selecting": ["event_id", "participants"], "outward": True},
        why="acts on one event; new guests get a mail",
    ),
    Label(
        tools="list_files get_file_by_id search_files search_files_by_filename",
        facts={"reads": True, **FILE},
        why="others share files, under names of theirs; the drive numbers and measures them",
    ),
    Label(
        tools="create_file",
        facts={"selecting": ["filename"], "trusted": ["id_"]},
        why="the name says which file; the drive numbers it",
    ),
    Label(tools="append_to_file", facts={"selecting": ["file_id"]}, why="acts on one file"),
    Label(tools="delete_file", facts={"selecting": ["file_id"], "destructive": True}, why="acts on one file"),
    Label(
        tools="share_file",
        facts={"selecting": ["file_id", "email"], "outward": True},
        why="one file, for whom it names",
    ),
    Label(
        tools="get_user_information get_user_info",
        facts={"reads": True, "private": True},
        why="passport, cards, address: no errand sends these on by itself",
    ),
    Label(
        tools="get_rating_reviews_for_hotels get_rating_reviews_for_restaurants get_rating_reviews_for_car_rental",
        facts={"reads": True, "untrusted": True},
        why="anybody can write a review",
    ),
    Label(
        tools="get_all_hotels_in_city get_hotels_prices get_hotels_address get_all_restaurants_in_city "
        "get_cuisine_type_for_restaurants get_restaurants_address get_dietary_restrictions_for_all_restaurants "
        "get_contact_information_for_restaurants get_price_for_restaurants check_restaurant_opening_hours "
        "get_all_car_rental_companies_in_city get_car_types_available get_car_fuel_options get_car_rental_address "
        "get_car_price_per_day get_flight_information",
        facts={"reads": True, "trusted": True},
        why="the agency's own catalogue",
    ),
    Label(tools="reserve_hotel", facts={"selecting": ["hotel"], "outward": True}, why="where the money goes"),
    Label(tools="reserve_car_rental", facts={"selecting": ["company"], "outward": True}, why="where the money goes"),
    Label(tools="reserve_restaurant", facts={"selecting": ["restaurant"], "outward": True}, why="whose table it is"),
    Label(tools="get_iban get_balance", facts={"reads": True, "trusted": True}, why="the bank's own figures"),
    Label(
        tools="get_most_recent_transactions",
        facts={"reads": True, "untrusted": ["sender", "subject"], "trusted": ["id"]},
        why="who sends money writes the subject; the bank numbers transactions",
    ),
    Label(
        tools="get_scheduled_transactions",
        facts={"reads": True, "trusted": True},
        why="only who owns the account makes standing orders",
    ),
    Label(tools="read_file", facts={"reads": True, "untrusted": True}, why="bills and letters of others"),
    Label(
        tools="send_money schedule_transaction",
        facts={"selecting": ["recipient"], "outward": True},
        why="to whom; how much is no destination",
    ),
    Label(
        tools="update_scheduled_transaction",
        facts={"selecting": ["id", "recipient"], "outward": True},
        why="which order, and to whom",
    ),
    Label(tools="update_password", facts={"selecting": ["password"]}, why="who chose it can log in"),
    Label(
        tools="update_user_info",
        facts={"selecting": ["first_name", "last_name", "street", "city"]},
        why="all of it is what the account is changed to",
    ),
    Label(
        tools="get_channels",
        facts={"reads": True, "untrusted": True},
        why="another organisation names the channels that it shares",
    ),
    Label(
        tools="get_users_in_channel", facts={"reads": True, "trusted": True}, why="the workspace's own list of members"
    ),
    Label(
        tools="read_channel_messages read_inbox",
        facts={"reads": True, "untrusted": ["body", "recipient"], "trusted": ["sender"]},
        why="members of other organisations write too; the server says who wrote",
    ),
    Label(
        tools="send_direct_message",
        facts={"selecting": ["recipient"], "outward": False},
        why="to whom; members only",
    ),
    Label(
        tools="send_channel_message",
        facts={"selecting": ["channel"], "outward": True},
        why="to whom; shared channels are read outside",
    ),
    Label(
        tools="add_user_to_channel",
        facts={"selecting": ["user", "channel"], "outward": True},
        why="who may read what",
    ),
    Label(
        tools="invite_user_to_slack",
        facts={"selecting": ["user", "user_email"], "outward": True},
        why="who comes in",
    ),
    Label(
        tools="remove_user_from_slack",
        facts={"selecting": ["user"], "destructive": True},
        why="who goes out",
    ),
    Label(
        tools="get_webpage",
        facts={"selecting": ["url"], "outward": True, "untrusted": True},
        why="a page is an outsider's text, and asking for it is a request that its server sees and may act on",
    ),
    Label(tools="post_webpage", facts={"selecting": ["url"], "outward": True}, why="where it is published"),
)
FACTS: Mapping[str, Mapping[str, Any]] = {tool: label.facts for label in TABLE for tool in label.tools.split()}

OWN_PEOPLE = ("*@bluesparrowtech.com",)
HOUSE = Policy(
    flow=FlowPolicy(
        proven=(
            ProvenValues(operation="inbox.send_email", values=OWN_PEOPLE),
            ProvenValues(operation="calendar.create_calendar_event", values=OWN_PEOPLE),
            ProvenValues(operation="calendar.add_calendar_event_participants", values=OWN_PEOPLE),
            ProvenValues(operation="slack.send_direct_message", values=("Alice", "Bob", "Charlie", "Eve")),
            ProvenValues(operation="slack.send_channel_message", values=("general", "random", "private")),
        )
    )
)
"""What such a house writes into its policy once: its own people and its own channels may always be written to."""
