import tempfile
from pathlib import Path

import cellwright

sent: list[str] = []


async def main(store: Path) -> None:
    async with cellwright.Runtime({"send": sent.append}, store=store, session="march") as rt:
        await rt.execute("import uuid; tickets = {name: uuid.uuid4().hex for name in ('ada', 'grace')}")
        first = await rt.execute("for name in tickets: send(name)\ntickets")

    # the process may die here, or in the middle of a cell; another one goes on
    async with cellwright.Runtime.resume("march", scope={"send": sent.append}, store=store) as rt:
        again = await rt.execute("tickets")
        print(again.value == first.value, sent)


with tempfile.TemporaryDirectory() as directory:
    cellwright.run(main(Path(directory) / "agents.db"))
