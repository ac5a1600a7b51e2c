"""What is known of a call before it is made, and that nothing of the object runs to know it."""

from __future__ import annotations

import asyncio
import functools
import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.scope.lives import Life, Refused

from cellwright import Scope, operation
from cellwright.doors import About, Operation


def delete(result: Any) -> None: ...


class Crm:
    def __init__(self) -> None:
        self.marked = operation(idempotent=True)(lambda: 1)
        self.items = [1, 2]

    @operation(reads=True, timeout_s=3)
    def find(self) -> int:
        return 1

    @operation(idempotent=True, undo=delete)
    async def create(self) -> int:
        return 1

    @classmethod
    @operation(reads=True)
    def known(cls) -> int:
        return 1

    @staticmethod
    @operation(idempotent=True)
    def fixed() -> int:
        return 1

    def plain(self) -> int:
        return 1


class Callable_:
    @operation(reads=True)
    def __call__(self) -> int:
        return 1


@dataclass
class Point:
    x: int


@operation(reads=True)
def search() -> int:
    return 1


def made(life: Life, verb: str, target: int, name: str = "") -> About:
    return replace(told(life, verb, target, name), known_as="")


def told(life: Life, verb: str, target: int, name: str = "") -> About:
    return life.host.about(verb, target, name)


@pytest.fixture
async def life() -> Any:
    scope = {
        "crm": Crm(), "Crm": Crm, "search": search, "partly": functools.partial(search), "it": Callable_(),
        "Point": Point, "json": json, "shop": {"in": Crm()},
    }  # fmt: skip
    found = Life(scope)
    yield found
    found.host.close()


@pytest.mark.parametrize(
    ("owner", "name", "title", "facts"),
    [
        ("crm", "find", "crm.find", Operation(reads=True, timeout_s=3)),
        ("crm", "create", "crm.create", Operation(idempotent=True, undo=delete)),
        ("crm", "plain", "crm.plain", Operation()),
        ("crm", "known", "crm.known", Operation(reads=True)),
        ("crm", "fixed", "crm.fixed", Operation(idempotent=True)),
        ("crm", "marked", "crm.marked", Operation(idempotent=True)),
        ("crm", "nothing", "crm.nothing", Operation()),
        ("Crm", "known", "Crm.known", Operation(reads=True)),
        ("search", "", "search", Operation(reads=True)),
        ("partly", "", "partly", Operation(reads=True)),
        ("it", "", "it", Operation(reads=True)),
        ("json", "dumps", "json.dumps", Operation()),
    ],
)
async def test_a_call_has_the_title_and_the_facts_of_its_operation(
    life: Life, owner: str, name: str, title: str, facts: Operation
) -> None:
    for _ in range(2):  # the second time from what was kept
        assert made(life, "call", life.name(owner), name) == About(title=title, operation=facts)


READS = (
    "len contains getitem iter aiter reversed lt le gt ge eq ne hash bool repr str format bytes int float complex "
    "index abs neg pos invert round trunc floor ceil add sub mul matmul truediv floordiv mod divmod pow lshift rshift "
    "and or xor radd rpow"
).split()
CHANGES = "next anext enter exit aenter aexit setitem delitem iadd isub ixor imatmul".split()


@pytest.mark.parametrize("name", READS)
async def test_an_operator_that_reads_is_known_to(life: Life, name: str) -> None:
    assert made(life, "op", life.name("crm"), f"__{name}__").operation == Operation(reads=True)


@pytest.mark.parametrize("name", CHANGES)
async def test_an_operator_that_may_change_is_not_a_read(life: Life, name: str) -> None:
    assert made(life, "op", life.name("crm"), f"__{name}__").operation == Operation()


@pytest.mark.parametrize("verb", ["get", "dir", "about", "sleep"])
async def test_a_verb_that_reads_is_known_to(life: Life, verb: str) -> None:
    assert made(life, verb, life.name("crm"), "items" if verb == "get" else "").operation.reads


@pytest.mark.parametrize("verb", ["set", "del", "items", "await", "new", "nonsense"])
async def test_other_verbs_are_no_reads(life: Life, verb: str) -> None:
    assert made(life, verb, life.name("crm"), "items") == About(
        title="crm.next" if verb == "items" else "crm.items", operation=Operation()
    )


@pytest.mark.parametrize(
    ("verb", "owner", "name", "known_as"),
    [
        ("call", "crm", "find", "crm.find"),
        ("call", "search", "", "search"),
        ("get", "crm", "items", "crm.items"),
        ("new", "Crm", "", f"{__name__}:Crm"),
        ("call", "Crm", "known", f"{__name__}:Crm.known"),
    ],
)
async def test_an_operation_is_known_as_the_same_in_every_session(
    life: Life, verb: str, owner: str, name: str, known_as: str
) -> None:
    assert told(life, verb, life.name(owner), name).known_as == known_as


async def test_an_object_that_a_call_gave_is_known_by_its_class_and_a_function_by_nothing() -> None:
    life = Life({"make": lambda: Crm(), "function": lambda: lambda: 1})
    for name, member, known_as in (("make", "find", f"{__name__}:Crm.find"), ("function", "", "")):
        number = await life.handle("call", life.name(name))
        assert told(life, "call", number, member).known_as == known_as
    life.host.close()


