"""Headers of a request that guest code never chooses, whoever makes the request."""

from __future__ import annotations

# Of the connection, which only the client knows; of who asks; and those by which servers choose another route.
_CONTROL = frozenset(
    """host connection content-length transfer-encoding keep-alive te trailer upgrade expect via cookie set-cookie
    cookie2 content-encoding http2-settings forwarded x-forwarded-for x-forwarded-host x-forwarded-server x-real-ip
    x-remote-user x-host x-original-host x-original-url x-rewrite-url x-http-method-override x-http-method
    x-method-override
    """.split()
)


def is_control_header(name: str) -> bool:
    """Whether a header belongs to the connection or to proxies, says who asks, or has the request routed elsewhere."""
    name = name.strip().lower().replace("_", "-")
    return name in _CONTROL or name.startswith("proxy-")
