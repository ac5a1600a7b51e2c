"""`Runtime`: scope + sandbox + workspace + journal. What the agent, the gateway and the server all stand on."""

from toolwright.runtime.replaying import replay, run
from toolwright.runtime.runtime import Runtime

__all__ = ["Runtime", "replay", "run"]
