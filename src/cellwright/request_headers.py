"""Headers of a request that guest code never chooses, whoever makes the request."""

from __future__ import annotations

import re

# Of the connection, which only the client knows; of who asks; and those by which servers choose another route.
_CONTROL = frozenset(
    """host connection content-length transfer-encoding keep-alive te trailer upgrade expect via cookie set-cookie
    cookie2 content-encoding http2-settings forwarded max-forwards alt-svc front-end-https
    x-real-ip x-client-ip true-client-ip cf-connecting-ip fastly-client-ip x-cluster-client-ip x-originating-ip
    x-remote-ip x-remote-addr x-remote-user remote-user x-auth-request-user x-client-cert
    x-host x-original-host x-original-url x-original-method x-rewrite-url x-http-method-override x-http-method
    x-method-override x-sendfile
    """.split()
)
_PREFIXES = ("proxy-", "x-forwarded-", "x-envoy-", "x-accel-", "x-ssl-client-", "ssl-client-")
_NAME = re.compile(r"[a-z0-9!#$%&'*+.^`|~-]+")


def is_control_header(name: str) -> bool:
    """Whether a header belongs to the connection or to proxies, says who asks, or has the request routed elsewhere.

    So does what is no name of a header: `:authority`, or a name with a line break.
    """
    name = name.strip().lower().replace("_", "-")
    return name in _CONTROL or name.startswith(_PREFIXES) or _NAME.fullmatch(name) is None
