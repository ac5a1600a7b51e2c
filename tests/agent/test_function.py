"""A function that is written by its signature and docstring, and carried out by the agent when it is called."""

from __future__ import annotations

import pytest
from tests.agent.worlds import Contact, Crm, agent_with

from cellwright.errors import ReturnTypeError, UsageError
from cellwright.messages import UserMessage
from cellwright.testing import code


async def test_a_stub_is_carried_out_with_its_arguments_in_scope() -> None:
    agent, model = agent_with(code("done([c for c in crm.contacts(city) if c.deals <= most])"))

    @agent.function
    async def idle(city: str, most: int = 0) -> list[Contact]:
        """Contacts of a city that have at most so many deals."""
        raise AssertionError("never runs")

    assert await idle("Oslo") == [Contact("Bo", "Oslo", 0)]
    assert idle.__name__ == "idle"
    task = model.requests[0].messages[0]
    assert isinstance(task, UserMessage)
    assert "async def idle(city: str, most: int = 0) -> list[Contact]" in task.text
    assert "at most so many deals" in task.text


async def test_live_objects_are_handed_in_as_themselves() -> None:
    crm = Crm()
    agent, _ = agent_with(code("book.write('Ada', 'hi')\ndone()"), scope={})

    @agent.function
    async def greet(book: Crm) -> None:
        """Write hi to Ada."""

    assert await greet(crm) is None
    assert crm.letters == ["Ada: hi"]


async def test_what_it_returns_is_checked() -> None:
    agent, _ = agent_with(otherwise=code("done('many')"), check="off")

    @agent.function
    async def count() -> int:
        """How many contacts there are."""
        return 0

    with pytest.raises(ReturnTypeError):
        await count()


async def test_wrong_arguments_are_told_before_a_model_is_asked() -> None:
    agent, model = agent_with()

    @agent.function
    async def count(city: str) -> int:
        """How many contacts there are."""
        return 0

    with pytest.raises(TypeError, match="city"):
        await count(town="Oslo")  # pyright: ignore[reportCallIssue] - that is the point
    assert model.requests == []


async def _no_docstring() -> int:
    return 0


def _sync() -> int:
    """A docstring."""
    return 0


async def _many(*names: str) -> int:
    """A docstring."""
    return 0


async def _taken(crm: int) -> int:
    """A docstring."""
    return 0


@pytest.mark.parametrize(
    ("stub", "said"),
    [(_no_docstring, "docstring"), (_sync, "async def"), (_many, r"\*names"), (_taken, "taken in the agent's scope")],
)
def test_a_stub_that_cannot_be_carried_out_is_told_where_it_is_written(stub: object, said: str) -> None:
    agent, _ = agent_with()
    with pytest.raises(UsageError, match=said):
        agent.function(stub)  # pyright: ignore[reportArgumentType] - that is the point
