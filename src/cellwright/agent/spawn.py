"""`spawn`: an agent's code sets other agents to work, each in a session of its own below this one.

A child has a scope no wider than its parent's, the same model and store, and spends what its parent may spend. It knows
sessions and scopes; not how a turn is run.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from cellwright.agent.answer_types import buildable
from cellwright.agent.guest_names import RESERVED
from cellwright.errors import CellwrightError, ChildFailed, TurnWaiting, UsageError, WrongArguments
from cellwright.events import ChildFinished, ChildStarted
from cellwright.model_texts import sendable
from cellwright.sandboxes import waiting, waiting_for_agent
from cellwright.scope import GuestFunction, current_call, given_type, is_type_expression, operation
from cellwright.short_texts import named_error
from cellwright.store import off_loop
from cellwright_guest.wire import type_of

if TYPE_CHECKING:
    from cellwright.agent.agent import Agent
    from cellwright.agent.session import Session

ID = 64  # characters that a session's id may have
OWN = 12  # of the child's own in it: with a thousand children, one chance in 10^8 that two have the same
WORDS = 500
TASK = 200_000

OWN_NAMES = (*RESERVED, "ChildFailed")
INSTRUCTIONS = """\
`await spawn(task, returns=…, scope=…)` sets another agent to work and gives its answer. It sees nothing of this
conversation: say in `task` all that it needs. `scope` is a list of names, or a dict of objects under new names.
Start several at once with `asyncio.gather(…, return_exceptions=True)`; one that fails raises `ChildFailed`.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spawning:
    """Limits of spawned agents: generations, agents at once in each generation, and in all."""

    depth: int = 3
    at_once: int = 16
    in_all: int = 1000

    def __post_init__(self) -> None:
        for limit in fields(self):
            if getattr(self, limit.name) < 1:
                raise UsageError(f"Spawning({limit.name}={getattr(self, limit.name)!r}): give a number above zero")


class Family:
    """What a session, `first`, shares with all its descendants."""

    def __init__(self, limits: Spawning, first: str) -> None:
        self.limits = limits
        self.first = first
        self._count = 0
        self._places: dict[int, asyncio.Semaphore] = {}

    def add(self) -> None:
        if self._count >= self.limits.in_all:
            raise ChildFailed(
                f"no more than {self.limits.in_all} agents are spawned in one session, and it has had them"
            )
        self._count += 1

    def places(self, generation: int) -> asyncio.Semaphore:
        """Each generation has its own places, so that a parent that waits takes none from its children."""
        return self._places.setdefault(generation, asyncio.Semaphore(self.limits.at_once))


@dataclass(frozen=True, kw_only=True, slots=True)
class FamilyPlace:
    """The place of a session in its family: its generation, and the id of its parent."""

    family: Family
    generation: int = 0
    below: str = ""


