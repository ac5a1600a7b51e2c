"""Iteration over host objects is lazy: what is not asked for is not made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from tests.cells import failure, value


class Source:
    def __init__(self) -> None:
        self.made = 0
        self.closed = False

    def each(self, count: int = 1_000_000) -> Iterator[int]:
        """Counts what it gave."""
        try:
            for i in range(count):
                self.made += 1
                yield i
        finally:
            self.closed = True

    def objects(self, count: int) -> Iterator[Source]:
        for _ in range(count):
            yield Source()

    def broken(self) -> Iterator[int]:
        yield 1
        raise LookupError("no more")

    def echo(self) -> Any:
        got: Any = "start"
        while got != "stop":
            got = cast(Any, (yield f"got {got}"))
        return "end"


class Shelf:
    """Iterable many times."""

    def __init__(self) -> None:
        self.items = [1, 2, 3]

    def __iter__(self) -> Iterator[int]:
        return iter(self.items)


class Old:
    """Iterable by `__getitem__` alone."""

    def __getitem__(self, i: int) -> int:
        if i > 2:
            raise IndexError(i)
        return i * 10


async def test_a_million_item_generator_is_not_drained() -> None:
    source = Source()
    code = """
    got = []
    for i in source.each():
        got.append(i)
        if i == 4:
            break
    got
    """
    assert await value(code, source=source) == [0, 1, 2, 3, 4]
    assert source.made == 5


async def test_next_asks_for_one_item() -> None:
    source = Source()
    assert await value("g = source.each(3)\nnext(g), next(g)", source=source) == (0, 1)
    assert source.made == 2


async def test_a_generator_goes_on_where_the_last_cell_left_it_and_ends() -> None:
    source = Source()
    cells = "g = source.each(4)\nnext(g)", "next(g)", "list(g), next(g, 'none left')"
    assert await value(*cells, source=source) == ([2, 3], "none left")


async def test_a_generator_is_its_own_iterator() -> None:
    assert await value("g = source.each(3)\niter(g) is g", source=Source()) is True


async def test_stop_iteration_is_raised_at_the_end() -> None:
    error = await failure("next(source.each(0))", source=Source())
    assert error.type in ("StopIteration", "RuntimeError")
    code = "try:\n    next(source.each(0))\nexcept StopIteration:\n    told = 'ended'\ntold"
    assert await value(code, source=Source()) == "ended"


async def test_an_error_inside_a_generator_reaches_the_loop_that_reads_it() -> None:
    code = """
    got = []
    try:
        for i in source.broken():
            got.append(i)
    except LookupError as error:
        got.append(str(error))
    got
    """
    assert await value(code, source=Source()) == [1, "no more"]


async def test_send_and_close_reach_the_generator() -> None:
    code = "g = source.echo()\n(next(g), g.send('a'), g.send(2))"
    assert await value(code, source=Source()) == ("got start", "got a", "got 2")
    source = Source()
    await value("g = source.each()\nnext(g)\ng.close()", source=source)
    assert source.closed


async def test_the_return_value_of_a_generator_is_on_its_stop_iteration() -> None:
    code = """
    g = source.echo()
    next(g)
    try:
        g.send('stop')
    except StopIteration as end:
        told = end.value
    told
    """
    assert await value(code, source=Source()) == "end"


async def test_an_iterable_starts_anew_each_time() -> None:
    assert await value("list(shelf), list(shelf), [*shelf], sum(shelf), max(shelf)", shelf=Shelf()) == (
        [1, 2, 3],
        [1, 2, 3],
        [1, 2, 3],
        6,
        3,
    )


async def test_two_iterations_of_one_iterable_do_not_mix() -> None:
    assert await value("[(a, b) for a in shelf for b in shelf][:4]", shelf=Shelf()) == [(1, 1), (1, 2), (1, 3), (2, 1)]


async def test_an_object_with_getitem_only_is_iterable() -> None:
    assert await value("list(old), 20 in old", old=Old()) == ([0, 10, 20], True)


async def test_unpacking_zip_and_comprehensions_work_on_host_iterators() -> None:
    code = """
    a, b, *rest = source.each(5)
    pairs = list(zip(source.each(2), shelf))
    (a, b, rest, pairs, {i: i * i for i in source.each(3)}, dict(enumerate(shelf)))
    """
    assert await value(code, source=Source(), shelf=Shelf()) == (
        0,
        1,
        [2, 3, 4],
        [(0, 1), (1, 2)],
        {0: 0, 1: 1, 2: 4},
        {0: 1, 1: 2, 2: 3},
    )


async def test_items_that_are_objects_are_handles() -> None:
    assert await value("[s.made for s in source.objects(3)]", source=Source()) == [0, 0, 0]


async def test_iterators_and_views_over_containers_of_the_host_work() -> None:
    data = {i: str(i) for i in range(1000)}
    names: dict[str, Any] = {
        "plain": lambda: iter(list(data)),
        "mapped": lambda: map(str, range(1000)),
        "views": lambda: data.items(),
    }
    code = "len(list(plain())), list(mapped())[-1], dict(views())[999], len(views())"
    assert await value(code, **names) == (1000, "999", "999", 1000)


async def test_a_guest_generator_is_read_by_the_host_one_item_at_a_time() -> None:
    def first(items: Any, count: int) -> list[Any]:
        return [next(items) for _ in range(count)]

    code = """
    made = []
    def numbers():
        for i in range(1000):
            made.append(i)
            yield i
    g = numbers()
    (first(g, 3), list(made), next(g))
    """
    assert await value(code, first=first) == ([0, 1, 2], [0, 1, 2], 3)


async def test_the_host_reads_a_guest_generator_to_its_end() -> None:
    def total(items: Any) -> int:
        return sum(items)

    assert await value("total(i * i for i in range(4))", total=total) == 14
    assert await value("total(map(int, ['1', '2']))", total=total) == 3


async def test_an_error_in_a_guest_generator_reaches_the_host_and_the_guest_again() -> None:
    seen: list[str] = []

    def drain(items: Any) -> None:
        try:
            for _ in items:
                pass
        except LookupError as error:
            seen.append(str(error))
            raise

    code = "def bad():\n    yield 1\n    raise LookupError('bad')\ndrain(bad())"
    assert (await failure(code, drain=drain)).type == "LookupError"
    assert seen == ["bad"]
