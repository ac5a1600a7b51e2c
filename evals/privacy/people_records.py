"""Records with known private values, from Faker and fixed seeds."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from evals.privacy.record_templates import SEEN, UNSEEN

LOCALES = "en_US en_GB en_CA en_IN de_DE fr_FR es_ES it_IT nl_NL pl_PL sv_SE no_NO da_DK fi_FI pt_BR".split()
LABELS = {
    "en_US": "SSN", "en_GB": "National Insurance number", "en_CA": "SIN", "en_IN": "Aadhaar", "de_DE": "Steuer-ID",
    "fr_FR": "NIR", "es_ES": "DNI/NIE", "it_IT": "codice fiscale", "nl_NL": "BSN", "pl_PL": "PESEL",
    "sv_SE": "personnummer",
    "no_NO": "fødselsnummer", "da_DK": "CPR number", "fi_FI": "henkilötunnus", "pt_BR": "CPF",
}  # fmt: skip
FIELD = re.compile(r"<<(\w+)>>")
KINDS = {
    "first": "name", "last": "name", "isobirth": "birth_date", "birth": "birth_date", "id": "national_id",
    "ssn": "national_id",
    "street": "address", "zip": "address", "address_lines": "address", "mrn": "medical_record", "aws": "secret",
    "ghp": "secret", "password": "secret", "ip6": "ip",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Truth:
    start: int
    end: int
    kind: str


@dataclass(frozen=True, kw_only=True)
class PeopleRecord:
    """A text and its private values. `unseen`: of a template whose errors were not looked at."""

    text: str
    truths: tuple[Truth, ...]
    unseen: bool
    locale: str


class Fields:
    """Values for the fields of templates, by one locale's Faker."""

    def __init__(self, faker: Any, locale: str, chance: random.Random) -> None:
        self._faker = faker
        self._locale = locale
        self._chance = chance

    def value(self, field: str) -> str:
        maker: Callable[[], str] = getattr(self, f"_{field}")
        return maker()

    def _digits(self, form: str) -> str:
        return "".join(str(self._chance.randint(0, 9)) if each == "#" else each for each in form)

    def _letters(self, count: int, among: str = string.ascii_letters + string.digits) -> str:
        return "".join(self._chance.choices(among, k=count))

    def _pick(self, *values: str) -> str:
        return self._chance.choice(values)

    def _name(self) -> str:
        return f"{self._first()} {self._last()}"

    def _first(self) -> str:
        return self._faker.first_name()

    def _last(self) -> str:
        return self._faker.last_name()

    def _email(self) -> str:
        first, last = (re.sub(r"[^a-z]", "", part.lower()) or "kim" for part in (self._first(), self._last()))
        local = self._pick(
            f"{first}.{last}", f"{first[0]}{last}", f"{last}+shop", f"{first}_{last}{self._digits('##')}"
        )
        return f"{local}@{self._faker.domain_name()}" if self._chance.random() < 0.6 else self._faker.email()

    def _phone(self) -> str:
        return self._faker.phone_number()

    def _card(self) -> str:
        number = self._faker.credit_card_number(self._pick("visa", "mastercard", "amex"))
        groups = (4, 6, 5) if len(number) == 15 else (4, 4, 4, 4)
        mark, at, parts = self._pick("", " ", "-"), 0, list[str]()
        for size in groups:
            parts.append(number[at : at + size])
            at += size
        return mark.join(parts) if sum(groups) == len(number) else number

    def _iban(self) -> str:
        number = self._faker.iban()
        return number if self._chance.random() < 0.5 else " ".join(re.findall(".{1,4}", number))

    def _id_label(self) -> str:
        return LABELS[self._locale]

    def _id(self) -> str:
        fake, locale = self._faker, self._locale
        if locale == "de_DE":
            return self._tax_id()
        makers = {"en_IN": "aadhaar_id", "es_ES": "nie", "pl_PL": "pesel", "pt_BR": "cpf"}
        return getattr(fake, makers.get(locale, "ssn"))()

    def _tax_id(self) -> str:
        """A German one, by the rule of its check digit (ISO 7064); one digit stands twice."""
        body = self._chance.sample(range(10), 9)
        body.insert(self._chance.randint(1, 9), body[self._chance.randint(0, 8)])
        body = body if body[0] else body[::-1]
        product = 10
        for digit in body:
            total = (digit + product) % 10 or 10
            product = 2 * total % 11
        return "".join(map(str, body)) + str((11 - product) % 10)

    def _ssn(self) -> str:
        return f"{self._chance.randint(1, 665):03}-{self._chance.randint(1, 99):02}-{self._chance.randint(1, 9999):04}"

    def _ip(self) -> str:
        return self._faker.ipv4_public()

    def _ip6(self) -> str:
        return self._faker.ipv6()

    def _address(self) -> str:
        return self._faker.address().replace("\n", ", ")

    def _address_lines(self) -> str:
        return self._faker.address()

    def _street(self) -> str:
        return self._faker.street_address().replace("\n", ", ")

    def _zip(self) -> str:
        return self._faker.postcode()

    def _day(self, low: int, high: int) -> tuple[int, int, int]:
        return self._chance.randint(low, high), self._chance.randint(1, 12), self._chance.randint(1, 28)

    def _date(self, low: int, high: int) -> str:
        year, month, day = self._day(low, high)
        title = "January February March April May June July August September October November December".split()[
            month - 1
        ]
        return self._pick(
            f"{year}-{month:02}-{day:02}", f"{month:02}/{day:02}/"
                                           f"{year}", f"{day}.{month}.{year}", f"{day} {title} {year}",
            f"{title} {day}, {year}", f"{day} {title[:3]} {year}",
        )  # fmt: skip

    def _birth(self) -> str:
        return self._date(1935, 2012)

    def _isobirth(self) -> str:
        return "{}-{:02}-{:02}".format(*self._day(1935, 2012))

    def _mrn(self) -> str:
        return self._pick(
            self._digits("########"), self._digits("######"), "A" + self._digits("######"), self._digits("MR-#####")
        )

    def _npi(self) -> str:
        body = self._pick("1", "2") + self._digits("########")
        total = 24 + sum(int(d) if at % 2 else sum(divmod(2 * int(d), 10)) for at, d in enumerate(body))
        return body + str(-total % 10)

    def _secret(self) -> str:
        return self._pick(
            "sk-" + self._letters(40),
            "sk_live_" + self._letters(24),
            "xoxb-" + self._letters(30),
            "hf_" + self._letters(34),
        )

    def _aws(self) -> str:
        return "AKIA" + self._letters(16, string.ascii_uppercase + string.digits)

    def _ghp(self) -> str:
        return "ghp_" + self._letters(36)

    def _password(self) -> str:
        return self._letters(9) + self._digits("##") + self._pick("!", "#", "")

    # what looks private and is not

    def _no_order(self) -> str:
        return self._pick(
            self._digits("##########"),
            self._digits("###-#######-#######"),
            self._digits("SO-########"),
            self._digits("2024-######"),
        )

    def _no_date(self) -> str:
        return self._date(2015, 2026)

    def _no_isodate(self) -> str:
        return "{}-{:02}-{:02}".format(*self._day(2015, 2026))

    def _no_time(self) -> str:
        return self._digits("1#:2#") + self._pick("", self._digits(":3#"), " pm")

    def _no_price(self) -> str:
        return self._pick(
            self._digits("$1,##9.##"),
            self._digits("# ### 2##,50 EUR"),
            self._digits("£###.##"),
            self._digits("1#.###,## €"),
        )

    def _no_amount(self) -> str:
        return self._digits("1##.##")

    def _no_int(self) -> str:
        return self._digits(self._pick("1###", "4####", "2#######", "1#########"))

    def _no_version(self) -> str:
        return self._digits(self._pick("#.1#.#", "v2.#.#", "3.#.#-rc1", "1.#.#.#"))

    def _no_isbn(self) -> str:
        return self._pick(self._faker.isbn13(), f"ISBN {self._faker.isbn13()}", f"ISBN {self._faker.isbn10()}")

    def _no_ean(self) -> str:
        return self._faker.ean13()

    def _no_sku(self) -> str:
        return self._digits(self._pick("AB-####-##", "SKU########", "X1#-##-####"))

    def _no_ticket(self) -> str:
        return self._digits(self._pick("OPS-####", "#1####", "INC########"))

    def _no_tracking(self) -> str:
        return self._digits(self._pick("1Z999AA1##########", "#### #### #### ####"[:14] + "##", "RR#########SE"))

    def _no_flight(self) -> str:
        return self._digits(self._pick("SK###", "BA ####", "LH##"))

    def _no_product(self) -> str:
        head = self._pick("Acme", "Super", "Blue Ridge", "Nordic", "Turbo", "Silent", "Apple Valley")
        thing = self._pick("Widget", "Kettle", "Lamp", "Router", "Desk", "Plan")
        return f"{head} {thing}{self._pick('', ' Pro', ' 3000', ' XL')}"

    def _no_company(self) -> str:
        firm = self._pick("Northwind", "Globex", "Initech", "Umbrella", "Contoso")
        return f"{firm} {self._pick('Ltd', 'GmbH', 'Inc.', 'AB')}"

    def _no_host(self) -> str:
        return self._pick("web01.internal.example.net", "db.example.org", "build-7.example.com")

    def _no_city(self) -> str:
        return self._pick("Oslo", "Berlin", "Chicago", "Lyon", "Madrid", "Pune")


