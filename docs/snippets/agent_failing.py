from agent_first import Crm
from replies import model

import cellwright
from cellwright.errors import Stuck
from cellwright.messages import Answered


async def main() -> None:
    stand_in = model(*["crm.contacts(city='Oslo')[7].name"] * 6)
    try:
        await cellwright.Agent(stand_in, scope={"crm": Crm()}).run("Who is the eighth in Oslo?")
    except Stuck as error:
        print("Stuck:", error)
    for request in stand_in.requests[1:4]:
        last = request.messages[-1]
        assert isinstance(last, Answered)
        print("--- temperature", request.generation.temperature)
        print(last.results[0].text)


cellwright.run(main())
