"""Typed returns: the type is in scope, a mismatch goes back in pydantic's words, and after the limit the turn fails."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field
from tests.agent.worlds import FENCED, Contact, Crm, agent_with, last_observation

from cellwright.agent.finish import type_name
from cellwright.errors import ReturnTypeError, UsageError
from cellwright.messages import UserMessage
from cellwright.testing import code, fenced


class Priority(enum.Enum):
    HIGH = "high"
    LOW = "low"


class Line(BaseModel):
    item: str
    amount: int = Field(ge=0)


class Order(BaseModel):
    lines: list[Line]
    priority: Priority = Priority.LOW


@dataclass
class Report:
    title: str
    contacts: list[Contact]


async def test_a_model_of_models_is_built_in_the_code() -> None:
    agent, model = agent_with(code("done(Order(lines=[Line(item='tea', amount=2)], priority=Priority.HIGH))"))
    value = (await agent.run("…", returns=Order)).value
    assert value == Order(lines=[Line(item="tea", amount=2)], priority=Priority.HIGH)
    task = model.requests[0].messages[0]
    assert isinstance(task, UserMessage)
    assert "class Line" in task.text
    assert "amount: int" in task.text
    assert "class Line" not in model.requests[0].instructions  # which is the same for every task


async def test_a_dataclass_that_holds_records_from_the_scope() -> None:
    agent, _ = agent_with(code("done(Report(title='Oslo', contacts=crm.contacts('Oslo')))"))
    value = (await agent.run("…", returns=Report)).value
    assert [c.name for c in value.contacts] == ["Ada", "Bo"]


@pytest.mark.parametrize(
    ("returns", "written", "value"),
    [
        (int, "3", 3),
        (list[Contact], "crm.contacts('Rome')", [Contact("Cy", "Rome", 0)]),
        (dict[str, int], "{c.name: c.deals for c in crm.contacts()}", {"Ada": 2, "Bo": 0, "Cy": 0}),
        (tuple[int, str], "(1, 'a')", (1, "a")),
        (Literal["yes", "no"], "'yes'", "yes"),
        (int | None, "None", None),
        (set[int], "{1, 2}", {1, 2}),
        (Order, "{'lines': [{'item': 'tea', 'amount': 1}]}", Order(lines=[Line(item="tea", amount=1)])),
        (Priority, "Priority.HIGH", Priority.HIGH),
    ],
)
async def test_any_type_that_pydantic_can_check(returns: Any, written: str, value: object) -> None:
    agent, _ = agent_with(code(f"done({written})"), check="off")
    assert (await agent.run("…", returns=returns)).value == value


async def test_a_live_object_is_returned_as_itself() -> None:
    crm = Crm()
    agent, _ = agent_with(code("done(crm)"), scope={"crm": crm})
    assert (await agent.run("…", returns=Crm)).value is crm


async def test_a_mismatch_goes_back_in_pydantics_words() -> None:
    agent, model = agent_with(code("done('many')"), code("done(3)"), check="off")
    assert (await agent.run("…", returns=int)).value == 3
    assert "Input should be a valid integer" in last_observation(model)
    assert "https://" not in last_observation(model)


async def test_a_constraint_that_no_type_checker_sees_is_held() -> None:
    agent, model = agent_with(
        code("done({'item': 'x', 'amount': -1})"), code("done(Line(item='x', amount=1))"), check="off"
    )
    assert (await agent.run("…", returns=Line)).value.amount == 1
    assert "greater than or equal to 0" in last_observation(model)


async def test_after_the_limit_the_error_carries_what_was_returned() -> None:
    agent, _ = agent_with(code("done('one')"), code("done('two')"), code("done('three')"), check="off")
    with pytest.raises(ReturnTypeError, match="3 answers are not of type int") as caught:
        await agent.run("…", returns=int)
    assert caught.value.returned == "three"
    result: Any = caught.value.result
    assert result.steps == 3


async def test_code_may_catch_the_mismatch_and_answer_rightly() -> None:
    cell = "try:\n    done('x')\nexcept TypeError as error:\n    print(error)\n    done(4)"
    agent, _ = agent_with(code(cell), check="off")
    assert (await agent.run("…", returns=int)).value == 4


@pytest.mark.parametrize(
    ("returns", "text", "value"), [(int, "42", 42), (list[str], '["a"]', ["a"]), (str, "hi", "hi")]
)
async def test_a_plain_reply_of_the_right_type_is_the_answer(returns: Any, text: str, value: object) -> None:
    agent, _ = agent_with(text)
    assert (await agent.run("…", returns=returns)).value == value


async def test_a_plain_reply_after_a_cell_of_the_right_value_means_that_value() -> None:
    agent, _ = agent_with(fenced("len(crm.contacts())"), "There are three contacts.", traits=FENCED)
    assert (await agent.run("…", returns=int)).value == 3


async def test_a_plain_reply_that_is_no_answer_is_told_so() -> None:
    agent, model = agent_with("I will look.", code("done(3)"))
    assert (await agent.run("…", returns=int)).value == 3
    assert "no code in that reply" in last_observation(model)


async def test_a_class_that_is_bound_already_stays_under_its_own_name() -> None:
    agent, _ = agent_with(code("done([Person('Di', 'Rome', 1)])"), scope={"Person": Contact})
    assert (await agent.run("…", returns=list[Contact])).value == [Contact("Di", "Rome", 1)]


async def test_a_type_that_cannot_be_checked_is_told_before_anything_runs() -> None:
    agent, model = agent_with(code("done(1)"))
    for wrong in ("no such type", 3):
        with pytest.raises(UsageError, match="pydantic cannot check it"):
            await agent.run("…", returns=wrong)
    assert model.requests == []


async def test_a_turn_of_a_session_has_its_own_type() -> None:
    agent, model = agent_with(
        code("done('x')"), code("done(3)"), code("done({'lines': [{'item': 'tea', 'amount': 1}]})"), check="strict"
    )
    async with agent.session(returns=str) as session:
        assert (await session.run("a")).value == "x"
        assert (await session.run("b", returns=int)).value == 3
        assert (await session.run("c", returns=Order)).value == Order(lines=[Line(item="tea", amount=1)])
    told = model.requests[-1].messages[-1]
    assert isinstance(told, UserMessage)
    assert "Write a dict with these keys in the place of Order, Line, Priority" in told.text


@pytest.mark.parametrize(
    ("hint", "name"),
    [
        (list[Contact], "list[Contact]"),
        (dict[str, Line | None], "dict[str, Line | None]"),
        (Literal["a.b", 1], "Literal['a.b', 1]"),
        (tuple[int, ...], "tuple[int, ...]"),
        (int, "int"),
    ],
)
def test_a_type_is_told_without_the_modules_of_its_classes(hint: Any, name: str) -> None:
    assert type_name(hint) == name
