from agent_first import Contact, Crm
from replies import model, quoted

import cellwright
from cellwright.messages import UserMessage

REPLIES = model("done(sorted((c for c in crm.contacts() if c.deals <= most), key=lambda c: c.name))")
agent = cellwright.Agent(REPLIES, scope={"crm": Crm()})


# shown:
@agent.function
async def quiet(most: int) -> list[Contact]:
    """The contacts that have at most so many deals, by name."""
    raise NotImplementedError  # never run: the agent carries out what is said above


# end


async def main() -> None:
    print(await quiet(1))
    task = REPLIES.requests[0].messages[0]
    assert isinstance(task, UserMessage)
    print(quoted(task.text))


cellwright.run(main())
