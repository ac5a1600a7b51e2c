from agent_first import Crm
from replies import model, quoted

import cellwright


async def main() -> None:
    stand_in = model("done(len(crm.contacts()))")
    # shown:
    agent = cellwright.Agent(stand_in, scope={"crm": Crm()}, instructions="Letters are signed by the sales team.")
    await agent.run("How many contacts are there?", returns=int)
    (request,) = stand_in.requests
    # end
    print(quoted(request.instructions))
    print([tool.name for tool in request.tools], request.generation.temperature)
    print(*request.messages, sep="\n")


cellwright.run(main())
