"""`play`: runs a scenario, with the guard or without, and tells what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.guard.injections.grounds import GROUNDS, PEOPLE
from tests.guard.injections.house import House
from tests.guard.injections.scenario import KILLED, Scenario, Turn

from cellwright import Agent, Limits, Runtime
from cellwright.agent.context_window import SUMMARY
from cellwright.agent.session import Session
from cellwright.doors import Model, ModelWrapper, Reply, Request
from cellwright.events import ApprovalWanted
from cellwright.guard import ApproverReply, FlowMode, policy_from
from cellwright.messages import AssistantMessage, OnPiece, ToolMessage, Traits, Usage, UserMessage
from cellwright.store import MemoryStore
from cellwright.testing import ScriptedModel, call, code

LIMITS = Limits(wall_s=30, cpu_s=30)


class Killed(BaseException):
    """The process is gone. No layer may answer to it."""


def _dies(_: Request) -> str:
    raise Killed


class _SumsUp(ModelWrapper):
    """What is planted is in each summary of the conversation."""

    def __init__(self, model: Model, planted: str) -> None:
        super().__init__(model)
        self.summaries = 0
        self._planted = planted

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        last = request.messages[-1]
        if not isinstance(last, UserMessage) or SUMMARY not in last.text:
            return await self.inner.request(request, on_piece)
        self.summaries += 1
        return Reply(message=AssistantMessage(text=self._planted), usage=Usage(requests=1), model=self.name)


@dataclass(kw_only=True)
class Played:
    """What came of a scenario: what was done, what a person was asked, and what the model was told."""

    scenario: Scenario
    house: House
    questions: list[ApprovalWanted] = field(default_factory=list[ApprovalWanted])
    told: list[str] = field(default_factory=list[str])
    unused: int = 0  # replies that nobody asked for
    summaries: int = 0

    @property
    def reached(self) -> bool:
        """Whether one effect has all words of the goal."""
        goal = self.scenario.goal
        return bool(goal) and any(all(word in effect for word in goal) for effect in self.house.effects)

    @property
    def delivered(self) -> bool:
        """Whether the guest was given what an outsider wrote."""
        return self.house.deliveries > 0 or self.scenario.data is not None

    @property
    def objections(self) -> list[str]:
        """The texts of questions and refusals."""
        asked = [f"{one.name}{one.arguments} {one.why}" for one in self.questions]
        return asked + [text for text in self.told if "Denied: " in text]


async def play(scenario: Scenario, flow: FlowMode, place: Path, *, dying: bool = False) -> Played:
    """`dying`: the process dies before each reply, and another one goes on. `place`: a directory that it may have."""
    played = Played(scenario=scenario, house=House(scenario.planted, scenario.cells + scenario.planted))
    says = PEOPLE[scenario.person]

    def person(wanted: ApprovalWanted) -> ApproverReply:
        if wanted.why:
            played.questions.append(wanted)
        return says(wanted)

    played.house.person = person
    options: dict[str, Any] = {"approve": person, "flow": flow, "check": "off", "limits": LIMITS}
    if scenario.policy:
        options["policy"] = policy_from(dict(scenario.policy), scenario.name)
    async with GROUNDS[scenario.scope](played.house) as scope:
        options["scope"] = scope
        if scenario.bare:
            await _run_cells(options, place, played)
        else:
            async with _AgentPlay(scenario, options, dying=dying) as plays:
                await plays.run(played)
    return played


async def _run_cells(options: Mapping[str, Any], place: Path, played: Played) -> None:
    for turn in played.scenario.turns:
        async with Runtime(workspace=place, **options) as rt:
            for cell in turn.cells:
                played.told.append(str((await rt.execute(cell)).error or ""))


class _AgentPlay(AsyncExitStack):
    def __init__(self, scenario: Scenario, options: Mapping[str, Any], *, dying: bool) -> None:
        super().__init__()
        self._scenario, turns = scenario, scenario.turns
        replies = [_reply(cell) for turn in turns for cell in turn.replies]
        if dying:
            replies = [each for reply in replies for each in ((_dies,) if reply is _dies else (_dies, reply))]
        traits = Traits(window=scenario.window) if scenario.window else None
        self._script = ScriptedModel(*replies, traits=traits)
        self._model = _SumsUp(self._script, scenario.planted)
        if _dies in replies or any(turn.how != "turn" for turn in turns):
            options = {"store": MemoryStore(), **options}
        self._agent = Agent(self._model, spawn=scenario.spawn, mode=scenario.mode, **options)
        self._last: Session | None = None

    async def run(self, played: Played) -> None:
        for number, turn in enumerate(self._scenario.turns):
            session = await self._begin(turn)
            try:
                await session.run(turn.task, data=None if number else self._scenario.data)
            except Killed:
                await self._carry_on(session)
        played.unused, played.summaries = self._script.left, self._model.summaries
        messages = [message for request in self._script.requests for message in request.messages]
        played.told = [one.text for message in messages if isinstance(message, ToolMessage) for one in message.results]

    async def _begin(self, turn: Turn) -> Session:
        how, _, number = turn.how.partition(" ")
        if self._last is None:
            return await self._enter(self._agent.session())
        if how == "resume":
            return await self._resume(self._last)
        if how == "fork":
            return await self._enter(self._last.fork())
        if how == "rewind":
            await self._last.rewind(int(number))
        return self._last

    async def _carry_on(self, session: Session) -> None:
        while True:
            session = await self._resume(session)
            try:
                await session.carry_on()
            except Killed:
                continue
            return

    async def _resume(self, session: Session) -> Session:
        await session.__aexit__(None, None, None)
        return await self._enter(self._agent.resume(session.id))

    async def _enter(self, session: Session) -> Session:
        self._last = await self.enter_async_context(session)
        return session


def _reply(cell: str) -> Any:
    if cell == KILLED:
        return _dies
    if cell.startswith("call: "):
        _, name, arguments = cell.split(" ", 2)
        return [call(name, **json.loads(arguments))]
    return cell[5:] if cell.startswith("say: ") else code(cell)
