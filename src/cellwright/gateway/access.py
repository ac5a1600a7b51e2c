"""Who may use a gateway over HTTP, and how often: bearer tokens with the names of clients, tokens of an OAuth issuer.

It knows tokens and clocks. It knows neither sessions nor tools.
"""

from __future__ import annotations

import asyncio
import hmac
import math
import re
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cellwright.errors import UsageError
from cellwright.schemas import parsed_object
from cellwright.settings import variable

if TYPE_CHECKING:
    from mcp.server.auth.provider import AccessToken, TokenVerifier

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
SHORTEST = 16  # characters of a token
KEYS_S = 600.0  # an issuer's keys are used for so long
AGAIN_S = 30.0  # and are not fetched again sooner than this, whatever key a token names
LEEWAY_S = 30
ANSWER = 1_000_000  # bytes of an issuer's answer
CLIENTS = 10_000  # whose rate is remembered
_NAME = re.compile(r"[\w.@-]{1,100}")


class BearerTokens:
    """Bearer tokens and their clients. Only hashes of the tokens are kept."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._clients = {sha256(token.encode()).digest(): name for name, token in tokens.items()}

    async def verify_token(self, token: str) -> AccessToken | None:
        from mcp.server.auth.provider import AccessToken

        digest = sha256(token.encode()).digest()
        clients = [name for kept, name in self._clients.items() if hmac.compare_digest(kept, digest)]
        return AccessToken(token="", client_id=clients[0], scopes=[]) if clients else None


def read_tokens(file: str | None, sources: Sequence[str]) -> dict[str, str]:
    """`NAME: TOKEN` lines of a file, and `[NAME=]env:VARIABLE` of options."""
    found: dict[str, str] = {}
    if file is not None:
        found |= _in_file(Path(file))
    for number, source in enumerate(sources, 1):
        name, _, place = source.rpartition("=")
        if not place.startswith("env:"):
            raise UsageError("--token …: give [NAME=]env:VARIABLE, not the token itself")
        _add(found, name or f"client{number}", variable(place.removeprefix("env:")) or "", f"--token {source}")
    return found


def _in_file(file: Path) -> dict[str, str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--token-file {file}: {getattr(error, 'strerror', None) or 'it is no text'}") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, colon, token = line.partition(":")
            if not colon:
                raise UsageError(f"--token-file {file}, line {number}: write NAME: TOKEN")
            _add(found, name.strip(), token.strip(), f"--token-file {file}, line {number}")
    if not found:
        raise UsageError(f"--token-file {file}: it has no token; write NAME: TOKEN, a line each")
    return found


def _add(found: dict[str, str], name: str, token: str, where: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{where}: {name!r:.50} cannot be the name of a client")
    if len(token) < SHORTEST:
        raise UsageError(f"{where}: the token is {'empty' if not token else 'too short'}; give {SHORTEST} characters")
    if name in found or token in found.values():
        raise UsageError(f"{where}: the name or the token is there twice")
    found[name] = token


class TokenIssuer:
    """JSON Web Tokens of one OAuth issuer, for one audience. Its keys are fetched when they are needed."""

    def __init__(self, issuer: str, audience: str) -> None:
        self._issuer = issuer
        self._audience = audience
        self._keys: Any = None
        self._fetched = -math.inf
        self._lock = asyncio.Lock()

    async def verify_token(self, token: str) -> AccessToken | None:
        import jwt
        from mcp.server.auth.provider import AccessToken

        try:
            head = jwt.get_unverified_header(token)
            key = await self._key(str(head.get("kid", "")))
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self._audience,
                issuer=self._issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, LookupError, ValueError, TypeError, RecursionError, OSError):
            return None
        client = str(claims.get("client_id") or claims.get("azp") or claims.get("sub") or "")
        if not client:
            return None
        scopes = str(claims.get("scope", "")).split()
        subject = str(claims["sub"]) if "sub" in claims else None
        return AccessToken(
            token="", client_id=client, scopes=scopes, expires_at=int(claims["exp"]) + LEEWAY_S, subject=subject,
            claims={"iss": self._issuer},
        )  # fmt: skip

    async def _key(self, kid: str) -> Any:
        async with self._lock:
            now = time.monotonic()
            key = self._find(kid)
            if now - self._fetched > (AGAIN_S if key is None else KEYS_S):
                self._fetched = now
                self._keys = await self._fetch()
                key = self._find(kid)
        if key is None:
            raise LookupError(kid)
        return key

    def _find(self, kid: str) -> Any:
        keys: list[Any] = [] if self._keys is None else self._keys.keys
        if not kid:
            return keys[0] if len(keys) == 1 else None
        return next((key for key in keys if key.key_id == kid), None)

    async def _fetch(self) -> Any:
        import httpx2
        import jwt

        try:
            async with httpx2.AsyncClient(timeout=10.0, trust_env=False) as client:
                place = str((await self._metadata(client))["jwks_uri"])
                return jwt.PyJWKSet.from_dict(await _json(client, place))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise OSError(str(error)) from None

    async def _metadata(self, client: Any) -> dict[str, Any]:
        """The issuer's metadata, from one of its two well-known places."""
        root, _, path = self._issuer.removeprefix("https://").removeprefix("http://").partition("/")
        begin = f"{self._issuer.partition('://')[0]}://{root}"
        tail = f"/{path.rstrip('/')}" if path.strip("/") else ""
        for place in (
            f"{begin}/.well-known/oauth-authorization-server{tail}",
            f"{self._issuer.rstrip('/')}/.well-known/openid-configuration",
        ):
            metadata = await _json(client, place)
            if metadata.get("issuer") == self._issuer and "jwks_uri" in metadata:
                return metadata
        raise LookupError(self._issuer)


