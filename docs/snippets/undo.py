import tempfile
from pathlib import Path

import cellwright
from cellwright.errors import RollbackRefused

BOOKED: list[str] = []


# shown:
class Calendar:
    @cellwright.operation(undo=BOOKED.remove)  # is called with what `book` returned
    def book(self, title: str) -> str:
        BOOKED.append(title)
        return title

    def invite(self, name: str) -> str:
        return f"invited {name}"


CELLS = [
    """
    with transaction():
        calendar.book("dentist")
        open("plan.txt", "w").close()
        1 / 0
    """,
    """
    with transaction():
        calendar.book("lunch")
        calendar.invite("ada")
    """,
    "calendar.book('tea')",
    "calendar.book('cake'); calendar.invite('grace')",
]
# end


def told(outcome: cellwright.Outcome) -> str:
    """Its value, or what its error says without the lines of code."""
    lines = str(outcome.error).splitlines()[1:]
    return outcome.value if outcome.ok else "\n".join(line for line in lines if not line.startswith(" "))


async def main(store: Path) -> None:
    async with cellwright.Runtime({"calendar": Calendar()}, store=store, session="s1") as rt:
        for code in CELLS:
            print(told(await rt.execute(code)))
        print(BOOKED, [entry.path for entry in await rt.files.list()])
        # shown:
        try:
            await rt.rollback(to=3)
        except RollbackRefused as refused:
            print(refused)
        # end
        print(await rt.rollback(to=3, yes=True))
        print(BOOKED)


with tempfile.TemporaryDirectory() as place:
    cellwright.run(main(Path(place) / "agents.db"))
