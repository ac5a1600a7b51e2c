"""No key that the host was given is in anything that leaves it: one run of an agent, and a look at all that is left."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.guard.canaries import FORMS, Canaries, Find
from tests.guard.canary_program import PROGRAM
from tests.guard.canary_upstream import EchoingUpstream
from tests.guard.canary_world import CONTROL
from tests.mcp.hosting import free_port, hosted

ROOT = Path(__file__).parents[2]
ENVIRONMENT = "ANTHROPIC_API_KEY OPENAI_API_KEY AWS_SECRET_ACCESS_KEY GITHUB_TOKEN DATABASE_URL HARMLESS_NAME".split()
PLACES = {
    "requests": "what the model was asked",
    "events": "what a listener heard",
    "results": "results and outcomes",
    "errors": "tracebacks",
    "logs": "log records",
    "questions": "what a person was asked",
    "stubs": "search, stubs and docs",
    "rows": "the store, read",
    "workspace": "the workspace",
    "processes": "the process list",
    "guest memory": "memory of guests and zygotes",
}


@dataclass(frozen=True)
class Run:
    """What is left of a run of the program."""

    place: Path
    keys: Canaries
    stdout: bytes
    stderr: bytes

    def finds(self, place: str) -> list[Find]:
        match place:
            case "stdout" | "stderr":
                return list(self.keys.within(getattr(self, place), place))
            case "store":
                return [find for file in self.place.glob("agents.db*") for find in self.keys.below(file)]
            case "audit" | "export" | "temporary files" | "cache":
                return list(self.keys.below(self.place / place))
            case _:
                return list(self.keys.below(self.place / "trove" / place))


@pytest.fixture(scope="module", params=["some", pytest.param("whole", marks=pytest.mark.slow)])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """With some of the clients and connectors, or with all."""
    place = tmp_path_factory.mktemp("canaries")
    seed = uuid.uuid4().hex
    keys, port = Canaries(seed), free_port()
    url = f"http://127.0.0.1:{port}"
    for name in ("temporary files", "state", "cache"):
        (place / name).mkdir()
    key = place / "state" / "checkpoints.key"
    key.write_text(keys["checkpoint key"].ljust(32, "x"))
    key.chmod(0o600)
    environ = {name: keys[f"variable {name}"] for name in ENVIRONMENT}
    environ |= {
        "OPENAI_BASE_URL": f"{url}/llm",
        "ANTHROPIC_BASE_URL": f"{url}/llm",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    environ |= {"CELLWRIGHT_STATE": str(place / "state"), "CELLWRIGHT_CACHE": str(place / "cache")}
    environ |= {"PATH": os.environ["PATH"], "HOME": str(place), "TMPDIR": str(place / "temporary files")}
    with hosted(EchoingUpstream(keys, url), port):
        command = [sys.executable, "-m", PROGRAM, str(place), seed, url, request.param]
        done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    for name in (place / "names").read_text().splitlines():
        assert keys[name]  # from now on it is known by its name
    return Run(place=place, keys=keys, stdout=done.stdout, stderr=done.stderr)


FILES = ("stdout", "stderr", "store", "audit", "export", "temporary files", "cache")


def test_the_run_went_as_it_was_meant_to(run: Run) -> None:
    unexpected = run.place / "trove" / "unexpected"
    assert not unexpected.exists(), unexpected.read_text()


@pytest.mark.parametrize("place", [*PLACES, *FILES])
def test_no_key_is_there(run: Run, place: str) -> None:
    finds = [find for find in run.finds(place) if find.canary != CONTROL]
    assert not finds, "\n".join(dict.fromkeys(map(str, finds)))


@pytest.mark.parametrize("place", [*PLACES, *FILES])
def test_a_key_that_is_told_on_purpose_is_found_there(run: Run, place: str) -> None:
    if place == "guest memory" and (run.place / "trove" / "unreadable").exists():
        pytest.skip("this user may not read the memory of guests")
    assert any(find.canary == CONTROL for find in run.finds(place))


@pytest.mark.parametrize("form", FORMS)
def test_a_key_is_found_in_each_form(form: str) -> None:
    keys = Canaries("seed")
    written = FORMS[form](keys["one"].encode())
    assert (form, "one") in [(find.form, find.canary) for find in keys.within(b"x " + written + b" y", "here")]
