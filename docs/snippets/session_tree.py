import subprocess
import sys
import tempfile
from pathlib import Path

import cellwright


class Post:
    """Sends letters. A letter that is sent stays sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, text: str) -> int:
        self.sent.append(text)
        return len(self.sent)


async def main(store: Path) -> None:
    post = Post()
    async with cellwright.Runtime({"post": post}, store=store, session="march") as rt:
        # shown:
        await rt.execute("names = ['ada', 'grace']")
        await rt.execute("for name in names: post.send(name)")
        await rt.execute("names.append('linus')")
        print(await rt.rewind(1))
        await rt.execute("names.sort(reverse=True)")
        print((await rt.execute("names")).value, post.sent)

    with cellwright.Sessions(store) as sessions:
        left = sessions.fork("march", at=3, name="with-linus", id="branch-a")
        for hit in sessions.search("linus"):
            print(hit.session, hit.entry, hit.kind)

    async with cellwright.Runtime.resume(left, scope={"post": post}, store=store) as rt:
        print((await rt.execute("names")).value)
        # end


with tempfile.TemporaryDirectory() as place:
    cellwright.run(main(Path(place) / "agents.db"))
    tree = [sys.executable, "-m", "cellwright", "sessions", "tree", "with-linus", "--store", "agents.db"]
    print(subprocess.run(tree, cwd=place, capture_output=True, text=True, check=True).stdout, end="")
