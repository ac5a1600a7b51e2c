from typing import Any

from agent_first import Crm
from replies import model

import cellwright
from cellwright.errors import BudgetSpent


async def main() -> None:
    cells = [f"page = {number}; crm.contacts()" for number in range(10)]
    # shown:
    agent = cellwright.Agent(model(*cells), scope={"crm": Crm()}, budget=cellwright.Budget(tokens=2_000, steps=8))
    try:
        await agent.run("Read every page.")
    except BudgetSpent as error:
        print(f"{error.what}: {error}")
        so_far: Any = error.result  # a `Result` without a value
        print(so_far.steps, so_far.usage, type(so_far.trace[-1]).__name__)
    # end


cellwright.run(main())
