from replies import model

import cellwright
from cellwright.agent import Agent
from cellwright.agent.patterns import pipeline

NOTES = ["tea: buy two boxes", "cake: none left", "tea: the kettle is broken"]
finder = Agent(model("done([note for note in notes if note.startswith('tea')])"), scope={"notes": NOTES})
writer = Agent(model("done(f'{len(found)} notes; first: {found[0]}')"))


# shown:
@writer.function
async def sum_up(found: list[str]) -> str:
    """One line that says how many notes there are and what the first one is."""
    raise NotImplementedError


async def main() -> None:
    print(await pipeline("Which notes are about tea?", finder, sum_up))


# end


cellwright.run(main())
