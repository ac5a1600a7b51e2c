"""`network` in the scope of a session: the requests of guest code, by any client or by itself, as host calls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from cellwright.errors import RequestRefused
from cellwright.guard.network import Network
from cellwright.guard.network_list import HttpTarget
from cellwright.guard.upstream_connection import (
    HEAD_BYTES,
    MOST_HEADERS,
    SAFE,
    HttpAnswer,
    HttpHeaders,
    UpstreamPool,
    end_to_end,
)
from cellwright.request_headers import is_control_header
from cellwright.scope import operation

NAME = "network"
_METHOD = re.compile(r"[A-Z][A-Z-]{0,31}")
_VALUE = re.compile(r"[\t -~\x80-\xff]*")
_OWN = frozenset(("cookie", "content-encoding"))  # a guest's own: no client of the host adds any to these requests

GivenHeaders = Mapping[str, str] | Sequence[tuple[str, str]]


class HostNetwork:
    """Ordinary clients (urllib, requests, httpx, pip) work too: their requests become calls of this."""

    def __init__(self, network: Network, upstream: UpstreamPool) -> None:
        self._network = network
        self._upstream = upstream

    @operation(reads=True, idempotent=True, outward=True, untrusted=True, selecting=["url"])
    async def fetch(self, url: str, headers: GivenHeaders = (), method: str = "GET") -> HttpAnswer:
        """Status, reason, headers and body for GET, HEAD or OPTIONS. Redirects are not followed."""
        target = self._target(url)
        if method not in SAFE:
            raise RequestRefused(f"fetch() makes {', '.join(SAFE)} and no {method[:20]!r}; use send()", status=405)
        return await self._upstream.request(method, target, _checked(headers), b"")

    @operation(outward=True, untrusted=True, selecting=["url"])
    async def send(self, method: str, url: str, headers: GivenHeaders = (), body: bytes | str = b"") -> HttpAnswer:
        """The same for a request that may change something: POST, PUT, PATCH, DELETE."""
        target = self._target(url)
        if not _METHOD.fullmatch(method) or method == "CONNECT":
            raise RequestRefused(f"{method[:40]!r} is no method for send()", status=405)
        content = body.encode() if isinstance(body, str) else bytes(body)
        if len(content) > self._network.body_bytes:
            words = f"the request's body has {len(content):,} bytes"
            raise RequestRefused(f"{words}, more than body_mb={self._network.body_mb:g}", status=413)
        return await self._upstream.request(method, target, _checked(headers), content)

    def _target(self, url: str) -> HttpTarget:
        target = self._network.target(url)
        if url not in (target.url, target.origin):  # a policy has looked at `url`, and rules are for one spelling
            raise RequestRefused(f"write the URL as {target.url[:200]!r}", status=400)
        return target


def bound_network(network: Network, upstream: UpstreamPool) -> HostNetwork:
    """The object to bind. Its class is its own: the docstring, which the model reads, names the hosts."""
    reach = f"Requests by HTTP and HTTPS to {network.allowed.text}, and to nothing else."
    members = {name: value for name, value in vars(HostNetwork).items() if name not in ("__dict__", "__weakref__")}
    own = type(HostNetwork.__name__, (), {**members, "__doc__": f"{reach} {HostNetwork.__doc__}"})
    return cast(HostNetwork, own(network, upstream))


def is_network(value: object) -> bool:
    """Whether it is such an object: of this session, or of another one."""
    return getattr(type(value), "__module__", "") == __name__ and type(value).__name__ == HostNetwork.__name__


def _checked(headers: GivenHeaders) -> HttpHeaders:
    """The headers to send; raises `RequestRefused` for one that names another route, another method or a sender."""
    given = list(headers.items()) if isinstance(headers, Mapping) else [(name, value) for name, value in headers]
    if len(given) > MOST_HEADERS or sum(len(name) + len(value) for name, value in given) > HEAD_BYTES:
        raise RequestRefused(
            f"more than {MOST_HEADERS} headers, or {HEAD_BYTES:,} bytes of them, are not sent", status=400
        )
    for name, value in given:
        if not _VALUE.fullmatch(value):
            raise RequestRefused(f"the header {name[:40]!r} has a value that is not sent", status=400)
    kept = end_to_end(given)
    for name, _ in kept:
        if is_control_header(name) and name.lower() not in _OWN:
            raise RequestRefused(f"the header {name[:40]!r} is not sent for guest code", status=400)
    return kept
