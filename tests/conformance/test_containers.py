"""Containers and iterators of the standard library that live on the host."""

from __future__ import annotations

import collections
import itertools
import random
import types
from fractions import Fraction
from typing import Any

from tests.cells import value, written


async def test_a_deque_is_filled_turned_and_emptied() -> None:
    ring: collections.deque[int] = collections.deque([1, 2, 3], maxlen=4)
    code = """
        ring.append(4); ring.append(5)
        ring.rotate(1)
        first = ring.popleft()
        ring[0] = 20
        del ring[-1]
        first, list(ring), len(ring), 3 in ring, ring.maxlen, sorted(ring), list(reversed(ring)), ring.index(3)
    """
    assert await value(code, ring=ring) == (5, [20, 3], 2, True, 4, [3, 20], [3, 20], 1)
    assert list(ring) == [20, 3]


async def test_operators_between_host_objects_run_on_the_host() -> None:
    code = "third + 1, third * 3 == 1, third < 1, float(third), -third, 1 - third, {third: 'a'}[third], third.numerator"
    found = await value(code, third=Fraction(1, 3))
    assert found == (Fraction(4, 3), True, True, 1 / 3, Fraction(-1, 3), Fraction(2, 3), "a", 1)


async def test_counters_and_default_dicts_cross_as_the_dicts_that_they_hold() -> None:
    groups: collections.defaultdict[str, list[int]] = collections.defaultdict(list, a=[1])
    code = "counter['a'], sorted(counter, key=counter.get)[-1], groups['a'], dict(od), groups.get('z')"
    names = {"counter": collections.Counter("abca"), "groups": groups, "od": collections.OrderedDict(a=1)}
    assert await value(code, **names) == (2, "a", [1], {"a": 1}, None)


async def test_chain_maps_and_read_only_views_are_read_as_mappings() -> None:
    code = "layers['b'], dict(layers), 'a' in layers, len(layers), view['k'], dict(view), view.get('z', 5), list(view)"
    names = {"layers": collections.ChainMap({"a": 1}, {"a": 9, "b": 2}), "view": types.MappingProxyType({"k": 1})}
    assert await value(code, **names) == (2, {"b": 2, "a": 1}, True, 2, 1, {"k": 1}, 5, ["k"])


async def test_the_collections_module_makes_containers_on_the_host() -> None:
    code = """
        last = collections.deque(maxlen=2)
        for i in range(5):
            last.append(i)
        list(last), isinstance(last, collections.deque)
    """
    assert await value(code, collections=collections) == ([3, 4], True)


async def test_an_endless_iterator_is_drawn_from_and_never_drained() -> None:
    code = """
        from itertools import islice
        next(count), next(count), [n for n, _ in zip(count, range(3))], list(islice(letters, 3)), next(letters)
    """
    found = await value(code, count=itertools.count(5), letters=itertools.cycle("ab"))
    assert found[:2] == (5, 6)
    assert found[2:] == ([7, 8, 9], ["a", "b", "a"], "b")


async def test_iterators_are_used_up_once() -> None:
    names: dict[str, Any] = {
        "pairs": zip([1, 2], "ab", strict=True),
        "texts": map(str, [1, 2]),
        "items": iter([1, 2, 3]),
    }
    code = "list(pairs), list(texts), next(items), sum(items), list(items), next(items, 'end')"
    assert await value(code, **names) == ([(1, "a"), (2, "b")], ["1", "2"], 1, 5, [], "end")


async def test_the_itertools_module_works_with_guest_functions_and_iterables() -> None:
    code = """
        groups = [(k, list(g)) for k, g in itertools.groupby(["a", "b", "bb"], key=len)]
        low = list(itertools.takewhile(lambda n: n < 3, itertools.count()))
        groups, list(itertools.chain([1], (x for x in [2, 3]))), low
    """
    assert await value(code, itertools=itertools) == ([(1, ["a", "b"]), (2, ["bb"])], [1, 2, 3], [0, 1, 2])


async def test_a_generator_takes_what_is_sent_and_thrown_into_it() -> None:
    def running_total() -> Any:
        total = 0
        while True:
            try:
                total += yield total
            except ValueError:
                total = -1
            except LookupError:
                return

    code = """
        found = [next(total), total.send(5), total.send(3), total.throw(ValueError("reset"))]
        try:
            total.throw(KeyError("stop"))
        except StopIteration:
            found.append("over")
        found
    """
    assert await value(code, total=running_total()) == [0, 5, 8, -1, "over"]


async def test_a_seeded_random_gives_the_hosts_numbers() -> None:
    expected = random.Random(7)
    code = "rng.random(), rng.randint(1, 6), rng.choice(['a', 'b']), rng.sample(range(10), 3), rng.gauss(0, 1)"
    assert await value(code, rng=random.Random(7)) == (
        expected.random(),
        expected.randint(1, 6),
        expected.choice(["a", "b"]),
        expected.sample(range(10), 3),
        expected.gauss(0, 1),
    )


async def test_a_namespace_is_read_written_and_listed() -> None:
    space = types.SimpleNamespace(a=1, b=[2])
    code = (
        "space.a += 1\nspace.c = {'new': True}\ndel space.b\nspace.a, space.c, hasattr(space, 'b'), 'c' in dir(space)"
    )
    assert await written(code, space=space) == (2, {"new": True}, False, True)
    assert vars(space) == {"a": 2, "c": {"new": True}}
