from replies import model

import cellwright
from cellwright.agent import Agent
from cellwright.agent.patterns import fan_out, values
from cellwright.errors import TurnFailed
from cellwright.models import Budget

reader = Agent(model(*["done(int(review.split('/')[0]))"] * 9), budget=Budget(steps=2), check="off")


@reader.function
async def stars(review: str) -> int:
    """How many stars the review gives."""
    raise NotImplementedError


async def main() -> None:
    # shown:
    tried = await fan_out(["5/5, good tea", "no idea", "2/5, cold"], stars, at_once=2)
    for each in tried:
        # end
        print(each.item, "->", each.value if each.error is None else [type(each.error), *each.error.__notes__])
    print(values([each for each in tried if each.ok]))
    try:
        values(tried)
    except* TurnFailed as group:
        print(group.message)


cellwright.run(main())
