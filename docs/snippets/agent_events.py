from agent_first import REPLIES, Crm

import cellwright
from cellwright import events


async def main() -> None:
    agent = cellwright.Agent(REPLIES, scope={"crm": Crm()})
    # shown:
    async for event in agent.stream("Write to everybody in Oslo who has no deal.", returns=list[str]):
        match event:
            case events.CodePiece():
                pass  # parts of the code as the model writes it: for a screen
            case events.CodeReady(step=step, code=code):
                print(f"{step}: {code!r}")
            case events.CallFinished(name=name):
                print(f"   called {name}")
            case events.CellFinished(observation=text):
                print(f"   the model reads {text!r}")
            case events.Done(value=value):
                print("answer:", value)
            # end
            case other:
                print(f"   ({type(other).__name__})")


cellwright.run(main())
