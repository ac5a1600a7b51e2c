import sys
from collections.abc import Mapping
from typing import Any

import cellwright

# shown:
CELLS = [
    "note = notes.add_note('mend the kettle')\nnote.number, note['text']",
    "[n.text for n in notes.find('te')], notes.resources.note('2'), notes.prompts.summary()",
    "notes.burn()",
    "notes.stumble()",
    "notes.find('tea')",
]


async def ask(server: str, message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    print(f"({server} asks: {message} {list(schema['properties'])})")
    return {"sure": False}  # None declines


async def main() -> None:
    command = [sys.executable, "notes_server.py"]  # or "npx -y @modelcontextprotocol/server-memory", or a URL
    async with (
        await cellwright.MCP.open(command, on_elicit=ask, on_change=print) as notes,
        cellwright.Runtime(scope={"notes": notes}) as rt,
    ):
        for cell in CELLS:
            outcome = await rt.execute(cell)
            print(outcome.value if outcome.ok else str(outcome.error).splitlines()[-1])


# end


cellwright.run(main())
