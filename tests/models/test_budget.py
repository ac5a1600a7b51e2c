"""Budgets: nothing is asked beyond a limit, what was used is charged, and the one who must act is told how."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace

import pytest
from tests.cells import PATIENCE_S

from cellwright.doors import Reply, Request
from cellwright.errors import BudgetSpent, ModelBusy, UsageError
from cellwright.messages import AssistantMessage, Generation, Piece, Usage, UserMessage
from cellwright.models import Retrying
from cellwright.models.budget import Budget, Budgeted, Spending
from cellwright.testing import ScriptedModel, broken

ASK = Request(messages=(UserMessage(text="hello"),))


def reply(tokens: int = 10, cost: float | None = 0.0) -> Reply:
    return Reply(message=AssistantMessage(text="x"), usage=Usage(requests=1, output_tokens=tokens, cost=cost))


class Clock:
    """A clock that is moved by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_a_request_beyond_the_tokens_is_not_made() -> None:
    inner = ScriptedModel(otherwise=reply(6_017))
    spending = Spending(Budget(tokens=10_000))
    model = Budgeted(inner, spending)
    for _ in range(2):
        spending.step()
        await model.request(ASK)
    line = r"^spent 12,034 of 10,000 tokens after 2 steps; raise Budget\(tokens=…\)$"
    with pytest.raises(BudgetSpent, match=line) as caught:
        await model.request(ASK)
    assert caught.value.what == "tokens"
    assert len(inner.requests) == 2


async def test_a_request_beyond_the_cost_is_not_made() -> None:
    model = Budgeted(ScriptedModel(otherwise=reply(cost=0.06)), Spending(Budget(cost=0.1)))
    await model.request(ASK)
    await model.request(ASK)
    with pytest.raises(BudgetSpent, match=r"spent \$0\.1200 of \$0\.1000 after 0 steps; raise Budget\(cost=…\)"):
        await model.request(ASK)


async def test_a_request_beyond_their_number_is_not_made() -> None:
    model = Budgeted(ScriptedModel(otherwise=reply()), Spending(Budget(requests=1)))
    await model.request(ASK)
    with pytest.raises(BudgetSpent, match="spent 1 of 1 requests"):
        await model.request(ASK)


def test_a_step_beyond_their_number_does_not_begin() -> None:
    spending = Spending(Budget(steps=2))
    spending.step()
    spending.step()
    spending.check()  # the second is under way
    with pytest.raises(BudgetSpent, match=r"^spent 2 of 2 steps; raise Budget\(steps=…\)$"):
        spending.step()
    assert spending.steps == 2


def test_a_step_does_not_begin_without_time() -> None:
    clock = Clock()
    spending = Spending(Budget(seconds=5), clock=clock)
    spending.step()
    clock.now += 5.25
    with pytest.raises(BudgetSpent, match=r"spent 5\.2 of 5\.0 seconds after 1 step; raise Budget\(seconds=…\)"):
        spending.step()


async def test_the_time_ends_a_request_under_way() -> None:
    ended: list[bool] = []

    async def never(request: Request) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)
        return ""

    with pytest.raises(BudgetSpent, match=r"of 0\.0 seconds") as caught:
        await Budgeted(ScriptedModel(never), Spending(Budget(seconds=0.01))).request(ASK)
    assert caught.value.what == "seconds"
    assert ended


async def test_a_timeout_of_the_model_itself_is_not_the_budgets() -> None:
    model = Budgeted(ScriptedModel(TimeoutError("its own")), Spending(Budget(seconds=60)))
    with pytest.raises(TimeoutError, match="its own"):
        await model.request(ASK)


async def test_an_unknown_price_under_a_limit_on_cost_is_the_developers_mistake() -> None:
    spending = Spending(Budget(cost=1))
    with pytest.raises(UsageError, match=r"nobody knows the price of scripted; limit tokens= or requests="):
        await Budgeted(ScriptedModel(reply(cost=None)), spending).request(ASK)
    assert spending.usage.tokens == 10


async def test_an_unknown_price_without_such_a_limit_is_none() -> None:
    spending = Spending(Budget(tokens=100))
    await Budgeted(ScriptedModel(reply(cost=None)), spending).request(ASK)
    assert spending.usage.cost is None
    assert spending.cost is None


