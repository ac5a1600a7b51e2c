from typing import Any

from replies import model

import cellwright
from cellwright import events
from cellwright.messages import ToolCall
from cellwright.testing import call


# shown:
@cellwright.operation(direct=True, reads=True)
async def temperature(city: str) -> float:
    """Degrees in a city, now."""
    return {"Oslo": 3.5, "Rome": 14.0}.get(city, 10.0)


# end


def forecast(city: str, days: int) -> list[float]:
    """Degrees in a city in the coming days."""
    return [10.0] * days


BOTH: list[ToolCall] = [call("temperature", city="Oslo"), call("temperature", city="Rome")]
CELL = "done({city: await temperature(city) for city in ('Oslo', 'Rome', 'Bergen', 'Turin')})"


async def main() -> None:
    small: dict[str, Any] = {"temperature": temperature}
    # shown:
    runs = [
        ("Is it warmer in Rome than in Oslo?", small, model(BOTH, lambda _: "Yes: 14.0 against 3.5.")),
        ("The temperature of each of these 40 cities?", small, model(CELL)),
        ("How warm is Oslo?", {**small, "forecast": forecast}, model(BOTH, lambda _: "3.5 degrees.")),
    ]
    # end
    for task, scope, stand_in in runs:
        result = await cellwright.Agent(stand_in, scope=scope).run(task)
        (chosen,) = (event for event in result.trace if isinstance(event, events.ModeChosen))
        print(chosen.mode, "|", chosen.why, "|", [tool.name for tool in stand_in.requests[0].tools], "|", result.value)


cellwright.run(main())
