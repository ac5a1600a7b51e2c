"""`Runtime`: scope + sandbox + workspace + journal. What the agent, the gateway and the server all stand on."""

from cellwright.runtime.runtime import Runtime, replay, run

__all__ = ["Runtime", "replay", "run"]
