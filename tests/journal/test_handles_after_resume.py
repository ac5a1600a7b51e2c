"""Host objects in the hands of guest code after the process that made them died: revived, or lost with words."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from tests.journal.lasting import SESSION, Sessions, failure, value

from cellwright import operation
from cellwright.runtime import replay

pytestmark = pytest.mark.usefixtures("warm")


class Record:
    """A connector's record: it keeps its own data."""

    def __init__(self, crm: Crm, number: int) -> None:
        self._crm = crm
        self.number = number

    def rename(self, name: str) -> str:
        self._crm.log.append(f"rename {self.number} {name}")
        return name

    def to_journal(self) -> int:
        return self.number

    @classmethod
    def from_journal(cls, kept: int, root: Crm) -> Record:
        root.revived.append(kept)
        return Record(root, kept)


class Report:
    """Something that only a call can make."""

    def __init__(self, text: str) -> None:
        self._text = text

    @operation(reads=True)
    def text(self) -> str:
        return self._text

    def edit(self, text: str) -> None:
        self._text = text


def _reopen(name: str) -> Report:
    return Report(f"reopened {name}")


class Crm:
    def __init__(self) -> None:
        self.log: list[str] = []
        self.revived: list[int] = []

    def create(self, number: int) -> Record:
        self.log.append(f"create {number}")
        return Record(self, number)

    def several(self) -> list[Record]:
        return [Record(self, n) for n in range(3)]

    @operation(reads=True)
    def report(self, name: str) -> Report:
        self.log.append(f"report {name}")
        return Report(f"about {name}")

    @operation(revive=_reopen)
    def draft(self, name: str) -> Report:
        self.log.append(f"draft {name}")
        return Report(f"draft of {name}")

    def write(self, name: str) -> Report:
        self.log.append(f"write {name}")
        return Report(name)

    @operation(reads=True)
    def count(self) -> Iterator[int]:
        yield from range(100)

    @operation(reads=True)
    async def acount(self) -> AsyncIterator[int]:
        for n in range(100):
            yield n


async def test_a_connectors_record_is_rebuilt_from_its_own_data(sessions: Sessions) -> None:
    first, second = Crm(), Crm()
    async with sessions.life(scope={"crm": first}) as rt:
        await value(rt, "one = crm.create(7); many = crm.several()")
    async with sessions.life(scope={"crm": second}) as rt:
        assert await value(rt, "[one.rename('x'), one.number, many[2].rename('y'), one is one]") == ["x", 7, "y", True]
    assert first.log == ["create 7"]
    assert second.log == ["rename 7 x", "rename 2 y"]
    assert sorted(second.revived) == [2, 7]
    assert (await replay(SESSION, store=sessions.journal)).same


async def test_a_record_is_rebuilt_after_every_further_death(sessions: Sessions) -> None:
    async with sessions.life(scope={"crm": Crm()}) as rt:
        await value(rt, "one = crm.create(7)")
    for n in range(3):
        crm = Crm()
        async with sessions.life(scope={"crm": crm}) as rt:
            assert await value(rt, f"one.rename('{n}')") == str(n)
        assert crm.log == [f"rename 7 {n}"]


async def test_the_result_of_a_read_is_read_again_when_it_is_used(sessions: Sessions) -> None:
    crm = Crm()
    async with sessions.life(scope={"crm": Crm()}) as rt:
        await value(rt, "one = crm.report('oslo'); two = crm.report('bergen'); one.text()")
    async with sessions.life(scope={"crm": crm}) as rt:
        assert crm.log == []
        assert await value(rt, "one.text()") == "about oslo"
    assert crm.log == ["report oslo"]


async def test_the_result_of_a_read_that_was_changed_since_is_lost(sessions: Sessions) -> None:
    async with sessions.life(scope={"crm": Crm()}) as rt:
        await value(rt, "one = crm.report('oslo'); one.edit('other')")
    async with sessions.life(scope={"crm": Crm()}) as rt:
        said = await failure(rt, "one.text()")
        assert "HandleLost" in said
        assert "came from crm.report(…) in cell 1" in said
        assert "it was used since in a way that may have changed it" in said


async def test_an_object_with_revive_is_made_by_it(sessions: Sessions) -> None:
    crm = Crm()
    async with sessions.life(scope={"crm": Crm()}) as rt:
        await value(rt, "one = crm.draft('oslo')")
    async with sessions.life(scope={"crm": crm}) as rt:
        assert await value(rt, "one.text()") == "reopened oslo"
    assert crm.log == []


