"""What host code takes besides the declared type: texts for pydantic's types and enums; dates and files for an API."""

from __future__ import annotations

import enum
from typing import Annotated

import pydantic
import pytest
from pydantic import AnyUrl, EmailStr, HttpUrl, SecretStr, StringConstraints
from tests.catalog.surfaces import Called, offered, scope_of

from cellwright import Runtime
from cellwright.agent import Agent
from cellwright.catalog import TypeChecker
from cellwright.doors import Request
from cellwright.messages import AssistantMessage, UserMessage
from cellwright.scope import Scope
from cellwright.testing import ScriptedModel, code


class Color(str, enum.Enum):  # noqa: UP042  the older form
    RED = "red"
    BLUE = "blue"


class Size(enum.StrEnum):
    SMALL = "s"
    LARGE = "l"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Stage(enum.Enum):
    NEW = "new"


class Page(pydantic.BaseModel):
    title: Annotated[str, StringConstraints(min_length=1)]
    link: HttpUrl | None = None


class Shop:
    def mail(self, to: EmailStr) -> EmailStr:
        return to

    def visit(self, url: HttpUrl, *, proxy: AnyUrl | None = None) -> HttpUrl:
        return HttpUrl(str(url))

    def sign_in(self, password: SecretStr) -> int:
        return len(str(password))

    def paint(self, color: Color, *sizes: Size, level: Level = Level.LOW) -> str:
        return f"{Color(color).value} {len(sizes)} {int(level)}"

    def many(self, colors: list[Color]) -> int:
        return len(colors)

    def move(self, stage: Stage) -> str:
        return stage.value

    def page(self) -> Page:
        return Page(title="x", link=HttpUrl("http://example.org"))


RIGHT = {
    "an address": "shop.mail('a@example.org').upper()",
    "a link": "shop.visit('http://example.org', proxy='http://localhost').host",
    "a link as text": "str(shop.visit('http://example.org')).upper()",
    "a secret": "shop.sign_in('secret') + 1",
    "a field": "shop.page().title.upper(), shop.page().link",
    "a text for an enum": "shop.paint('red').upper()",
    "a computed text": "for name in ['red', 'blue']:\n    print(shop.paint(name))",
    "several": "shop.paint('blue', 's', 'l', level=2)",
    "a list": "shop.many(['red', 'blue'])",
}
WRONG = {
    "a number for an address": "shop.mail(3)",
    "a text that no member has": "shop.paint('green')",
    "a number for a text": "shop.paint(7)",
    "a text for an enum that has other members": "shop.move('new')",
}


@pytest.mark.parametrize("name", RIGHT)
async def test_a_text_is_taken_for_a_type_of_texts(name: str) -> None:
    async with Runtime({"shop": Shop()}, check="strict") as rt:
        (await rt.execute(RIGHT[name])).unwrap()


async def test_what_cannot_be_such_a_text_is_a_mistake() -> None:
    checker = TypeChecker(Scope({"shop": Shop()}))
    assert [name for name, wrong in WRONG.items() if not await checker.check(wrong)] == []
    await checker.close()


async def test_an_agents_code_names_the_enum_that_a_function_takes() -> None:
    model = ScriptedModel(
        code("shop.paint(Color.RED, Size.LARGE, level=Level.HIGH)"), code("done(shop.move(Stage.NEW))")
    )
    agent = Agent(model, scope={"shop": Shop()}, check="strict")
    assert (await agent.run("Paint it.", returns=str)).value == "new"


async def test_a_childs_code_names_it_too() -> None:
    cells = {"parent": "done(await spawn('child', scope=['shop']))", "child": "done(shop.move(Stage.NEW))"}

    def reply(request: Request) -> AssistantMessage:
        first = request.messages[0]
        assert isinstance(first, UserMessage)
        return code(cells[first.text.splitlines()[0]])

    agent = Agent(ScriptedModel(otherwise=reply), scope={"shop": Shop()}, spawn=True, check="strict")
    assert (await agent.run("parent")).value == "new"


async def test_an_enum_with_functions_of_its_own_is_not_bound() -> None:
    class Door(enum.Enum):
        OPEN = 1

        @classmethod
        def slam(cls) -> int:
            return 1

    def use(door: Door) -> int:
        return 2

    model = ScriptedModel(code("done(Door.slam())"), "It is not there.")
    result = await Agent(model, scope={"use": use}, check="off").run("Slam it.", returns=str)
    assert result.value == "It is not there."


UPLOAD = (
    "(self, day: str, *, file: bytes, more: list[bytes] | None = None, days: list[str] | None = None, "
    "notes: dict[str, str] | None = None, by: Literal['day', 'week'] = 'day') -> str"
)
TAKEN = {
    "dates": "import datetime as dt\nfiles.upload(dt.date(2026, 1, 2), file=b'', days=[dt.datetime.now(), '2026'])",
    "an id": "import uuid\nfiles.upload(str(uuid.uuid4()), file=b'')\nfiles.upload(uuid.uuid4(), file=b'')",
    "named files": "files.upload('x', file=('a.txt', b'x'), more=[('b.txt', b'x', 'text/plain'), b'x'])",
    "a dict": "files.upload('x', file=b'', notes={'a': 'b'})",
    "a result": "files.upload('x', file=b'').upper()",
}


async def test_an_operation_takes_dates_as_text_and_files_with_names() -> None:
    surface = Called([offered("upload", UPLOAD, "Upload a file.")], key="files")
    checker = TypeChecker(scope_of(files=surface))
    alarms = {name: found for name, right in TAKEN.items() if (found := await checker.check(right))}
    assert alarms == {}
    assert "Expected `str`, found" in (await checker.check("files.upload(3, file=b'')"))[0].message
    assert "Expected `bytes`, found" in (await checker.check("files.upload('x', file=3)"))[0].message
    await checker.close()


async def test_a_name_that_the_code_made_is_told_for_one_that_is_nearly_it() -> None:
    checker = TypeChecker(Scope({"shop": Shop()}))
    found = await checker.check("totals = [1]\nprint(total, earleir)", before=["earlier = 1"])
    assert [mistake.signature for mistake in found] == ["totals", "earlier"]
    await checker.close()
