from agent_first import Crm
from replies import model

import cellwright
from cellwright.events import Answered, CellFinished, Event, MessageTaken
from cellwright.messages import AssistantMessage

REPLIES = model(
    "people = crm.contacts()\nlen(people)",
    AssistantMessage(text="All contacts are loaded; next I list them."),
    "done([c.name for c in people if c.city == 'Oslo'])",
)


async def main() -> None:
    agent = cellwright.Agent(REPLIES, scope={"crm": Crm()}, store="memory:")
    async with agent.session() as session:
        # shown:
        def hear(event: Event) -> None:
            if isinstance(event, CellFinished) and event.step == 1:  # a person, in the middle of it
                session.ask("How far are you?")
                session.tell("Only those in Oslo.")
            elif isinstance(event, MessageTaken):
                print(f"{event.kind}: {event.text}")
            elif isinstance(event, Answered):
                print("answered:", event.text)

        print((await session.run("List all contacts.", on_event=hear)).value)
        # end
    print(REPLIES.requests[-1].messages[-1])


cellwright.run(main())
