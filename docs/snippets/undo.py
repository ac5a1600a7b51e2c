import tempfile
from pathlib import Path

import toolwright

BOOKED: list[str] = []


class Calendar:
    @toolwright.operation(undo=BOOKED.remove)  # called with what `book` returned
    def book(self, title: str) -> str:
        BOOKED.append(title)
        return title

    def invite(self, name: str) -> str:
        return f"invited {name}"


CELLS = [
    """
    with transaction():
        calendar.book("dentist")
        open("plan.txt", "w").write("dentist")
        1 / 0
    """,
    """
    with transaction():
        calendar.book("lunch")
        calendar.invite("ada")
    """,
    "calendar.book('tea')",
    "calendar.book('cake')",
]


async def main(store: Path) -> None:
    async with toolwright.Runtime({"calendar": Calendar()}, store=store, session="s1") as rt:
        for code in CELLS:
            outcome = await rt.execute(code)
            print(outcome.value if outcome.ok else str(outcome.error).splitlines()[-1], BOOKED)
        print([entry.path for entry in await rt.files.list()])
        print(await rt.rollback(to=3), BOOKED)


with tempfile.TemporaryDirectory() as place:
    toolwright.run(main(Path(place) / "agents.db"))
