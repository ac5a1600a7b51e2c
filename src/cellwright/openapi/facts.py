"""What all operations of a description share: its title, its servers, its security schemes."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin, urlsplit

from cellwright.openapi.documents import Documents
from cellwright.openapi.fetching import is_url, shown
from cellwright.openapi.plans import Api, Place, Scheme, Skipped
from cellwright.openapi.reading import listed, mapping, said, text, texts
from cellwright.schemas import plain_text

_FLOWS = {"accessCode": "authorizationCode", "application": "clientCredentials"}
_HOLE = re.compile(r"\{([^{}]*)\}")
_DOC = 600

Security = tuple[dict[str, list[str]], ...]


def api_of(documents: Documents) -> tuple[Api, list[Skipped]]:
    """The API, and the security schemes that nobody could use."""
    first = documents.first
    about = mapping(first.get("info"))
    skipped: list[Skipped] = []
    schemes = _schemes(documents, skipped)
    api = Api(
        title=text(about.get("title")).strip() or "API",
        version=str(about.get("version") or ""),
        doc=plain_text(about.get("description"), _DOC),
        servers=servers_of(first, documents),
        schemes=schemes,
        security=security_of(first.get("security"), schemes) or (),
    )
    return api, skipped


def servers_of(holder: dict[str, Any], documents: Documents) -> tuple[str, ...]:
    """The servers that a description, a path or an operation names; those with TLS first."""
    if documents.version == "2.0":
        found = _servers_2(holder, documents.where)
    else:
        found = [_filled(mapping(one)) for one in listed(holder.get("servers"))]
    placed = [url for one in found if (url := _placed(one, documents.where))]
    if not placed and holder is documents.first and is_url(documents.where):
        placed = [urljoin(shown(documents.where), "/").rstrip("/")]
    return tuple(sorted(dict.fromkeys(placed), key=lambda url: url.startswith("http://")))


def _servers_2(holder: dict[str, Any], where: str) -> list[str]:
    host, base = text(holder.get("host")), text(holder.get("basePath"))
    schemes = [one for one in texts(holder.get("schemes")) if one in ("https", "http")]
    if not host:
        return [base] if base and base != "/" else []
    if "://" in host:  # a slip that several make
        return [host.rstrip("/") + base]
    if not schemes:
        schemes = [urlsplit(where).scheme] if is_url(where) else ["https"]
    return [f"{scheme}://{host}{base}" for scheme in schemes]


def _filled(server: dict[str, Any]) -> str:
    variables = mapping(server.get("variables"))

    def value(found: re.Match[str]) -> str:
        variable = mapping(variables.get(found[1]))
        default = variable.get("default")
        choices = listed(variable.get("enum"))
        chosen = default if default is not None else choices[0] if choices else None
        return found[0] if chosen is None else str(chosen)

    return _HOLE.sub(value, text(server.get("url")))


def _placed(url: str, where: str) -> str:
    """An URL with what is missing taken from where the description came from."""
    url = url.strip()
    if is_url(where):
        return urljoin(shown(where), url).rstrip("/") if url else ""
    return f"https:{url}".rstrip("/") if url.startswith("//") else url.rstrip("/")


def security_of(value: Any, schemes: dict[str, Scheme]) -> Security | None:
    """Alternatives, each a set of schemes; None where nothing is said. One that names an unknown scheme is none."""
    if not isinstance(value, list):
        return None
    found = [{name: list(texts(scopes)) for name, scopes in mapping(one).items()} for one in listed(value)]
    usable = [one for one in found if all(name in schemes for name in one)]
    return tuple(usable if usable or not found else [])


def _schemes(documents: Documents, skipped: list[Skipped]) -> dict[str, Scheme]:
    first = documents.first
    old = documents.version == "2.0"
    found = mapping(
        first.get("securityDefinitions") if old else mapping(first.get("components")).get("securitySchemes")
    )
    made: dict[str, Scheme] = {}
    for name, node in found.items():
        try:
            followed, _ = documents.followed(node)
            made[name] = _scheme(name, mapping(followed))
        except (LookupError, ValueError) as wrong:
            skipped.append(Skipped(where=f"security scheme {name}", reason=said(wrong)))
    return made


def _scheme(name: str, node: dict[str, Any]) -> Scheme:
    kind = text(node.get("type"))
    match kind.lower():
        case "apikey":
            place: Place = (
                "query" if node.get("in") == "query" else "cookie" if node.get("in") == "cookie" else "header"
            )
            if not text(node.get("name")):
                raise ValueError("an API key without a name")
            return Scheme(name=name, kind="apiKey", key=text(node["name"]), place=place)
        case "basic":
            return Scheme(name=name, kind="basic")
        case "http":
            way = text(node.get("scheme")).lower()
            if way not in ("basic", "bearer"):
                raise ValueError(f"HTTP authentication by {way or 'nothing'!r} is not known here")
            return Scheme(name=name, kind="basic" if way == "basic" else "bearer")
        case "oauth2":
            return Scheme(name=name, kind="oauth2", flows=_flows(node))
        case "openidconnect":
            return Scheme(name=name, kind="openIdConnect", discovery=text(node.get("openIdConnectUrl")))
        case "mutualtls":
            return Scheme(name=name, kind="mutualTLS")
        case _:
            raise ValueError(f"a security scheme of type {kind or 'nothing'!r} is not known here")


def _flows(node: dict[str, Any]) -> dict[str, Any]:
    if isinstance(node.get("flows"), dict):
        return {name: flow for name, flow in mapping(node["flows"]).items() if isinstance(flow, dict)}
    flow = text(node.get("flow"))
    if not flow:
        return {}
    kept = {key: node[key] for key in ("authorizationUrl", "tokenUrl", "refreshUrl", "scopes") if key in node}
    return {_FLOWS.get(flow, flow): kept}