async def test_what_arrived_of_a_broken_reply_is_charged() -> None:
    spending = Spending(Budget(cost=10))
    model = Budgeted(ScriptedModel(reply(100, cost=1.0), broken("a" * 384, ModelBusy("cut"))), spending)
    await model.request(ASK, lambda _: None)
    with pytest.raises(ModelBusy):
        await model.request(ASK, lambda _: None)
    assert spending.usage.tokens == 100 + 2 + 96
    assert spending.usage.requests == 2
    assert spending.cost == pytest.approx(1.98)  # at the price of the first


async def test_a_request_that_failed_before_anything_arrived_costs_nothing() -> None:
    spending = Spending(Budget(tokens=100))
    with pytest.raises(ModelBusy):
        await Budgeted(ScriptedModel(ModelBusy("429")), spending).request(ASK, lambda _: None)
    assert spending.usage == Usage()


async def test_what_was_taken_back_is_charged_beside_the_reply() -> None:
    class Restarting(ScriptedModel):
        async def request(self, request: Request, on_piece: object = None) -> Reply:
            assert callable(on_piece)
            on_piece(Piece(text="12345678"))
            on_piece(Piece(text="", restart=True))
            on_piece(Piece(text="x"))
            return reply(10)

    spending = Spending()
    told: list[Piece] = []
    await Budgeted(Restarting(), spending).request(ASK, told.append)
    assert spending.usage.tokens == 10 + 2 + 2
    assert len(told) == 3


async def test_a_cancelled_request_is_charged_and_leaves_its_place() -> None:
    arrived = asyncio.Event()
    spending = Spending(Budget(requests=2))
    task = asyncio.create_task(
        Budgeted(ScriptedModel("a" * 4_000), spending).request(ASK, lambda _: arrived.set()),
    )
    await arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert spending.usage.requests == 1
    assert 0 < spending.usage.output_tokens < 1_000
    await Budgeted(ScriptedModel("next"), spending).request(ASK)


async def test_requests_at_once_wait_where_they_may_not_fit() -> None:
    most = now = 0

    async def slow(request: Request) -> Reply:
        nonlocal most, now
        now += 1
        most = max(most, now)
        for _ in range(5):
            await asyncio.sleep(0)
        now -= 1
        return reply(98)

    asked = replace(ASK, generation=Generation(max_tokens=98))
    spending = Spending(Budget(tokens=1_000))
    model = Budgeted(ScriptedModel(otherwise=slow), spending)
    ended = await asyncio.gather(*(model.request(asked) for _ in range(50)), return_exceptions=True)
    assert most == 9
    assert {type(end) for end in ended} == {Reply, BudgetSpent}
    assert spending.usage.tokens <= 1_000 + 98


class Crowd:
    """A model whose replies overlap: each takes long enough for all others to begin, if they may."""

    def __init__(self, *replies: Reply) -> None:
        self._replies = itertools.cycle(replies)
        self.most = self._now = 0

    async def __call__(self, request: Request) -> Reply:
        self._now += 1
        self.most = max(self.most, self._now)
        for _ in range(20):
            await asyncio.sleep(0)
        self._now -= 1
        return next(self._replies)

    async def ask(self, count: int, spending: Spending) -> list[Reply | BaseException]:
        """From as many agents at once, each with a spending of its own within the shared one."""
        models = (Budgeted(ScriptedModel(otherwise=self), Spending(within=spending)) for _ in range(count))
        return await asyncio.gather(*(model.request(ASK) for model in models), return_exceptions=True)


@pytest.mark.parametrize("limits", [Budget(cost=0.02), Budget(tokens=5_000), Budget(cost=0.045, requests=30)])
@pytest.mark.parametrize("sizes", [(1_618,), (10, 1_618), (1_618, 3, 700)])
async def test_a_shared_budget_is_overrun_by_one_request_at_most(limits: Budget, sizes: tuple[int, ...]) -> None:
    spending = Spending(limits)
    ended = await Crowd(*(reply(size, cost=size / 161_800) for size in sizes)).ask(50, spending)
    assert {type(end) for end in ended} == {Reply, BudgetSpent}
    assert (spending.left("tokens") or 0) >= -1_618
    assert (spending.left("cost") or 0) >= -0.01
    assert (spending.left("requests") or 0) >= 0


