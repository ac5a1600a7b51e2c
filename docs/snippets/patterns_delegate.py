from dataclasses import dataclass

from replies import model

import cellwright
from cellwright.agent import Agent
from cellwright.agent.patterns import as_function


@dataclass(frozen=True)
class Fact:
    text: str
    year: int


class Library:
    """Only the researcher has it."""

    def look_up(self, word: str) -> int:
        return {"tea": 1660, "coffee": 1652}[word]


LOOK = "done(Fact(text='{0} came to London', year=library.look_up('{0}')))"
# shown:
researcher = Agent(model(LOOK.format("tea"), LOOK.format("coffee")), scope={"library": Library()})
find = as_function(researcher, "find", "Finds out when something came to London.", Fact)

CELL = """
    facts = [await find(f"When did {drink} come to London?") for drink in ("tea", "coffee")]
    done(min(facts, key=lambda fact: fact.year).text)
"""
# end


async def main() -> None:
    print((await Agent(model(CELL), scope={"find": find}).run("What came first, tea or coffee?")).value)


cellwright.run(main())
