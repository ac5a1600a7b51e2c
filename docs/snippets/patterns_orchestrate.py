from dataclasses import dataclass

from replies import model

import cellwright
from cellwright.agent import Agent
from cellwright.agent.patterns import orchestrate

PLAN = "done([Job(city='Oslo', what='rain'), Job(city='Rome', what='sun')])"
planner = Agent(model(PLAN))
weather = Agent(model(*["done(f'{job.what} in {job.city}')"] * 2))
editor = Agent(model("done(', '.join(part['answer'] for part in given if part['error'] is None))"))


@dataclass(frozen=True)
class Job:
    city: str
    what: str


# shown:
@planner.function
async def plan(question: str) -> list[Job]:
    """The jobs that the question comes to, each for one city."""
    raise NotImplementedError


@weather.function
async def work(job: Job) -> str:
    """What the job asks for, in a few words."""
    raise NotImplementedError


async def main() -> None:
    print(await orchestrate("Where does it rain, and where is sun?", plan, work, editor, at_once=4))


# end


cellwright.run(main())