async def test_a_shared_budget_that_suffices_holds_nobody_up() -> None:
    crowd, spending = Crowd(reply(1_000, cost=0.01)), Spending(Budget(cost=100.0, tokens=2_000_000, requests=500))
    await crowd.ask(1, spending)  # before that, nobody knows the price
    ended = await crowd.ask(50, spending)
    assert {type(end) for end in ended} == {Reply}
    assert crowd.most == 50


async def test_while_the_price_is_unknown_one_request_is_made_at_a_time() -> None:
    crowd = Crowd(reply(10, cost=0.0))
    await crowd.ask(5, Spending(Budget(cost=100.0)))
    assert crowd.most == 1


async def test_the_price_of_one_model_says_nothing_about_another() -> None:
    spending = Spending(Budget(cost=1.0))
    await Budgeted(ScriptedModel(reply(10, cost=1e-6), name="cheap"), spending).request(ASK)
    dear = ScriptedModel(otherwise=reply(10, cost=0.9), name="dear")
    ended = await asyncio.gather(*(Budgeted(dear, spending).request(ASK) for _ in range(5)), return_exceptions=True)
    assert [type(end) for end in ended] == [Reply, Reply, BudgetSpent, BudgetSpent, BudgetSpent]


async def test_a_large_request_is_not_overtaken() -> None:
    order: list[int | None] = []

    async def slow(request: Request) -> Reply:
        order.append(request.generation.max_tokens)
        for _ in range(3):
            await asyncio.sleep(0)
        return reply(1)

    model = Budgeted(ScriptedModel(otherwise=slow), Spending(Budget(tokens=1_000)))
    sizes = [300, 300, 900, *[300] * 20]
    await asyncio.gather(*(model.request(replace(ASK, generation=Generation(max_tokens=size))) for size in sizes))
    assert order[:4] == [300, 300, 900, 300]


async def test_who_waits_and_leaves_gives_its_turn_to_the_next() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(request: Request) -> Reply:
        begun.set()
        await go_on.wait()
        return reply(1, cost=0.001)

    inner = ScriptedModel(otherwise=slow)
    model = Budgeted(inner, Spending(Budget(cost=1.0)))
    first, second, third = (asyncio.create_task(model.request(ASK)) for _ in range(3))
    await begun.wait()
    second.cancel()
    go_on.set()
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(first, third)
    assert second.cancelled()
    assert len(inner.requests) == 2


async def test_the_time_ends_a_request_that_waits_for_its_place() -> None:
    async def never(request: Request) -> str:
        await asyncio.Event().wait()
        return ""

    shared, model = Spending(Budget(requests=1)), ScriptedModel(otherwise=never)
    first = asyncio.create_task(Budgeted(model, shared).request(ASK))
    with pytest.raises(BudgetSpent, match="seconds"):
        await Budgeted(model, Spending(Budget(seconds=0.02), within=shared)).request(ASK)
    first.cancel()
    assert len(model.requests) == 1


async def test_a_broken_reply_is_charged_although_nobody_listens() -> None:
    spending = Spending(Budget(tokens=1_000))
    with pytest.raises(ModelBusy):
        await Budgeted(ScriptedModel(broken("a" * 384, ModelBusy("cut"))), spending).request(ASK)
    assert (spending.usage.requests, spending.usage.tokens) == (1, 2 + 96)


async def test_a_model_that_asks_another_of_the_same_spending_does_not_wait_for_itself() -> None:
    spending = Spending(Budget(cost=1.0, requests=5))
    behind = Budgeted(ScriptedModel(otherwise=reply(cost=0.01)), spending)

    async def asks(request: Request) -> Reply:
        return (await asyncio.gather(behind.request(request), behind.request(request)))[0]

    async with asyncio.timeout(PATIENCE_S):
        await Budgeted(ScriptedModel(asks), spending).request(ASK)
    assert spending.usage.requests == 3


async def test_requests_that_wait_at_two_levels_do_not_wait_for_each_other() -> None:
    go_on = asyncio.Event()

    async def slow(request: Request) -> Reply:
        await go_on.wait()
        return reply(1)

    inner = ScriptedModel(otherwise=slow)
    model = Budgeted(inner, Spending(Budget(tokens=30_000), within=Spending(Budget(tokens=20_000))))
    asked: list[asyncio.Task[Reply]] = []
    for size in (10_000, 12_000, 25_000, 25_000):  # under way, waits at the parent's, wait at its own
        asked.append(asyncio.create_task(model.request(replace(ASK, generation=Generation(max_tokens=size)))))
        await asyncio.sleep(0)
    go_on.set()
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*asked)
    assert len(inner.requests) == 4


