"""`Runtime`: scope + sandbox + workspace + journal. What the agent, the gateway and the server all stand on."""

from cellwright.runtime.replaying import replay, run
from cellwright.runtime.runtime import Runtime

__all__ = ["Runtime", "replay", "run"]
