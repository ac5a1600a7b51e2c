"""What many tests of the journal share."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.journal.lasting import Sessions


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path)