async def test_a_task_that_outlives_the_request_it_was_started_in_waits_for_places_as_others_do() -> None:
    async def slow(request: Request) -> Reply:
        await asyncio.sleep(0)
        return reply()

    spending = Spending(Budget(requests=5))
    model = Budgeted(ScriptedModel(otherwise=slow), spending)
    later: list[asyncio.Task[Reply]] = []

    async def after_it() -> Reply:
        await first
        return await model.request(ASK)

    def hear(piece: Piece) -> None:
        later.extend(asyncio.create_task(after_it()) for _ in range(20))

    first = asyncio.create_task(model.request(ASK, hear))
    await first
    results = await asyncio.gather(*later, return_exceptions=True)
    assert spending.usage.requests == 5
    assert sum(isinstance(result, BudgetSpent) for result in results) == len(results) - 4 > 0


async def test_attempts_after_broken_replies_are_not_more_than_the_requests() -> None:
    inner = ScriptedModel(otherwise=broken("x", ModelBusy("cut")))
    spending = Spending(Budget(requests=7))
    model = Budgeted(Retrying(inner, base_s=0), spending)
    ended = await asyncio.gather(*(model.request(ASK) for _ in range(5)), return_exceptions=True)
    assert {type(end) for end in ended} == {BudgetSpent}
    assert len(inner.requests) == spending.usage.requests <= 7


async def test_a_reply_that_nobody_counted_is_charged_by_estimate() -> None:
    spending = Spending(Budget(tokens=1_000))
    uncounted = Reply(message=AssistantMessage(text="a" * 40), usage=Usage(requests=1))
    await Budgeted(ScriptedModel(uncounted), spending).request(ASK)
    assert spending.usage == Usage(requests=1, input_tokens=2, output_tokens=10)


async def test_requests_at_once_are_not_more_than_their_number() -> None:
    inner = ScriptedModel(otherwise=reply())
    model = Budgeted(inner, Spending(Budget(requests=3)))
    ended = await asyncio.gather(*(model.request(ASK) for _ in range(9)), return_exceptions=True)
    assert len(inner.requests) == 3
    assert sum(isinstance(end, BudgetSpent) for end in ended) == 6


async def test_a_request_larger_than_all_that_is_left_is_made_alone() -> None:
    asked = replace(ASK, generation=Generation(max_tokens=5_000))
    await Budgeted(ScriptedModel(reply(20)), Spending(Budget(tokens=100))).request(asked)


async def test_what_a_child_uses_is_used_of_the_parents() -> None:
    parent = Spending(Budget(tokens=100, steps=3))
    child = Spending(Budget(tokens=1_000), within=parent)
    child.step()
    parent.step()
    await Budgeted(ScriptedModel(reply(100)), child).request(ASK)
    assert (parent.usage, parent.steps, child.steps) == (child.usage, 2, 1)
    with pytest.raises(BudgetSpent, match="spent 100 of 100 tokens after 2 steps"):
        await Budgeted(ScriptedModel(), child).request(ASK)


async def test_a_childs_own_limit_leaves_the_parent_free() -> None:
    parent = Spending(Budget(requests=10))
    child = Spending(Budget(requests=1, seconds=30), within=parent)
    await Budgeted(ScriptedModel("x"), child).request(ASK)
    with pytest.raises(BudgetSpent, match="spent 1 of 1 requests"):
        child.step()
    parent.step()
    assert (parent.left("requests"), parent.left("tokens")) == (9, None)


def test_a_model_is_not_charged_twice_to_one_spending() -> None:
    spending = Spending()
    with pytest.raises(UsageError, match="wrap it once"):
        Budgeted(Budgeted(ScriptedModel(), spending), Spending(within=spending))


@pytest.mark.parametrize("limits", [{"tokens": 0}, {"cost": -1.0}, {"seconds": float("nan")}])
def test_a_limit_of_nothing_is_refused(limits: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="give a number above zero"):
        Budget(**limits)  # pyright: ignore[reportArgumentType] - wrong on purpose
