from dataclasses import dataclass

from agent_first import Crm
from replies import model, quoted

import cellwright
from cellwright.errors import ReturnTypeError
from cellwright.messages import ToolMessage, UserMessage


# shown:
@dataclass
class Share:
    city: str
    idle: int


WRONG = """
    import json
    done(json.loads('[{"city": "Oslo", "idle": "one"}]'))
"""
RIGHT = "done([Share(city, sum(not c.deals for c in crm.contacts(city=city))) for city in ('Oslo', 'Rome')])"
# end


async def main() -> None:
    stand_in = model(WRONG, RIGHT)
    # shown:
    result = await cellwright.Agent(stand_in, scope={"crm": Crm()}).run("Idle contacts by city?", returns=list[Share])
    print(result.value)
    # end
    task, _, answered = stand_in.requests[-1].messages
    assert isinstance(task, UserMessage)
    assert isinstance(answered, ToolMessage)
    print(quoted(task.text))
    print("observed:", answered.results[0].text.splitlines()[-1])
    try:
        await cellwright.Agent(model(WRONG, WRONG, WRONG)).run("Idle contacts by city?", returns=list[Share])
    except ReturnTypeError as error:
        print(error)


cellwright.run(main())
