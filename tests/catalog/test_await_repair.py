"""An `await` too many or too few is put right, and nothing else is."""

from __future__ import annotations

import pytest

from cellwright.catalog import TypeChecker, repaired
from cellwright.scope import Scope


class Api:
    async def load(self, number: int) -> str:
        return str(number)

    def find(self, name: str) -> str:
        return name


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("x = await api.find('a')", "x = api.find('a')"),
        ("x = api.load(3)\nprint(x.upper())", None),
        ("print(api.load(3))", "print((await api.load(3)))"),
        ("é = (await api.find('æ')).upper()", "é = (api.find('æ')).upper()"),
        ("api.load(1)", "(await api.load(1))"),
        ("x = await api.find('a')\ny = await api.find('b')", "x = api.find('a')\ny = api.find('b')"),
        ("x = await api.find(3)", None),
        ("x = await api.nothing()", None),
        ("def f():\n    print(api.load(1))", None),
        ("x = 1", None),
    ],
)
async def test_a_cell_is_mended_where_there_is_one_remedy(written: str, meant: str | None) -> None:
    checker = TypeChecker(Scope({"api": Api()}))
    try:
        code, change = repaired(written, await checker.check(written))
        assert (code or None) == meant
        assert bool(change) == (meant is not None)
        if meant is not None:
            assert await checker.check(meant) == ()
    finally:
        await checker.close()
