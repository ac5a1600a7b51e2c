"""Real libraries through the boundary, unchanged: the object lives on the host, guest code uses it as its documentation
shows. Every test here opens sessions."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def opens_sessions(warm: None) -> None:
    """One zygote serves them all."""
