"""`cellwright stubs` as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SHOP = '''
class Till:
    """Counts."""
    def pay(self, amount: int) -> int:
        """Adds an amount."""
        return amount
till = Till()
'''
SPEC = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1"},
    "paths": {
        "/pets": {
            "get": {
                "operationId": "listPets",
                "tags": ["pets"],
                "summary": "List pets",
                "responses": {
                    "200": {
                        "description": "ok",
                        "content": {
                            "application/json": {
                                "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}}
                            }
                        },
                    }
                },
            }
        }
    },
    "components": {"schemas": {"Pet": {"type": "object", "properties": {"name": {"type": "string"}}}}},
}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "pets.json").write_text(json.dumps(SPEC))
    return tmp_path


def stubs(here: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cellwright", "stubs", *args],
        cwd=here,
        env={**os.environ, "CELLWRIGHT_CACHE": str(here / "cache")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_objects_are_written_as_files_and_counted(here: Path) -> None:
    done = stubs(here, "out", "--scope", "shop:till")
    assert (done.returncode, done.stdout) == (0, "out/servers/till: 1 function\n")
    assert "def pay(amount: int) -> int:" in (here / "out/servers/till/pay.pyi").read_text()


def test_an_api_is_written_and_told_as_json(here: Path) -> None:
    done = stubs(here, "out", "--openapi", "pets=pets.json", "--scope", "shop:till", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["functions"] == {"till": 1, "pets": 1}
    assert told["failed"] == {}
    (file,) = (here / "out/servers/pets").rglob("*.pyi")
    assert "class Pet:" in file.read_text()


@pytest.mark.slow
def test_a_source_that_fails_is_one_line_and_the_others_are_written(here: Path) -> None:
    done = stubs(here, "out", "--openapi", "gone=nowhere.json", "--scope", "shop:till")
    assert done.returncode == 1
    assert [line for line in done.stderr.splitlines() if "nowhere.json" in line]
    assert (here / "out/servers/till/pay.pyi").is_file()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["out"], 2, "there is nothing to write; give --scope, --openapi, --mcp"),
        (["out", "--scope", "shop:nothing"], 2, "shop:nothing"),
        (["shop.py/below", "--scope", "shop:till"], 4, "cannot write to shop.py/below"),
    ],
)
def test_wrong_use_is_one_line(here: Path, args: list[str], code: int, words: str) -> None:
    done = stubs(here, *args)
    assert done.returncode == code
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
