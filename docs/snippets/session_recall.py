import tempfile
from pathlib import Path

import toolwright
from toolwright.testing import ScriptedModel, code

MODEL = ScriptedModel(
    "Ada's invoice is number 101.",
    code("hit = sessions.search('Ada number')[0]\ndone(sessions.show(hit.session, hit.entry))"),
)


async def main(store: Path) -> None:
    agent = toolwright.Agent(MODEL, store=store, name="desk", sessions="agent")
    await agent.run("Which number has Ada's invoice?")
    print((await agent.run("What do we know of the invoice?")).value)


with tempfile.TemporaryDirectory() as place:
    toolwright.run(main(Path(place) / "agents.db"))
