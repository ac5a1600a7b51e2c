from agent_first import Crm
from replies import model

import cellwright
from cellwright import events
from cellwright.messages import AssistantMessage

# shown:
PLAN = AssistantMessage(text="Plan:\n1. find idle contacts -- crm.contacts\n2. write to each -- mail.send")
BETTER = AssistantMessage(text="Plan:\n1. find idle contacts -- crm.contacts\n2. write to each -- crm.write")
# end
WORK = """
    idle = [c.name for c in crm.contacts() if not c.deals]
    for name in idle:
        await crm.write(name, "hello")
    done(idle)
"""


async def main() -> None:
    agent = cellwright.Agent(model(PLAN, BETTER, WORK), scope={"crm": Crm()}, plan=True)
    result = await agent.run("Write to the idle ones.")
    for event in result.trace:
        if isinstance(event, events.Planned):
            print(event.revision, *event.lines, sep="\n  ")
    print(result.value, "in", result.steps, "steps")


cellwright.run(main())
