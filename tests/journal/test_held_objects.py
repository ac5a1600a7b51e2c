"""Objects of the host that names, lists, arguments and values hold, in a process that did not make them."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.journal.crm import Crm, first_scope
from tests.journal.elsewhere import killed_after
from tests.journal.lasting import PATIENT, SESSION, Sessions, failure, run, value

from cellwright import Runtime
from cellwright.scope import LostObject

pytestmark = pytest.mark.usefixtures("warm")


class Lives:
    """Two processes: in the first the cells ran with a crm of its own, in the second the url is another."""

    def __init__(self, place: Path) -> None:
        self._sessions = Sessions(place)
        self.first = Crm("first")
        self.second = Crm("second")

    @asynccontextmanager
    async def after(self, *cells: str) -> AsyncGenerator[Runtime]:
        async with self._sessions.life(scope={"crm": self.first}) as rt:
            for cell in cells:
                await value(rt, cell)
        async with self.again() as rt:
            yield rt

    @asynccontextmanager
    async def again(self) -> AsyncGenerator[Runtime]:
        async with self._sessions.life(scope={"crm": self.second}) as rt:
            assert rt.restored is not None
            assert rt.restored.diverged is None, rt.restored
            yield rt


@pytest.fixture
def lives(tmp_path: Path) -> Lives:
    return Lives(tmp_path)


async def lost(rt: Runtime, code: str) -> str:
    """What the agent reads of an object that is lost, without its number."""
    outcome = await run(rt, code)
    assert outcome.error is not None, outcome
    last = str(outcome.error).splitlines()[-1]
    name, _, text = last.partition(": ")
    assert name == "cellwright.HandleLost", outcome.error
    return re.sub(r"#\d+", "", text)


def gone(what: str, call: str, cell: int, why: str = "") -> str:
    because = f" ({why})" if why else ""
    return (
        f"{what} came from {call} in cell {cell} and did not outlive the process that made it{because}; call it again"
    )


USED = "it was used since in a way that may have changed it"


# what comes back


async def test_a_bound_name_is_what_is_bound_now(lives: Lives) -> None:
    async with lives.after("mine = crm\ncrm.url") as rt:
        assert await value(rt, "(crm.url, mine.url, mine is crm)") == ("second", "second", True)


async def test_an_attribute_of_what_is_bound_is_that_of_what_is_bound_now(lives: Lives) -> None:
    async with lives.after("contacts = crm.contacts\ncontacts.get('ada').greet()") as rt:
        assert await value(rt, "contacts.get('ada').greet()") == "hello ada, from second"


async def test_a_connectors_record_is_rebuilt_from_its_own_data_once(lives: Lives) -> None:
    async with lives.after("ada = crm.contacts.get('ada')") as rt:
        assert lives.second.log == []
        assert await value(rt, "(ada.greet(), ada.greet())") == ("hello ada, from second",) * 2
    assert lives.second.log == ["from_journal ada"]


async def test_records_in_a_list_are_rebuilt_each_from_its_own_data_when_it_is_used(lives: Lives) -> None:
    async with lives.after("people = crm.contacts.several('ada', 'grace', 'linus')") as rt:
        assert await value(rt, "(people[2].greet(), people[0].greet())") == (
            "hello linus, from second",
            "hello ada, from second",
        )
    assert lives.second.log == ["from_journal linus", "from_journal ada"]


async def test_what_was_read_is_read_again_once(lives: Lives) -> None:
    async with lives.after("deal = crm.deal('big')", "deal.summary()") as rt:
        assert lives.second.log == []
        assert await value(rt, "(deal.summary(), deal.summary(), deal.title)") == ("big: 0", "big: 0", "big")
    assert lives.second.log == ["deal big"]
    assert lives.first.log == ["deal big"]


async def test_what_was_read_alone_in_a_list_is_read_again(lives: Lives) -> None:
    """`revive` knows one object from another only where there is no other."""
    async with lives.after("(deal,) = crm.deals('big')") as rt:
        assert "HandleLost" in (said := await _summary(rt)) or said == "big: 0"


async def _summary(rt: Runtime) -> str:
    outcome = await run(rt, "deal.summary()")
    return str(outcome.value if outcome.ok else outcome.error)


async def test_an_operation_with_revive_makes_its_result_again_by_that(lives: Lives) -> None:
    async with lives.after("report = crm.report('sales')") as rt:
        assert await value(rt, "(report.text(), report.text())") == ("sales of second",) * 2
    assert lives.second.log == ["revive sales"]


async def test_objects_come_back_as_arguments_too(lives: Lives) -> None:
    async with lives.after("deal, report = crm.deal('big'), crm.report('sales')") as rt:
        assert await value(rt, "crm.titles(deal, [report, deal])") == ["big", "sales", "big"]
    assert sorted(lives.second.log) == ["deal big", "revive sales", "titles"]


async def test_what_came_back_comes_back_in_the_next_process_too(lives: Lives) -> None:
    async with lives.after("deal, ada = crm.deal('big'), crm.contacts.get('ada')") as rt:
        await value(rt, "deal.summary() + ada.greet()")
    lives.second = Crm("third")
    async with lives.again() as rt:
        assert await value(rt, "(deal.summary(), ada.greet())") == ("big: 0", "hello ada, from third")
    assert sorted(lives.second.log) == ["deal big", "from_journal ada"]


# what is lost


async def test_a_generator_that_gave_some_items_is_lost_and_says_which_call_made_it(lives: Lives) -> None:
    async with lives.after("pages = crm.pages()\nnext(pages)") as rt:
        assert await lost(rt, "next(pages)") == gone("generator", "crm.pages()", 1, USED)
        assert await lost(rt, "for page in pages: pass") == gone("generator", "crm.pages()", 1, USED)


async def test_one_of_several_objects_in_an_answer_is_lost(lives: Lives) -> None:
    async with lives.after("small, big = crm.deals('small', 'big')") as rt:
        for name in ("small", "big"):
            assert await lost(rt, f"{name}.summary()") == gone(
                "Deal", "crm.deals(…)", 1, "that answer held other objects too"
            )
    assert lives.second.log == []


async def test_the_result_of_any_other_operation_is_lost_and_that_is_not_run_again(lives: Lives) -> None:
    async with lives.after("draft = crm.draft('sales')") as rt:
        assert await lost(rt, "draft.text()") == gone("Report", "crm.draft(…)", 1)
    assert lives.second.log == []


@pytest.mark.parametrize("call", ["crm.titles(draft, [])", "crm.titles(deal, [deal, draft])"])
async def test_a_call_with_a_lost_object_among_its_arguments_is_not_made(lives: Lives, call: str) -> None:
    async with lives.after("deal, draft = crm.deal('big'), crm.draft('sales')") as rt:
        assert await lost(rt, call) == gone("Report", "crm.draft(…)", 1)
    assert "titles" not in lives.second.log


async def test_code_can_catch_a_loss_and_get_the_object_again(lives: Lives) -> None:
    code = """
    try:
        text = draft.text()
    except ReferenceError as error:
        said = type(error).__name__
        draft = crm.draft("sales")
        text = draft.text()
    (said, text)
    """
    async with lives.after("draft = crm.draft('sales')") as rt:
        assert await value(rt, code) == ("HandleLost", "sales of second")
    async with lives.again() as rt:
        assert await value(rt, "(said, text)") == ("HandleLost", "sales of second")
    assert lives.second.log == ["draft sales"]


async def test_a_loss_that_is_told_is_told_again(lives: Lives) -> None:
    async with lives.after("draft = crm.draft('sales')") as rt:
        first = await failure(rt, "draft.text()")
    async with lives.again() as rt:
        assert await failure(rt, "draft.text()") == first.replace("<cell 2>", "<cell 3>")


async def test_a_lost_object_in_the_value_of_a_cell_is_a_stand_in_that_says_what_it_was(lives: Lives) -> None:
    async with lives.after("[crm.draft('sales'), 7]") as rt:
        held, number = (await rt.outcome()).unwrap()
    assert number == 7
    assert isinstance(held, LostObject)
    assert re.fullmatch(r"<lost: Report#\d+, which came from crm\.draft\(…\) in cell 1>", repr(held))


# the same, with a process that was really there


async def test_objects_of_a_process_that_was_killed_come_back_or_are_lost_by_the_same_rules(tmp_path: Path) -> None:
    cell = """
    contacts, ada = crm.contacts, crm.contacts.get("ada")
    deal, report, draft = crm.deal("big"), crm.report("sales"), crm.draft("plan")
    small, large = crm.deals("small", "large")
    rows, file, pages = crm.cursor(), crm.file(), crm.pages()
    first = rows.fetchone()[0], next(pages)
    """
    killed_after(tmp_path / "s.db", f"{first_scope.__module__}:{first_scope.__name__}", cell, "[draft, first]")
    crm = Crm("second")
    async with Runtime.resume(SESSION, scope={"crm": crm}, store=tmp_path / "s.db", limits=PATIENT) as rt:
        held, first = (await rt.outcome()).unwrap()
        assert (type(held), first) == (LostObject, (1, 0))
        assert crm.log == []
        back = "contacts.get('bob').greet(), ada.greet(), deal.summary(), report.text()"
        assert await value(rt, back) == (
            "hello bob, from second",
            "hello ada, from second",
            "big: 0",
            "sales of second",
        )
        assert crm.log == ["from_journal ada", "deal big", "revive sales"]
        assert await lost(rt, "draft.text()") == gone("Report", "crm.draft(…)", 1)
        assert "held other objects too" in await lost(rt, "large.summary()")
        assert await lost(rt, "rows.fetchone()") == gone("Cursor", "crm.cursor()", 1)
        assert await lost(rt, "file.read()") == gone("BufferedReader", "crm.file()", 1)
        assert await lost(rt, "next(pages)") == gone("generator", "crm.pages()", 1, USED)
        assert crm.log == ["from_journal ada", "deal big", "revive sales"]