async def _json(client: Any, place: str) -> dict[str, Any]:
    async with client.stream("GET", place) as reply:
        body = b""
        async for part in reply.aiter_bytes():
            body += part
            if len(body) > ANSWER:
                raise ValueError("an answer that is too long")
    return parsed_object(body) if reply.status_code == 200 else {}


class AnyVerifier:
    """Accepts what one of several verifiers accepts."""

    def __init__(self, *verifiers: TokenVerifier) -> None:
        self._verifiers = verifiers

    async def verify_token(self, token: str) -> AccessToken | None:
        for verifier in self._verifiers:
            found = await verifier.verify_token(token)
            if found is not None:
                return found
        return None


class RequestRate:
    """At most `number` requests in `seconds` for each client; they may come all at once."""

    def __init__(self, number: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._number = number
        self._seconds = seconds
        self._clock = clock
        self._buckets: dict[Hashable, tuple[float, float]] = {}  # the requests that are left, and when that was

    def wait_s(self, client: Hashable) -> float:
        """0 if a request may be made now, which is counted; else the seconds until it may."""
        now = self._clock()
        left, at = self._buckets.pop(client, (self._number, now))
        left = min(self._number, left + (now - at) * self._number / self._seconds)
        self._buckets[client] = (left - 1 if left >= 1 else left, now)  # the dict has the last used at its end
        if len(self._buckets) > CLIENTS:
            del self._buckets[next(iter(self._buckets))]
        return 0.0 if left >= 1 else (1 - left) * self._seconds / self._number


def read_rate(text: str) -> tuple[int, float]:
    """`60/min`, `10/s`, `1000/h`."""
    found = re.fullmatch(r"(\d+)\s*/\s*(s|sec|second|m|min|minute|h|hour)", text.strip())
    if found is None or not int(found[1]):
        raise UsageError(f"--rate {text}: give a number and a time, such as 60/min, 10/s or 1000/h")
    return int(found[1]), {"s": 1.0, "m": 60.0, "h": 3600.0}[found[2][0]]
