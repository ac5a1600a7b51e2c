"""The servers that these tests talk to, and the models that talk to them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from tests.models.wire.aimock import Aimock, installed
from tests.models.wire.tap import Tap, listening

from cellwright.doors import Model
from cellwright.models import open_model

KEY = "sk-fake-0a1b2c3d4e5f6a7b8c9d"

Opened = Callable[..., Model]


@pytest.fixture(scope="session")
def package() -> Path:
    """Tried once: without a network npm takes two minutes to say so."""
    return installed()


@pytest.fixture(scope="session")
def aimock(package: Path) -> Iterator[Aimock]:
    server = Aimock(package)
    yield server
    server.close()


@pytest.fixture(scope="session")
def strict_aimock(package: Path) -> Iterator[Aimock]:
    """One that lets in only those who have another key than ours."""
    server = Aimock(package, keys="sk-another-key-than-ours")
    yield server
    server.close()


@pytest.fixture
async def tap(aimock: Aimock) -> AsyncIterator[Tap]:
    async with listening(Tap(aimock.port)) as server:
        yield server


@pytest.fixture
async def opened(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Opened]:
    """`opened(name, url)`: the model of that name as users get it, but for its address. "at" is the URL's own name."""
    models: list[Model] = []

    def open_at(name: str, url: str) -> Model:
        for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "GROQ_API_KEY", "OLLAMA_API_KEY"):
            monkeypatch.setenv(variable, KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("OLLAMA_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("GROQ_BASE_URL", url)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", url)
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAFAKEFAKEFAKEFAKE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
        monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
        model = open_model(f"{url}/v1#qwen" if name == "at" else name)
        models.append(model)
        return model

    yield open_at
    for model in models:
        await model.close()
