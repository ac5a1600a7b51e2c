"""A turn without the model's time: ours beside other agents, on the same scripted replies. `peers.job` is the turn."""

from __future__ import annotations

from benchmarks.peers.conductor import Round
from benchmarks.peers.roster import AGENTS
from benchmarks.results import AGENT_TASKS, Peer
from benchmarks.run import Run


async def measure(run: Run) -> list[Peer]:
    with Round(run, AGENTS) as together:
        for number in run.rounds("turns of agents", 25, 2):
            for task in AGENT_TASKS:
                together.everybody(task, run.count(4, 1))
            if number == 0:  # which made what is kept warm
                for contestant in together.running.values():
                    contestant.figures.clear()
        return together.rows()
