"""A toy CRM: contacts and deals."""

from __future__ import annotations

from dataclasses import dataclass, replace

from evals.small.checks import equals, every, state
from evals.small.task import Trial, acting, reading, task


@dataclass(frozen=True)
class Contact:
    id: int
    name: str
    email: str
    city: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Deal:
    id: int
    contact_id: int
    title: str
    amount: int
    stage: str


@dataclass(frozen=True)
class BestCustomer:
    name: str
    total: int


class NoSuchContact(LookupError):
    """Raised for a contact that the CRM does not have."""


CONTACTS = (
    Contact(1, "Ada Berg", "ada@fjord.example", "Oslo"),
    Contact(2, "Bjarne Dahl", "bjarne@fjord.example", "Bergen"),
    Contact(3, "Clara Holm", "clara.holm@nord.example", "Oslo", ("vip",)),
    Contact(4, "David Lie", "dlie@sundt.example", "Trondheim"),
    Contact(5, "Eva Moen", "eva@moen.example", "Bergen"),
    Contact(6, "Frida Aas", "frida@aas.example", "Oslo"),
    Contact(7, "Georg Vik", "georg@vik.example", "Bergen", ("vip",)),
    Contact(8, "Hanne Ruud", "hanne@ruud.example", "Oslo"),
)
DEALS = (
    Deal(101, 1, "Website", 12000, "won"),
    Deal(102, 3, "Support contract", 4500, "lost"),
    Deal(103, 2, "Logo", 2500, "open"),
    Deal(104, 5, "Training", 7000, "lost"),
    Deal(105, 1, "Hosting", 900, "open"),
    Deal(106, 4, "Audit", 15500, "won"),
    Deal(107, 2, "Brochure", 14000, "won"),
    Deal(108, 5, "Follow-up training", 3000, "lost"),
    Deal(109, 2, "Poster", 2000, "won"),
)


class Crm:
    """Customer contacts and the deals with them."""

    def __init__(self) -> None:
        self._contacts = {contact.id: contact for contact in CONTACTS}
        self._deals = {deal.id: deal for deal in DEALS}

    @reading
    def contacts(self, city: str | None = None) -> list[Contact]:
        """All contacts, or those who live in one city."""
        return [contact for contact in self._contacts.values() if city in (None, contact.city)]

    @reading
    def find(self, name: str) -> Contact:
        """The contact of this full name; NoSuchContact if there is none."""
        for contact in self._contacts.values():
            if contact.name == name:
                return contact
        raise NoSuchContact(f"no contact is called {name!r}")

    @reading
    def deals(self, stage: str | None = None) -> list[Deal]:
        """All deals, or those in one stage: "open", "won" or "lost"."""
        return [deal for deal in self._deals.values() if stage in (None, deal.stage)]

    @acting
    def add_tag(self, contact_id: int, tag: str) -> None:
        """Put a tag on a contact."""
        contact = self._contacts.get(contact_id)
        if contact is None:
            raise NoSuchContact(f"no contact has the id {contact_id}")
        self._contacts[contact_id] = replace(contact, tags=(*contact.tags, tag))

    @acting
    def move_deal(self, deal_id: int, stage: str) -> Deal:
        """Put a deal into another stage, and give it as it is then."""
        self._deals[deal_id] = replace(self._deals[deal_id], stage=stage)
        return self._deals[deal_id]


@task(
    id="crm-email",
    prompt="What is the email address of Clara Holm?",
    returns=str,
    tags="lookup",
    solution="done(crm.find('Clara Holm').email)",
    wrong=("done('clara@nord.example')",),
)
def email() -> Trial:
    return Trial(scope={"crm": Crm()}, check=equals("clara.holm@nord.example"))


@task(
    id="crm-count-city",
    prompt="How many of our contacts live in Bergen?",
    returns=int,
    tags="lookup aggregate",
    solution="done(len(crm.contacts(city='Bergen')))",
    wrong=("done(len(crm.contacts()))",),
)
def count_city() -> Trial:
    return Trial(scope={"crm": Crm()}, check=equals(3))


@task(
    id="crm-without-deals",
    prompt="""Which contacts in Oslo have no deal at all, whatever its stage? Give their full names in alphabetical
        order.""",
    returns=list[str],
    tags="join",
    solution="""
busy = {deal.contact_id for deal in crm.deals()}
done(sorted(c.name for c in crm.contacts(city="Oslo") if c.id not in busy))
""",
    wrong=(
        "busy = {d.contact_id for d in crm.deals('won')}\n"
        "done(sorted(c.name for c in crm.contacts('Oslo') if c.id not in busy))",
        "done(['Hanne Ruud', 'Frida Aas'])",
    ),
)
def without_deals() -> Trial:
    return Trial(scope={"crm": Crm()}, check=equals(["Frida Aas", "Hanne Ruud"]))


