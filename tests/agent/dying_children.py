"""A parent and six children in one process, which dies by SIGKILL when a request of each child is under way.

Run as a program: where the journal is, and the step of the children at which to die, or "never".
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.agent.dying_family import Ledger, die, parent_at

from cellwright.doors import Request
from cellwright.messages import AssistantMessage, UserMessage
from cellwright.testing import code

CHILDREN = 6
PARENT = """
import asyncio
done(await asyncio.gather(*(spawn(f"child {n}", scope=["ledger"]) for n in range(6))))
"""


async def main(place: Path, when: str) -> None:
    asked = Ledger(place / "asked")
    waiting: set[str] = set()

    async def reply(request: Request) -> AssistantMessage:
        task = next(m.text for m in request.messages if isinstance(m, UserMessage)).split("\n")[0]
        step = sum(isinstance(m, AssistantMessage) for m in request.messages)
        asked.add(f"{task} {step}")
        if not task.startswith("child"):
            return code(PARENT)
        if str(step) == when:
            waiting.add(task)
            if len(waiting) == CHILDREN:
                die()
            await asyncio.Event().wait()
        return code((f"ledger.add('{task}: a')", f"ledger.add('{task}: b')", f"done('{task}')")[step])

    agent = parent_at(place, reply)
    for recovered in await agent.recover():
        return print(json.dumps(recovered.value))
    session: Any = agent.session("parent")
    async with session:
        print(json.dumps((await session.run("the parent's task")).value))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
