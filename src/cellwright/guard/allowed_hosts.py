"""`allow_hosts`: the list of a network, laid on a client of httpx that the developer binds."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

from cellwright.errors import RequestRefused, UsageError
from cellwright.guard.network import Network
from cellwright.guard.network_list import host_of

Client = TypeVar("Client")


def allow_hosts(client: Client, network: Network | Iterable[str]) -> Client:
    """Let a client of httpx or httpx2 reach only what the list has, redirects included, at addresses that are checked.

    The client is changed, and given back. `timeout_s`, `body_mb` and `certificates` of the network are not applied.
    """
    rules, either = Network.of(network), cast(Any, client)
    kinds = [cls for cls in type(client).__mro__ if cls.__module__.partition(".")[0] in ("httpx", "httpx2")]
    is_async = any(cls.__name__ == "AsyncClient" for cls in kinds)
    if not is_async and not any(cls.__name__ == "Client" for cls in kinds):
        raise UsageError(f"allow_hosts() takes a client of httpx or httpx2, not a {type(client).__name__}")

    def check(request: Any) -> None:
        if "target" in request.extensions:  # it is sent in the place of the URL's path
            raise RequestRefused("the extension 'target' is not sent by a client with allow_hosts()", status=400)
        url = request.url
        rules.target(f"{url.scheme}://{url.netloc.decode()}{url.raw_path.decode()}")

    async def check_later(request: Any) -> None:
        check(request)

    for transport in (either._transport, *either._mounts.values()):
        if transport is not None:
            _bound(transport, rules, is_async=is_async)
    either.event_hooks["request"].append(check_later if is_async else check)  # redirects pass it too
    return client


def _bound(transport: Any, rules: Network, *, is_async: bool) -> None:
    pool: Any = getattr(transport, "_pool", None)
    if type(pool).__name__ != ("AsyncConnectionPool" if is_async else "ConnectionPool") or pool._uds is not None:
        raise UsageError(
            "allow_hosts(): the client goes through a proxy or a transport of its own, where addresses cannot be "
            "checked; make it with trust_env=False, and without proxy= and transport="
        )
    pool._network_backend = (AsyncCheckedBackend if is_async else CheckedBackend)(pool, rules)


class AsyncCheckedBackend:
    """Makes the connections of an async client's pool, to addresses that were checked."""

    def __init__(self, pool: Any, rules: Network) -> None:
        core: Any = sys.modules[type(pool).__module__.partition(".")[0]]
        self._inner = pool._network_backend
        self._rules = rules
        self._failures = (core.ConnectError, core.ConnectTimeout)
        self.sleep = self._inner.sleep  # between attempts of the pool

    async def connect_tcp(self, host: str, port: int, **more: Any) -> Any:
        *others, last = await _addresses(self._rules, host)
        for address in others:
            try:
                return await self._inner.connect_tcp(address, port, **more)
            except self._failures:
                continue
        return await self._inner.connect_tcp(last, port, **more)


class CheckedBackend(AsyncCheckedBackend):
    """The same for a client that is not async. It looks names up on a thread: a loop may run on this one."""

    def connect_tcp(self, host: str, port: int, **more: Any) -> Any:
        with ThreadPoolExecutor(1) as thread:
            *others, last = thread.submit(asyncio.run, _addresses(self._rules, host)).result()
        for address in others:
            try:
                return self._inner.connect_tcp(address, port, **more)
            except self._failures:
                continue
        return self._inner.connect_tcp(last, port, **more)


async def _addresses(rules: Network, host: str) -> list[str]:
    return await rules.addresses(host_of(f"[{host}]" if ":" in host else host))
