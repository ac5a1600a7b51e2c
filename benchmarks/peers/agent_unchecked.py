"""Cellwright's Agent without the type check of its cells."""

from __future__ import annotations

from benchmarks.peers.agent import serve_agent

serve_agent(check="off")
