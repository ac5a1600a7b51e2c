"""A session of many cells is checked against its living names: what is sent and kept does not grow with its cells."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cellwright.catalog import TypeChecker, ty_server
from cellwright.errors import NotChecked
from cellwright.scope import Scope


class Item:
    def __init__(self, name: str) -> None:
        self.name = name

    def near(self) -> Item:
        return self


class Shop:
    def items(self, count: int) -> list[Item]:
        return []

    async def price(self, item: str) -> float:
        return 1.0


class LongSession:
    """Checks cells one after another, and counts what the server is sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.checker = TypeChecker(Scope({"shop": Shop()}))
        self.ran: list[str] = []
        self.files: set[str] = set()
        self.opened = 0
        self.longest = 0
        tell, write = ty_server.TyServer.tell, ty_server.TyServer.write

        def counted(server: Any, method: str, params: Any) -> None:
            self.opened += {"textDocument/didOpen": 1, "textDocument/didClose": -1}.get(method, 0)
            if method == "textDocument/didOpen":
                self.files.add(params["textDocument"]["uri"])
                self.longest = max(self.longest, len(params["textDocument"]["text"]))
            tell(server, method, params)

        def written(server: Any, files: Any) -> None:
            self.files |= set(files)
            write(server, files)

        monkeypatch.setattr(ty_server.TyServer, "tell", counted)
        monkeypatch.setattr(ty_server.TyServer, "write", written)

    async def run(self, code: str) -> None:
        assert await self.checker.check(code, before=self.ran) == (), code
        self.ran.append(code)

    async def refused(self, code: str) -> bool:
        return bool(await self.checker.check(code, before=self.ran))

    @property
    def kept(self) -> tuple[int, int]:
        """Names and modules of the session."""
        checker: Any = self.checker
        return len(checker._session.names()), checker._session.modules


@pytest.fixture
async def session(anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LongSession]:
    made = LongSession(monkeypatch)
    yield made
    await made.checker.close()


def step(number: int) -> str:
    return (
        f"import json, os.path\ndef best(found):\n    return found[:{number % 10}]\n"
        f"found = shop.items({number % 10})\ntop = best(found)\ntotal = len(found) + {number % 10}\n"
        f"seen = total if {number % 10} else seen + total\nnear = found[0].near()\n"
        "class Note:\n    text = 'x'\nnote = Note()\n"
    )


async def test_what_is_sent_and_kept_is_alike_after_many_cells(session: LongSession) -> None:
    await session.run("seen = 0")
    for number in range(10, 30):
        await session.run(step(number))
    files, longest, kept = len(session.files), session.longest, session.kept
    for number in range(30, 130):
        await session.run(step(number))
    assert (len(session.files), session.longest, session.kept) == (files, longest, kept)
    assert session.opened == 0
    assert await session.refused("near.nope")
    assert await session.refused("note.nope")
    assert await session.refused("best()")
    assert await session.refused("seen.nope")


async def test_a_name_made_from_itself_keeps_its_type(session: LongSession) -> None:
    await session.run("total, texts, pairs = 0, ['a'], {'a': (1, 2.5)}")
    for _ in range(50):
        await session.run("total = total + 1\ntexts = [*texts, 'b'][-3:]\npairs = {key: pairs[key] for key in pairs}")
    assert session.kept[1] == 0
    assert await session.refused("total.nope")
    assert await session.refused("texts[0].nope")
    assert await session.refused("pairs['a'][0].nope")


async def test_an_object_that_is_made_from_itself_very_often_is_checked_no_longer(session: LongSession) -> None:
    await session.run("item = shop.items(1)[0]")
    for _ in range(5):
        await session.run("item = item.near()")
    assert await session.refused("item.nope")
    for _ in range(100):
        await session.run("item = item.near()")
    assert session.kept[1] <= 31
    assert not await session.refused("item.nope")


async def test_many_names_cost_a_declaration_each(session: LongSession) -> None:
    for number in range(120):
        await session.run(f"name_{number} = [{number}]\nimport json as j_{number}")
    assert await session.refused("name_3.nope")
    assert await session.refused("j_3.nope")
    assert session.kept == (240, 0)
    assert len(session.files) == 2  # the scope and the cell


async def test_names_are_known_after_the_process_died(session: LongSession) -> None:
    await session.run("def best(found):\n    return found[0]\ncount = 1")
    await session.run("best([count])")
    held: Any = session.checker
    os.kill(held._server.pid, 9)
    held._server._ty.wait()
    assert await session.refused("best()")
    assert await session.refused("count.nope")


async def test_imports_of_submodules_add_up(session: LongSession) -> None:
    await session.run("import os.path")
    await session.run("import xml.dom")
    await session.run("import xml.sax")
    await session.run("from math import *")
    await session.run("xml.dom.Node, xml.sax.parse, os.path.join, sqrt(2)")
    assert await session.refused("xml.nope")


async def test_cells_that_end_in_an_error_or_are_not_checked_leave_their_names(session: LongSession) -> None:
    await session.run("value = 'a'\nraise ValueError(value)")
    await session.run("value.upper()")
    session.ran.append("other = 1")
    with pytest.raises(NotChecked):
        await session.checker.check("x = 1\n" * 40_000, before=session.ran)
    assert await session.refused("other.nope")
    assert await session.refused("shop.price('a')")


async def test_sessions_and_scopes_that_follow_each_other_use_the_same_files(session: LongSession) -> None:
    """The server never forgets a path."""
    for number in range(5):
        scope = Scope({f"name{number}": number, "shop": Shop()})
        checker = TypeChecker(scope)
        first = f"def twice(n): return n * 2\nx = twice(name{number}), shop"
        assert await checker.check(first) == ()
        assert await checker.check("twice(x)", before=[first]) == ()
        assert await checker.check(f"name{number - 1}")
        scope.bind(f"later{number}", Shop())
        assert await checker.check(f"later{number}.items(3)") == ()
        scope.declare(f"later{number}.*", hide=["items"])
        assert await checker.check(f"later{number}.items(3)")
        await checker.close()
        await checker.close()
    assert {name.rpartition("/")[2] for name in session.files} == {"scope.pyi", "c_0.py", "c_1.py"}
    assert len(session.files) == 3
