from agent_first import Crm
from replies import model

import cellwright
from cellwright.errors import Stuck
from cellwright.messages import ToolMessage


async def main() -> None:
    # shown:
    stand_in = model(*["crm.contacts(city='Oslo')[7].name"] * 6)
    try:
        await cellwright.Agent(stand_in, scope={"crm": Crm()}).run("Who is the eighth in Oslo?")
    except Stuck as error:
        print("Stuck:", str(error).splitlines()[0])
    # end
    for request in stand_in.requests[1:4]:
        last = request.messages[-1]
        assert isinstance(last, ToolMessage)
        print(request.generation.temperature, last.results[0].text.splitlines()[-1])


cellwright.run(main())
