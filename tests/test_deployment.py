"""The files for deployment: valid for the programs that read them, and true about this project."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from tests.container import image

from cellwright.cli.gateway_options import GatewayOptions

CLONE = Path(__file__).parent.parent
MANIFESTS = sorted((CLONE / "deploy" / "kubernetes").glob("*.yaml"))
DOCKERFILE = (CLONE / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((CLONE / "compose.yaml").read_text())


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text()))


def pods() -> list[Any]:
    found = [one for path in MANIFESTS for one in documents(path) if one["kind"] == "Deployment"]
    return [pytest.param(one["spec"]["template"]["spec"], id=one["metadata"]["name"]) for one in found]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_a_manifest_is_valid(path: Path) -> None:
    for one in documents(path):
        kubernetes_validate.validate(one, "1.34", strict=True)


@pytest.mark.parametrize("pod", pods())
def test_a_pod_meets_the_restricted_profile(pod: dict[str, Any]) -> None:
    context = pod["securityContext"]
    assert context["runAsNonRoot"] is True
    assert context["seccompProfile"]["type"] in ("RuntimeDefault", "Localhost")
    assert not any("hostPath" in volume for volume in pod["volumes"])
    for container in pod["containers"]:
        own = container["securityContext"]
        assert own["allowPrivilegeEscalation"] is False
        assert own["capabilities"] == {"drop": ["ALL"]}
        assert own["readOnlyRootFilesystem"] is True


def test_the_landlock_level_is_asked_for_where_no_profile_is_given() -> None:
    for parameter in pods():
        pod = parameter.values[0]
        asked = {"name": "CELLWRIGHT_SANDBOX", "value": "landlock"} in pod["containers"][0].get("env", [])
        assert asked == (pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault")


def commands() -> list[Any]:
    """Every command line of a gateway in these files."""
    found = {"Dockerfile": json.loads(re.findall(r"^CMD (.*)", DOCKERFILE, re.M)[0])}
    found["compose"] = COMPOSE["services"]["gateway"]["command"]
    unit = (CLONE / "deploy" / "cellwright.service").read_text()
    found["systemd"] = shlex.split(re.findall(r"^ExecStart=\S+ (.*)", unit, re.M)[0])
    return [pytest.param(command, id=name) for name, command in found.items()]


@pytest.mark.parametrize("command", commands())
def test_a_command_has_options_that_there_are(command: list[str]) -> None:
    assert command[0] == "gateway"
    given = {word.removeprefix("--").replace("-", "_") for word in command if word.startswith("--")}
    assert given <= set(GatewayOptions.__dataclass_fields__)
    assert {"http", "config"} < given


def test_the_image_has_what_is_downloaded_for_it_and_what_it_copies() -> None:
    assert re.findall(r"^ARG EXTRAS=(.*)", DOCKERFILE, re.M) == [",".join(image.EXTRAS)]
    copied = {word for line in re.findall(r"^COPY ([^-].*) \S+$", DOCKERFILE, re.M) for word in line.split()}
    assert copied - {"wheels*"} == set(image.SENT) - {"Dockerfile", ".dockerignore"}


def test_compose_hands_in_directories_that_are_here() -> None:
    for name, service in COMPOSE["services"].items():
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert source in COMPOSE["volumes"] or (CLONE / source).is_dir(), name


def test_compose_is_read_by_docker() -> None:
    if (
        subprocess.run(["docker", "compose", "version"], capture_output=True).returncode
        if shutil.which("docker")
        else 1
    ):
        pytest.skip("`docker compose` is not installed")
    environ = os.environ | {"DATABASE_PASSWORD": "x", "GATEWAY_TOKEN": "x"}
    command = ["docker", "compose", "--file", str(CLONE / "compose.yaml"), "config", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, env=environ)
    assert done.returncode == 0, done.stderr


def test_systemd_knows_every_line_of_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "cellwright.service"
    text = (CLONE / "deploy" / "cellwright.service").read_text()
    unit.write_text(text.replace("/opt/cellwright/bin/cellwright", sys.executable))  # it must be there
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
