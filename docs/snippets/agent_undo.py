from replies import model

import cellwright
from cellwright.errors import RollbackRefused

BOOKED: list[str] = []


class Calendar:
    @cellwright.operation(undo=BOOKED.remove)  # is called with what `book` returned
    def book(self, title: str) -> str:
        """Book an hour."""
        BOOKED.append(title)
        return title

    def invite(self, name: str) -> None:
        """Write to somebody."""


REPLIES = model(
    "slot = calendar.book('tea')\ndone(slot)",
    "slot = calendar.book('cake')\ncalendar.invite('ada')\ndone(slot)",
    "done(slot)",
)


async def main() -> None:
    agent = cellwright.Agent(REPLIES, scope={"calendar": Calendar()}, store="memory:")
    async with agent.session() as session:
        await session.run("Book tea.")
        await session.run("Book cake with Ada.")
        # shown:
        try:
            await session.undo()
        except RollbackRefused as refused:
            print(refused)
        await session.undo(yes=True)
        print(BOOKED, (await session.run("What is booked?")).value)
        # end


cellwright.run(main())
