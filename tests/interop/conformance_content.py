"""The small pieces of content that the conformance server hands out."""

from __future__ import annotations

import mcp_types as types

# One red pixel, and one silent sample.
IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
AUDIO = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="


def text(words: str) -> types.TextContent:
    return types.TextContent(text=words)


def image() -> types.ImageContent:
    return types.ImageContent(data=IMAGE, mime_type="image/png")


def embedded(uri: str, words: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    return types.EmbeddedResource(
        resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    )  # fmt: skip
