"""Errors of providers as our errors, in one line, without any part of the request and without keys.

Knows pydantic-ai's errors. They are neither cause nor context of ours, because they refer to the client, which holds
the key.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, cast

from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    UserError,
)
from pydantic_ai.models import Model

from cellwright.connectors import Redactor
from cellwright.errors import ModelBusy, ModelError, ModelRefused
from cellwright.redaction import clean
from cellwright.settings import KEY_VARIABLES, key_of
from cellwright.short_texts import cut, named_error, one_line, whole_words

LONGEST = 300
READ = 8 * LONGEST  # characters of a message that are searched for keys
BUSY = frozenset({408, 409, 425, 429})

SDKS = {
    "anthropic": "AnthropicError",
    "botocore.exceptions": "BotoCoreError",
    "botocore.parsers": "ResponseParserError",
    "google.auth.exceptions": "GoogleAuthError",
    "google.genai.errors": "APIError",
    "groq": "GroqError",
    "httpx": "HTTPError",
    "httpx2": "HTTPError",
    "openai": "OpenAIError",
}
"""The errors of the providers' own packages. pydantic-ai translates most of them."""

ON_THE_WAY = ("botocore.parsers", "httpx", "httpx2")  # their errors are those of the connection


def raised() -> tuple[type[Exception], ...]:
    """The errors that a request may raise: pydantic-ai's, and those of the loaded packages."""
    kinds = [getattr(sys.modules.get(module), name, None) for module, name in SDKS.items()]
    return (AgentRunError, UserError, *(kind for kind in kinds if kind is not None))


def failed(name: str, error: Exception, model: Model) -> ModelError:
    """Our error for `error`, with the provider's message and what to do next."""
    status = error.status_code if isinstance(error, ModelHTTPError) else None
    words = _one_line(_words(error), model)
    text = f"{name}: {status}: {words}" if status is not None else f"{name}: {words}"
    if _will_not(error, status):
        return ModelRefused(text + _advice(name, error))
    return ModelBusy(text, retry_after_s=error.retry_after if isinstance(error, ModelAPIError) else None)


def unreadable(name: str, error: Exception, model: Model) -> ModelBusy:
    """Our error for one that a package raised over a reply that is not of its form."""
    return ModelBusy(f"{name}: its reply could not be read ({_one_line(named_error(error), model)})")


def about_temperature(error: Exception) -> bool:
    """Whether the request was refused because it named a temperature."""
    status = error.status_code if isinstance(error, ModelHTTPError) else None
    return status in (400, 422) and "temperature" in _words(error).lower()


def _will_not(error: Exception, status: int | None) -> bool:
    if isinstance(error, UserError | ContentFilterError | ModelRequestRejectedError | ModelQuotaExceededError):
        return True
    if not isinstance(error, AgentRunError):  # of a package: no credentials, an address that it does not take
        return not type(error).__module__.startswith(ON_THE_WAY)
    return status is not None and 400 <= status < 500 and status not in BUSY


def _advice(name: str, error: Exception) -> str:
    match error:
        case ModelAuthenticationError():
            variables = KEY_VARIABLES.get(name.partition(":")[0], ())
            return f"; check {' or '.join(variables)}" if variables else "; check its key"
        case ModelNotFoundError() if isinstance(error, ModelHTTPError) and error.suggested_model_id:
            return f'; did you mean "{error.suggested_model_id}"?'
        case ModelContextWindowExceededError():
            return "; the conversation is larger than the model's window"
        case _:
            return ""


def _words(error: Exception) -> str:
    """The provider's short message. The rest of a body may repeat the request."""
    if isinstance(error, ModelAPIError) and (found := _message_in(error.body)):
        return found
    if isinstance(error, ModelHTTPError):
        known = (error.provider_error_type, error.provider_error_code)
        return next((word for word in known if word and not word.isdigit()), "no further word")
    return (error.message if isinstance(error, AgentRunError) else str(error)) or type(error).__name__


def _message_in(body: object) -> str:
    if isinstance(body, Mapping):
        fields = cast(Mapping[str, Any], body)
        for name in ("error", "message", "Message", "detail", "msg"):
            if found := _message_in(fields.get(name)):
                return found
        return ""
    if isinstance(body, list):
        return _message_in(cast(list[object], body)[0]) if body else ""
    if not isinstance(body, str) or body.lstrip().startswith("<"):  # a page is no message
        return ""
    try:
        return _message_in(json.loads(body)) if body.lstrip().startswith(("{", "[")) else body
    except ValueError:
        return ""


def _one_line(text: str, model: Model) -> str:
    text = whole_words(one_line(text), READ)
    known = Redactor()
    known.add(*_keys(model))
    return cut(clean(known.text(text)), LONGEST)


def _keys(model: Model) -> list[str]:
    """The keys of the client, as far as they can be found, and of the environment: a server may repeat them."""
    client: object = getattr(model.provider, "client", None)
    holders = (client, getattr(client, "_api_client", None), model.provider)
    names = ("api_key", "auth_token", "_api_key")
    found: list[object] = [getattr(holder, name, None) for holder in holders for name in names]
    found += [key_of(provider) for provider in KEY_VARIABLES]
    return [key for key in found if isinstance(key, str) and len(key) > 3]
