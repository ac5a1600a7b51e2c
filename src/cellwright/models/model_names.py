"""Models by name: `open_model("anthropic:claude-…")`. Reads no environment, and loads a provider when it is named.

provider:model             "anthropic:…", "openai:…", "google:…", "bedrock:…", "groq:…", "mistral:…", "ollama:…", and
                           every other that pydantic-ai knows
http://host:port/v1#model  a server that speaks OpenAI's chat completions
local                      the embedded model
None                       `default_model`: the first provider whose key is set, else "local"
"""

from __future__ import annotations

import difflib
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from cellwright.doors import Model
from cellwright.errors import ModelMissing, UsageError
from cellwright.redaction import url_holds_key
from cellwright.settings import KEY_VARIABLES, Settings, install_command, key_of

if TYPE_CHECKING:
    from pydantic_ai.models import Model as ProviderLayer
    from pydantic_ai.providers import Provider

DEFAULTS: Mapping[str, str] = {
    "anthropic": "anthropic:claude-sonnet-5-5",
    "openai": "openai:gpt-6.1-sol",
    "google": "google:gemini-3.8-flash",
    "mistral": "mistral:codestral-latest",
    "groq": "groq:openai/gpt-oss-120b",
    "deepseek": "deepseek:deepseek-v4-pro",
    "bedrock": "bedrock:global.anthropic.claude-sonnet-5-5",
}
"""The default model of each provider, in the order in which keys are looked for."""

EARLIER = {"google-gla": "google", "google-vertex": "google-cloud"}  # what pydantic-ai called them before
OLLAMA = "http://localhost:11434/v1"  # where it listens unless OLLAMA_BASE_URL says otherwise


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelChoice:
    """A model's name, and why it is this one, in one line for people."""

    name: str
    why: str


def default_model(settings: Settings) -> ModelChoice:
    for provider, name in DEFAULTS.items():
        if provider in settings.keys:
            return ModelChoice(name=name, why=f"a key for {provider} is set: using {name}")
    return ModelChoice(name="local", why="no API key is set: using the embedded model (local)")


def open_model(name: str | None = None, *, settings: Settings | None = None) -> Model:
    """The model of that name. Nothing is sent until it is asked.

    A key comes from the provider's own variable (ANTHROPIC_API_KEY, …). A server named by its URL gets OPENAI_API_KEY
    if that is set and the way there is private: https, or this machine. Without it a server on this machine, or one on
    plain http, gets a placeholder.

    Raises `UsageError` for an unknown name, `ModelMissing` for a missing package or key.
    """
    if name is None:
        name = default_model(settings or Settings.from_environment()).name
    # first of all, because other errors repeat the name
    if name.lower().startswith(("http:", "https:")) and url_holds_key(name):
        raise UsageError("a model's URL holds no password and no key: set OPENAI_API_KEY instead")
    if name == "local":
        from cellwright.models.embedded_model import EmbeddedModel

        return EmbeddedModel()
    try:
        from cellwright.models.provider import ProviderModel

        return ProviderModel(name, model=_at(name) if name.startswith(("http://", "https://")) else _known(name))
    except ImportError as error:
        raise ModelMissing(f"{name} needs {_package(error)}") from None


def _package(error: ImportError) -> str:
    """The missing package, and how to install it. pydantic-ai's text names both, Python's only the package."""
    told = re.search(r"install (?:the )?`([\w.-]+)`", str(error))
    extra = re.search(r"pydantic-ai-slim\[([\w-]+)\]", str(error))
    package = told[1] if told else (error.name or "pydantic_ai").partition(".")[0]
    others = extra is not None and extra[1] not in DEFAULTS
    install = f"pip install '{extra[0]}'" if extra and others else install_command("models")
    return f"the package {package}: {install}"


