"""A scope that is not what it was when the session began: names that came and went, values and classes that changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.journal.lasting import SESSION, Sessions, failure, value

from cellwright import Runtime
from cellwright.runtime import replay
from cellwright.store import SqliteStore

pytestmark = pytest.mark.usefixtures("warm")


class Post:
    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, what: Any) -> int:
        self.sent.append(what)
        return len(self.sent)


class Crm:
    """As it was when the session began."""

    def __init__(self, city: str = "Oslo") -> None:
        self.city = city

    def count(self) -> int:
        return 3


class NewerCrm:
    """The same class a release later."""

    def __init__(self, city: str = "Oslo") -> None:
        self.city = city

    def count(self) -> int:
        return 4

    def rename(self, city: str) -> str:
        self.city = city
        return f"now {city}"


NewerCrm.__name__, NewerCrm.__qualname__ = Crm.__name__, Crm.__qualname__


@dataclass(frozen=True)
class Point:
    x: int
    y: int


def same_again(rt: Runtime) -> None:
    """What was run again went the way that it had gone."""
    assert rt.restored is not None
    assert rt.restored.diverged is None, rt.restored


async def test_a_name_that_came_and_what_was_made_of_it_are_there_after_the_next_resume(sessions: Sessions) -> None:
    post, more, third = Post(), Post(), Post()
    async with sessions.life(scope={"post": post}) as rt:
        assert "more" in await failure(rt, "more.send('too early')")
        await value(rt, "x = post.send('a')")
    async with sessions.life(scope={"post": post, "more": more}) as rt:
        same_again(rt)
        await value(rt, "y = more.send('b')\nkept = more")
    async with sessions.life(scope={"post": post, "more": more, "third": third}) as rt:
        same_again(rt)
        assert await value(rt, "(x, y, kept is more, kept.send('d'), third.send('e'))") == (1, 1, True, 2, 1)
    assert (post.sent, more.sent, third.sent) == (["a"], ["b", "d"], ["e"])
    assert (await replay(SESSION, store=sessions.journal)).same


async def test_code_that_failed_for_want_of_a_name_fails_again_when_the_name_has_come(sessions: Sessions) -> None:
    more = Post()
    code = "try:\n    said = more.send('a')\nexcept NameError:\n    said = 'not there'\nsaid"
    async with sessions.life() as rt:
        assert await value(rt, code) == "not there"
    async with sessions.life(scope={"more": more}) as rt:
        same_again(rt)
        assert await value(rt, "said, more.send('b')") == ("not there", 1)
    assert more.sent == ["b"]


async def test_a_function_that_went_says_so_and_the_other_names_work(sessions: Sessions) -> None:
    def twice(number: int) -> int:
        return number * 2

    async with sessions.life(scope={"twice": twice, "post": Post()}) as rt:
        assert await value(rt, "x = twice(2)") == 4
    async with sessions.life(scope={"post": Post()}) as rt:
        same_again(rt)
        assert await value(rt, "x") == 4
        assert "`twice` is no longer bound" in await failure(rt, "twice(3)")
        assert await value(rt, "post.send('d')") == 1


async def test_values_in_scope_are_those_that_were_recorded_also_where_code_ran_by_them(sessions: Sessions) -> None:
    post = Post()
    code = "got = [post.send(i) for i in range(count)] + [point.x, *table]"
    async with sessions.life(scope={"post": post, "count": 2, "point": Point(1, 2), "table": [7]}) as rt:
        assert await value(rt, code) == [1, 2, 1, 7]
    async with sessions.life(scope={"post": post, "count": 5, "point": Point(9, 9), "table": []}) as rt:
        same_again(rt)
        assert await value(rt, "(got, count, point.x, table)") == ([1, 2, 1, 7], 2, 1, [7])
    assert post.sent == [0, 1]


async def test_an_object_whose_class_gained_a_method_has_it(sessions: Sessions) -> None:
    async with sessions.life(scope={"crm": Crm()}) as rt:
        assert await value(rt, "n = crm.count()") == 3
        assert "rename" in await failure(rt, "crm.rename('Bergen')")
    async with sessions.life(scope={"crm": NewerCrm()}) as rt:
        same_again(rt)
        assert await value(rt, "(n, crm.count(), crm.rename('Bergen'), crm.city)") == (3, 4, "now Bergen", "Bergen")


async def test_a_class_in_scope_that_gained_a_method_makes_objects_that_have_it(sessions: Sessions) -> None:
    async with sessions.life(scope={"Crm": Crm}) as rt:
        assert await value(rt, "made = Crm('Bergen')\nn = made.count()") == 3
    async with sessions.life(scope={"Crm": NewerCrm}) as rt:
        same_again(rt)
        code = "new = Crm('Voss')\n(n, new.city, new.count(), new.rename('Geilo'), isinstance(new, Crm))"
        assert await value(rt, code) == (3, "Voss", 4, "now Geilo", True)


async def test_a_record_class_in_scope_is_described_without_a_call_of_the_guest(sessions: Sessions) -> None:
    async with sessions.life(scope={"Point": Point}) as rt:
        assert await value(rt, "p = Point(1, 2)\np.x") == 1
    async with sessions.life(scope={"Point": Point}) as rt:
        same_again(rt)
        assert await value(rt, "p == Point(1, 2)") is True
    assert [row.verb for row in sessions.journal.rows(SESSION)] == ["new", "new"]


async def test_all_of_it_is_the_same_where_a_checkpoint_is_taken_up(tmp_path: Path) -> None:
    post, more = Post(), Post()
    store = SqliteStore(tmp_path / "agents.db")
    async with Runtime({"post": post, "count": 2}, store=store, session=SESSION) as rt:
        await value(rt, "x = post.send('a')")
    async with Runtime.resume(SESSION, store=store, scope={"more": more, "count": 5}) as rt:
        assert rt.restored is not None
        assert rt.restored.checkpoint == 1
        assert await value(rt, "x, count, more.send('b')") == (1, 2, 1)
        assert "`post` is no longer bound" in await failure(rt, "post.send('c')")
    async with Runtime.resume(SESSION, store=store, scope={"post": post, "more": more}) as rt:
        assert rt.restored is not None
        assert rt.restored.checkpoint == 3
        assert await value(rt, "count, more.send('d'), post.send('e')") == (2, 2, 2)
    found = await replay(SESSION, store=store)
    assert found.same, found
    store.close()
