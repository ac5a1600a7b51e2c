import tempfile
from pathlib import Path

import cellwright
from cellwright.testing import ScriptedModel, code

# shown:
MODEL = ScriptedModel(
    "Ada's invoice is number 101.",
    code("hit = sessions.search('Ada number')[0]\ndone(sessions.show(hit.session, hit.entry))"),
)


async def main(store: Path) -> None:
    agent = cellwright.Agent(MODEL, store=store, name="desk", sessions="agent")
    await agent.run("Which number has Ada's invoice?")
    print((await agent.run("What do we know of the invoice?")).value)


# end


with tempfile.TemporaryDirectory() as place:
    cellwright.run(main(Path(place) / "agents.db"))
