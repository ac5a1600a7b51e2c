import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cellwright


class Contact:
    """A record that can be rebuilt from its own data: see `cellwright.Revivable`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def greet(self) -> str:
        return f"hello {self.name}"

    def to_journal(self) -> Any:
        return self.name

    @classmethod
    def from_journal(cls, kept: Any, root: Any) -> Any:
        return cls(kept)


class Report:
    def __init__(self, name: str) -> None:
        self.name = name

    def title(self) -> str:
        return f"Report {self.name}"


# shown:
class Crm:
    def contact(self, name: str) -> Contact:
        return Contact(name)

    @cellwright.operation(reads=True)
    def report(self, name: str) -> Report:
        return Report(name)

    @cellwright.operation(revive=Report)
    def write_report(self, name: str) -> Report:
        return Report(name)

    def draft(self, name: str) -> Report:
        return Report(name)

    @cellwright.operation(reads=True)
    def pages(self) -> Iterator[int]:
        yield from (1, 2, 3)


# end


FIRST = """
    ada = crm.contact("ada")
    read = crm.report("May")
    written = crm.write_report("June")
    draft = crm.draft("July")
    pages = crm.pages()
    next(pages)
"""


async def main(store: Path) -> None:
    async with cellwright.Runtime({"crm": Crm()}, store=store, session="s1") as rt:
        await rt.execute(FIRST)
    async with cellwright.Runtime.resume("s1", scope={"crm": Crm()}, store=store) as rt:
        for code in ("ada.greet()", "read.title()", "written.title()", "draft.title()", "next(pages)"):
            outcome = await rt.execute(code)
            print(outcome.value if outcome.ok else str(outcome.error).splitlines()[-1])


with tempfile.TemporaryDirectory() as place:
    cellwright.run(main(Path(place) / "agents.db"))
