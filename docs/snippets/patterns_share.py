from replies import model

import cellwright
from cellwright.agent import Agent
from cellwright.agent.patterns import fan_out, share, values


class Board:
    """Jobs, each for one, and what came of them. Async methods run on the host's event loop, one at a time."""

    def __init__(self, *jobs: str) -> None:
        self.jobs = list(jobs)
        self.notes: dict[str, int] = {}

    async def take(self) -> str | None:
        """The next job; None when there is none."""
        return self.jobs.pop(0) if self.jobs else None

    async def note(self, job: str, letters: int) -> None:
        """Write down what came of a job."""
        self.notes[job] = letters


# shown:
CELL = """
    while (job := await board.take()) is not None:
        await board.note(job, len(job))
    done()
"""


async def main() -> None:
    board = Board("tea", "cake", "scones", "jam", "milk")
    agents = share({"board": board}, *(Agent(model(CELL)) for _ in range(3)))
    values(await fan_out(agents, lambda agent: agent.run("Take jobs from the board until there is none.")))
    print(sorted(board.notes.items()), board.jobs)


# end


cellwright.run(main())
