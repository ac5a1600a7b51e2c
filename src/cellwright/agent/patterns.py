"""Patterns of many agents, as plain functions: each takes agents, or any async functions, and gives a value.

For an agent, a text is its task; any other value is in its scope as `given`. Cancelling a pattern ends all that it
started before it ends itself. It knows agents and scopes; not how a turn is run, nor what it may cost: agents that are
to stop together share a `Spending`, `Agent(within=…)`.
"""

from __future__ import annotations

import asyncio
import functools
import reprlib
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Literal, ParamSpec, TypeVar, cast, overload

from cellwright.agent.agent import Agent
from cellwright.agent.result import OnEvent
from cellwright.errors import CellwrightError, ChildFailed, UsageError, WrongArguments
from cellwright.guard import SERVED_FLOW, ServedFlow
from cellwright.sandboxes import waiting_for_agent
from cellwright.scope import operation
from cellwright.short_texts import named_error

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
T = TypeVar("T")
P = ParamSpec("P")
Work = Agent | Callable[[A], Awaitable[B]]

_SHORT = reprlib.Repr()  # for items in notes: short, and whatever their own `__repr__` does
_SHORT.maxstring = _SHORT.maxother = 80
WORDS = 500  # of a failure, for the code that is told of it
GIVEN = "Do with `given`, which is in scope, what your instructions say."
CHOOSE = """\
Which of these is the one for the task below? Do not do the task, and run no other code: end with the name.
{listed}

The task:
{task}"""
AGAIN = """\
{task}

An earlier answer{where} was not good enough:
{advice}"""
JUDGE = """\
Judge an answer to the task below: `given`, which is in scope. Do not do the task. Say whether the answer is good, and
if it is not, what would make it so.

The task:
{task}"""
SUM_UP = """\
{task}

Others have done parts of this. What came of them is in scope, `given`: a list of dicts with the keys "job", "answer"
and "error", which is None where the part was done. Give the answer to the whole."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried(Generic[A, B]):
    """What came of one item: its value, or the error that it ended with."""

    item: A
    value: B | None = None
    error: BaseException | None = None

    @property
    def ok(self) -> bool:
        return self.error is None

    def unwrap(self) -> B:
        """The value; the error is raised."""
        if self.error is not None:
            raise self.error
        return cast(B, self.value)


Planning = Agent | Callable[[str], Awaitable[Sequence[A]]]
Summing = Callable[[list[Tried[A, B]]], Awaitable[T]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a judge says of an answer. `advice` is for the next try."""

    good: bool
    advice: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Improved(Generic[T]):
    """The last answer, what was said of it, and how many there were. It may still not be good."""

    value: T
    verdict: Verdict
    rounds: int