def records(count: int, seed: int) -> Iterator[PeopleRecord]:
    """So many records: the templates in turn, each with the next locale."""
    faker: Any = import_module("faker")  # here: the tests of scores have no Faker

    chance = random.Random(seed)
    fakers = {locale: _seeded(faker.Faker(locale), seed + at) for at, locale in enumerate(LOCALES)}
    fields = {locale: Fields(fakers[locale], locale, chance) for locale in LOCALES}
    templates = [(template, False) for template in SEEN] + [(template, True) for template in UNSEEN]
    for number in range(count):
        template, unseen = templates[number % len(templates)]
        locale = LOCALES[(number // len(templates) + number) % len(LOCALES)]
        yield filled(template, fields[locale], unseen=unseen, locale=locale)


def _seeded(faker: Any, seed: int) -> Any:
    faker.seed_instance(seed)
    return faker


def filled(template: str, fields: Fields, *, unseen: bool, locale: str) -> PeopleRecord:
    parts: list[str] = []
    truths: list[Truth] = []
    size = 0
    for at, part in enumerate(FIELD.split(template)):
        text = fields.value(part) if at % 2 else part
        if at % 2 and not part.startswith("no_") and part != "id_label":
            truths.append(Truth(start=size, end=size + len(text), kind=KINDS.get(part, part)))
        parts.append(text)
        size += len(text)
    return PeopleRecord(text="".join(parts), truths=tuple(truths), unseen=unseen, locale=locale)