@task(
    id="crm-amount-by-stage",
    prompt="What do the amounts of our deals add up to in each stage? Give a dictionary from stage to total amount.",
    returns=dict[str, int],
    tags="aggregate",
    solution="""
totals = {}
for deal in crm.deals():
    totals[deal.stage] = totals.get(deal.stage, 0) + deal.amount
done(totals)
""",
    wrong=("from collections import Counter\ndone(dict(Counter(d.stage for d in crm.deals())))",),
)
def amount_by_stage() -> Trial:
    return Trial(scope={"crm": Crm()}, check=equals({"won": 43500, "lost": 14500, "open": 3400}))


@task(
    id="crm-best-customer",
    prompt="""Which contact has the highest total amount in won deals? Give the full name and that total as a
        BestCustomer.""",
    returns=BestCustomer,
    tags="join aggregate",
    solution="""
totals = {}
for deal in crm.deals(stage="won"):
    totals[deal.contact_id] = totals.get(deal.contact_id, 0) + deal.amount
best = max(totals, key=totals.get)
name = next(c.name for c in crm.contacts() if c.id == best)
done(BestCustomer(name=name, total=totals[best]))
""",
    wrong=(
        "d = max(crm.deals('won'), key=lambda d: d.amount)\n"
        "done(BestCustomer(name=next(c.name for c in crm.contacts() if c.id == d.contact_id), total=d.amount))",
    ),
)
def best_customer() -> Trial:
    return Trial(scope={"crm": Crm()}, check=equals(BestCustomer("Bjarne Dahl", 16000)))


@task(
    id="crm-tag-lost",
    prompt="""Put the tag "win back" on every contact who has a lost deal. Nobody should get it twice, and nobody else
        should get it.""",
    returns=None,
    tags="loop effect",
    solution="""
for contact_id in {deal.contact_id for deal in crm.deals(stage="lost")}:
    crm.add_tag(contact_id, "win back")
done(None)
""",
    wrong=("for deal in crm.deals('lost'):\n    crm.add_tag(deal.contact_id, 'win back')\ndone(None)",),
)
def tag_lost() -> Trial:
    crm = Crm()
    after = {3: ("vip", "win back"), 5: ("win back",), 7: ("vip",)}
    return Trial(
        scope={"crm": crm},
        check=state("tags by contact", lambda: {c.id: c.tags for c in crm.contacts() if c.tags}, after),
    )


@task(
    id="crm-cities-of",
    prompt="""In which cities do Eva Moen, Ivar Sand, Ada Berg and Jon Lund live? Give a dictionary from full name to
        city, with "unknown" for people who are not in the CRM.""",
    returns=dict[str, str],
    tags="loop error-recovery",
    solution="""
cities = {}
for name in ["Eva Moen", "Ivar Sand", "Ada Berg", "Jon Lund"]:
    try:
        cities[name] = crm.find(name).city
    except LookupError:
        cities[name] = "unknown"
done(cities)
""",
    wrong=("done({name: crm.find(name).city for name in ['Eva Moen', 'Ada Berg']})",),
)
def cities_of() -> Trial:
    cities = {"Eva Moen": "Bergen", "Ivar Sand": "unknown", "Ada Berg": "Oslo", "Jon Lund": "unknown"}
    return Trial(scope={"crm": Crm()}, check=equals(cities))


@task(
    id="crm-win-deal",
    prompt='The deal "Logo" is won. Move it to the stage "won" and give its amount.',
    returns=int,
    tags="lookup effect",
    solution="""
deal = next(d for d in crm.deals() if d.title == "Logo")
done(crm.move_deal(deal.id, "won").amount)
""",
    wrong=("done(2500)", "for d in crm.deals('open'):\n    crm.move_deal(d.id, 'won')\ndone(2500)"),
)
def win_deal() -> Trial:
    crm = Crm()
    after = {deal.id: deal.stage for deal in DEALS} | {103: "won"}
    return Trial(
        scope={"crm": crm},
        check=every(equals(2500), state("stages", lambda: {d.id: d.stage for d in crm.deals()}, after)),
    )


TASKS = (email, count_city, without_deals, amount_by_stage, best_customer, tag_lost, cities_of, win_deal)
