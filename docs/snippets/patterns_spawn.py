from dataclasses import dataclass

from replies import model

import cellwright
from cellwright.agent import Agent, Spawning
from cellwright.events import ChildFinished, ChildStarted, Event


@dataclass(frozen=True)
class Price:
    item: str
    pence: int


class Shop:
    def prices(self, letter: str) -> dict[str, int]:
        return {item: 10 * len(item) for item in ("cake", "coffee", "jam", "tea") if item.startswith(letter)}


# shown:
PARENT = """
    import asyncio
    tasks = [spawn(f"The dearest item with {letter}", returns=Price, scope=["shop"]) for letter in "cjx"]
    got = await asyncio.gather(*tasks, return_exceptions=True)
    done([price.item if isinstance(price, Price) else type(price).__name__ for price in got])
"""
# end
CHILD = "item, pence = max(shop.prices('{}').items(), key=lambda i: i[1])\ndone(Price(item=item, pence=pence))"


def told(event: Event) -> None:
    if isinstance(event, ChildStarted):
        print("began:", event.task)
    if isinstance(event, ChildFinished) and event.error:
        print("failed:", event.error.partition(":")[0])


async def main() -> None:
    replies = model(PARENT, CHILD.format("c"), CHILD.format("j"), *["raise LookupError('nothing')"] * 9)
    scope = {"shop": Shop(), "Price": Price}
    agent = Agent(replies, scope=scope, spawn=Spawning(depth=1, at_once=1), check="off")
    print((await agent.run("The dearest item for c, j and x", on_event=told)).value)


cellwright.run(main())
