"""`cellwright models` as a user runs it. No network: what is pulled here is only what is there already."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.models.conftest import pulled

from cellwright.models import QWEN
from cellwright.settings import KEY_VARIABLES, Settings

NO_KEYS = {variable: "" for variables in KEY_VARIABLES.values() for variable in variables}


def models(*args: str, cache: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cellwright", "models", *args],
        env={**os.environ, **NO_KEYS, "CELLWRIGHT_CACHE": str(cache), "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def place(cache: Path, size: int) -> Path:
    """A file of that size where the model is kept; all zeros, which the disk does not hold."""
    path = QWEN.path(Settings(cache_dir=cache, state_dir=cache))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)
    return path


def test_the_list_says_the_default_and_why_and_what_is_missing(tmp_path: Path) -> None:
    done = models(cache=tmp_path)
    assert done.returncode == 0
    assert "no API key is set: using the embedded model (local)" in done.stdout
    assert "not pulled (1.1 GB)" in done.stdout
    assert "→ cellwright models pull" in done.stdout
    assert "none is set" in done.stdout
    assert "\x1b[" not in done.stdout
    assert done.stderr == ""


def test_keys_are_told_by_the_names_of_their_providers_only(tmp_path: Path) -> None:
    for args in ((), ("--json",)):
        done = models(*args, cache=tmp_path, ANTHROPIC_API_KEY="sk-secret-1", GROQ_API_KEY="sk-secret-2")
        assert "sk-secret" not in done.stdout + done.stderr
        assert "anthropic" in done.stdout
        assert "groq" in done.stdout
        assert "a key for anthropic is set: using anthropic:" in done.stdout


def test_json_tells_the_same(tmp_path: Path) -> None:
    told = json.loads(models("--json", cache=tmp_path, MISTRAL_API_KEY="x").stdout)
    assert told["default"]["name"].startswith("mistral:")
    assert told["keys"] == ["mistral"]
    assert (told["local"]["state"], told["local"]["ready"]) == ("not pulled", False)
    assert told["local"]["path"] == str(tmp_path / "models" / QWEN.name)
    assert (told["local"]["of_bytes"], told["local"]["sha256"]) == (QWEN.size, QWEN.sha256)


def test_a_file_of_the_right_size_is_pulled_and_another_is_damaged(tmp_path: Path) -> None:
    path = place(tmp_path, QWEN.size)
    assert f"pulled, 1.1 GB, in {path}" in models(cache=tmp_path).stdout
    place(tmp_path, 1000)
    done = models(cache=tmp_path)
    assert f"has 1000 bytes and not {QWEN.size}" in done.stdout
    assert "→ cellwright models pull" in done.stdout


@pytest.mark.slow
def test_a_model_that_is_here_is_checked_and_its_path_printed() -> None:
    weights = pulled()
    cache = weights.parent.parent
    done = models("pull", cache=cache)
    assert (done.returncode, done.stdout) == (0, f"{weights}\n")
    assert done.stderr == f"the model is here and its hash is right: {weights}\n"
    quiet = models("pull", "--quiet", cache=cache)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_a_pull_that_cannot_be_kept_is_one_line_and_exit_code_4(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file in the place of the directory")
    done = models("pull", cache=tmp_path)
    assert done.returncode == 4
    assert done.stderr.startswith(f"cellwright: {tmp_path / 'models'} cannot be written: ")
    assert len(done.stderr.splitlines()) == 1


def test_removing_says_what_was_freed(tmp_path: Path) -> None:
    path = place(tmp_path, QWEN.size)
    done = models("rm", cache=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"removed {path}: 1.1 GB freed\n")
    assert not path.exists()
    again = models("rm", cache=tmp_path)
    assert (again.returncode, again.stdout) == (0, "the embedded model is not here\n")


def test_help_has_examples_and_a_wrong_word_is_exit_code_2(tmp_path: Path) -> None:
    told = models("--help", cache=tmp_path).stdout
    assert "cellwright models pull" in told
    assert "cellwright models --json" in told
    wrong = models("push", cache=tmp_path)
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)
