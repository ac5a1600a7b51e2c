"""Kinds of private data by the name of a column, field or key, and whether a value there is one at all.

A bare `name` is the commonest field of things that are no people. It counts only where the record has another field
that only people have: `kinds_of_columns` looks at all names of a record.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from cellwright.redaction import is_secret_name

_LONGEST = 60
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zß-ÿ]+|\d+")
# What is said of a value is no value: `email_count`, `phone_verified`, `address_id`.
_ABOUT = frozenset(
    "at agent allowed app body bounced bytes campaign changed class client count created device domain enabled error "
    "exists field flag format frequency function handler hash host id ids is key kind label len length limit list "
    "model name opt optin path pattern present provider queue range regex required schema score sent server service "
    "settings size source status subject template text total type types updated url valid validated validator verified "
    "version view widget".split()
)
_QUESTIONS = frozenset(
    "allow can do enable found has hide if is masked max min needs no require show total use".split()
)
# Phrases by kind, as words; a name that ends with one is of the kind. "_" stands between words of a phrase.
_PHRASES: Mapping[str, str] = {
    "email": "email emails e_mail e_mails mail mails correo courriel email_address e_mail_address mail_address "
             "mailaddress "
    "emailaddress email_addresses recipient_email email_primary email_1 email_2 email_work email_home",
    "phone": "phone phones telephone tel mobile cellphone cell_phone msisdn fax telefon telefono telefoon handy gsm "
    "whatsapp phone_number phone_numbers phone_no phone_nbr phonenumber mobile_number mobile_no mobilenumber "
    "telephone_number tel_no cell_number contact_number fax_number fax_no phone_1 phone_2 phone_home phone_work "
    "phone_ext numero_telephone callback_number",
    "card": "card_number card_no card_num card_nbr cardnumber cc_number cc_num cc_no ccnumber credit_card creditcard "
    "debit_card credit_card_number debit_card_number payment_card",
    "iban": "iban ibans iban_number bank_account bank_account_number kontonummer",
    "national_id": "ssn ssns social_security social_security_number social_security_no social_insurance_number itin "
    "nino national_insurance_number national_insurance_no nhs_number nhs_no bsn burgerservicenummer pesel cpf aadhaar "
    "aadhar aadhaar_number pan_number pan_no personnummer fodselsnummer fødselsnummer national_id national_id_number "
    "national_identifier identity_number id_number tax_id taxpayer_id tax_id_number steuer_id steuerid steuer_idnr "
    "curp "
    "codice_fiscale codicefiscale dni dni_nie nif nie sin_number sin_no passport passport_number passport_no "
    "driver_license driver_license_number drivers_license driving_licence license_number cpr_number hetu nir "
    "personal_number personal_id",
    "ip": "ip ips ipv4 ipv6 ipaddress ip_address ip_addr ip_addresses client_ip remote_addr",
    "address": "street street_address street_name address addresses addr address_line address_line1 address_1 "
               "address_2 "
    "address_line2 address_line_1 address_line_2 street1 street_1 street_2 zip zipcode zip_code zip_4 postal_code "
    "postalcode postcode post_code plz home_address mailing_address adresse direccion indirizzo strasse straße "
    "anschrift "
    "wohnort rue domicilio",
    "birth_date": "dob birthdate birth_date date_of_birth birthday birth_day born born_on born_date geburtsdatum "
    "geburtstag fecha_nacimiento fecha_de_nacimiento date_naissance date_de_naissance data_nascimento data_di_nascita "
    "date_birth d_o_b birth_dt",
    "medical_record": "mrn mrns medical_record medical_record_number medical_record_no health_record_number patient_id "
    "patient_no patient_number patient_nbr chart_number chart_no",
    "npi": "npi npis npi_number npi_nbr npi_no npi_id",
    "name": "first_name firstname fname given_name givenname forename last_name lastname lname surname family_name "
    "familyname middle_name middlename maiden_name full_name fullname birth_name legal_name person_name display_name "
    "vorname nachname nombre_completo apellido apellidos prenom prénom cognome nom_de_famille cardholder card_holder "
    "cardholder_name account_holder account_holder_name first_names last_names full_names achternaam voornaam",
}  # fmt: skip
_BY_PHRASE = {tuple(phrase.split("_")): kind for kind, phrases in _PHRASES.items() for phrase in phrases.split()}
_BY_LAST: dict[str, list[tuple[tuple[str, ...], str]]] = {}
for _words, _of in sorted(_BY_PHRASE.items(), key=lambda item: -len(item[0])):
    _BY_LAST.setdefault(_words[-1], []).append((_words, _of))
# `customer_name` is a person's name (or a firm's); `product_name` is not. A bare role counts as a bare `name` does.
_PEOPLE = frozenset(
    "applicant assignee attendee author beneficiary borrower buyer candidate caregiver caller cardholder child "
    "clinician "
    "contact customer doctor donor driver employee employer_contact father guardian guest holder husband insured kin "
    "lawyer manager member mother nurse occupant owner parent participant passenger patient payee payer payor person "
    "physician player practitioner prescriber recipient reporter requester resident respondent reviewer sender signer "
    "signatory speaker spouse staff student subscriber supervisor teacher tenant traveler traveller victim visitor "
    "voter wife witness worker".split()
)
_BARE_NAMES = frozenset({"name", "names", "nombre", "nom", "naam", "nome"})
# Fields that only a person's record has, though they are not private by themselves.
_PERSONAL = frozenset("age gender sex married nationality occupation salary diagnosis mother father".split())
# Kinds of address that are no place where somebody lives.
_NO_PLACE = frozenset(
    "bind contract dns email hardware http ip listen mac memory net network physical remote return server socket tcp "
    "token url virtual wallet web".split()
)
_NOTHING = re.compile(
    r"(?:none|null|nil|nan|nat|n/?a|unknown|unspecified|undefined|not "
    r"(?:available|known|given|provided|applicable)|tbd|"
    r"redacted|masked|hidden|anonymous|true|false|yes|no|missing|empty|default|optional|required|"
    r"(?:str|string|text|int|integer|float|bytes|bool|any|object|date|datetime|varchar|char|emailstr)(?:\b.*)?|"
    r"(?:optional|list|union|literal|annotated|dict|tuple|sequence|field|column)\b.*|[\W_]*)",
    re.IGNORECASE | re.DOTALL,
)
_HOLDER = re.compile(r"<[A-Z_]+_\d+\b.*|\{.*\}|\$\{?\w+.*|%\(?\w.*|:\w+|\?|\[.*\]|<[\w ]+>", re.DOTALL)
_CODE = re.compile(r"[a-z_]\w*\s*[(.\[].*|.*[(){}\[\]=<>\\_]|.*[a-z]\.[a-z]|.*[a-z_]\(", re.DOTALL)
_FEWEST_DIGITS = {"phone": 5, "card": 12, "iban": 5, "national_id": 4, "birth_date": 4, "medical_record": 2, "npi": 10}


def kind_of_column(name: str) -> str | None:
    """The kind of the values in a column of this name. A bare `name` has none: see `kinds_of_columns`.

    `username` has none either: it names an account, of a bot or a role as often as of a person, and code joins by it.
    """
    return _kind(name) if len(name) <= _LONGEST else None


@lru_cache(maxsize=8192)
def _kind(name: str) -> str | None:
    words = _words_of(name)
    if not words or (len(words) > 1 and words[0] in _QUESTIONS):
        return None
    kind = _ends(words)
    if (
        kind is None
        and len(words) > 2
        and (words[-1].isdigit() or words[-1] in ("primary", "home", "work", "nbr", "no"))
    ):
        kind = _ends(words[:-1])
    if kind is None and len(words) > 1 and words[-1] in ("name", "names", "nm") and words[-2] in _PEOPLE:
        return "name"
    if kind is None and is_secret_name(name):
        return "secret"
    return kind


def _ends(words: tuple[str, ...]) -> str | None:
    for phrase, kind in _BY_LAST.get(words[-1], ()):
        if words[-len(phrase) :] == phrase:
            before = words[: -len(phrase)]
            return None if kind == "address" and before and before[-1] in _NO_PLACE else kind
    begin = next((kind for n in (1, 2) if (kind := _BY_PHRASE.get(words[:n]))), None)
    return begin if begin and len(words) == 2 and words[-1] not in _ABOUT and begin in ("npi", "ssn") else None


@lru_cache(maxsize=8192)
def _words_of(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORDS.findall(name))


def kinds_of_columns(names: Sequence[str]) -> dict[str, str]:
    """The private columns of one record or table, by name; a bare `name` where another column is a person's."""
    kinds = {name: kind for name in names if (kind := kind_of_column(name))}
    if any(kind not in ("secret", "ip") for kind in kinds.values()) or any(map(is_personal, names)):
        kinds |= {name: "name" for name in names if name not in kinds and is_bare_name(name)}
    return kinds


