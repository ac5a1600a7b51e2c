"""The embedded model's file, for tests that ask the real model."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from tests.layers import skip_for_lack_of

from cellwright.models import QWEN, pull_weights
from cellwright.settings import Settings


class Heard:
    """Keeps what a pull says."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.done = 0

    def say(self, line: str) -> None:
        self.lines.append(line)

    def at(self, done: int, total: int) -> None:
        assert self.done < done <= total or done < self.done  # forward, or begun anew
        self.done = done


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture(scope="session")
def weights() -> Path:
    return pulled()


@pytest.fixture(scope="session")
def engine_package() -> None:
    """The package of the embedded model's engine, which needs a library that slim images of containers lack."""
    try:
        importlib.import_module("xllamacpp")
    except ModuleNotFoundError:
        raise
    except ImportError as error:
        skip_for_lack_of(f"{str(error).partition(':')[0]}, which the embedded model needs")


def pulled() -> Path:
    """The file in the user's cache, pulled where it is not there yet (1.1 GB, once)."""
    settings = Settings.from_environment()
    held = QWEN.held(settings)
    return held.path if held.state == "pulled" else pull_weights(settings, progress=Heard())
