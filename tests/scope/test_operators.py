"""Python's operators on objects that live on the host."""

from __future__ import annotations

from typing import Any, cast

import pytest
from tests.cells import failure, value, written

from cellwright import Runtime, Scope


class Vector:
    """Has every operator that a type can have."""

    def __init__(self, *xs: int) -> None:
        self.xs = list(xs)

    def __repr__(self) -> str:
        return f"Vector{tuple(self.xs)}"

    def __str__(self) -> str:
        return f"<{','.join(map(str, self.xs))}>"

    def __format__(self, spec: str) -> str:
        return f"{spec}:{self.xs}"

    def __len__(self) -> int:
        return len(self.xs)

    def __bool__(self) -> bool:
        return any(self.xs)

    def __contains__(self, x: object) -> bool:
        return x in self.xs

    def __getitem__(self, key: Any) -> Any:
        return cast(Any, self.xs[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.xs[key] = value

    def __delitem__(self, key: Any) -> None:
        del self.xs[key]

    def __reversed__(self) -> Any:
        return reversed(self.xs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vector) and self.xs == other.xs

    def __hash__(self) -> int:
        return hash(tuple(self.xs))

    def __lt__(self, other: Vector) -> bool:
        return self.xs < other.xs

    def __le__(self, other: Vector) -> bool:
        return self.xs <= other.xs

    def __add__(self, other: Any) -> Any:
        return Vector(*map(sum, zip(self.xs, other.xs, strict=True))) if isinstance(other, Vector) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return Vector(*(other + x for x in self.xs)) if isinstance(other, int) else NotImplemented

    def __sub__(self, other: int) -> Vector:
        return Vector(*(x - other for x in self.xs))

    def __rsub__(self, other: int) -> Vector:
        return Vector(*(other - x for x in self.xs))

    def __mul__(self, by: int) -> Vector:
        return Vector(*(x * by for x in self.xs))

    __rmul__ = __mul__

    def __matmul__(self, other: Vector) -> int:
        return sum(a * b for a, b in zip(self.xs, other.xs, strict=True))

    def __truediv__(self, by: int) -> float:
        return sum(self.xs) / by

    def __floordiv__(self, by: int) -> int:
        return sum(self.xs) // by

    def __mod__(self, by: int) -> int:
        return sum(self.xs) % by

    def __divmod__(self, by: int) -> tuple[int, int]:
        return divmod(sum(self.xs), by)

    def __pow__(self, by: int) -> int:
        return sum(self.xs) ** by

    def __lshift__(self, by: int) -> str:
        return f"<<{by}"

    def __rshift__(self, by: int) -> str:
        return f">>{by}"

    def __and__(self, by: int) -> str:
        return f"&{by}"

    def __or__(self, by: int) -> str:
        return f"|{by}"

    def __xor__(self, by: int) -> str:
        return f"^{by}"

    def __iadd__(self, by: int) -> Vector:
        self.xs = [x + by for x in self.xs]
        return self

    def __neg__(self) -> Vector:
        return self * -1

    def __pos__(self) -> str:
        return "+"

    def __invert__(self) -> str:
        return "~"

    def __abs__(self) -> int:
        return sum(map(abs, self.xs))

    def __int__(self) -> int:
        return sum(self.xs)

    def __float__(self) -> float:
        return float(sum(self.xs))

    def __complex__(self) -> complex:
        return complex(sum(self.xs), 1)

    def __index__(self) -> int:
        return len(self.xs)

    def __round__(self, digits: int = 0) -> str:
        return f"round {digits}"

    def __trunc__(self) -> int:
        return 1

    def __floor__(self) -> int:
        return 2

    def __ceil__(self) -> int:
        return 3

    def __bytes__(self) -> bytes:
        return bytes(self.xs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return ["called", args, kwargs]


EXPRESSIONS = """
len(v)
bool(v)
not v
bool(zero)
2 in v
9 in v
v[0]
v[-1]
v[1:]
v[::2]
v[:]
list(v)
sorted(v, reverse=True)
list(reversed(v))
v == w
v == same
v != same
v == 3
v != 3
v < w
v <= same
v > w
v >= same
sorted([w, v])[0] == v
max(v, w) == w
(v + w)[0]
(1 + v)[0]
sum([v, w], 0)[0] if False else 1
(v - 1)[0]
(10 - v)[0]
(v * 2)[1]
(2 * v)[1]
v @ w
v / 2
v // 2
v % 4
divmod(v, 4)
v ** 2
v << 1
v >> 2
v & 3
v | 4
v ^ 5
(-v)[0]
+v
~v
abs(-v)
int(v)
float(v)
complex(v)
"abcdefg"[v]
hex(v)
round(v)
round(v, 2)
__import__("math").trunc(v)
__import__("math").floor(v)
__import__("math").ceil(v)
bytes(v)
v()
v(1, *[2], k=3)
hash(v) == hash(same)
len({v, same, w})
{v: "found"}[same]
str(v)
repr(v)
f"{v}"
f"{v:spec}"
f"{v!r} {v!s}"
"{0} {0!r}".format(v)
"%s %r" % (v, v)
callable(v)
[x for x in v]
(lambda a, b, c: a + b + c)(*v)
""".strip().splitlines()


@pytest.mark.parametrize("expression", EXPRESSIONS)
async def test_an_operator_gives_in_the_guest_what_it_gives_on_the_host(expression: str) -> None:
    names = {"v": Vector(1, 2, 3), "w": Vector(4, 5, 6), "same": Vector(1, 2, 3), "zero": Vector(0)}
    here = eval(expression, dict(names))
    assert await value(expression, **names) == here


async def test_items_are_set_and_deleted_on_the_host() -> None:
    v = Vector(1, 2, 3, 4)
    await written("v[0] = 10; v[1:3] = [7, 8, 9]; del v[-1]", v=v)
    assert v.xs == [10, 7, 8, 9]


async def test_an_in_place_operator_changes_the_host_object_and_keeps_its_identity() -> None:
    v = Vector(1, 2)
    assert await written("before = v\nv += 1\nv is before", v=v) is True
    assert v.xs == [2, 3]


async def test_an_in_place_operator_without_its_own_method_falls_back_to_the_plain_one() -> None:
    v = Vector(1, 2)
    assert await value("before = v\nv *= 3\n(v is before, list(v), list(before))", v=v) == (False, [3, 6], [1, 2])


@pytest.mark.parametrize("code", ["v + 'x'", "'x' + v", "v + 1", "v < 'x'", "v @ 1"])
async def test_operands_that_do_not_fit_are_a_type_error_or_what_the_host_raised(code: str) -> None:
    error = await failure(code, v=Vector(1))
    assert error.type in ("TypeError", "AttributeError", "WrongArguments")


@pytest.mark.parametrize(
    "code",
    ["len(o)", "o[0]", "o + 1", "o()", "iter(o)", "1 in o", "o < o", "int(o)", "next(o)", "o[0] = 1", "del o[0]"],
)
async def test_an_operator_that_the_host_type_lacks_is_a_type_error(code: str) -> None:
    class Bare:
        pass

    assert (await failure(code, o=Bare())).type == "TypeError"


async def test_what_an_operator_raises_on_the_host_is_raised_in_the_guest() -> None:
    code = """
    told = []
    for attempt in (lambda: v[99], lambda: v / 0, lambda: d['nope']):
        try:
            attempt()
        except LookupError as error:
            told.append(type(error).__name__)
        except ArithmeticError as error:
            told.append(type(error).__name__)
    told
    """

    class Dictionary:
        def __getitem__(self, key: str) -> int:
            return {"a": 1}[key]

    assert await value(code, v=Vector(1), d=Dictionary()) == ["IndexError", "ZeroDivisionError", "KeyError"]


async def test_an_unhashable_host_object_is_unhashable_in_the_guest() -> None:
    class Unhashable:
        def __eq__(self, other: object) -> bool:
            return True

    assert (await failure("{o}", o=Unhashable())).type == "TypeError"
    assert await value("o == 5", o=Unhashable()) is True


class Resource:
    def __init__(self, swallow: bool = False) -> None:
        self.log: list[Any] = []
        self._swallow = swallow

    def __enter__(self) -> str:
        self.log.append("enter")
        return "entered"

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self.log.append((kind, str(error), trace))
        return self._swallow


async def test_with_enters_and_leaves_on_the_host() -> None:
    resource = Resource()
    assert await value("with r as got:\n    pass\ngot", r=resource) == "entered"
    assert resource.log == ["enter", (None, "None", None)]


async def test_with_tells_the_host_which_error_left_the_block() -> None:
    resource = Resource()
    error = await failure("with r:\n    raise KeyError('k')", r=resource)
    assert error.type == "KeyError"
    assert resource.log == ["enter", (KeyError, "'k'", None)]


async def test_a_context_manager_that_swallows_an_error_swallows_the_guests() -> None:
    assert await value("with r:\n    1 / 0\n'after'", r=Resource(swallow=True)) == "after"


async def test_an_exit_stack_of_the_guest_takes_host_context_managers() -> None:
    one, two = Resource(), Resource()
    code = """
    import contextlib
    with contextlib.ExitStack() as stack:
        stack.enter_context(one)
        stack.enter_context(two)
    """
    await value(code, one=one, two=two)
    assert len(one.log) == len(two.log) == 2


async def test_a_generator_based_context_manager_of_the_host_works() -> None:
    import contextlib

    log: list[str] = []

    @contextlib.contextmanager
    def opened(name: str) -> Any:
        log.append(f"open {name}")
        try:
            yield name.upper()
        finally:
            log.append(f"close {name}")

    assert await value("with opened('a') as got:\n    pass\ngot", opened=opened) == "A"
    assert log == ["open a", "close a"]


class Chest(dict[str, int]):
    """A dict whose keys are attributes, too, as people like to write it."""

    def __getattr__(self, name: str) -> int:
        return self[name]  # a KeyError, not an AttributeError


async def test_no_attribute_of_an_object_is_read_to_judge_it() -> None:
    scope = Scope({"chest": Chest(gold=1)})
    scope.declare("chest.*", hide=["pop"])
    async with Runtime(scope) as rt:
        assert (await rt.execute("chest['gold'], len(chest), chest.gold")).unwrap() == (1, 1, 1)