def is_bare_name(name: str) -> bool:
    """Whether a field is called `name`, or for a role (`patient`): a person's name if the record is a person's."""
    words = _words_of(name[:_LONGEST])
    return len(words) == 1 and (words[0] in _BARE_NAMES or words[0] in _PEOPLE)


def is_personal(name: str) -> bool:
    """Whether only people have a field of this name."""
    words = _words_of(name[:_LONGEST])
    return len(words) == 1 and words[0] in _PERSONAL


def is_private_value(kind: str, value: str) -> bool:
    """Whether a value of such a column is private at all: not where it is empty, unknown, a type, or a token."""
    value = value.strip()
    if not value or _NOTHING.fullmatch(value[:80]) or _HOLDER.fullmatch(value):
        return False
    digits = sum(map(str.isdigit, value))
    match kind:
        case "email":
            return "@" in value[1:]
        case "ip":
            return (digits > 0 and value.count(".") == 3) or value.count(":") > 1
        case "name":
            return not digits and 1 < len(value) <= _LONGEST and len(value.split()) <= 6 and not _CODE.fullmatch(value)
        case "address":
            return len(value) > 2 and not value.startswith(("0x", "http")) and any(map(str.isalnum, value))
        case "secret":
            return len(value) > 3
        case _:
            return digits >= _FEWEST_DIGITS.get(kind, 0)
