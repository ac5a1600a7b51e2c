"""Errors of the SDK and its transports, translated to `UpstreamError` and its kinds: one line each.

It knows the classes of those errors, and no server.
"""

from __future__ import annotations

from typing import Any, cast

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, REQUEST_TIMEOUT, URL_ELICITATION_REQUIRED
from pydantic import ValidationError

from cellwright import short_texts
from cellwright.errors import CellwrightError, UpstreamError, UpstreamMissing, UpstreamRefused
from cellwright.schemas import as_list, as_object

RESOURCE_NOT_FOUND = -32002
_LONGEST = 1000


def one_line(text: str, longest: int = _LONGEST) -> str:
    """A text on one line, cut with a mark between two words: a key that the cut parts would not be redacted."""
    line = short_texts.one_line(text)
    return short_texts.cut_counted(line, len(short_texts.whole_words(line, longest)))


def leaf(error: BaseException) -> BaseException:
    """The first error inside groups of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def reason(error: BaseException) -> str:
    """Why a connection failed or broke, in a few words."""
    error = leaf(error)
    if isinstance(error, httpx2.HTTPStatusError):
        return f"it answered {error.response.status_code} {error.response.reason_phrase}".rstrip()
    if isinstance(error, httpx2.ConnectError):
        return "it cannot be reached"
    if isinstance(error, httpx2.TimeoutException | TimeoutError):
        return "it did not answer in time"
    if isinstance(error, httpx2.HTTPError):
        return f"the connection broke: {one_line(str(error)) or type(error).__name__}"
    if isinstance(error, FileNotFoundError):
        return f"{error.filename or 'the program'} is not installed here"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
        return "it ended before it was ready"
    if isinstance(error, ValidationError):
        return "it does not keep to the protocol: " + first_mistake(error)
    return one_line(str(error)) or type(error).__name__


def refusal(title: str, error: MCPError, status: int) -> Exception:
    """The error for a request that the server answered with an error."""
    text = f"{title}: {one_line(error.message)}"
    if error.code == REQUEST_TIMEOUT:
        return TimeoutError(text)
    if error.code == URL_ELICITATION_REQUIRED:
        return UpstreamError(f"{text}; open {_urls(error.data) or 'the page that it names'} first", body=error.data)
    # since 2026 a missing resource is an error of invalid arguments, with the URI in its data
    if error.code == RESOURCE_NOT_FOUND or (error.code == INVALID_PARAMS and "uri" in as_object(error.data)):
        return UpstreamMissing(text, body=error.data)
    return by_status(text, status, error.data)


def by_status(text: str, status: int, body: Any = None) -> UpstreamError:
    """The error for an HTTP status; a plain `UpstreamError` for 0 and for a status that is no error."""
    if status in (401, 403):
        return UpstreamRefused(f"{text} ({status}); check the key that this server is given", status=status, body=body)
    if status in (404, 410):
        return UpstreamMissing(f"{text} ({status})", status=status, body=body)
    if status >= 400:
        return UpstreamError(f"{text} ({status})", status=status, body=body)
    return UpstreamError(text, body=body)


def malformed(title: str, error: BaseException) -> Exception:
    """The error for an answer that breaks the protocol, or the tool's own output schema."""
    error = leaf(error)
    if isinstance(error, CellwrightError):
        return error
    cause: Any = error.__cause__
    if isinstance(error, ValidationError):
        said = f"the answer does not keep to the protocol: {first_mistake(error)}"
    elif hasattr(cause, "json_path"):  # jsonschema's, which the SDK asked
        where = str(cause.json_path).removeprefix("$").lstrip(".")
        said = f"the call was made, and its result does not fit the tool's own output schema: {where} {cause.message}"
    else:
        said = str(error) or type(error).__name__
    return UpstreamError(f"{title}: {one_line(said)}")


def first_mistake(error: ValidationError) -> str:
    """The first mistake, and where it is."""
    first = error.errors(include_url=False, include_input=False)[0]
    return one_line(f"{'.'.join(map(str, first['loc']))} {first['msg']}", 200)


def _urls(data: Any) -> str:
    urls = [as_object(asked).get("url") for asked in as_list(as_object(data).get("elicitations"))]
    return one_line(", ".join(str(url) for url in urls if url), 500)
