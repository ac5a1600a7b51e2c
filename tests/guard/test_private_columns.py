"""Kinds of values by the names of columns."""

from __future__ import annotations

import pytest

from cellwright import Privacy, Runtime
from cellwright.guard.private_columns import is_private_value, kind_of_column, kinds_of_columns

NAMES = {
    "email": "e_mail contactEmail EMAIL emails e-mail work_email email_address",
    "phone": "phone tel MOBILE phoneNumber home_phone fax_no cell_phone contact_number",
    "card": "card_number cc_num creditCard CARD_NO",
    "iban": "iban IBAN bank_account_number",
    "national_id": "ssn SSN social_security_number nhs_number tax_id passport_no codice_fiscale patient_ssn",
    "ip": "ip ip_address clientIp remote_addr",
    "address": "street street_address zip zip_code postcode address home_address address_line1",
    "birth_date": "dob PATIENT_DOB birth_date dateOfBirth birthday",
    "medical_record": "mrn patient_id medicalRecordNumber",
    "npi": "npi PRESCRIBER_NPI_NBR npi_number",
    "secret": "password api_key client_secret accessToken",
    "name": "first_name lastName surname full_name customer_name patientName EMPLOYEE_NAME cardholder",
}
OTHERS = (
    "file_name hostname username user_name product_name trip hotel name id total email_count is_email email_verified "
    "phone_model card_type cardinality ip_count mac_address wallet_address address_id email_sent zip_file class_name "
    "description streetlight zipper mailbox telemetry mobile_app city country created_at date amount "
    "birth_place_id pan sin"
)


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in NAMES.items() for name in names.split()])
def test_a_column_has_the_kind_that_its_words_say(kind: str, name: str) -> None:
    assert kind_of_column(name) == kind


@pytest.mark.parametrize("name", OTHERS.split())
def test_other_columns_have_none(name: str) -> None:
    assert kind_of_column(name) is None


def test_a_bare_name_counts_beside_a_column_of_people() -> None:
    assert kinds_of_columns(["id", "name", "email"]) == {"name": "name", "email": "email"}
    assert kinds_of_columns(["name", "age"]) == {"name": "name"}
    assert kinds_of_columns(["id", "name", "price"]) == {}
    assert kinds_of_columns(["name", "api_key"]) == {"api_key": "secret"}


@pytest.mark.parametrize(
    "value", ["", " ", "-", "n/a", "None", "unknown", "str", "EmailStr", "<EMAIL_1>", "{email}", "***", "%s"]
)
def test_an_empty_value_is_not_private(value: str) -> None:
    assert not any(is_private_value(kind, value) for kind in NAMES)


PLAUSIBLE = {
    "email": "ann@lee.example",
    "phone": "555-0199",
    "name": "Jean-Luc d'Arc",
    "address": "Main Street 1",
    "ip": "10.0.0.1",
    "badge": "7",
    "birth_date": "1980-01-02",
}
IMPLAUSIBLE = {"email": "yes please", "phone": "home", "name": "user.first_name", "address": "0x7f3a11", "ip": "here"}


def test_a_value_is_private_if_it_can_be_of_the_kind() -> None:
    assert all(is_private_value(kind, value) for kind, value in PLAUSIBLE.items())
    assert not any(is_private_value(kind, value) for kind, value in IMPLAUSIBLE.items())


async def test_columns_name_what_a_function_gives() -> None:
    scope = {"chief": lambda: "Uma Uhl", "chiefs": lambda: "Uma Uhl"}
    async with Runtime(scope, private=Privacy(columns={"chief": "name"})) as rt:
        assert (await rt.execute("chiefs()")).value == "Uma Uhl"
        assert (await rt.execute("chief()")).unwrap().startswith("<NAME_1_")
