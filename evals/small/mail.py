"""A toy mailbox: an inbox, and mail that is sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from evals.small.checks import equals, every, state
from evals.small.crm import Crm
from evals.small.task import Trial, acting, reading, task


@dataclass(frozen=True)
class Header:
    id: int
    sender: str
    subject: str
    received: datetime
    read: bool


@dataclass(frozen=True)
class Sent:
    to: str
    subject: str
    body: str


def _header(number: int, sender: str, subject: str, day: int, *, read: bool = False) -> Header:
    return Header(number, sender, subject, datetime(2025, 4, day, 8, number), read)


INBOX = (
    _header(1, "news@daily.example", "Your Tuesday news", 1, read=True),
    _header(2, "marta@office.example", "Room change", 1),
    _header(3, "shop@parcel.example", "Your order has shipped", 2),
    _header(4, "olav@office.example", "Draft contract", 2, read=True),
    _header(5, "news@daily.example", "Your Wednesday news", 2),
    _header(6, "marta@office.example", "Room change, again", 3),
    _header(7, "olav@office.example", "Lunch?", 3, read=True),
    _header(8, "news@daily.example", "Your Thursday news", 3),
)
BODIES = {
    2: "Hello, we meet in room 214 and not in 210. Marta",
    3: "Good news: your order with the number PX-48213 left our warehouse today. Keep your receipt no. R-77.",
    4: "Please look at clause 7 before Friday. Olav",
    6: "Sorry, it is room 118 after all. Marta",
    7: "Noon at the usual place? Olav",
}


class Mailbox:
    """My mail."""

    def __init__(self) -> None:
        self._inbox = {header.id: header for header in INBOX}
        self._archived: list[int] = []
        self._sent: list[Sent] = []

    @reading
    def inbox(self) -> list[Header]:
        """Who wrote what and when, for every message in the inbox, the oldest first; without the texts."""
        return list(self._inbox.values())

    @reading
    def body(self, message_id: int) -> str:
        """The text of a message."""
        if message_id not in self._inbox:
            raise LookupError(f"message {message_id} is not in the inbox")
        return BODIES.get(message_id, "Today: weather, sports, and a recipe.")

    @acting
    def archive(self, message_id: int) -> None:
        """Move a message from the inbox to the archive."""
        if self._inbox.pop(message_id, None) is None:
            raise LookupError(f"message {message_id} is not in the inbox")
        self._archived.append(message_id)

    @acting
    def send(self, to: str, subject: str, body: str) -> None:
        """Send an email to one address."""
        self._sent.append(Sent(to, subject, body))

    @reading
    def sent(self) -> list[Sent]:
        """What was sent from here, the oldest first."""
        return list(self._sent)


@task(
    id="mail-unread",
    prompt="How many unread messages are in my inbox?",
    returns=int,
    tags="lookup aggregate",
    solution="done(sum(not message.read for message in mail.inbox()))",
    wrong=("done(len(mail.inbox()))",),
)
def unread() -> Trial:
    return Trial(scope={"mail": Mailbox()}, check=equals(5))


@task(
    id="mail-by-sender",
    prompt="""How many messages of each sender are in my inbox? Give a dictionary from the sender's address to the
        number.""",
    returns=dict[str, int],
    tags="aggregate",
    solution="""
counts = {}
for message in mail.inbox():
    counts[message.sender] = counts.get(message.sender, 0) + 1
done(counts)
""",
    wrong=("done({m.sender: m.id for m in mail.inbox()})",),
)
def by_sender() -> Trial:
    counts = {"news@daily.example": 3, "marta@office.example": 2, "shop@parcel.example": 1, "olav@office.example": 2}
    return Trial(scope={"mail": Mailbox()}, check=equals(counts))


@task(
    id="mail-order-number",
    prompt='What is the number of the order in the message "Your order has shipped"? Give it as it is written there.',
    returns=str,
    tags="transform",
    solution=r"""
