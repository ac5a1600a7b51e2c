"""Source is read on several threads at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from cellwright.scope import parse

SOURCE = "\n".join(f"def f{n}(a: int, b: str = 'x') -> list[dict[str, int]]: ..." for n in range(60))


class Yields:
    """Garbage that lets another thread run when it is collected, in the middle of whatever runs then."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        time.sleep(0)


@pytest.fixture
def eager_threads() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_threads")
def test_threads_that_parse_at_once_do_not_disturb_each_other() -> None:
    def count(_: int) -> int:
        Yields()
        return len(parse(SOURCE).body)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(count, range(300))) == {60}


def test_what_is_no_python_is_a_syntax_error_and_the_next_is_read() -> None:
    with pytest.raises(SyntaxError):
        parse("def")
    assert len(parse("x = 1").body) == 1
