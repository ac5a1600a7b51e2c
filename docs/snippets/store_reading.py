import tempfile
from pathlib import Path

import cellwright
from cellwright.store import open_store


class Desk:
    def orders(self, city: str) -> list[str]:
        return ["chairs", "lamps"] if city == "Oslo" else []


async def main(place: Path) -> None:
    async with cellwright.Runtime({"desk": Desk()}, store=place, session="march") as rt:
        await rt.execute("open_orders = desk.orders('Oslo')\nprint(open_orders)")

    # shown:
    store = open_store(str(place))
    for one in store.summaries(limit=10):
        print(one.id, "-", one.title, "-", one.state, "-", one.cells, "cell")
    print([type(entry.change).__name__ for entry in store.entries("march")])
    print([cell.status for cell in store.cells("march", upto=1)], [cell.status for cell in store.cells("march")])
    for hit in store.search("lamps"):
        print(hit.session, hit.kind, hit.snippet.replace("\x02", "[").replace("\x03", "]").split("\n")[0])
    told = store.forget("march")
    print(told.entries, "entries and", told.indexed, "texts of the index removed")
    store.close()
    # end


with tempfile.TemporaryDirectory() as directory:
    cellwright.run(main(Path(directory) / "agents.db"))
