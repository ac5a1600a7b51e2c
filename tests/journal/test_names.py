"""The names of a scope that changes between the lives of a session: gained, lost, bound to something else."""

from __future__ import annotations

from typing import Any

import pytest
from tests.journal.lasting import SESSION, Sessions, failure, value

from cellwright.runtime import replay

pytestmark = pytest.mark.usefixtures("warm")


class Post:
    def __init__(self, name: str = "post") -> None:
        self.name = name
        self.sent: list[Any] = []

    def send(self, what: Any) -> str:
        self.sent.append(what)
        return f"{self.name} {what}"


class Shelf:
    def __init__(self) -> None:
        self._books = ["a", "b"]

    def take(self) -> str:
        return self._books.pop()


async def test_a_name_that_is_new_is_there(sessions: Sessions) -> None:
    async with sessions.life(scope={"post": Post()}) as rt:
        await value(rt, "x = post.send(1)")
    async with sessions.life(scope={"post": Post(), "shelf": Shelf(), "number": 7}) as rt:
        assert await value(rt, "y = (x, shelf.take(), number)") == ("post 1", "b", 7)
    async with sessions.life(scope={"post": Post(), "shelf": Shelf(), "number": 7}) as rt:
        assert await value(rt, "(y, shelf.take())") == (("post 1", "b", 7), "b")
    assert (await replay(SESSION, store=sessions.journal)).same


async def test_names_that_come_one_after_the_other_are_all_there(sessions: Sessions) -> None:
    scope: dict[str, Any] = {}
    for n in range(4):
        scope[f"post{n}"] = Post(f"post{n}")
        async with sessions.life(scope=scope) as rt:
            assert await value(rt, f"x{n} = post{n}.send({n})") == f"post{n} {n}"
    async with sessions.life(scope=scope) as rt:
        assert await value(rt, "[x0, x1, x2, x3]") == ["post0 0", "post1 1", "post2 2", "post3 3"]
        assert await value(rt, "[p.send('z') for p in (post0, post1, post2, post3)]") == [
            f"post{n} z" for n in range(4)
        ]
    assert (await replay(SESSION, store=sessions.journal)).same


async def test_a_name_that_is_gone_says_so_when_it_is_used(sessions: Sessions) -> None:
    async with sessions.life(scope={"post": Post(), "shelf": Shelf()}) as rt:
        await value(rt, "x = shelf.take(); keep = shelf")
    async with sessions.life(scope={"post": Post()}) as rt:
        assert rt.restored is not None
        assert rt.restored.diverged is None
        assert await value(rt, "x") == "b"
        assert "`shelf` is no longer bound" in await failure(rt, "keep.take()")
    async with sessions.life(scope={"post": Post(), "shelf": Shelf()}) as rt:
        assert await value(rt, "keep.take()") == "b"


async def test_a_name_of_the_scope_is_bound_to_the_object_of_this_process(sessions: Sessions) -> None:
    first, second = Post("first"), Post("second")
    async with sessions.life(scope={"post": first}) as rt:
        await value(rt, "mine = post; x = post.send(1)")
    async with sessions.life(scope={"post": second}) as rt:
        assert await value(rt, "(x, mine.send(2), post is mine)") == ("first 1", "second 2", True)
    assert (first.sent, second.sent) == ([1], [2])


async def test_a_name_that_guest_code_gave_to_something_else_stays_what_it_made_it(sessions: Sessions) -> None:
    async with sessions.life(scope={"post": Post()}) as rt:
        await value(rt, "post = 'mine'; shelf = 'mine too'")
    async with sessions.life(scope={"post": Post(), "shelf": Shelf()}) as rt:
        assert await value(rt, "(post, shelf)") == ("mine", "mine too")


async def test_plain_values_of_the_scope_are_those_that_the_session_began_with(sessions: Sessions) -> None:
    async with sessions.life(scope={"limit": [1]}) as rt:
        await value(rt, "limit.append(2)")
    async with sessions.life(scope={"limit": [9]}) as rt:
        assert await value(rt, "limit") == [1, 2]


async def test_code_that_asked_whether_a_name_is_there_goes_the_same_way_when_it_came_later(sessions: Sessions) -> None:
    async with sessions.life(scope={}) as rt:
        await value(rt, "found = 'shelf' in globals()")
    async with sessions.life(scope={"shelf": Shelf()}) as rt:
        assert rt.restored is not None
        assert rt.restored.diverged is None, rt.restored  # a new name is bound after the cells that did not have it
        assert await value(rt, "(found, 'shelf' in globals())") == (False, True)
