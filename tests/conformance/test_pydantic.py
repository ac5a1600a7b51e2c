"""`pydantic`: models without methods by value, validated on the host; models with methods by handle."""

from __future__ import annotations

import datetime as dt
import enum
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from tests.cells import failure, value

from cellwright import Runtime


class Stage(enum.Enum):
    NEW = "new"
    WON = "won"


class Address(BaseModel):
    street: str
    zip: str = Field(pattern=r"^\d{4}$")


class Person(BaseModel):
    """Somebody we know."""

    name: str
    age: int = 0
    address: Address | None = None
    tags: list[str] = []
    stage: Stage = Stage.NEW
    since: dt.date | None = None

    @field_validator("age")
    @classmethod
    def positive(cls, age: int) -> int:
        if age < 0:
            raise ValueError("an age is not negative")
        return age


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)
    name: str


class Account(BaseModel):
    balance: float = 0

    def deposit(self, amount: float) -> float:
        self.balance += amount
        return self.balance


class Book:
    """Keeps people."""

    def __init__(self) -> None:
        self.saved: list[Person] = []
        self.account = Account(balance=5)

    def ada(self) -> Person:
        return Person(name="Ada", age=36, address=Address(street="Main", zip="0150"), since=dt.date(2024, 1, 2))

    def save(self, person: Person) -> int:
        assert type(person) is Person
        self.saved.append(person)
        return len(self.saved)

    def save_all(self, people: list[Person]) -> int:
        self.saved += people
        return len(self.saved)

    def frozen(self) -> Frozen:
        return Frozen(name="ice")


async def with_book(code: str, book: Book | None = None) -> Any:
    names = {"Person": Person, "Address": Address, "Account": Account, "Stage": Stage}
    return await value(code, book=book or Book(), ValidationError=ValidationError, **names)


async def test_a_model_crosses_by_value_with_its_nested_models() -> None:
    code = """
        ada = book.ada()
        ada.name, ada.address.street, ada.stage is Stage.NEW, ada.since.year, isinstance(ada, Person), ada == book.ada()
    """
    assert await with_book(code) == ("Ada", "Main", True, 2024, True, True)


async def test_a_model_is_dumped_and_copied_in_the_guest() -> None:
    code = """
        ada = book.ada()
        older = ada.model_copy(update={"age": 40})
        bare = Person(name="Bo").model_dump(exclude_none=True)
        older.age, ada.age, dict(ada)["name"], ada.model_dump()["address"], sorted(bare)
    """
    expected = (40, 36, "Ada", {"street": "Main", "zip": "0150"}, ["age", "name", "stage", "tags"])
    assert await with_book(code) == expected


async def test_the_json_of_a_model_is_the_hosts_json() -> None:
    ada = Book().ada()
    assert await with_book("book.ada().model_dump_json()") == ada.model_dump_json()
    assert await with_book("book.ada().model_dump(mode='json')") == ada.model_dump(mode="json")
    assert await with_book("book.ada().model_dump_json(exclude={'tags'}, indent=2)") == ada.model_dump_json(
        exclude={"tags"}, indent=2
    )


async def test_a_changed_copy_is_validated_when_it_goes_back() -> None:
    book = Book()
    code = """
        ada = book.ada()
        ada.age, ada.tags = "41", ["maths"]
        book.save(ada)
    """
    assert await with_book(code, book) == 1
    assert (book.saved[0].age, book.saved[0].tags) == (41, ["maths"])
    assert book.saved[0].address == Address(street="Main", zip="0150")


async def test_a_copy_made_wrong_is_refused_by_the_hosts_validation() -> None:
    book = Book()
    code = """
        ada = book.ada()
        ada.age = -1
        try:
            book.save(ada)
        except ValidationError as error:
            told = str(error)
        told
    """
    assert "an age is not negative" in await with_book(code, book)
    assert book.saved == []


async def test_the_guest_builds_models_with_nested_models_and_dicts() -> None:
    book = Book()
    code = """
        book.save(Person(name="Bob", age=3, address=Address(street="S", zip="1234"), stage=Stage.WON))
        book.save(Person(name="Cy", address={"street": "S", "zip": "1234"}))
        book.save_all([Person.model_validate({"name": "Di"}), Person.model_validate_json('{"name": "Ed", "age": "7"}')])
    """
    assert await with_book(code, book) == 4
    assert [(p.name, p.age) for p in book.saved] == [("Bob", 3), ("Cy", 0), ("Di", 0), ("Ed", 7)]
    assert book.saved[0].stage is Stage.WON
    assert book.saved[1].address == Address(street="S", zip="1234")


async def test_the_same_model_may_stand_twice_in_the_arguments() -> None:
    book = Book()
    assert await with_book("ada = book.ada()\nbook.save_all([ada, ada])", book) == 2
    assert book.saved[0] == book.saved[1]


@pytest.mark.parametrize("kind", ["ValidationError", "ValueError", "Exception"])
async def test_a_validation_error_is_caught_by_its_class_and_its_bases(kind: str) -> None:
    code = f"""
        try:
            Person(name="x", age="old")
        except {kind} as error:
            told = type(error).__name__, "valid integer" in str(error), str(error).splitlines()[0]
        told
    """
    assert await with_book(code) == ("ValidationError", True, "1 validation error for Person")


async def test_a_wrong_field_is_told_to_the_cell() -> None:
    error = await failure("Person(nam='x')", Person=Person)
    assert error.type == "ValidationError"
    assert "name\n  Field required" in error.message


async def test_a_frozen_model_is_frozen_in_the_guest() -> None:
    code = "ice = book.frozen()\ntry:\n    ice.name = 'water'\nexcept AttributeError:\n    kept = ice.name\nkept"
    assert await with_book(code) == "ice"


async def test_the_schema_and_the_fields_can_be_read() -> None:
    code = "sorted(Person.model_json_schema()['properties']), list(Person.model_fields), Person.__doc__"
    fields = ["name", "age", "address", "tags", "stage", "since"]
    assert await with_book(code) == (sorted(fields), fields, "Somebody we know.")


async def test_a_match_statement_takes_a_model_apart() -> None:
    code = """
        match book.ada():
            case Person(name=name, address=Address(zip=code)):
                found = name, code
        found
    """
    assert await with_book(code) == ("Ada", "0150")


async def test_a_model_with_methods_stays_on_the_host() -> None:
    book = Book()
    code = """
        account = book.account
        account.deposit(10)
        account.deposit(1)
        mine = Account(balance=1)
        mine.deposit(2), account.balance, isinstance(mine, Account), book.account is account, account.model_dump()
    """
    assert await with_book(code, book) == (3.0, 16.0, True, True, {"balance": 16.0})
    assert book.account.balance == 16.0


async def test_models_as_a_cells_value_are_the_hosts_models_again() -> None:
    async with Runtime({"book": Book()}) as rt:  # Person is not bound: it came in with what `ada` returned
        found = (await rt.execute("[book.ada()]")).unwrap()
    assert found == [Book().ada()]
    assert type(found[0]) is Person
