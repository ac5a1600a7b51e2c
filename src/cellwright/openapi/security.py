"""Security schemes of an API, the credentials given for them, and the keys that go into a request.

Credentials are read when a request needs them. It sends nothing itself; `access_tokens` fetches tokens.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping
from pathlib import Path

from cellwright.connectors import Credential, Redactor, Secret
from cellwright.errors import UpstreamRefused, UsageError
from cellwright.openapi.access_tokens import AccessTokens, Send
from cellwright.openapi.api_client import RequestCredentials
from cellwright.openapi.operation_plan import Api, OperationPlan, SecurityScheme
from cellwright.openapi.parameter_styles import escaped

GivenCredentials = Mapping[str, str | Secret] | str | Secret | None
Needs = dict[str, list[str]]

ANY = SecurityScheme(name="token", kind="bearer")  # for an API that describes no scheme and is given a key
PLAIN = frozenset(("client_id", "token_url", "scope", "certificate"))  # parts of a credential that are not secret
_OAUTH = frozenset(("client_id", "client_secret", "refresh_token", "token_url", "scope"))
_PARTS = {"oauth2": _OAUTH, "openIdConnect": _OAUTH, "mutualTLS": frozenset(("certificate", "key", "password"))}


class ApiSecurity:
    """The credentials of one connector, by scheme. A part of one stands under "scheme.part": "oauth.client_id"."""

    def __init__(self, title: str, api: Api, given: GivenCredentials, redactor: Redactor) -> None:
        self._title = title
        self._api = api
        self._redactor = redactor
        self._schemes = dict(api.schemes)
        self._given: dict[str, dict[str, Credential | str]] = {}
        self._tokens: dict[str, AccessTokens] = {}
        self._sent: dict[str, str] = {}  # the token of the last request, by scheme: a 401 refers to it
        if given is not None:
            for name, value in (given if isinstance(given, Mapping) else {self._first(): given}).items():
                self._add(name, value)

    def _first(self) -> str:
        """The scheme that one credential without a name is for."""
        used = [name for needs in self._api.security for name in needs if name in self._schemes]
        for name in (*used, *self._schemes):
            if self._schemes[name].kind != "mutualTLS":
                return name
        return ANY.name

    def _add(self, name: str, value: str | Secret) -> None:
        if name == ANY.name and not self._schemes:
            self._schemes[name] = ANY
        scheme, _, part = (name, "", "") if name in self._schemes else name.rpartition(".")
        known = self._schemes.get(scheme)
        if known is None:
            names = ", ".join(self._schemes) or f"no schemes; give one value, or {ANY.name!r}"
            raise UsageError(f"{self._title}: credentials for {name!r}; the API has {names}")
        parts = _PARTS.get(known.kind, frozenset[str]())
        if part and part not in parts:
            raise UsageError(f"{self._title}: {scheme!r} is {known.kind} and has no part {part!r}; {_how(known)}")
        itself = isinstance(value, str) and not value.startswith(("env:", "file:", "command:"))
        fields = self._given.setdefault(scheme, {})
        fields[part] = str(value) if itself and (part in PLAIN or part == "key") else Credential(value)

    def bind(self, send: Send, base: str) -> None:
        """Set how tokens are fetched. Relative token URLs are resolved against `base`."""
        for name, fields in self._given.items():
            scheme = self._schemes[name]
            if scheme.kind in ("oauth2", "openIdConnect") and "" not in fields and name not in self._tokens:
                self._tokens[name] = AccessTokens(self._title, scheme, fields, send, self._redactor, base=base)

    def warnings(self) -> list[str]:
        """Warnings about the sources of credentials, for the operator."""
        fields = [field for fields in self._given.values() for field in fields.values()]
        return [text for field in fields if isinstance(field, Credential) and (text := field.warning())]

    def chosen(self, plan: OperationPlan) -> Needs:
        """The first alternative of an operation that has credentials; {} where the operation needs none."""
        alternatives = self._api.security if plan.security is None else plan.security
        if not alternatives:
            free = plan.security is None  # the operation does not say that it needs none, and the developer gave a key
            return {name: [] for name in list(self._given)[:1] if self._there(name)} if free else {}
        for needs in alternatives:
            if needs and all(self._there(name) for name in needs):
                return needs
        if any(not needs for needs in alternatives):
            return {}
        raise UpstreamRefused(self._missing(plan, alternatives))

    def _there(self, name: str) -> bool:
        fields = self._given.get(name, {}).values()
        return bool(fields) and all(not isinstance(field, Credential) or field.there for field in fields)

    def _missing(self, plan: OperationPlan, alternatives: tuple[Needs, ...]) -> str:
        names = dict.fromkeys(name for needs in alternatives for name in needs)
        unset = [f.told for name in names for f in self._given.get(name, {}).values() if isinstance(f, Credential)]
        ways = [_how(self._schemes[name]) for name in names if name in self._schemes]
        why = f"{' and '.join(unset)} gives none" if unset else "none were given"
        told = "; or ".join(ways[:3]) or f"the description does not say what {', '.join(names)} is"
        return f"{self._title}.{plan.path}: it needs credentials, and {why}; {told}; nothing was sent"

    async def keys(self, needs: Needs, *, anew: bool = False) -> RequestCredentials:
        """The keys of a request. `anew`: the API refused the last keys, so their sources are read again."""
        sent: dict[str, list[tuple[str, str]]] = {"header": [], "query": [], "cookie": []}
        for name, scopes in needs.items():
            scheme = self._schemes[name]
            if scheme.kind == "mutualTLS":
                continue
            value = await self._value(scheme, scopes, anew)
            if scheme.kind == "apiKey":
                sent[scheme.place].append(_api_key(scheme, value))
            else:
                sent["header"].append(("authorization", self._authorization(scheme, value)))
        headers, query, cookies = map(tuple, sent.values())
        return RequestCredentials(headers=headers, query=query, cookies=cookies)

    def renewable(self, needs: Needs) -> bool:
        """Whether new keys can be obtained after a refusal."""
        return any(
            name in self._tokens or any(isinstance(f, Credential) and f.renewable for f in self._given[name].values())
            for name in needs
        )

    async def _value(self, scheme: SecurityScheme, scopes: list[str], anew: bool) -> str:
        tokens = self._tokens.get(scheme.name)
        if tokens is not None:
            old = self._sent.get(scheme.name, "") if anew else ""
            value = self._sent[scheme.name] = await tokens.token(scopes, instead_of=old)
        else:
            source = self._given[scheme.name].get("")
            if not isinstance(source, Credential):
                raise UpstreamRefused(f"{self._title}: {scheme.name}: credentials are incomplete; {_how(scheme)}")
            try:
                value = await source.value(fresh=anew)
            except UpstreamRefused as error:
                raise UpstreamRefused(f"{self._title}: {scheme.name}: {error}") from None
        if any(c < " " or c == "\x7f" for c in value):
            raise UpstreamRefused(f"{self._title}: {scheme.name}: a key with a line break in it, which no header takes")
        self._redactor.add(value)
        return value

    def _authorization(self, scheme: SecurityScheme, value: str) -> str:
        if scheme.kind != "basic":
            return value if value.lower().startswith("bearer ") else f"Bearer {value}"
        both = value if ":" in value else f"{value}:"  # a key alone is a name without a password, as Stripe has it
        self._redactor.add(both.partition(":")[2] or both.partition(":")[0])
        encoded = base64.b64encode(both.encode()).decode()
        self._redactor.add(encoded)
        return f"Basic {encoded}"

    async def certificate(self) -> ssl.SSLContext | None:
        """The TLS context with the client certificate; None where none was given."""
        for name, fields in self._given.items():
            if self._schemes[name].kind == "mutualTLS":
                password = fields.get("password")
                word = await password.value() if isinstance(password, Credential) else None
                return _certificate(self._title, _file(fields.get("certificate") or fields.get("")),
                                    _file(fields.get("key")), word)  # fmt: skip
        return None


def _api_key(scheme: SecurityScheme, value: str) -> tuple[str, str]:
    """The name and the value of an API key, as its place needs them."""
    match scheme.place:
        case "query":
            return escaped(scheme.key), escaped(value)
        case "cookie":
            return scheme.key, value.replace(";", "%3B")
        case _:
            named = f"{scheme.name} {scheme.key}".lower()
            bare = scheme.key.lower() == "authorization" and " " not in value
            return scheme.key, f"Bearer {value}" if bare and "bearer" in named else value


def _file(field: Credential | str | None) -> Path | None:
    return field.path if isinstance(field, Credential) else Path(field).expanduser() if field else None


def _certificate(title: str, certificate: Path | None, key: Path | None, password: str | None) -> ssl.SSLContext:
    import httpx2

    if certificate is None:
        raise UsageError(f'{title}: a client certificate is given as "file:PATH" of a PEM file')
    context = httpx2.create_ssl_context(trust_env=False)
    try:
        context.load_cert_chain(certificate, key, password)
    except (OSError, ssl.SSLError) as error:
        told = getattr(error, "strerror", None) or getattr(error, "reason", None) or type(error).__name__
        raise UsageError(f"{title}: the certificate {certificate} cannot be used: {told}") from None
    return context


def _how(scheme: SecurityScheme) -> str:
    """How credentials for a scheme are given, in a few words."""
    name = scheme.name
    match scheme.kind:
        case "oauth2" | "openIdConnect":
            return (
                f'give credentials={{"{name}": "env:ACCESS_TOKEN"}}, or "{name}.client_id" and "{name}.client_secret" '
                f'(or "{name}.refresh_token")'
            )
        case "mutualTLS":
            return f'give credentials={{"{name}": "file:CLIENT.pem"}}, or "{name}.certificate" and "{name}.key"'
        case "basic":
            return f'give credentials={{"{name}": "env:USER_AND_PASSWORD"}}, as user:password'
        case _:
            return f'give credentials={{"{name}": "env:API_KEY"}}'