async def test_building_a_data_class_may_be_done_twice_and_building_another_not(life: Life) -> None:
    assert made(life, "new", life.name("Point")) == About(
        title="Point", operation=Operation(idempotent=True), data=True
    )
    assert made(life, "new", life.name("Crm")) == About(title="Crm", operation=Operation())


async def test_what_is_declared_holds_at_once_for_what_was_asked_before() -> None:
    scope = Scope({"crm": Crm(), "search": search})
    life = Life(scope)
    crm, function = life.name("crm"), life.name("search")
    assert not made(life, "call", crm, "plain").operation.reads
    assert made(life, "call", function).operation.reads
    scope.declare("crm.plain", reads=True)
    scope.declare("search", reads=False)
    scope.declare("crm.items", reads=False)
    assert made(life, "call", crm, "plain").operation.reads
    assert not made(life, "call", function).operation.reads
    assert not made(life, "get", crm, "items").operation.reads
    life.host.close()


async def test_facts_of_a_call_are_not_those_of_reading_the_method(life: Life) -> None:
    assert made(life, "get", life.name("crm"), "create").operation == Operation(reads=True)


async def test_a_method_that_was_read_is_titled_by_its_path(life: Life) -> None:
    number = await life.handle("get", life.name("crm"), "find")
    assert made(life, "call", number) == About(title="crm.find", operation=Operation(reads=True, timeout_s=3))


@pytest.mark.parametrize("target", [4711, -4711, 0, 1 << 80])
async def test_an_unknown_target_has_a_title_and_careful_facts(life: Life, target: int) -> None:
    assert made(life, "call", target, "find") == About(title=f"#{target}.find", operation=Operation())
    assert made(life, "call", target, "\x1b").title.isascii()


async def test_nothing_of_the_object_runs() -> None:
    ran: list[str] = []

    class Shy:
        __slots__ = ()

        def __getattribute__(self, name: str) -> Any:
            ran.append(name)
            raise AttributeError(name)

        @property
        def prop(self) -> int:
            ran.append("prop")
            return 1

        def __call__(self) -> int:
            ran.append("call")
            return 1

        def method(self) -> int:
            return 2

    life = Life({"shy": Shy()})
    ran.clear()
    for verb, name in (
        ("call", "method"), ("call", "prop"), ("call", "none"), ("call", ""), ("get", "prop"), ("get", "none"),
        ("op", "__call__"), ("op", "__len__"), ("set", "prop"), ("dir", ""), ("items", ""), ("await", ""),
    ):  # fmt: skip
        made(life, verb, life.name("shy"), name)
    assert ran == []
    life.host.close()


async def test_names_that_guest_code_makes_up_are_not_kept(life: Life) -> None:
    for i in range(100):
        made(life, "call", life.name("crm"), f"name{i}")
        made(life, f"verb{i}", life.name("crm"), "find")
        made(life, "get", life.name("crm"), f"name{i}")
        made(life, "call", life.name("Crm"), f"name{i}")
        made(life, "call", life.name("json"), f"name{i}")
    host: Any = life.host
    assert host._handles.get(life.name("crm")).abouts == {}
    assert host._classes.get(life.name("Crm")).abouts == {}
    assert host._handles.get(life.name("json")).abouts == {}


async def test_a_lost_object_has_the_title_and_the_facts_of_its_class() -> None:
    first = Life({"make": lambda: Crm()})
    number = await first.handle("call", first.name("make"))
    second = first.resumed({"make": lambda: Crm()})
    assert made(second, "call", number, "find") == About(
        title=f"Crm#{number}.find", operation=Operation(reads=True, timeout_s=3)
    )
    second.host.close()


# sleep


async def test_sleep_answers_when_the_time_is_over(life: Life) -> None:
    assert await life.ask("sleep", 0, "", 0) is None
    assert await life.ask("sleep", 0, "", 0.001) is None
    assert made(life, "sleep", 0).title == "sleep"


@pytest.mark.parametrize(
    "args", [(-1,), (float("nan"),), (float("inf"),), (10**400,), ("1",), (True,), (), (1, 2), (None,)]
)
async def test_a_time_that_is_none_is_refused(life: Life, args: tuple[Any, ...]) -> None:
    with pytest.raises(Refused, match="sleep takes"):
        await life.ask("sleep", 0, "", *args)


async def test_a_sleep_can_be_cancelled(life: Life) -> None:
    call = life.call("sleep", 0, "", 10_000)
    sleeping = asyncio.create_task(life.answer(call))
    await asyncio.sleep(0)
    sleeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleeping


async def test_class_methods_keep_their_timeout() -> None:
    class Slow:
        @classmethod
        @operation(timeout_s=0.01)
        async def wait(cls) -> None:
            await asyncio.Event().wait()

    life = Life({"Slow": Slow})
    with pytest.raises(Refused, match=r"timeout_s=0\.01"):
        await life.ask("call", life.name("Slow"), "wait")
    life.host.close()


async def test_host_code_that_raises_stop_iteration_does_not_hang() -> None:
    def stop() -> None:
        raise StopIteration

    life = Life({"stop": stop})
    with pytest.raises(Refused, match="StopIteration"):
        await life.ask("call", life.name("stop"))
    life.host.close()