import re
found = next(m for m in mail.inbox() if m.subject == "Your order has shipped")
done(re.search(r"number (\S+)", mail.body(found.id)).group(1))
""",
    wrong=("done('R-77')",),
)
def order_number() -> Trial:
    return Trial(scope={"mail": Mailbox()}, check=equals("PX-48213"))


@task(
    id="mail-latest-room",
    prompt="In which room do we meet, according to the latest message from marta@office.example? Give the room number.",
    returns=int,
    tags="lookup transform",
    solution=r"""
import re
latest = max((m for m in mail.inbox() if m.sender == "marta@office.example"), key=lambda m: m.received)
done(int(re.search(r"room (\d+)", mail.body(latest.id)).group(1)))
""",
    wrong=("done(214)",),
)
def latest_room() -> Trial:
    return Trial(scope={"mail": Mailbox()}, check=equals(118))


@task(
    id="mail-send-one",
    prompt='Send an email to olav@office.example with the subject "Lunch" and the body "Noon is fine."',
    returns=None,
    tags="effect",
    solution='mail.send("olav@office.example", "Lunch", "Noon is fine.")\ndone(None)',
    wrong=(
        "for n in range(2):\n    mail.send('olav@office.example', 'Lunch', 'Noon is fine.')\ndone(None)",
        "mail.send('olav@office.example', 'Noon is fine.', 'Lunch')\ndone(None)",
    ),
)
def send_one() -> Trial:
    mail = Mailbox()
    return Trial(
        scope={"mail": mail}, check=state("sent", mail.sent, [Sent("olav@office.example", "Lunch", "Noon is fine.")])
    )


@task(
    id="mail-archive-news",
    prompt="""Archive every message from news@daily.example, and give the number of messages that are then left in my
        inbox.""",
    returns=int,
    tags="loop effect",
    solution="""
for message in mail.inbox():
    if message.sender == "news@daily.example":
        mail.archive(message.id)
done(len(mail.inbox()))
""",
    wrong=("done(5)", "for m in mail.inbox()[:3]:\n    mail.archive(m.id)\ndone(len(mail.inbox()))"),
)
def archive_news() -> Trial:
    mail = Mailbox()
    left = state("left in the inbox", lambda: [m.id for m in mail.inbox()], [2, 3, 4, 6, 7])
    return Trial(scope={"mail": mail}, check=every(equals(5), left))


@task(
    id="mail-invite-city",
    prompt="""Send every contact in Bergen one email with the subject "Open house" and the body "Dear NAME, please
        come.", where NAME is the contact's full name. Give the addresses you wrote to in alphabetical order.""",
    returns=list[str],
    tags="join loop effect",
    solution="""
addresses = []
for contact in crm.contacts(city="Bergen"):
    mail.send(contact.email, "Open house", f"Dear {contact.name}, please come.")
    addresses.append(contact.email)
done(sorted(addresses))
""",
    wrong=(
        "people = crm.contacts('Bergen')\nfor c in people:\n"
        "    mail.send(c.email, 'Open house', 'Dear NAME, please come.')\ndone(sorted(c.email for c in people))",
        "people = crm.contacts()\nfor c in people:\n"
        "    mail.send(c.email, 'Open house', f'Dear {c.name}, please come.')\n"
        "done(sorted(c.email for c in people if c.city == 'Bergen'))",
    ),
)
def invite_city() -> Trial:
    mail = Mailbox()
    people = {"bjarne@fjord.example": "Bjarne Dahl", "eva@moen.example": "Eva Moen", "georg@vik.example": "Georg Vik"}
    letters = [Sent(to, "Open house", f"Dear {name}, please come.") for to, name in people.items()]
    sent = state("sent", lambda: sorted(mail.sent(), key=lambda letter: letter.to), letters)
    return Trial(scope={"crm": Crm(), "mail": mail}, check=every(equals(list(people)), sent))


TASKS = (unread, by_sender, order_number, latest_room, send_one, archive_news, invite_city)
