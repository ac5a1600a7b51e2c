"""`Agent`: a model, a scope and a budget. It holds no state: each run has its own session."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar, cast, get_type_hints, overload

from cellwright.agent.event_stream import EventStream
from cellwright.agent.guest_names import RESERVED, check_names
from cellwright.agent.recovery import AT_ONCE, Recovered, recover
from cellwright.agent.result import OnEvent, Result
from cellwright.agent.session import Session
from cellwright.agent.spawn import INSTRUCTIONS, FamilyPlace, Spawning
from cellwright.agent.task_data import TaskContent
from cellwright.agent.toolset import ToolsetOptions
from cellwright.doors import Model
from cellwright.errors import UsageError
from cellwright.events import ApprovalWanted
from cellwright.guard import Approvals, Approve, AuditTrail, FlowMode, Hook, Network, Policy, Privacy, policy_of
from cellwright.journal import SessionOwner
from cellwright.messages import Generation
from cellwright.models import Budget, Spending, default_model, open_model
from cellwright.runtime import Runtime
from cellwright.sandboxes import Limits, Sandbox, SandboxName
from cellwright.scope import Scope, operation, signature_text
from cellwright.sessions import SEARCH_HINT, SearchPolicy, check_policy
from cellwright.settings import Settings
from cellwright.store import Store

P = ParamSpec("P")
T = TypeVar("T")
Mode = Literal["code", "direct", "auto"]
STEPS = 25
_WISH = "Do what this function says, and give what it returns."


class Agent:
    """Sets a language model to work on live objects, by code that runs in a sandbox.

    >>> agent = Agent("anthropic:claude-sonnet-5-5", scope={"crm": crm})
    >>> result = await agent.run("Who in Oslo has no deal yet?", returns=list[Contact])
    >>> result.value

    model         a name ("anthropic:…", "openai:…", "ollama:…", a URL, "local"), or a `Model`; None: what there is a
                  key for, else the embedded one
    scope         names for the code: a mapping, or a `Scope` with rules
    instructions  what the agent should know of its job
    mode          "code": it writes code; "direct": it calls functions; "auto": what is marked `direct=True` is offered
                  as functions too, where that is cheaper
    budget        what one turn may use: tokens, cost, steps, seconds, requests
    within        a `Spending` that turns are charged to as well: agents that share one stop together
    plan          observe and write a plan first
    check         the type check of cells: "auto" is "strict" where the checker is installed
    store         where sessions are kept; without one they end with their run
    approve       who says yes to operations that ask for it, those of spawned agents too; without it a turn waits, with
                  `TurnWaiting`, until they are decided in the store, and without a store they are denied
    approvals     how long such questions wait, and when they are too late
    spawn         code may set other agents to work: `await spawn("…")`; `Spawning` says how many
    say           is told what a person should know, a line each; stderr when left out
    name          what its sessions are found by in the store: `recover` carries on those of this name
    sessions      what code may search of earlier work, as `sessions.search("…")`: this "branch", its "tree", those of
                  the "agent" of this name, "all"; nothing when left out
    policy, hooks, user, flow, audit   as of a `Runtime`: what code may do, for whom, and where that is told
    network       as of a `Runtime`: the hosts that code may reach by HTTP
    private       as of a `Runtime`: the model sees tokens of private values, also in the task and in messages
    """

    def __init__(
        self,
        model: str | Model | None = None,
        *,
        scope: Scope | Mapping[str, Any] | None = None,
        instructions: str = "",
        mode: Mode = "auto",
        budget: Budget | None = None,
        within: Spending | None = None,
        plan: bool = False,
        limits: Limits | None = None,
        packages: Path | str | Sequence[str] | None = None,
        check: Literal["auto", "off", "warn", "strict"] = "auto",
        store: str | Path | Store | None = None,
        sandbox: SandboxName | Sandbox = "auto",
        generation: Generation | None = None,
        approve: Approve | None = None,
        approvals: Approvals | None = None,
        spawn: bool | Spawning = False,
        say: Callable[[str], None] | None = None,
        name: str = "",
        sessions: SearchPolicy | None = None,
        policy: Policy | Path | str | None = None,
        hooks: Sequence[Hook] = (),
        user: str = "",
        flow: FlowMode | None = None,
        audit: str | Path | AuditTrail | None = None,
        private: Privacy | Collection[str] | bool | None = None,
        network: Network | Sequence[str] | None = None,
    ) -> None:
        if mode not in ("code", "direct", "auto"):
            raise UsageError(f'mode={mode!r}: give "code", "direct" or "auto"')
        self.scope = Scope.of(scope)
        check_names(self.scope, *(("sessions",) if sessions is not None else ()))
        if sessions is not None and store is None:
            raise UsageError('sessions= needs a store that they are kept in: Agent(store="sqlite:///agents.db")')
        self.name = name
        self.sessions: SearchPolicy | None = None if sessions is None else check_policy(sessions, name)
        self.instructions = instructions
        self.mode: Mode = mode
        self.budget = replace(budget, steps=budget.steps or STEPS) if budget else Budget(steps=STEPS)
        self.within = within
        self.plan = plan
        self.limits, self.packages = limits, packages
        self.generation = generation or Generation()
        self.store = store
        self.approve, self.approvals = approve, approvals
        self.spawning = Spawning() if spawn is True else spawn or None
        self.policy = policy_of(policy)  # read once: its limits count for all sessions
        self._guard: dict[str, Any] = {"hooks": tuple(hooks), "user": user, "flow": flow, "audit": audit}
        network = self.policy.network if network is None and self.policy is not None else network
        self._network = Network.of(network) if network else None
        self._guard |= {"policy": self.policy, "private": private, "network": self._network}
        self._check: Any = ("strict" if find_spec("ty") else "off") if check == "auto" else check
        self._sandbox: SandboxName | Sandbox = sandbox
        self._model = model
        self._say = say or _say
        self._told: set[str] = set()
        self._opened: list[tuple[asyncio.AbstractEventLoop, Model]] = []  # shared with copies of this agent

    def wanted(self, outline: str, classes: frozenset[type], hint: str = "") -> ToolsetOptions:
        """What a turn gives the model. `outline` describes the scope, `classes` are those that code can name; `hint`
        is said before the developer's instructions.
        """
        packages = ", ".join(self.packages) if isinstance(self.packages, list | tuple) else ""
        own = self.instructions if self.spawning is None else f"{INSTRUCTIONS}\n{self.instructions}"
        own = own if self.sessions is None else f"{SEARCH_HINT}\n{own}"
        own = f"{hint}\n{own}" if hint else own
        return ToolsetOptions(
            scope=self.scope,
            mode=self.mode,
            instructions=own,
            packages=packages,
            outline=outline,
            classes=classes,
            network="" if self._network is None else self._network.allowed.text,
        )

    async def model(self) -> Model:
        """The model, opened if it was given by name. Each event loop has its own: connections belong to a loop."""
        if self._model is not None and not isinstance(self._model, str):
            return self._model
        loop = asyncio.get_running_loop()
        if not self._opened or self._opened[0][0] is not loop:
            self._opened[:] = [(loop, open_model(self._name()))]
        return self._opened[0][1]

    def tell_left_out(self, left_out: Mapping[str, str]) -> None:
        """Report functions that are marked `direct=True` and cannot be called directly, once each."""
        for path in left_out.keys() - self._told:
            self._told.add(path)
            self._say(f"cellwright: {path} cannot be called directly: {left_out[path]}; code can call it")

    def _name(self) -> str:
        if isinstance(self._model, str):
            return self._model
        choice = default_model(Settings.from_environment())
        self._say(f"cellwright: {choice.why}")
        return choice.name

    def runtime(
        self,
        session: str,
        names: Mapping[str, Any],
        *,
        resume: bool = False,
        take_over: bool = False,
        place: FamilyPlace | None = None,
    ) -> Runtime:
        """The runtime for a session of this agent."""
        options: dict[str, Any] = {"sandbox": self._sandbox, "packages": self.packages, "limits": self.limits}
        options |= {"check": self._check, "scope": self.scope.extended(names), "progress": self._say}
        options |= self._guard
        below, family = ("", session) if place is None else (place.below, place.family.first)
        options |= {"whose": SessionOwner(agent=self.name, child_of=below, family=family), "approvals": self.approvals}
        if (approve := self.approve) is not None:

            def asked(wanted: ApprovalWanted) -> Any:
                return approve(replace(wanted, session=wanted.session or session))

            options["approve"] = asked
        if self.store is None:
            return Runtime(**options)
        if resume:
            return Runtime.resume(session, store=self.store, take_over=take_over, **options)
        return Runtime(store=self.store, session=session, **options)

    async def for_child(self, scope: Scope, instructions: str, *, store: Store | None, spawns: bool) -> Agent:
        """The agent of a child session: this agent with another scope, other instructions and store."""
        child = copy.copy(self)
        child._model, child.scope, child.store = await self.model(), scope, store
        child.instructions = "\n\n".join(filter(None, (self.instructions, instructions)))
        child.spawning = self.spawning if spawns else None
        return child

    def session(self, id: str | None = None, *, returns: Any = None) -> Session:
        """A new session of several turns: `async with agent.session() as session:`."""
        return Session(self, id=id, returns=returns, within=self.within)

    def resume(self, id: str, *, returns: Any = None, take_over: bool = False) -> Session:
        """A session of the store, with its names, its files and what was said: `async with agent.resume(id) as …`.

        `await session.carry_on()` ends a turn that its process did not live to end. Opening it raises `SessionBusy`
        while another process has it open; with `take_over` it is taken from that one.
        """
        if self.store is None:
            raise UsageError(f'resume({id!r}) needs the store that the session is in: Agent(store="sqlite:///…")')
        return Session(self, id=id, returns=returns, resume=True, take_over=take_over, within=self.within)

    async def recover(
        self, *, returns: Any = None, on_event: OnEvent | None = None, at_once: int = AT_ONCE
    ) -> list[Recovered]:
        """Carry on the turns of this agent's sessions whose process died, or whose questions are decided by now.

        For the start of a program. A turn that another process works on is left to it; if two processes recover at
        the same moment, each turn goes to one of them. An error of one turn does not stop the others.
        """
        return await recover(self, returns=returns, on_event=on_event, at_once=at_once)

    @overload
    async def run(
        self, task: str, *, data: TaskContent = None, returns: type[T], on_event: OnEvent | None = None
    ) -> Result[T]: ...
    @overload
    async def run(
        self, task: str, *, data: TaskContent = None, returns: Any = None, on_event: OnEvent | None = None
    ) -> Result[Any]: ...
    async def run(
        self, task: str, *, data: TaskContent = None, returns: Any = None, on_event: OnEvent | None = None
    ) -> Result[Any]:
        """One task in its own session. `returns` is the type of the answer; `TurnFailed` if there is none.

        `task` is what a person wants, in the person's words. What others wrote, such as a ticket, is `data`, by name:
        code reads it as `task_data["ticket"]`, and what it says chooses nothing that code acts on.
        """
        async with self.session(returns=returns) as session:
            return await session.run(task, data=data, on_event=on_event)

    def stream(self, task: str, *, data: TaskContent = None, returns: Any = None) -> EventStream:
        """The same, as events; the last is `Done`, or `Failed` before the error is raised."""
        return EventStream(lambda events: self.run(task, data=data, returns=returns, on_event=events))

    def function(self, stub: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        """Make a function of a signature and a docstring. The agent does what they say at each call.

        >>> @agent.function
        ... async def overdue(days: int) -> list[Invoice]:
        ...     \"\"\"The invoices that are unpaid for more than that many days.\"\"\"
        >>> await overdue(30)
        """
        return _function(self, stub)

    def with_scope(self, scope: Scope) -> Agent:
        """The same agent on another scope."""
        check_names(scope)
        agent = copy.copy(self)
        agent.scope = scope
        return agent

    async def close(self) -> None:
        """Close a model that was opened by name."""
        while self._opened:
            await self._opened.pop()[1].close()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _function(agent: Agent, stub: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """A wrong stub is an error here, where it is written; wrong arguments at the call, before a model is asked."""
    name = getattr(stub, "__name__", "function")
    if not inspect.iscoroutinefunction(stub):
        raise UsageError(f"@agent.function needs an `async def`, and {name} is none")
    if not (doc := inspect.getdoc(stub)):
        raise UsageError(f"@agent.function needs a docstring, and {name} has none: it is what the agent is told to do")
    signature = inspect.signature(stub)
    head = f"async def {name}{signature_text(stub)}"
    taken = {bound for bound, _ in agent.scope.names()} | set(RESERVED)
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UsageError(f"@agent.function takes no *{parameter.name}: name the parameters of {name}")
        if parameter.name in taken:
            raise UsageError(f"{name}({parameter.name}=…): the name is taken in the agent's scope; choose another")

    @functools.wraps(stub)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        returns = get_type_hints(stub).get("return")
        names = ", ".join(f"`{each}`" for each in given.arguments)
        there = f" Its arguments are in scope: {names}." if names else ""
        worker = agent.with_scope(agent.scope.extended(given.arguments, own=False))
        worker.name = f"{agent.name}@{name}"  # whoever called it is gone with its process: `recover` leaves it alone
        wanted: Any = None if returns in (None, type(None)) else returns
        value = (await worker.run(f"{_WISH}{there}\n\n{head}\n{doc}", returns=wanted)).value
        return value if wanted is not None else cast(T, None)

    return operation(selecting=(), outward=False)(call)  # what it does is guarded as its own
