from replies import model

import cellwright
from cellwright import events
from cellwright.doors import Request
from cellwright.messages import ToolMessage

# shown:
CELLS = [*(f"print(log({day}))" for day in range(1, 6)), "lines = show('output:2').splitlines()\ndone(lines[1])"]
# end


def log(day: int) -> str:
    """The log of one day."""
    return "\n".join(f"day {day}: line {line}: all is well" for line in range(100))


def told(request: Request, message: int) -> str:
    """The marks in what the model reads as the result of a cell."""
    answered = request.messages[message]
    assert isinstance(answered, ToolMessage)
    return "\n".join(line[line.index("… [") :] for line in answered.results[0].text.splitlines() if "… [" in line)


async def main() -> None:
    stand_in = model(*CELLS, window=2_500)
    result = await cellwright.Agent(stand_in, scope={"log": log}).run("What went wrong?")
    print(told(stand_in.requests[1], 2))
    for event in result.trace:
        if isinstance(event, events.Compacted):
            print(f"step {event.step}: {event.before_tokens} tokens became {event.after_tokens}")
    print(told(stand_in.requests[-1], 2))
    print(result.value)


cellwright.run(main())
