"""`Network`: what guests may reach, as the developer says it, and the addresses that a name may lead to.

No connection and no session is known here.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path

from cellwright.errors import RequestRefused, UpstreamError, UsageError
from cellwright.guard.network_list import HostAddress, HttpTarget, NetworkList, http_target

Resolve = Callable[[str], Awaitable[Iterable[str]]]
MOST_MB = 64  # a body crosses the host's door in one frame, which has bounds of its own
_GLOBAL = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # a gateway sends it on to the IPv4 address at the end
_METADATA = ipaddress.IPv4Address("168.63.129.16")  # Azure's, for its own machines, at a public address


@dataclass(frozen=True)
class Network:
    """What the guests of a session may reach by HTTP and HTTPS. `Runtime(network=[…])` is `Network([…])`.

    hosts         "api.example.com", "*.example.com:443/simple/*", "http://127.0.0.1:8080"
    private       networks that names in the list may lead to, as "10.0.0.0/8"; else to public addresses only
    body_mb       how large the body of a request, and that of its answer, may be
    timeout_s     how long a request may take, its answer's body included
    resolve       an async function that gives the addresses of a name, instead of the machine's resolver
    certificates  a PEM file of authorities that servers' certificates may have beside the machine's own
    """

    hosts: Sequence[str]
    _: KW_ONLY
    private: Sequence[str] = ()
    body_mb: float = 32
    timeout_s: float = 60
    resolve: Resolve | None = None
    certificates: str | Path | None = None
    allowed: NetworkList = field(init=False, repr=False, compare=False)
    _inside: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "allowed", NetworkList.of(self.hosts))
        if isinstance(self.private, str):
            raise UsageError(f"Network(private={self.private!r}): give a list, as in private=[{self.private!r}]")
        try:
            object.__setattr__(self, "_inside", tuple(ipaddress.ip_network(str(one)) for one in self.private))
        except (TypeError, ValueError) as error:
            raise UsageError(f"Network(private=…): {error}; write networks as 10.0.0.0/8") from None
        if self.certificates is not None:
            _read_certificates(self.certificates)
        if not _is_number(self.body_mb) or not 0 < self.body_mb <= MOST_MB:
            raise UsageError(f"Network(body_mb={self.body_mb!r}): give a number above zero, at most {MOST_MB}")
        if not _is_number(self.timeout_s) or not 0 < self.timeout_s <= 3600:
            raise UsageError(f"Network(timeout_s={self.timeout_s!r}): give seconds above zero, at most an hour")

    @classmethod
    def of(cls, given: Network | Iterable[str]) -> Network:
        return given if isinstance(given, Network) else cls(given if isinstance(given, str) else tuple(given))

    @property
    def body_bytes(self) -> int:
        return int(self.body_mb * (1 << 20))

    def tls(self) -> ssl.SSLContext:
        """What verifies servers. Takes some milliseconds at first."""
        return self._tls

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self.certificates is not None:
            context.load_verify_locations(self.certificates)
        context.set_alpn_protocols(["http/1.1"])
        return context

    def target(self, url: str) -> HttpTarget:
        """The target of a request, if the list has it; else raises `RequestRefused`."""
        try:
            target = http_target(url)
        except ValueError as error:
            raise RequestRefused(f"{url[:200]!r} is no URL that can be requested: {error}", status=400) from None
        if refusal := self.allowed.refusal(target):
            raise RequestRefused(refusal)
        return target

    async def addresses(self, host: str | HostAddress) -> list[str]:
        """The addresses to connect to. A name is looked up; one private address among its own refuses them all."""
        if not isinstance(host, str):
            return [str(host)]  # the list names it
        try:
            texts = await (self.resolve or _resolve)(host)
            addresses = [ipaddress.ip_address(text) for text in dict.fromkeys(texts)]
        except (OSError, ValueError) as error:
            raise UpstreamError(f"{host} cannot be resolved ({error})", status=502) from None
        for address in addresses:
            if is_inside(address) and not any(address in network for network in self._inside):
                words = f"{host} leads to {address}, which is no public address"
                raise RequestRefused(f'{words}; Network(private=["{address}"]) allows that')
        if not addresses:
            raise UpstreamError(f"{host} has no address", status=502)
        return list(map(str, addresses))


async def _resolve(host: str) -> list[str]:
    loop = asyncio.get_running_loop()
    rows = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(row[4][0]) for row in rows]


def is_inside(address: HostAddress) -> bool:
    """Whether an address is this machine's, or known to its own network only, also where IPv6 stands for IPv4."""
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_multicast or not address.is_global or address == _METADATA
    last = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    inner = address.ipv4_mapped or address.sixtofour or (last if address in _NAT64 else None)
    return is_inside(inner) if inner is not None else address not in _GLOBAL or not address.is_global


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _read_certificates(file: str | Path) -> None:
    """Refuse what TLS could not be made with at the first request. A file's table gives any type."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(Path(file))
    except ssl.SSLError:
        raise UsageError(f"Network(certificates={str(file)!r}): it has no certificates in PEM form") from None
    except OSError:
        raise UsageError(f"Network(certificates={str(file)!r}): there is no such file") from None
    except TypeError:
        raise UsageError(f"Network(certificates={file!r}): give the path of a PEM file") from None
