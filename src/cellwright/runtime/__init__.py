"""`Runtime`: scope + sandbox + workspace + journal. What the agent, the gateway and the server all stand on."""

from cellwright.runtime.offline_replay import replay, run
from cellwright.runtime.runtime import Runtime

__all__ = ["Runtime", "replay", "run"]
