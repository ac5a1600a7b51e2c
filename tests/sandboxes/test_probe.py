"""The doctor's probe: what it says of this machine is what a jail here has."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from tests.sandboxes.jails import PLAN, started

from cellwright.sandboxes.jail import LAYERS
from cellwright.sandboxes.probe import probe

pytestmark = pytest.mark.anyio


async def test_every_layer_is_tried_and_a_layer_in_force_holds() -> None:
    report = await probe()
    assert tuple(finding.name for finding in report.findings) == LAYERS
    async with started(PLAN) as zygote:
        held = {finding.name for finding in report.findings if finding.ok}
        assert zygote.layers <= held
    assert all(finding.seen for finding in report.findings)
    assert all(finding.ok or finding.fix for finding in report.findings)
    json.dumps(asdict(report))
