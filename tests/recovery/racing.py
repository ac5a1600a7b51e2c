"""Several sessions in one process, which dies in all of them; or a process that recovers them when it is told to go.

Run as a program: where everything is kept, and `leave` or `recover`. The latter says when it is ready, and waits for a
line before it begins.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from tests.recovery.program import Ledger, append, die

from cellwright.agent import Agent
from cellwright.doors import Request
from cellwright.messages import AssistantMessage, UserMessage
from cellwright.testing import ScriptedModel, code

SESSIONS = 5
CELLS = ("ledger.add(f'{me} first')", "ledger.add(f'{me} second')", "ledger.add(f'{me} third')", "done(me)")


async def main(place: Path, leave: bool) -> None:
    waiting: list[str] = []

    async def reply(request: Request) -> AssistantMessage:
        task = next(m.text for m in request.messages if isinstance(m, UserMessage)).split()[-1]
        number = sum(isinstance(message, AssistantMessage) for message in request.messages)
        if leave and number == 2:
            waiting.append(task)
            if len(waiting) == SESSIONS:
                die()
            await asyncio.Event().wait()
        append(place / "paid", f"{task} {number}")
        return code(f"me = {task!r}\n{CELLS[number]}")

    scope = {"ledger": Ledger(place / "ledger", lambda: None)}
    agent = Agent(
        ScriptedModel(otherwise=reply), scope=scope, store=f"sqlite:///{place}/agents.db", check="off", name="racer"
    )
    if leave:

        async def one(name: str) -> None:
            async with agent.session(name) as session:
                await session.run(f"I am {name}")

        await asyncio.gather(*(one(f"s{number}") for number in range(SESSIONS)))
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    done = await agent.recover()
    print(json.dumps({each.session: each.value if each.error is None else str(each.error) for each in done}))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2] == "leave"))
