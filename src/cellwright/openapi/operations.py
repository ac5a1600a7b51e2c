"""The operations of a description, one after another: found, named, and read into a plan and a line.

What is wrong with one of them is told, and costs that one or a part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from cellwright.openapi.arguments import Argument, distinct, head
from cellwright.openapi.documents import Documents
from cellwright.openapi.facts import security_of, servers_of
from cellwright.openapi.keeping import Keeper
from cellwright.openapi.method_names import CHANGING, Entry
from cellwright.openapi.paging import pages_of
from cellwright.openapi.parameters import Parameters, Read
from cellwright.openapi.payloads import Payloads
from cellwright.openapi.plans import Api, Body, Pages, Plan, Response, Skipped
from cellwright.openapi.reading import MALFORMED, METHODS, mapping, said, text, texts
from cellwright.openapi.results import Good, Results
from cellwright.openapi.words import words
from cellwright.schemas import Types, plain_text
from cellwright.scope import Line, Offered

_DOC = 1500
_PARAMETERS_DOC = 2400
_IDEMPOTENT = frozenset(("get", "head", "put", "delete", "options", "trace"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Raw:
    """An operation as it stands in its description, with the item of the path that it belongs to."""

    entry: Entry
    node: dict[str, Any]
    item: dict[str, Any]
    base: str

    @property
    def where(self) -> str:
        return f"{self.entry.method.upper()} {self.entry.url}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Drafted:
    """An operation read. `gives` is the record that it gives, or a list of, "" where it gives none."""

    offered: Offered
    plan: Plan
    arguments: tuple[Argument, ...]
    record: str = ""
    many: bool = False


def found_in(documents: Documents, skipped: list[Skipped]) -> Iterator[Raw]:
    """Every operation that can be found; those of a path that leads nowhere are told."""
    for url, item in mapping(documents.first.get("paths")).items():
        if url.startswith("x-"):
            continue
        try:
            held, base = _item(documents, item)
        except LookupError as wrong:
            skipped.append(Skipped(where=url, reason=said(wrong)))
            continue
        for method in METHODS:
            node = held.get(method)
            if node is None:
                continue
            if not isinstance(node, dict):
                skipped.append(
                    Skipped(where=f"{method.upper()} {url}", reason=f"it is {type(node).__name__}, no object")
                )
                continue
            told = mapping(node)
            entry = Entry(
                method=method,
                url=url if url.startswith("/") else f"/{url}",
                id=text(told.get("operationId")).strip(),
                tags=tuple(tag for tag in texts(told.get("tags")) if tag.strip()),
            )
            yield Raw(entry=entry, node=told, item=held, base=base)


def _item(documents: Documents, item: Any) -> tuple[dict[str, Any], str]:
    """A path's item, with what its `$ref` leads to below what it says itself."""
    if item is not None and not isinstance(item, dict):
        raise LookupError(f"it is {type(item).__name__}, no object")
    held = mapping(item)
    if "$ref" not in held:
        return held, ""
    followed, base = documents.followed(held, "")
    return {**mapping(followed), **{key: value for key, value in held.items() if key != "$ref"}}, base


class Reader:
    """Reads the operations of one description."""

    def __init__(self, documents: Documents, api: Api) -> None:
        self.documents = documents
        self.types = Types(documents.resolve)
        self.keeper = Keeper(documents)
        self._api = api
        self._parameters = Parameters(documents=documents, types=self.types, keeper=self.keeper, schemes=api.schemes)
        self._payloads = Payloads(documents=documents, types=self.types, keeper=self.keeper)
        self._results = Results(documents=documents, types=self.types)

    def read(self, raw: Raw, path: str, skipped: list[Skipped]) -> Drafted | None:
        """One operation; None where it had to be skipped."""
        notes: list[str] = []
        try:
            drafted = self._read(raw, path, notes)
        except MALFORMED as wrong:
            skipped.append(Skipped(where=raw.where, reason=f"{type(wrong).__name__}: {said(wrong)}"))
            return None
        skipped.extend(Skipped(where=raw.where, reason=note) for note in dict.fromkeys(notes))
        return drafted

    def _read(self, raw: Raw, path: str, notes: list[str]) -> Drafted:
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
        plan = Plan(
            path=path,
            id=entry.id or raw.where,
            method=entry.method.upper(),
            url=entry.url,
            servers=servers_of(node, self.documents) or servers_of(raw.item, self.documents)
            if self.documents.version != "2.0"
            else (),
            parameters=tuple(one.parameter for one in outside),
            body=body,
            responses=responses,
            security=security,
            pages=pages,
        )
        line = Line(
            name=verb,
            heads=(head(verb, arguments, gives),),
            callable=True,
            gives=gives,
            parameters=tuple(one.name for one in arguments),
            doc=_doc(raw, arguments, pages is not None),
        )
        changes = entry.method not in ("get", "head", "options", "trace") or _changes(entry, verb)
        offered = Offered(
            path=path,
            line=line,
            reads=not changes,
            idempotent=entry.method in _IDEMPOTENT and not (changes and entry.method == "get"),
            words=" ".join((*entry.tags, entry.id, *_fixed(entry.url))),
        )
        record, many = _record_of(good, responses, item)
        return Drafted(offered=offered, plan=plan, arguments=tuple(arguments), record=record, many=many)

    def _given(
        self, method: str, verb: str, hint: str, arguments: list[Argument], good: list[Good]
    ) -> tuple[str, dict[str, Response], Pages | None, Any]:
        """The type of what comes, how each status is read, how a list goes on, and how one item is read."""
        found = pages_of(self.documents, method, verb, arguments, good)
        if found is None:
            gives, responses = self._results.read(good, hint, method)
            return gives, responses, None, None
        spelled, item = self.types.given(found.schema, f"{hint} item", found.base)
        page = item and ["list", item]
        if item and found.pages.items:
            page = ["map", page]  # of the keys of a page only the list is used, so no class is made for the page
        responses = {one.status: Response(media=one.media, reading=page) for one in good}
        return f"Iterable[{spelled}]", responses, found.pages, item


def _named(
    outside: list[Read], inside: list[Argument], body: Body | None
) -> tuple[list[Argument], list[Read], Body | None]:
    """All arguments under different names, and what is sent by these names."""
    arguments = distinct([*(one.argument for one in outside), *inside])
    names = {(one.place, one.key): one.name for one in arguments}
    renamed = [_renamed(one, names[one.argument.place, one.argument.key]) for one in outside]
    if body is None:
        return arguments, renamed, None
    if body.whole:
        return arguments, renamed, replace(body, whole=names["body", "body"])
    return arguments, renamed, replace(body, fields={names["body", key]: key for key in body.fields})


def _renamed(one: Read, name: str) -> Read:
    return one if name == one.parameter.name else replace(one, parameter=replace(one.parameter, name=name))


def _changes(entry: Entry, verb: str) -> bool:
    """Whether a GET does something all the same, as its name says: `auth.revoke`, `GET_DeleteVolume`."""
    return verb.partition("_")[0] in CHANGING


def _fixed(url: str) -> list[str]:
    return [part for part in url.replace("#", "/").split("/") if part and "{" not in part]


def _record_of(good: list[Good], responses: dict[str, Response], item: Any) -> tuple[str, bool]:
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


def _doc(raw: Raw, arguments: list[Argument], paged: bool) -> str:
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