def _fed(pattern: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The guard of the data flow is told that what one agent gives goes into the next."""

    @functools.wraps(pattern)
    async def fed(*args: P.args, **kwargs: P.kwargs) -> T:
        if SERVED_FLOW.get() is not None:
            return await pattern(*args, **kwargs)
        token = SERVED_FLOW.set(ServedFlow())
        try:
            return await pattern(*args, **kwargs)
        finally:
            SERVED_FLOW.reset(token)

    return fed


@overload
async def pipeline(value: A, first: Callable[[A], Awaitable[B]], second: Callable[[B], Awaitable[C]], /) -> C: ...
@overload
async def pipeline(
    value: A,
    first: Callable[[A], Awaitable[B]],
    second: Callable[[B], Awaitable[C]],
    third: Callable[[C], Awaitable[D]],
    /,
) -> D: ...
@overload
async def pipeline(value: Any, /, *stages: Work[Any, Any]) -> Any: ...
@_fed
async def pipeline(value: Any, /, *stages: Work[Any, Any]) -> Any:
    """Each stage's answer is what the next one works on; the last one's is the answer."""
    for number, stage in enumerate(stages, 1):
        with _noted(f"in stage {number} of {len(stages)}{_named(stage)}"):
            value = await _done(stage, value)
    return value


@overload
async def fan_out(items: Iterable[A], work: Agent, *, at_once: int = 8) -> list[Tried[A, Any]]: ...
@overload
async def fan_out(items: Iterable[A], work: Callable[[A], Awaitable[B]], *, at_once: int = 8) -> list[Tried[A, B]]: ...
@_fed
async def fan_out(items: Iterable[Any], work: Work[Any, Any], *, at_once: int = 8) -> list[Tried[Any, Any]]:
    """The same work on each item, so many at once. In the order of the items; one that fails stops no other.

    `values` of what it gives are the values alone.
    """
    if at_once < 1:
        raise UsageError(f"fan_out(at_once={at_once!r}): give a number above zero")
    known, places = list(items), asyncio.Semaphore(at_once)
    above = SERVED_FLOW.get()
    assert above is not None
    before = set(above.labels)

    async def one(number: int, item: Any) -> tuple[Any]:
        own = ServedFlow(guard=above.guard, labels=set(before))  # what one item reads does not reach the others
        SERVED_FLOW.set(own)
        async with places:
            with _noted(f"at item {number} of {len(known)}: ", item):
                try:
                    return (await _done(work, item),)  # in a tuple: work may give an exception as its value
                finally:
                    above.labels.update(own.labels)

    # gather, because it ends only when all of them have, also when it is cancelled
    ended = await asyncio.gather(*map(one, range(1, len(known) + 1), known), return_exceptions=True)
    return [
        Tried(item=item, error=each) if isinstance(each, BaseException) else Tried(item=item, value=each[0])
        for item, each in zip(known, ended, strict=True)
    ]


def values(tried: Sequence[Tried[Any, B]]) -> list[B]:
    """The value of each; where some failed, their errors are raised together, as an `ExceptionGroup`."""
    failed = [each.error for each in tried if each.error is not None]
    if failed:
        raise BaseExceptionGroup(f"{len(failed)} of {len(tried)} items failed", failed)
    return [each.unwrap() for each in tried]


@overload
def as_function(
    agent: Agent, name: str, description: str, returns: type[T], *, on_event: OnEvent | None = None
) -> Callable[[str], Awaitable[T]]: ...
@overload
def as_function(
    agent: Agent, name: str, description: str, returns: Any = None, *, on_event: OnEvent | None = None
) -> Callable[[str], Awaitable[Any]]: ...
def as_function(
    agent: Agent, name: str, description: str, returns: Any = None, *, on_event: OnEvent | None = None
) -> Callable[[str], Awaitable[Any]]:
    """An agent as a function in another one's scope: `await name("…")`. What it fails with is a `ChildFailed` there.

    The agent keeps its own scope and model. What it returns is the caller's, and under the caller's rules.
    """

    async def ask(task: str) -> Any:
        if type(task) is not str or not task.strip():
            raise WrongArguments(f"{name}: give it a text that says what to do")
        try:
            with waiting_for_agent():
                return (await agent.run(task, returns=returns, on_event=on_event)).value
        except CellwrightError as error:
            raise ChildFailed(f"{name}: {named_error(error)}"[:WORDS]) from error

    ask.__name__ = ask.__qualname__ = name
    ask.__doc__ = description
    ask.__annotations__["return"] = Any if returns is None else returns
    return operation(selecting=(), outward=False)(ask)  # what it does is guarded as its own


def share(names: Mapping[str, Any], *agents: Agent) -> tuple[Agent, ...]:
    """The same agents, each with these live objects in scope too: what one does to them, the others see."""
    return tuple(_with(agent, names) for agent in agents)


@_fed
async def choose(task: str, choices: Mapping[str, str], router: Work[str, str]) -> str:
    """The name whose description fits the task. An agent can give no other: its answer is checked."""
    if not choices:
        raise UsageError("there is nothing to choose from; give names with their descriptions")
    listed = "\n".join(f"- {name}: {description}" for name, description in choices.items())
    names = cast(Any, Literal)[tuple(choices)]
    chosen = await _done(router, task, CHOOSE.format(listed=listed, task=task), returns=names)
    if chosen not in choices:
        raise UsageError(f"the router chose {chosen!r:.80}, which is none of {', '.join(choices)}")
    return chosen


@_fed
async def route(task: str, routes: Mapping[str, tuple[str, Work[str, Any]]], router: Work[str, str]) -> Any:
    """The task goes to the one that the router chooses: `{name: (description, agent)}`. Gives that one's answer."""
    chosen = await choose(task, {name: description for name, (description, _) in routes.items()}, router)
    with _noted(f"on the route {chosen!r}"):
        return await _done(routes[chosen][1], task)


@overload
async def orchestrate(task: str, plan: Planning[A], work: Work[A, B], sum_up: Agent, *, at_once: int = 8) -> Any: ...
@overload
async def orchestrate(
    task: str, plan: Planning[A], work: Work[A, B], sum_up: Summing[A, B, T], *, at_once: int = 8
) -> T: ...
@_fed
async def orchestrate(
    task: str, plan: Planning[A], work: Work[A, B], sum_up: Agent | Summing[A, B, Any], *, at_once: int = 8
) -> Any:
    """One plans the jobs, workers do them side by side, one sums up. What failed does not stop the rest.

    An agent plans a list of tasks. An agent that sums up is given dicts with "job", "answer" and "error".
    """
    with _noted("in the plan"):
        jobs = await _done(plan, task, task, returns=list[str])
    tried: list[Tried[A, B]] = await fan_out(jobs, cast("Callable[[A], Awaitable[B]]", work), at_once=at_once)
    told: Any = tried
    if isinstance(sum_up, Agent):
        told = [
            {"job": t.item, "answer": t.value, "error": None if t.ok else named_error(t.error)[:WORDS]} for t in tried
        ]
    with _noted("in summing up"):
        return await _done(sum_up, told, SUM_UP.format(task=task), names={"given": told})


@overload
async def improve(task: str, make: Agent, judge: Work[Any, Verdict], *, rounds: int = 3) -> Improved[Any]: ...
@overload
async def improve(
    task: str, make: Callable[[str], Awaitable[T]], judge: Work[T, Verdict], *, rounds: int = 3
) -> Improved[T]: ...
@_fed
async def improve(task: str, make: Work[str, Any], judge: Work[Any, Verdict], *, rounds: int = 3) -> Improved[Any]:
    """One makes an answer, another judges it; with its advice it is made again, until it is good or rounds are over.

    An agent that makes it again has the earlier answer in scope as `given`; so has an agent that judges.
    """
    if rounds < 1:
        raise UsageError(f"improve(rounds={rounds!r}): give a number above zero")
    number, wish, names = 1, task, dict[str, Any]()
    while True:
        with _noted(f"in round {number} of {rounds}"):
            value = await _done(make, wish, wish, names=names)
            verdict = await _done(judge, value, JUDGE.format(task=task), names={"given": value}, returns=Verdict)
            if not isinstance(verdict, Verdict):
                raise UsageError(f"the judge gave {_SHORT.repr(verdict)}; a judge gives Verdict(good=…, advice=…)")
        if verdict.good or number == rounds:
            return Improved(value=value, verdict=verdict, rounds=number)
        names = {"given": value}
        where = " (`given`, in scope)" if isinstance(make, Agent) else ""
        number, wish = number + 1, AGAIN.format(task=task, where=where, advice=verdict.advice)


async def _done(
    work: Work[Any, Any],
    value: Any,
    task: str | None = None,
    *,
    names: Mapping[str, Any] | None = None,
    returns: Any = None,
) -> Any:
    """What comes of a value: a function is called with it; an agent gets `task`, or the value itself to work on."""
    if not isinstance(work, Agent):
        return await work(value)
    if task is None:
        task, names = (value, {}) if isinstance(value, str) else (GIVEN, {"given": value})
    return (await _with(work, names or {}).run(task, returns=returns)).value


def _with(agent: Agent, names: Mapping[str, Any]) -> Agent:
    return agent.with_scope(agent.scope.extended(names, own=False, given=True)) if names else agent


def _named(work: Work[Any, Any]) -> str:
    name = "" if isinstance(work, Agent) else getattr(work, "__name__", "<lambda>")
    return "" if name in ("", "<lambda>") else f": {name}"


@contextmanager
def _noted(note: str, *items: Any) -> Generator[None]:
    """An error that passes is of the same kind as before, and carries where it happened as a note."""
    try:
        yield
    except BaseException as error:
        error.add_note(note + "".join(map(_SHORT.repr, items)))
        raise
