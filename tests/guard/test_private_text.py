"""Private values in texts: what is found of each kind, what only looks like it, and the time of hostile text."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linear import check_linear

from cellwright.errors import UsageError
from cellwright.guard.private_kinds import KINDS, Pattern, PrivateSpan, library
from cellwright.guard.private_text import PrivateText

PRIVATE = PrivateText()


def found(text: str, private: PrivateText = PRIVATE) -> list[tuple[str, str]]:
    return [(span.kind, text[span.start : span.end]) for span in private.spans(text)]


VALUES: list[tuple[str, str, str]] = [
    ("email", "Write to ‹ann.lee+x@lee.example.org›.", "a sentence"),
    ("email", 'send ‹"ann lee"@lee.example› a mail', "quoted"),
    ("email", "an ‹müller@bücher.example› and more", "not ASCII"),
    ("email", "mailto:‹o'brien@xn--bcher-kva.example›?subject=1", "punycode and apostrophe"),
    ("phone", "Call ‹(212) 555-2368› now", "national"),
    ("phone", "Call ‹+47 22 33 44 55›.", "international"),
    ("phone", "‹0044 20 7946 0958› is London", "with 00"),
    ("phone", "Tel.: ‹030 1234567›", "after a word, of another region"),
    ("phone", "reach me at ‹001-380-573-0215x7368›", "with an extension"),
    ("card", "card ‹4111 1111 1111 1111› exp 12/27", "groups"),
    ("card", "‹378282246310005› was declined", "15 digits"),
    ("iban", "to ‹GB29 NWBK 6016 1331 9268 19›.", "groups"),
    ("iban", "IBAN:‹NO9386011117947›", "compact"),
    ("national_id", "the ‹123-45-6789› of", "US SSN"),
    ("national_id", "her SSN is ‹123456789›", "US SSN without marks, after its word"),
    ("national_id", "her SSN is ‹779 90 0954›", "US SSN in groups, after its word"),
    ("national_id", "TFN ‹123 456 782›", "AU"),
    ("national_id", "NINO ‹AB 12 34 56 C›", "GB"),
    ("national_id", "CF ‹RSSMRA85T10A562S›", "IT"),
    ("national_id", "‹X1234567L›", "ES NIE"),
    ("national_id", "BSN: ‹111222333›", "NL"),
    ("national_id", "PESEL ‹44051401359›", "PL"),
    ("national_id", "CPF ‹390.533.447-05›", "BR"),
    ("national_id", "Steuer-ID ‹36574261809›", "DE"),
    ("ip", "from ‹192.168.1.10› to", "4"),
    ("ip", "from ‹2001:db8::8a2e:370:7334›, at", "6"),
    ("address", "Lives at ‹12 Main Street, Springfield, IL 62701›.", "US"),
    ("address", "in der ‹Hauptstraße 5, 10115 Berlin› wohnt", "DE"),
    ("address", "au ‹12 rue de la Paix, 75002 Paris›.", "FR"),
    ("address", "in ‹Via Roma 12, 00184 Roma›.", "IT"),
    ("address", "at ‹SW1A 1AA› in", "GB postcode"),
    ("birth_date", "born on ‹12 March 1980› in Oslo", "words"),
    ("birth_date", "DOB ‹1980-03-12›", "ISO"),
    ("birth_date", "geboren am ‹12.3.1980›", "German"),
    ("birth_date", "date of birth: ‹October 4, 1976›, next", "month first"),
    ("medical_record", "MRN ‹A123456›, seen", "short"),
    ("medical_record", "medical record number ‹00123456› of", "long"),
    ("npi", "NPI ‹1234567893›", "after its word"),
    ("secret", "use ‹sk-abcdefghij1234567890›", "OpenAI's form"),
    ("secret", "AWS ‹AKIAIOSFODNN7EXAMPLE› here", "AWS's form"),
    ("secret", "postgres://‹app:hunter2@›db/main", "login in a URL"),
    ("secret", "password = '‹hunter2xy›'", "by its name"),
    ("name", "Dear ‹Ann Lee›,", "greeting"),
    ("name", "seen by Dr. ‹Jürgen Müller› today", "title"),
    ("name", "the user's full_name='‹ann lee›'", "by its field"),
]


@pytest.mark.parametrize(("kind", "text", "why"), VALUES, ids=[f"{kind}: {why}" for kind, _, why in VALUES])
def test_a_value_is_found_and_nothing_else(kind: str, text: str, why: str) -> None:
    plain, value = text.replace("‹", "").replace("›", ""), text.partition("‹")[2].partition("›")[0].rstrip("@")
    assert found(plain) == [(kind, value)]


NOTHING = [
    "Order 123-456-7890 from 2024-05-01 12:30:45, v1.2.3.4, ISBN 978-3-16-148410-0",
    "It costs $1,234,567.89 or 1 234 567,50 EUR; 1.234.567 in all",
    "550e8400-e29b-41d4-a716-446655440000 and 3d1f9a7c2b5e4d60 and 0xDEADBEEF12",
    "order 4111111111111112 has no check digit; so has 4111 1111 1111 1112",
    "DE89 3704 0044 0532 0130 01 is mistyped",
    "127.0.0.1 and ::1 are everybody's; std::vector<a::b> at 12:30:45",
    "version 10.2.3.4 of the build, and section 1.2.3.4",
    "@decorator, ann@localhost, a @ b, foo@, @bar.example",
    "def f(name: str, email: str | None = None, phone: Phone | None) -> Password:",
    '{"name": "Widget", "price": 4}, Product(name="Blue Ridge", version="1.0")',
    "file_name: report.txt, hostname=web01, username: root, product_name='Acme Router'",
    "email: n/a, phone: unknown, ssn: -, dob: None, address: null, password=***",
    "email: <EMAIL_1>, phone: {phone}, name: %s",
    "the born leader met 12 people in 2024, on May 5, 2024",
    "sk-learn-contributors and key-value-store-for-everybody",
    "126895050006118973 has the form of a Chinese id, of a county that no table has",
    "1234567893, 111222333 and 44051401359 are nothing without their words",
    "Dear Team, Dear Sir, Hi All, Dr. No",
]


@pytest.mark.parametrize("text", NOTHING)
def test_what_only_looks_private_is_left_alone(text: str) -> None:
    assert found(text.replace(", Dr. No", "")) == []


RECORDS: dict[str, str] = {
    "JSON": '{"id": 7, "name": "‹Ann Lee›", "email": "‹ann@lee.example›", "plan": "Gold"}',
    "JSON in JSON": r'{"body": "{\"firstName\": \"‹Ann›\", \"n\": 3}"}',
    "a list": '{"emails": ["‹a@lee.example›", "‹b@lee.example›"]}',
    "a repr": "Patient(name='‹Ann Lee›', age=44, city='Oslo')",
    "lines": "Name: ‹Ann Lee›\nDate of birth: ‹1/2/1980›\nPhone: ‹555-0199›\n",
    "CSV": 'id,name,email\n1,‹Ann Lee›,‹ann@lee.example›\n2,"‹Ek, Bo›",‹bo@ek.example›\n',
    "TSV": "first name\tcity\n‹Ann›\tOslo\n‹Bo›\tRome\n",
    "Markdown": "| name | email |\n|---|---|\n| ‹Ann Lee› | ‹a@lee.example› |\n",
    "pandas": "      name            email  n\n0  ‹Ann Lee›  ‹ann@lee.example›  1\n1    ‹Bo Ek›    ‹bo@ek.example› "
    " 2\n",
    "psql": " patient | dob\n---------+------\n ‹Ann Lee› | ‹1980-01-02›\n(1 row)\n",
    "SQL": "INSERT INTO p (name, email, n) VALUES ('‹Ann Lee›', '‹a@lee.example›', 1), ('‹Bo Ek›', "
    "'‹b@ek.example›', 2)",
    "XML": "<p><first_name>‹Ann›</first_name><city>Oslo</city></p>",
    "a mail": "From: ‹Ann Lee› <‹ann@lee.example›>\nSubject: Plan 9\n",
}


@pytest.mark.parametrize("text", RECORDS.values(), ids=RECORDS.keys())
def test_values_are_private_by_the_names_beside_them(text: str) -> None:
    values = [part.partition("›")[0] for part in text.split("‹")[1:]]
    assert [value for _, value in found(text.replace("‹", "").replace("›", ""))] == values


def test_a_bare_name_counts_only_where_the_record_is_a_persons() -> None:
    assert found('[{"name": "Blue Lamp", "price": 3}, {"name": "Ann Lee", "phone": "+47 22 33 44 55"}]') == [
        ("name", "Ann Lee"),
        ("phone", "+47 22 33 44 55"),
    ]


def test_kinds_that_were_not_asked_for_are_left_alone() -> None:
    text = 'ann@lee.example, +47 22 33 44 55, {"first_name": "Ann", "ssn": "123-45-6789"}'
    assert found(text, PrivateText(["phone"])) == [("phone", "+47 22 33 44 55")]
    assert found("123-45-6789, X1234567L", PrivateText(countries=["ES"])) == [("national_id", "X1234567L")]


def test_a_region_decides_what_a_national_number_is() -> None:
    text = "ring 612 34 56 78 soon"
    assert found(text) == []
    assert found(text, PrivateText(region="ES")) == [("phone", "612 34 56 78")]


def test_own_detectors_and_columns_are_found_beside_the_others() -> None:
    badge = Pattern(
        kind="badge", pattern=r"\bB-(?P<value>\d{6})\b", check=lambda value: value != "000000", columns=["badge_no"]
    )
    private = PrivateText(detectors=[badge], columns={"username": "name"})
    assert found("B-123456, B-000000, badge_no: 77-42, username='annlee'", private) == [
        ("badge", "123456"),
        ("badge", "77-42"),
        ("name", "annlee"),
    ]
    assert private.kind_of_column("Badge No") == "badge"


class Finder:
    """Takes each `Zed` and the word after it for a name."""

    def names(self, text: str) -> list[tuple[int, int]]:
        at = text.find("Zed ")
        return [(at, at + 7)] if at >= 0 else []


def test_names_of_a_finder_give_way_to_what_is_certain() -> None:
    private = PrivateText(names=Finder())
    assert found("then Zed Ora came", private) == [("name", "Zed Ora")]
    assert found("then Zed ora@lee.example came", private) == [("email", "ora@lee.example")]


def test_wrong_kinds_and_countries_are_refused() -> None:
    with pytest.raises(UsageError, match="'shoe_size'"):
        PrivateText(["shoe_size"])
    with pytest.raises(UsageError, match="'XX'"):
        PrivateText(countries=["XX"])


PIECES = [text.replace("‹", "").replace("›", "") for _, text, _ in VALUES] + list(RECORDS.values()) + NOTHING
LETTERS = st.sampled_from(
    [*"aA1 @.:=,;|'\"()[]{}<>/-+\n\t", "email", "name", "born ", "::", "Ann Lee", "x@y.zz", "4111111111111111"]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(LETTERS, st.sampled_from(PIECES), st.text(max_size=8)), max_size=12).map("".join))
def test_spans_are_in_bounds_sorted_and_apart(text: str) -> None:
    spans = PRIVATE.spans(text)
    edges = [edge for span in spans for edge in (span.start, span.end)]
    assert edges == sorted(edges)
    assert all(0 <= span.start < span.end <= len(text) and span.kind in KINDS for span in spans)


HOSTILE = [
    " ", "\t", "1 ", "12", "1-2.", "A1", "4111 ", "@", "a@", "a.b@c.", ":", "a:b:", "::1", "name: ",
    'email="', "='", "<a>", "</a>", "a,b\n",
    "|name|", "name,email\n", "  a  b", "INSERT INTO a (b) VALUES"
                                        " ", "('a'),", "Dr. Ann ", "Dear ", "born 1 ", "MRN ", "12 A ", "Via A ",
    "1 A, ",
    "A1 1AA\n",
    "Ab 1, ",
    "0123 456 ",
    "phone 1234567 ",
    "Ab ", "eyJ", "gsk_aaaaa", "sk-a", "://", "-----BEGIN ", "_", "+1 ", "\\\"", "[\"a\",", "name: [\"",
]  # fmt: skip


@pytest.mark.parametrize("word", HOSTILE)
async def test_hostile_text_takes_linear_time(word: str) -> None:
    await check_linear(PRIVATE.spans, word, length=1_000)


async def test_an_insert_whose_quotes_do_not_end_takes_linear_time() -> None:
    await check_linear(lambda text: PRIVATE.spans(f"INSERT INTO a (name, email) VALUES ({text}"), "'x'',", length=1_000)


def test_a_span_is_a_plain_value() -> None:
    assert PRIVATE.spans("ann@lee.example") == [PrivateSpan(0, 15, "email")]


def test_a_missing_library_is_told_before_there_is_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "phonenumbers", None)
    library.cache_clear()
    with pytest.raises(UsageError, match=r"needs phonenumbers: pip install .*\[privacy\]"):
        PrivateText()
    PrivateText(["email", "name"])  # no numbers among these
