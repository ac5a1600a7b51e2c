"""What all operations of a description share: its title, its servers, its security schemes."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin, urlsplit

from cellwright.openapi.documents import Documents
from cellwright.openapi.operation_plan import Api, Place, SecurityScheme, SkippedPart
from cellwright.openapi.spec_content import is_url, without_secrets
from cellwright.schemas import as_list, as_object, as_text, as_texts, plain_text
from cellwright.short_texts import one_line

_FLOWS = {"accessCode": "authorizationCode", "application": "clientCredentials"}
_HOLE = re.compile(r"\{([^{}]*)\}")
_DOC = 600

Security = tuple[dict[str, list[str]], ...]


def api_of(documents: Documents) -> tuple[Api, list[SkippedPart]]:
    """The API, and the security schemes that cannot be used."""
    first = documents.first
    about = as_object(first.get("info"))
    skipped: list[SkippedPart] = []
    schemes = _schemes(documents, skipped)
    api = Api(
        title=as_text(about.get("title")).strip() or "API",
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
        found = [_filled(as_object(one)) for one in as_list(holder.get("servers"))]
    placed = [url for one in found if (url := _placed(one, documents.where))]
    if not placed and holder is documents.first and is_url(documents.where):
        placed = [urljoin(without_secrets(documents.where), "/").rstrip("/")]
    return tuple(sorted(dict.fromkeys(placed), key=lambda url: url.startswith("http://")))


def _servers_2(holder: dict[str, Any], where: str) -> list[str]:
    host, base = as_text(holder.get("host")), as_text(holder.get("basePath"))
    schemes = [one for one in as_texts(holder.get("schemes")) if one in ("https", "http")]
    if not host:
        return [base] if base and base != "/" else []
    if "://" in host:  # a frequent mistake
        return [host.rstrip("/") + base]
    if not schemes:
        schemes = [urlsplit(where).scheme] if is_url(where) else ["https"]
    return [f"{scheme}://{host}{base}" for scheme in schemes]


def _filled(server: dict[str, Any]) -> str:
    variables = as_object(server.get("variables"))

    def value(found: re.Match[str]) -> str:
        variable = as_object(variables.get(found[1]))
        default = variable.get("default")
        choices = as_list(variable.get("enum"))
        chosen = default if default is not None else choices[0] if choices else None
        return found[0] if chosen is None else str(chosen)

    return _HOLE.sub(value, as_text(server.get("url")))


def _placed(url: str, where: str) -> str:
    """A URL, completed by the URL of the description."""
    url = url.strip()
    if is_url(where):
        return urljoin(without_secrets(where), url).rstrip("/") if url else ""
    return f"https:{url}".rstrip("/") if url.startswith("//") else url.rstrip("/")


def security_of(value: Any, schemes: dict[str, SecurityScheme]) -> Security | None:
    """Alternatives, each a set of schemes; None where none are stated. Those with an unknown scheme are left out."""
    if not isinstance(value, list):
        return None
    found = [{name: list(as_texts(scopes)) for name, scopes in as_object(one).items()} for one in as_list(value)]
    usable = [one for one in found if all(name in schemes for name in one)]
    return tuple(usable if usable or not found else [])


def _schemes(documents: Documents, skipped: list[SkippedPart]) -> dict[str, SecurityScheme]:
    first = documents.first
    old = documents.version == "2.0"
    found = as_object(
        first.get("securityDefinitions") if old else as_object(first.get("components")).get("securitySchemes")
    )
    made: dict[str, SecurityScheme] = {}
    for name, node in found.items():
        try:
            followed, _ = documents.followed(node)
            made[name] = _scheme(name, as_object(followed))
        except (LookupError, ValueError) as wrong:
            skipped.append(SkippedPart(where=f"security scheme {name}", reason=reason_of(wrong)))
    return made


def _scheme(name: str, node: dict[str, Any]) -> SecurityScheme:
    kind = as_text(node.get("type"))
    match kind.lower():
        case "apikey":
            place: Place = (
                "query" if node.get("in") == "query" else "cookie" if node.get("in") == "cookie" else "header"
            )
            if not as_text(node.get("name")):
                raise ValueError("an API key without a name")
            return SecurityScheme(name=name, kind="apiKey", key=as_text(node["name"]), place=place)
        case "basic":
            return SecurityScheme(name=name, kind="basic")
        case "http":
            way = as_text(node.get("scheme")).lower()
            if way not in ("basic", "bearer"):
                raise ValueError(f"HTTP authentication by {way or 'nothing'!r} is not known here")
            return SecurityScheme(name=name, kind="basic" if way == "basic" else "bearer")
        case "oauth2":
            return SecurityScheme(name=name, kind="oauth2", flows=_flows(node))
        case "openidconnect":
            return SecurityScheme(name=name, kind="openIdConnect", discovery=as_text(node.get("openIdConnectUrl")))
        case "mutualtls":
            return SecurityScheme(name=name, kind="mutualTLS")
        case _:
            raise ValueError(f"a security scheme of type {kind or 'nothing'!r} is not known here")


def _flows(node: dict[str, Any]) -> dict[str, Any]:
    if isinstance(node.get("flows"), dict):
        return {name: flow for name, flow in as_object(node["flows"]).items() if isinstance(flow, dict)}
    flow = as_text(node.get("flow"))
    if not flow:
        return {}
    kept = {key: node[key] for key in ("authorizationUrl", "tokenUrl", "refreshUrl", "scopes") if key in node}
    return {_FLOWS.get(flow, flow): kept}


def reason_of(error: BaseException) -> str:
    """Why a part of a description was skipped: the text of the error, in one line."""
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    return one_line(str(text))[:200] or type(error).__name__
