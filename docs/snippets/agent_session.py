from agent_first import Crm
from replies import model

import cellwright

REPLIES = model(
    "people = crm.contacts()\ndone(len(people))",
    "done(max(people, key=lambda c: c.deals).name)",
)


async def main() -> None:
    agent = cellwright.Agent(REPLIES, scope={"crm": Crm()})
    # shown:
    async with agent.session() as session:
        print((await session.run("How many contacts are there?", returns=int)).value)
        print((await session.run("Who of them has most deals?", returns=str)).value)
    # end
    print([type(message).__name__ for message in REPLIES.requests[1].messages])


cellwright.run(main())
