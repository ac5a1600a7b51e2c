"""How one operation of an API is called, as plain values: compiled once from a description, read at the first call.

`to_plain` and `from_plain` are JSON both ways. It knows neither the description that it came from nor HTTP clients.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal

Place = Literal["path", "query", "header", "cookie"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ParameterPlan:
    """One parameter outside of the body. `style` and `explode` are those of OpenAPI 3; formats of 2.0 are translated.

    `content` is a media type where the value is serialized by it and not by a style. `schema` may hold `$ref`s.
    """

    name: str  # as code gives it
    key: str  # as it is sent
    place: Place
    style: str = "form"  # also "spaceDelimited" "pipeDelimited" "deepObject" "simple" "label" "matrix" "tabDelimited"
    explode: bool = True
    reserved: bool = False  # allowReserved
    required: bool = False
    content: str = ""
    schema: Any = None


@dataclass(frozen=True, kw_only=True, slots=True)
class BodyPlan:
    """The body of a request. `fields` are the arguments that are its top-level keys; `whole` the one that is all of it.

    `encoding` is OpenAPI's, by key, for forms and multipart: contentType, style, explode.
    """

    media: str  # "application/json", "multipart/form-data", "application/octet-stream" …
    required: bool = False
    fields: dict[str, str] = field(default_factory=dict[str, str])  # argument → key
    whole: str = ""
    schema: Any = None
    encoding: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True, slots=True)
class ResponsePlan:
    """The response of one status. `reading`: how its JSON becomes records (`schemas`); `media` "": it has no body."""

    media: str = ""
    reading: Any = None  # None: no schema, types may be learned


@dataclass(frozen=True, kw_only=True, slots=True)
class PagesPlan:
    """How a list goes on. `items` is the key of the page's list, "" where the page is the list.

    link     the Link header's rel="next"
    cursor   the argument `by` takes what the page has under `next` (a key, dots for depth); `more` is a flag's key
    page     the argument `by` counts up from what it was, or from its schema's default, or 1
    offset   the argument `by` goes up by the number of items

    `next` names a key of the page: for "link" it holds the next URL itself (as `@odata.nextLink`), and the Link header
    is read where it is "". The reading of a response is that of a whole page.
    """

    how: Literal["link", "cursor", "page", "offset"]
    items: str = ""
    by: str = ""
    next: str = ""
    more: str = ""
    item_key: str = ""  # cursor: the key of the last item that is the next cursor, as Stripe's `id`


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationPlan:
    """One operation. `security` are alternatives, each a set of schemes by name with the scopes they need."""

    path: str  # where it stands in the surface: "issues.create"
    id: str  # the operationId, or method and URL
    method: str  # upper case
    url: str  # the path template as the description has it: "/repos/{owner}/{repo}/issues"
    servers: tuple[str, ...] = ()  # of this operation alone; the API's where empty
    parameters: tuple[ParameterPlan, ...] = ()
    body: BodyPlan | None = None
    responses: dict[str, ResponsePlan] = field(default_factory=dict[str, ResponsePlan])  # "200", "2XX", "default"
    security: tuple[dict[str, list[str]], ...] | None = None  # None: the API's
    pages: PagesPlan | None = None

    def to_plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = _plain(self)
        plain["parameters"] = [_plain(one) for one in self.parameters]
        plain["body"] = None if self.body is None else _plain(self.body)
        plain["responses"] = {status: _plain(one) for status, one in self.responses.items()}
        plain["pages"] = None if self.pages is None else _plain(self.pages)
        return plain

    @classmethod
    def from_plain(cls, found: dict[str, Any]) -> OperationPlan:
        made = dict(found)
        made["servers"] = tuple(found["servers"])
        made["parameters"] = tuple(ParameterPlan(**one) for one in found["parameters"])
        made["body"] = None if found["body"] is None else BodyPlan(**found["body"])
        made["responses"] = {status: ResponsePlan(**one) for status, one in found["responses"].items()}
        made["security"] = None if found["security"] is None else tuple(found["security"])
        made["pages"] = None if found["pages"] is None else PagesPlan(**found["pages"])
        return cls(**made)


@dataclass(frozen=True, kw_only=True, slots=True)
class SecurityScheme:
    """A security scheme. `flows` are OAuth2's as the description has them; `discovery` is openIdConnect's URL."""

    name: str
    kind: Literal["apiKey", "basic", "bearer", "oauth2", "openIdConnect", "mutualTLS"]
    key: str = ""  # apiKey: the parameter's name
    place: Place = "header"
    flows: dict[str, Any] = field(default_factory=dict[str, Any])
    discovery: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Api:
    """What all operations of one description share."""

    title: str
    version: str = ""
    doc: str = ""
    servers: tuple[str, ...] = ()  # absolute where that is known; variables filled with their defaults
    schemes: dict[str, SecurityScheme] = field(default_factory=dict[str, SecurityScheme])
    security: tuple[dict[str, list[str]], ...] = ()

    def to_plain(self) -> dict[str, Any]:
        return _plain(self) | {"schemes": {name: _plain(one) for name, one in self.schemes.items()}}

    @classmethod
    def from_plain(cls, found: dict[str, Any]) -> Api:
        made = dict(found)
        made["servers"] = tuple(found["servers"])
        made["security"] = tuple(found["security"])
        made["schemes"] = {name: SecurityScheme(**one) for name, one in found["schemes"].items()}
        return cls(**made)


@dataclass(frozen=True, kw_only=True, slots=True)
class SkippedPart:
    """A part of a description that was left out, wholly or partly: where it stands, and why."""

    where: str  # "POST /pets", "#/components/securitySchemes/odd"
    reason: str


def _plain(value: Any) -> dict[str, Any]:
    """The fields of a dataclass; `asdict` would copy every schema in them."""
    return {one.name: getattr(value, one.name) for one in fields(value)}
