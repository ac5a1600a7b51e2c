"""The agent: a language model that works on live objects by writing code."""

from toolwright.agent import patterns
from toolwright.agent.agent import Agent
from toolwright.agent.recovery import Recovered, cut_off
from toolwright.agent.recovery import carry_on as carry_on_one
from toolwright.agent.result import Result
from toolwright.agent.session import Session
from toolwright.agent.spawn import Spawning

__all__ = ["Agent", "Recovered", "Result", "Session", "Spawning", "carry_on_one", "cut_off", "patterns"]
