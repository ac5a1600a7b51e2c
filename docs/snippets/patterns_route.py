from replies import model

import cellwright
from cellwright.agent import Agent
from cellwright.agent.patterns import route

bills = Agent(model("done('It is paid.')"), instructions="You answer questions about bills.")
post = Agent(model("done('It is on its way.')"), instructions="You answer questions about parcels.")
ROUTER = model("done('parcels')", "done('post')")  # the first name is none of the routes, and comes back


async def main() -> None:
    # shown:
    routes = {"bills": ("what was paid and what was not", bills), "post": ("letters and parcels", post)}
    print(await route("Where is my parcel?", routes, Agent(ROUTER, check="off")))
    # end
    print(getattr(ROUTER.requests[0].messages[-1], "text", ""))
    print(len(ROUTER.requests), "requests to the router")


cellwright.run(main())
