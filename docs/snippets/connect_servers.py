import sys

import cellwright
from cellwright.mcp import open_all

# shown:
FILE = {
    "mcpServers": {
        "notes": {"command": sys.executable, "args": ["notes_server.py"], "env": {"NOTES_KEY": "${NOTES_KEY:-none}"}},
        "tracker": {"url": "https://tracker.example/mcp", "headers": {"authorization": "Bearer ${TRACKER_TOKEN}"}},
        "later": {"command": "later-server", "disabled": True},
    }
}


async def main() -> None:
    opened = await open_all(FILE)  # or the path of such a file
    for failed in opened.failed:
        print(f"{failed.name}: {failed.reason}")
    async with cellwright.Runtime(scope=opened.servers) as rt:
        print((await rt.execute("[r.text for r in notes.find('fern')]")).value)
    await opened.close()


# end


cellwright.run(main())