def _known(name: str) -> ProviderLayer:
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers import infer_provider_class

    provider, colon, model = name.partition(":")
    provider = EARLIER.get(provider, provider)
    if name == "test":
        return infer_model(name)
    if not colon or not model:
        raise _unknown(name)
    try:
        infer_provider_class(provider)
    except ValueError:
        raise _unknown(name) from None
    problem = ""
    try:
        return infer_model(f"{provider}:{model}", provider_factory=_provider)
    except (UserError, ValueError) as error:
        problem = str(error)
    raise _unset(name, provider, problem)


def _provider(provider: str) -> Provider[Any]:
    """pydantic-ai's provider. Bedrock's retries by itself, Google Cloud's raises its own error, Ollama has a URL."""
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.providers import infer_provider

    if provider == "bedrock":
        return _bedrock()
    if provider == "google-cloud":
        from google.auth.exceptions import GoogleAuthError

        try:
            return infer_provider(provider)
        except GoogleAuthError:
            raise ValueError("Set the `GOOGLE_APPLICATION_CREDENTIALS` environment variable") from None
    if provider == "ollama":
        from pydantic_ai.providers.ollama import OllamaProvider

        try:
            return OllamaProvider()
        except UserError:  # no OLLAMA_BASE_URL
            return OllamaProvider(base_url=OLLAMA)
    return infer_provider(provider)


def _bedrock() -> Provider[Any]:
    """Bedrock with a client that makes one attempt. boto3 finds AWS_BEARER_TOKEN_BEDROCK and other credentials."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import NoRegionError
    from pydantic_ai.providers.bedrock import BedrockProvider

    session: Any = boto3.Session()
    once = Config(retries={"total_max_attempts": 1, "mode": "standard"}, read_timeout=300, connect_timeout=60)
    try:
        client = session.client("bedrock-runtime", config=once)
    except NoRegionError:
        raise ValueError("Set the `AWS_DEFAULT_REGION` environment variable") from None
    return BedrockProvider(bedrock_client=client)


def _unset(name: str, provider: str, problem: str) -> ModelMissing:
    """The missing variable, from pydantic-ai's message: "Set the `X` environment variable …"."""
    told = re.findall(r"`([A-Z][A-Z0-9_]{3,})`", problem)
    variables = told[:1] or list(KEY_VARIABLES.get(provider, ()))[:1]
    if variables:
        return ModelMissing(f'{name} needs {variables[0]} to be set; or use model="local", which needs no key')
    return ModelMissing(f"{name}: {problem.partition('. ')[0]}")


def _unknown(name: str) -> UsageError:
    from pydantic_ai.models import known_model_names

    names = ["local", *(known for known in known_model_names() if ":" in known and not known.startswith("gateway/"))]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if ":" not in name:  # the provider was left out
        near = [known for known in names if known.endswith(f":{name}")][:3] or near
    if near:
        return UsageError(f'model "{name}" is not known; did you mean {" or ".join(map(repr, near))}?')
    forms = '"provider:model" as in "anthropic:claude-sonnet-5-5", "http://host:8000/v1#model", or "local"'
    return UsageError(f'model "{name}" is not known; give {forms}')


def _at(name: str) -> ProviderLayer:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    url = _url(name)
    if not url.hostname or not url.fragment:
        raise UsageError(f'model "{name}": name the model after a #, as in "http://localhost:8000/v1#model-name"')
    here = _loopback(url.hostname)
    key = key_of("openai") if here or url.scheme == "https" else None  # never in clear over a network
    if key is None and url.scheme == "https" and not here:
        raise ModelMissing(f"{name} needs OPENAI_API_KEY to be set: the key for that server")
    provider = OpenAICompatibleProvider(url.netloc, base_url=url._replace(fragment="").geturl(), api_key=key)
    return OpenAIChatModel(url.fragment, provider=provider)


def _url(name: str) -> SplitResult:
    try:
        url = urlsplit(name)
        _ = url.port  # looked at only now, and may be no port
    except ValueError as error:
        raise UsageError(f'model "{name}" is no URL: {error}') from None
    return url


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
