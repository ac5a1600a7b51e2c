"""Every attack names the layer that it is aimed at, and a command counts them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.attacks.report import LAYERS, cell_files, counts, files_of_tests, layer_of

HERE = Path(__file__).parent


def test_every_attack_names_its_layer() -> None:
    wrong: list[str] = []
    for path in (*cell_files(), *files_of_tests()):
        try:
            layer_of(path)
        except ValueError as error:
            wrong.append(str(error))
    assert not wrong, "\n".join(wrong)


def test_the_command_prints_each_layer_with_its_count() -> None:
    root = HERE.parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "tests.attacks"], cwd=root, capture_output=True, text=True, check=True, timeout=60
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    assert {line[0]: int(line[1]) for line in lines} == {
        **{layer: counts()[layer] for layer in LAYERS},
        "all": counts().total(),
    }


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "cells/odd.py",
            '"""Tries."""\n',
            r"odd\.py: write the layer .* `Layer: kernel` in its docstring; one of kernel",
        ),
        ("cells/odd.py", '"""Tries.\n\nLayer: moon\n"""\n', r"odd\.py: write the layer"),
        ("test_odd.py", "def test_x(): ...\n", r'test_odd\.py: write the layer .* LAYER = "binding" after its imports'),
    ],
)
def test_a_file_without_a_layer_is_told_what_to_write(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    with pytest.raises(ValueError, match=said):
        layer_of(path)
