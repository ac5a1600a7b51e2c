"""The agent: a language model that works on live objects by writing code."""

from cellwright.agent import patterns
from cellwright.agent.agent import Agent
from cellwright.agent.recovery import Recovered, interrupted_turns
from cellwright.agent.recovery import carry_on_turn as carry_on_one
from cellwright.agent.result import Result
from cellwright.agent.session import Session
from cellwright.agent.spawn import Spawning
from cellwright.agent.task_data import LONGEST_DATA

__all__ = [
    "LONGEST_DATA",
    "Agent",
    "Recovered",
    "Result",
    "Session",
    "Spawning",
    "carry_on_one",
    "interrupted_turns",
    "patterns",
]
