"""Models by name: the right client for each, and one clear line for what is no name or not here yet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.models import known_model_names

from cellwright.errors import ModelMissing, UsageError
from cellwright.models import DEFAULTS, ProviderModel, default_model, open_model
from cellwright.settings import KEY_VARIABLES, Settings, install_command, key_of

FAKE = "sk-fake-0a1b2c3d4e5f6a7b8c9d"
OTHER_VARIABLES = ("OPENAI_BASE_URL", "OLLAMA_BASE_URL", "AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_REGION")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*OTHER_VARIABLES, *(name for names in KEY_VARIABLES.values() for name in names)):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")


def settings(**environment: str) -> Settings:
    return Settings.from_environment({"HOME": "/h"} | environment)


def behind(name: str) -> Any:
    """pydantic-ai's model, which is nobody's business outside this test."""
    found = open_model(name)
    assert isinstance(found, ProviderModel)
    return found._model  # pyright: ignore[reportPrivateUsage]


# --- the default ---


def test_without_a_key_it_is_the_embedded_model() -> None:
    choice = default_model(settings())
    assert (choice.name, choice.why) == ("local", "no API key is set: using the embedded model (local)")


@pytest.mark.parametrize(
    ("variable", "name"), [(variable, DEFAULTS[p]) for p, names in KEY_VARIABLES.items() for variable in names]
)
def test_a_key_chooses_its_provider_and_is_not_told(variable: str, name: str) -> None:
    found = settings(**{variable: FAKE})
    choice = default_model(found)
    assert choice.name == name
    assert name in choice.why
    assert FAKE not in repr(found) + repr(choice)


def test_the_first_of_several_keys_decides() -> None:
    assert default_model(settings(OPENAI_API_KEY=FAKE, ANTHROPIC_API_KEY=FAKE)).name == DEFAULTS["anthropic"]


def test_an_empty_key_is_none() -> None:
    assert settings(OPENAI_API_KEY="").keys == frozenset()
    assert key_of("openai", {"OPENAI_API_KEY": ""}) is None


def test_every_default_is_a_model_that_pydantic_ai_knows() -> None:
    assert set(DEFAULTS.values()) - set(known_model_names()) == set()
    assert DEFAULTS.keys() == KEY_VARIABLES.keys()


def test_no_name_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", FAKE)
    assert open_model().name == DEFAULTS["mistral"]
    assert open_model(None, settings=settings(MISTRAL_API_KEY=FAKE)).name == DEFAULTS["mistral"]


# --- the right client ---


@pytest.mark.parametrize(
    ("name", "variable", "kind", "model", "host"),
    [
        ("anthropic:claude-opus-5-5", "ANTHROPIC_API_KEY", "AnthropicModel", "claude-opus-5-5", "api.anthropic.com"),
        ("openai:gpt-6.1-sol", "OPENAI_API_KEY", "OpenAIResponsesModel", "gpt-6.1-sol", "api.openai.com"),
        ("openai-chat:gpt-4.1", "OPENAI_API_KEY", "OpenAIChatModel", "gpt-4.1", "api.openai.com"),
        ("google:gemini-2.5-pro", "GOOGLE_API_KEY", "GoogleModel", "gemini-2.5-pro", "googleapis.com"),
        ("google-gla:gemini-2.5-pro", "GEMINI_API_KEY", "GoogleModel", "gemini-2.5-pro", "googleapis.com"),
        ("groq:openai/gpt-oss-120b", "GROQ_API_KEY", "GroqModel", "openai/gpt-oss-120b", "api.groq.com"),
        ("mistral:codestral-latest", "MISTRAL_API_KEY", "MistralModel", "codestral-latest", "api.mistral.ai"),
        ("deepseek:deepseek-v4-pro", "DEEPSEEK_API_KEY", "OpenAIChatModel", "deepseek-v4-pro", "api.deepseek.com"),
    ],
)
def test_a_name_opens_its_providers_client(
    name: str, variable: str, kind: str, model: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, FAKE)
    found = behind(name)
    assert (type(found).__name__, found.model_name) == (kind, model)
    assert host in found.base_url
    assert open_model(name).name == name
    assert FAKE not in repr(open_model(name))


def test_bedrock_makes_one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
    found = behind("bedrock:global.anthropic.claude-sonnet-5-5")
    assert type(found).__name__ == "BedrockConverseModel"
    assert "bedrock-runtime.eu-north-1" in found.base_url
    assert found.client.meta.config.retries["total_max_attempts"] == 1


def test_ollama_is_looked_for_where_it_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    assert behind("ollama:qwen3-coder").base_url == "http://localhost:11434/v1/"
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://127.0.0.1:7777/v1")
    assert behind("ollama:qwen3-coder").base_url == "http://127.0.0.1:7777/v1/"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("http://localhost:8000/v1#qwen/coder", FAKE),
        ("http://127.0.0.1:8000/v1#m", FAKE),
        ("http://[::1]:8000/v1#m", FAKE),
        ("https://models.example.com/v1#m", FAKE),
        ("http://models.example.com/v1#m", "api-key-not-set"),  # the key would go over the network in clear
    ],
)
def test_a_url_gets_the_key_where_the_way_is_private(name: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", FAKE)
    found = behind(name)
    address, _, model = name.partition("#")
    assert (found.base_url, found.model_name, found.client.api_key) == (f"{address}/", model, key)


def test_a_server_on_this_machine_needs_no_key() -> None:
    assert behind("http://localhost:8000/v1#m").client.api_key == "api-key-not-set"


def test_local_is_the_embedded_model() -> None:
    assert (type(open_model("local")).__name__, open_model("local").name) == ("EmbeddedModel", "local")


# --- what is no name, and what is not here ---


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("antropic:claude-sonnet-5-5", "did you mean 'anthropic:claude-sonnet-5-5'"),
        ("claude-sonnet-5-5", "did you mean 'anthropic:claude-sonnet-5-5'"),
        ("loca", "did you mean 'local'"),
        ("", 'give "provider:model"'),
        ("xyzzy", 'give "provider:model"'),
        ("anthropic:", "is not known"),
        ("http://localhost:8000/v1", "name the model after a #"),
        ("http://[::1/v1#m", "is no URL"),
        ("http://localhost:99999999/v1#m", "is no URL"),
        ("http://me:secret@localhost/v1#m", "holds no password"),
    ],
)
def test_what_is_no_name_is_told_with_what_is_near(name: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_model(name)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("anthropic:claude-sonnet-5-5", "ANTHROPIC_API_KEY"),
        ("openai:gpt-6.1-sol", "OPENAI_API_KEY"),
        ("google:gemini-2.5-pro", "GOOGLE_API_KEY"),
        ("groq:openai/gpt-oss-120b", "GROQ_API_KEY"),
        ("mistral:codestral-latest", "MISTRAL_API_KEY"),
        ("bedrock:global.anthropic.claude-sonnet-5-5", "AWS_DEFAULT_REGION"),
        ("https://models.example.com/v1#m", "OPENAI_API_KEY"),
        ("openrouter:some/model", "OPENROUTER_API_KEY"),
    ],
)
def test_a_missing_key_is_named(name: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ModelMissing, match=f"needs {variable} to be set") as caught:
        open_model(name)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


WITHOUT = """
import sys
sys.modules[{package!r}] = None  # as if it were not installed
from cellwright.errors import ModelMissing
from cellwright.models import open_model
try:
    open_model({name!r})
except ModelMissing as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "name", "said"),
    [
        ("pydantic_ai", "anthropic:x", f"anthropic:x needs the package pydantic_ai: {install_command('models')}"),
        ("anthropic", "anthropic:x", f"anthropic:x needs the package anthropic: {install_command('models')}"),
        ("openai", "http://localhost:1/v1#x", f"x needs the package openai: {install_command('models')}"),
        ("boto3", "bedrock:x", f"bedrock:x needs the package boto3: {install_command('models')}"),
        ("cohere", "cohere:x", "cohere:x needs the package cohere: pip install 'pydantic-ai-slim[cohere]'"),
    ],
)
def test_a_missing_package_is_named_with_how_to_get_it(package: str, name: str, said: str, tmp_path: Path) -> None:
    code = WITHOUT.format(package=package, name=name)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip().endswith(said), done.stderr


def test_naming_a_model_loads_nothing_until_it_is_opened(tmp_path: Path) -> None:
    code = "import sys, cellwright.models as m; m.default_model; print([x for x in sys.modules if 'pydantic' in x])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr
