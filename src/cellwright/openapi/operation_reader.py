"""The operations of a description, each read into a plan and a declaration.

An error in one operation is reported, and skips that operation or a part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from cellwright.openapi.api_metadata import reason_of, security_of, servers_of
from cellwright.openapi.arguments import Argument, distinct, signature
from cellwright.openapi.body_reader import BodyReader, DescribedResponse, ResponseReader
from cellwright.openapi.documents import Documents
from cellwright.openapi.name_words import words
from cellwright.openapi.operation_plan import Api, BodyPlan, OperationPlan, PagesPlan, ResponsePlan, SkippedPart
from cellwright.openapi.pagination import detect_pages
from cellwright.openapi.parameter_reader import ParameterReader, ReadParameter
from cellwright.openapi.path_names import CHANGING, HTTP_METHODS, OperationLabel
from cellwright.openapi.schema_collector import SchemaCollector
from cellwright.schemas import Types, as_object, as_text, as_texts, plain_text
from cellwright.scope import Declaration, UpstreamOperation

_DOC = 1500
_PARAMETERS_DOC = 2400
_IDEMPOTENT = frozenset(("get", "head", "put", "delete", "options", "trace"))
# What the code that reads a description raises where a part of the description has an unexpected kind.
_MALFORMED = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True, kw_only=True, slots=True)
class DescribedOperation:
    """An operation as it stands in its description, with the item of the path that it belongs to."""

    entry: OperationLabel
    node: dict[str, Any]
    item: dict[str, Any]
    base: str

    @property
    def where(self) -> str:
        return f"{self.entry.method.upper()} {self.entry.url}"


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationDraft:
    """An operation read. `gives` is the record that it gives, or a list of, "" where it gives none."""

    offered: UpstreamOperation
    plan: OperationPlan
    arguments: tuple[Argument, ...]
    record: str = ""
    many: bool = False


def described_operations(documents: Documents, skipped: list[SkippedPart]) -> Iterator[DescribedOperation]:
    """Every operation of the description; paths that cannot be resolved are added to `skipped`."""
    for url, item in as_object(documents.first.get("paths")).items():
        if url.startswith("x-"):
            continue
        try:
            held, base = _item(documents, item)
        except LookupError as wrong:
            skipped.append(SkippedPart(where=url, reason=reason_of(wrong)))
            continue
        for method in HTTP_METHODS:
            node = held.get(method)
            if node is None:
                continue
            if not isinstance(node, dict):
                why = f"it is {type(node).__name__}, no object"
                skipped.append(SkippedPart(where=f"{method.upper()} {url}", reason=why))
                continue
            node = as_object(node)
            id = as_text(node.get("operationId")).strip()
            tags = tuple(tag for tag in as_texts(node.get("tags")) if tag.strip())
            entry = OperationLabel(method=method, url=url if url.startswith("/") else f"/{url}", id=id, tags=tags)
            yield DescribedOperation(entry=entry, node=node, item=held, base=base)


def _item(documents: Documents, item: Any) -> tuple[dict[str, Any], str]:
    """The item of a path. Its own keys win over those of the target of its `$ref`."""
    if item is not None and not isinstance(item, dict):
        raise LookupError(f"it is {type(item).__name__}, no object")
    held = as_object(item)
    if "$ref" not in held:
        return held, ""
    followed, base = documents.followed(held, "")
    return {**as_object(followed), **{key: value for key, value in held.items() if key != "$ref"}}, base


class OperationReader:
    """Reads the operations of one description."""

    def __init__(self, documents: Documents, api: Api) -> None:
        self.documents = documents
        self.types = Types(documents.resolve)
        self.collector = SchemaCollector(documents)
        self._api = api
        readers: dict[str, Any] = {"documents": documents, "types": self.types}
        self._parameters = ParameterReader(**readers, collector=self.collector, schemes=api.schemes)
        self._payloads = BodyReader(**readers, collector=self.collector)
        self._results = ResponseReader(**readers)

    def read(self, raw: DescribedOperation, path: str, skipped: list[SkippedPart]) -> OperationDraft | None:
        """One operation; None where it had to be skipped."""
        notes: list[str] = []
        try:
            drafted = self._read(raw, path, notes)
        except _MALFORMED as wrong:
            skipped.append(SkippedPart(where=raw.where, reason=f"{type(wrong).__name__}: {reason_of(wrong)}"))
            return None
        skipped.extend(SkippedPart(where=raw.where, reason=note) for note in dict.fromkeys(notes))
        return drafted

    def _read(self, raw: DescribedOperation, path: str, notes: list[str]) -> OperationDraft:
        entry, node = raw.entry, raw.node
        hint = " ".join(words(path.replace(".", " ")))
        security = security_of(node.get("security"), self._api.schemes)
        secured = bool(self._api.security if security is None else security)
        found = self._parameters.found(raw.item.get("parameters"), node.get("parameters"), raw.base, notes)
        outside = self._parameters.outside(found, entry.url, secured=secured)
        payload = self._payloads.found(node, found, raw.base, notes)
        inside, body = self._payloads.read(payload, hint) if payload is not None else ([], None)
        arguments, outside, body = _named(outside, inside, body)
        good = self._results.found(node, raw.base)
        verb = path.rpartition(".")[2]
        gives, responses, pages, item = self._given(entry.method, verb, hint, arguments, good)
        own = servers_of(node, self.documents) or servers_of(raw.item, self.documents)
        servers = own if self.documents.version != "2.0" else ()
        plan = OperationPlan(
            path=path,
            id=entry.id or raw.where,
            method=entry.method.upper(),
            url=entry.url,
            servers=servers,
            parameters=tuple(one.parameter for one in outside),
            body=body,
            responses=responses,
            security=security,
            pages=pages,
        )
        doc = _doc(raw, arguments, pages is not None)
        line = Declaration(name=verb, signatures=(signature(arguments, gives),), first="self", doc=doc)
        # a GET may change something too, by its name: `auth.revoke`, `GET_DeleteVolume`
        changes = entry.method not in ("get", "head", "options", "trace") or verb.partition("_")[0] in CHANGING
        fixed = [part for part in entry.url.replace("#", "/").split("/") if part and "{" not in part]
        offered = UpstreamOperation(
            path=path,
            line=line,
            reads=not changes,
            idempotent=entry.method in _IDEMPOTENT and not (changes and entry.method == "get"),
            destructive=entry.method == "delete",
            words=" ".join((*entry.tags, entry.id, *fixed)),
        )
        record, many = _record_of(good, responses, item)
        return OperationDraft(offered=offered, plan=plan, arguments=tuple(arguments), record=record, many=many)

    def _given(
        self, method: str, verb: str, hint: str, arguments: list[Argument], good: list[DescribedResponse]
    ) -> tuple[str, dict[str, ResponsePlan], PagesPlan | None, Any]:
        """The type of the result, how each status is read, how a list continues, and how one item is read."""
        found = detect_pages(self.documents, method, verb, arguments, good)
        if found is None:
            gives, responses = self._results.read(good, hint, method)
            return gives, responses, None, None
        spelled, item = self.types.given(found.schema, f"{hint} item", found.base)
        page = item and ["list", item]
        if item and found.pages.items:
            page = ["map", page]  # only the list of a page is used, so the page gets no class
        responses = {one.status: ResponsePlan(media=one.media, reading=page) for one in good}
        return f"Iterable[{spelled}]", responses, found.pages, item


def _named(
    outside: list[ReadParameter], inside: list[Argument], body: BodyPlan | None
) -> tuple[list[Argument], list[ReadParameter], BodyPlan | None]:
    """All arguments under different names, and the parameters and the body that refer to these names."""
    arguments = distinct([*(one.argument for one in outside), *inside])
    names = {(one.place, one.key): one.name for one in arguments}
    renamed = [_renamed(one, names[one.argument.place, one.argument.key]) for one in outside]
    if body is None:
        return arguments, renamed, None
    if body.whole:
        return arguments, renamed, replace(body, whole=names["body", "body"])
    return arguments, renamed, replace(body, fields={names["body", key]: key for key in body.fields})


def _renamed(one: ReadParameter, name: str) -> ReadParameter:
    return one if name == one.parameter.name else replace(one, parameter=replace(one.parameter, name=name))


def _record_of(good: list[DescribedResponse], responses: dict[str, ResponsePlan], item: Any) -> tuple[str, bool]:
    """The record that an operation gives, and whether it gives many."""
    if item is not None:
        return (item[1], True) if item[0] == "record" else ("", False)
    for one in good:
        reading = responses[one.status].reading
        if reading and reading[0] == "record":
            return reading[1], False
        if reading and reading[0] == "list" and reading[1][0] == "record":
            return reading[1][1], True
    return "", False


def _doc(raw: DescribedOperation, arguments: list[Argument], paged: bool) -> str:
    node = raw.node
    summary = plain_text(node.get("summary") or raw.item.get("summary"), 300).replace("\n", " ")
    more = plain_text(node.get("description") or ("" if summary else raw.item.get("description")), _DOC)
    if more and summary and more.startswith(summary.rstrip(".")):
        summary = ""
    parts = [part for part in (summary, more) if part]
    facts = [raw.where]
    room = _PARAMETERS_DOC
    for one in arguments:
        if one.doc and room > 0:
            facts.append(f"{one.name}: {one.doc}")
            room -= len(facts[-1])
    parts.append("\n".join(facts))
    if paged:
        parts.append("Gives a lazy iterator over all pages: iterate, or take a few with itertools.islice.")
    if node.get("deprecated") is True:
        parts.append("Deprecated.")
    return "\n\n".join(parts)
