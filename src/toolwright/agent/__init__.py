"""The agent: a language model that works on live objects by writing code."""

from toolwright.agent import patterns
from toolwright.agent.agent import Agent
from toolwright.agent.result import Result
from toolwright.agent.session import Session
from toolwright.agent.spawn import Spawning

__all__ = ["Agent", "Result", "Session", "Spawning", "patterns"]
