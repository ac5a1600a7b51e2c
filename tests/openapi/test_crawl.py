"""The crawl over a directory of descriptions: counts what loads, and names the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.crawl import main
from tests.openapi.specs import spec


def test_what_loads_is_counted_and_the_rest_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.json").write_text(json.dumps(spec({"/a": {"get": {}, "post": {}}})))
    (tmp_path / "bad.yaml").write_text("openapi: 3.0.0\npaths: [\n")
    (tmp_path / "package.json").write_text('{"name": "no description"}')
    assert main([str(tmp_path), "--workers=1", "--timeout=60"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "1 of 2 descriptions load: 50.00 %"
    assert told[1].startswith("2 operations")
    assert len(told) == 4
    assert "bad.yaml is no YAML: line 3" in told[3]


def test_a_description_that_ends_its_worker_costs_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.json").write_text(json.dumps(spec({"/a": {"get": {}}})))
    (tmp_path / "b.json").write_text(json.dumps({**spec({}), "x-fill": "x" * 70_000_000}))
    assert main([str(tmp_path), "--workers=1", "--timeout=60", "--memory-mb=200", "--json"]) == 0
    loads = {Path(one["path"]).name: one["reason"] for one in json.loads(capsys.readouterr().out)["loads"]}
    assert sorted(loads) == ["a.json", "b.json", "c.json"]
    assert [name for name, reason in loads.items() if reason] == ["b.json"]
