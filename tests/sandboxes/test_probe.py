"""The doctor's probe: what it says of this machine is what a jail here has."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.sandboxes.jails import PLAN, started
from tests.sandboxes.refusing import refusing

from cellwright.sandboxes.jail import LAYERS, NAMESPACES, STANDARD
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


@pytest.mark.needs_layers
async def test_a_refused_call_is_named_and_turns_no_other_layer_red(tmp_path: Path) -> None:
    report = await probe(refusing(tmp_path, "pivot_root"))
    (mount,) = (finding for finding in report.findings if not finding.ok and finding.name in STANDARD)
    assert (mount.name, mount.refused) == ("mount", "pivot_root: Operation not permitted")


async def test_where_no_namespace_is_allowed_each_names_its_own_call_and_the_rest_is_tried(tmp_path: Path) -> None:
    report = await probe(refusing(tmp_path, "unshare"))
    refused = {finding.name: finding.refused for finding in report.findings if finding.refused}
    assert refused.keys() == NAMESPACES
    assert len(set(refused.values())) == len(refused)
    assert all(call.startswith("unshare(CLONE_NEW") for call in refused.values())
    others = [finding for finding in report.findings if finding.name not in NAMESPACES | {"cgroup", "landlock"}]
    assert [finding for finding in others if not finding.ok] == []


async def test_where_no_jail_can_be_started_every_layer_says_why() -> None:
    report = await probe(Path("/bin/false"))
    untried = [finding for finding in report.findings if finding.name != "cgroup"]
    assert not any(finding.tried or finding.ok for finding in untried)
    assert all(finding.seen.startswith("not tried: the zygote of /bin/false did not start") for finding in untried)
