import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import cellwright

CLEAN = """
rows = [line for line in open("sales.csv") if not line.startswith("?")]
with open("sales.csv", "w") as file:
    file.writelines(rows)
with open("count.txt", "w") as file:
    file.write(str(len(rows)))
"""


async def main(place: Path) -> None:
    store = place / "agents.db"
    (place / "march.csv").write_text("ada,10\n?,0\ngrace,20\n")
    async with cellwright.Runtime(store=store, session="march") as rt:
        # shown:
        await rt.files.put(place / "march.csv", "sales.csv")
        await rt.execute(CLEAN)
        for change in await rt.diff():
            print(change.what, change.path)
            print(change.text)
        await rt.files.take("count.txt", place / "count.txt")

        await rt.execute("import os; os.unlink('sales.csv')")
        print([change.path for change in await rt.undo_files()], [entry.path for entry in await rt.files.list()])
        print((await rt.execute("len(rows), open('sales.csv').read()")).value)
        # end

    shutil.rmtree(place / "agents.db.workspaces")
    async with cellwright.Runtime.resume("march", store=store, progress=print) as rt:
        print([entry.path for entry in await rt.files.list()])


with tempfile.TemporaryDirectory() as place:
    cellwright.run(main(Path(place)))
    command = [sys.executable, "-m", "cellwright", "files", "diff", "march", "--since", "0", "--names"]
    print(subprocess.run(command, cwd=place, check=True, capture_output=True, text=True).stdout, end="")
