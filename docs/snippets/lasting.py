import tempfile
from pathlib import Path

import cellwright


class Desk:
    """Hands out numbers of invoices. Each one is an effect."""

    def __init__(self) -> None:
        self.issued: list[str] = []

    def invoice(self, name: str) -> int:
        self.issued.append(name)
        return 100 + len(self.issued)


async def main(store: Path) -> None:
    # shown:
    desk = Desk()
    async with cellwright.Runtime({"desk": desk}, store=store, session="march") as rt:
        await rt.execute("numbers = {name: desk.invoice(name) for name in ('ada', 'grace')}")
        await rt.execute("import uuid; batch = uuid.uuid4(); batch")
        await rt.execute("import pathlib; pathlib.Path('numbers.txt').write_text(str(numbers))")
        batch = (await rt.execute("batch")).value

    async with cellwright.Runtime.resume("march", scope={"desk": desk}, store=store) as rt:
        print(rt.restored)
        print((await rt.execute("numbers, open('numbers.txt').read()")).value)
        print((await rt.execute("batch")).value == batch, desk.issued)

        branch = await rt.fork(at=1, session="march-b")
        try:
            print((await branch.execute("numbers['linus'] = desk.invoice('linus'); numbers")).value)
            print((await branch.execute("import os; os.listdir()")).value)
        finally:
            await branch.close()
        print((await rt.execute("numbers")).value)
    # end


with tempfile.TemporaryDirectory() as place:
    cellwright.run(main(Path(place) / "agents.db"))