class Children:
    """The agents that one session spawns. `generation` is theirs: 1 for those of the first."""

    def __init__(self, parent: Session, family: Family, generation: int) -> None:
        self._parent = parent
        self._family = family
        self._generation = generation

    def names(self) -> dict[str, Any]:
        """The names for guest code."""

        # a child keeps the rules
        @operation(idempotent=True, takes_guarded=True, own=True, selecting=(), outward=False)
        async def spawn(
            task: str,
            returns: Any = None,
            scope: list[str] | dict[str, Any] | None = None,
            instructions: str = "",
        ) -> Any:
            """Set another agent to work on `task` and wait for its answer, of the type `returns`.

            It gets the names in `scope`, or the objects in it under new names; all names when it is left out.
            """
            with waiting_for_agent():
                return await self._spawn(task, _type(returns), scope, instructions)

        return {"spawn": spawn, "ChildFailed": ChildFailed}

    async def _spawn(self, task: str, returns: Any, scope: list[str] | dict[str, Any] | None, instructions: str) -> Any:
        if type(task) is not str or type(instructions) is not str or not task.strip():
            raise WrongArguments("spawn: task and instructions are texts, and the task says what to do")
        if len(task) + len(instructions) > TASK:
            raise WrongArguments(f"spawn: a task of more than {TASK} characters; pass what it works on in scope=")
        if type_of(scope) not in (type(None), list, tuple, set, dict):
            raise WrongArguments("spawn: scope is a list of names, or a dict of objects under new names")
        runtime = self._parent.runtime
        taken = [name for name in OWN_NAMES if isinstance(scope, dict) and name in scope]
        if taken:
            raise WrongArguments(f"spawn: {taken[0]!r} is a name that each agent has of its own; choose another")
        wanted = [cls for cls in buildable(returns) if runtime.host.class_of(cls) is not None]
        narrowed = runtime.scope.narrowed(scope, host=runtime.host, classes=wanted)
        self._family.add()
        id = child_id(self._parent.id, current_call().idempotency_key)
        spawns, said = self._generation < self._family.limits.depth, sendable(instructions)
        while True:
            async with self._family.places(self._generation):
                agent = await self._parent.agent.for_child(narrowed, said, store=runtime.journal, spawns=spawns)
                child = await self._child(agent, id, returns)
                try:
                    return await self._told(id, task, child)
                except TurnWaiting as waits:
                    questions = waits.questions
            with waiting():
                await runtime.decided(questions)  # without a place, so that others can work

    async def _child(self, agent: Agent, id: str, returns: Any) -> Session:
        """A child session. If the store has a session of that id, because its process died, it is resumed."""
        parent = self._parent
        known = (store := parent.runtime.journal) is not None and id in await off_loop(store, store.sessions)
        place = FamilyPlace(family=self._family, generation=self._generation, below=parent.id)
        # the claim on the parent is a claim on its children: their process may not be known to be dead yet
        child = type(parent)(
            agent, id=id, returns=returns, resume=known, take_over=True, within=parent.shared, place=place
        )
        child.inbox.above = parent.inbox
        return child

    async def _told(self, id: str, task: str, session: Session) -> Any:
        """Run the child. The listener of the parent hears of its start and its end."""
        tell = self._parent.trace
        tell(ChildStarted(child=id, task=task))
        error: str | None = "it was ended by an error outside of it"
        try:
            async with session:  # a turn whose process died is carried on: what was paid for is not asked again
                await session.look_back()
                work = session.carry_on(on_event=tell) if session.has_turn else session.run(task, on_event=tell)
                value = session.runtime.host.placed((await work).value)
            error = None
        except TurnWaiting:
            error = "it waits for a person's yes"
            raise
        except CellwrightError as failed:
            error = named_error(failed)[:WORDS]
            raise ChildFailed(error) from None
        except asyncio.CancelledError:
            error = "cancelled"
            raise
        finally:
            tell(ChildFinished(child=id, error=error))
        return value


def child_id(parent: str, key: str) -> str:
    """The id of a child's session: the same in every attempt at the call that spawns it."""
    own = hashlib.sha256(key.encode()).hexdigest()[:OWN]
    if len(parent) + 1 + OWN > ID:  # a long one is told in short, and still of no other parent
        parent = f"{parent[: ID - 2 - 2 * OWN]}-{hashlib.sha256(parent.encode()).hexdigest()[:OWN]}"
    return f"{parent}.{own}"


def _type(returns: Any) -> Any:
    """The type that guest code meant; None if any value is accepted."""
    meant = given_type(returns)
    if isinstance(meant, GuestFunction):
        what = f"`{meant.__name__}` is of your own code, and the other agent does not know it"
        raise WrongArguments(f"spawn: returns= takes a type: {what}; give dict, list[…], or a class that is in scope")
    if meant is not None and not isinstance(meant, type) and not is_type_expression(meant):
        # of a text pydantic makes a type by evaluating it, here on the host
        raise WrongArguments("spawn: returns= takes a type, as in list[str]; it was given something else")
    return None if meant is Any else meant
