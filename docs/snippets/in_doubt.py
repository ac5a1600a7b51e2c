import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import cellwright


class Bank:
    """Dies in the middle of an effect, when it is told to. What it did is in a file."""

    def __init__(self, book: Path, *, dies: bool) -> None:
        self._book = book
        self._dies = dies

    def pay(self, name: str) -> str:
        return self._write(f"pay {name}")

    # shown:
    @cellwright.operation(idempotent=True)
    def pay_once(self, name: str) -> str:
        return self._write(f"pay {name}, request {cellwright.current_call().idempotency_key[:6]}")

    # end

    def _write(self, line: str) -> str:
        with self._book.open("a") as book:
            book.write(f"{line}\n")
        if self._dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return "paid"


async def first(place: Path, code: str) -> None:
    bank = Bank(place / "book.txt", dies=True)
    async with cellwright.Runtime({"bank": bank}, store=place / "agents.db", session="pay") as rt:
        await rt.execute(code)


# shown:
async def second(place: Path) -> None:
    bank = Bank(place / "book.txt", dies=False)
    async with cellwright.Runtime.resume("pay", scope={"bank": bank}, store=place / "agents.db") as rt:
        outcome = await rt.outcome()
        print(outcome.value if outcome.ok else str(outcome.error).splitlines()[-1])
        lines = (place / "book.txt").read_text().splitlines()
        print(len(lines), "in the book,", len(set(lines)), "different")


# end


if len(sys.argv) > 1:
    cellwright.run(first(Path(sys.argv[1]), sys.argv[2]))
else:
    for cell in ("bank.pay('ada')", "bank.pay_once('ada')"):
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run([sys.executable, __file__, directory, cell], check=False)
            cellwright.run(second(Path(directory)))
