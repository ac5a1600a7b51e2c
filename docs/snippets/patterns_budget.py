from replies import model

import cellwright
from cellwright.agent import Agent
from cellwright.agent.patterns import fan_out
from cellwright.models import Budget, Spending


async def main() -> None:
    # shown:
    spending = Spending(Budget(requests=3))
    cheap = Agent(model(*["done('a word')"] * 6), within=spending)
    dear = Agent(model(*["done('a page')"] * 6), within=spending)
    tried = await fan_out([cheap, dear, cheap, dear, cheap], lambda agent: agent.run("Write."), at_once=1)
    print(*(each.value.value if each.value else each.error for each in tried), sep="\n")
    print(spending.usage.requests, "requests by both")
    # end


cellwright.run(main())