async def test_any_other_object_is_lost_and_names_the_call_that_made_it(sessions: Sessions) -> None:
    crm = Crm()
    async with sessions.life(scope={"crm": Crm()}) as rt:
        await value(rt, "one = crm.write('oslo')")
    async with sessions.life(scope={"crm": crm}) as rt:
        said = await failure(rt, "one.text()")
        assert "came from crm.write(…) in cell 1 and did not outlive the process that made it; call it again" in said
        assert (
            await value(rt, "try: one.text()\nexcept ReferenceError: got = crm.write('again').text()\ngot") == "again"
        )
    assert crm.log == ["write again"]


async def test_a_database_cursor_is_lost_and_the_database_is_not(
    sessions: Sessions, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("db") / "shop.db"

    def scope() -> Any:
        return {"db": sqlite3.connect(place, check_same_thread=False, isolation_level=None)}

    async with sessions.life(scope=scope()) as rt:
        await value(rt, "db.execute('create table t (n)'); db.execute('insert into t values (1), (2), (3)')")
        assert await value(rt, "cursor = db.execute('select n from t'); first = cursor.fetchone()") == (1,)
    async with sessions.life(scope=scope()) as rt:
        said = await failure(rt, "cursor.fetchone()")
        assert "HandleLost" in said
        assert "came from db.execute(…) in cell 2" in said
        assert await value(rt, "(first, db.execute('select count(*) from t').fetchone())") == ((1,), (3,))


async def test_an_open_file_of_the_host_is_lost(sessions: Sessions) -> None:
    class Store:
        def open(self, text: str) -> io.StringIO:
            return io.StringIO(text)

    async with sessions.life(scope={"store": Store()}) as rt:
        assert await value(rt, "f = store.open('one\\ntwo'); f.readline()") == "one\n"
    async with sessions.life(scope={"store": Store()}) as rt:
        assert "HandleLost" in await failure(rt, "f.readline()")


async def test_an_open_file_of_the_guest_is_where_it_was(sessions: Sessions) -> None:
    async with sessions.life() as rt:
        await value(rt, "open('f', 'w').write('one two three'); f = open('f'); f.read(4)")
    async with sessions.life() as rt:
        assert await value(rt, "f.read(3)") == "two"


@pytest.mark.parametrize("kind", ["count", "acount"])
async def test_a_half_consumed_generator_is_lost(kind: str, sessions: Sessions) -> None:
    step = "next(g)" if kind == "count" else "await anext(g)"
    async with sessions.life(scope={"crm": Crm()}) as rt:
        assert await value(rt, f"g = crm.{kind}(); got = [{step}, {step}]") == [0, 1]
    async with sessions.life(scope={"crm": Crm()}) as rt:
        said = await failure(rt, step)
        assert "HandleLost" in said
        assert f"came from crm.{kind}() in cell 1" in said
        assert await value(rt, "got") == [0, 1]


async def test_a_generator_that_was_not_begun_is_made_again(sessions: Sessions) -> None:
    async with sessions.life(scope={"crm": Crm()}) as rt:
        await value(rt, "g = crm.count()\nNone")
    async with sessions.life(scope={"crm": Crm()}) as rt:
        assert await value(rt, "[next(g), next(g)]") == [0, 1]


async def test_a_half_consumed_generator_of_the_guest_goes_on(sessions: Sessions) -> None:
    async with sessions.life(scope={"crm": Crm()}) as rt:
        await value(rt, "g = (crm.report(str(n)).text() for n in range(5)); got = [next(g), next(g)]")
    crm = Crm()
    async with sessions.life(scope={"crm": crm}) as rt:
        assert await value(rt, "got + [next(g)]") == ["about 0", "about 1", "about 2"]
    assert crm.log == ["report 2"]


async def test_a_lost_object_in_the_value_of_a_cell_is_told(sessions: Sessions) -> None:
    async with sessions.life(scope={"crm": Crm()}) as rt:
        await value(rt, "[crm.write('oslo'), 1]")
    async with sessions.life(scope={"crm": Crm()}) as rt:
        lost, one = (await rt.outcome()).value
        assert one == 1
        assert "crm.write(…)" in repr(lost)


async def test_a_lost_object_as_an_argument_is_lost(sessions: Sessions) -> None:
    class Desk:
        def write(self, name: str) -> Report:
            return Report(name)

        def file(self, report: Report) -> str:
            return report.text()

    async with sessions.life(scope={"desk": Desk()}) as rt:
        assert await value(rt, "one = desk.write('a'); desk.file(one)") == "a"
    async with sessions.life(scope={"desk": Desk()}) as rt:
        assert "HandleLost" in await failure(rt, "desk.file(one)")


async def test_an_object_of_this_process_is_kept_when_only_the_guest_died(sessions: Sessions) -> None:
    crm = Crm()
    async with sessions.life(scope={"crm": crm}) as rt:
        await value(rt, "one = crm.write('oslo'); one.edit('changed')")
        await rt.execute("import os; os._exit(1)")
        assert await value(rt, "one.text()") == "changed"
    assert crm.log == ["write oslo"]
