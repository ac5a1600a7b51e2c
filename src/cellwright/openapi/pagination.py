"""Whether a list has pages, and how the next is found: by a Link header, a cursor, a page number or an offset.

It decides by the parameters of an operation and the schema of its result. It fetches nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from cellwright.openapi.arguments import Argument
from cellwright.openapi.body_reader import DescribedResponse
from cellwright.openapi.documents import Documents
from cellwright.openapi.name_words import is_plural, word_file, words
from cellwright.openapi.object_keys import ObjectKeys, items_of, keys_of
from cellwright.openapi.operation_plan import PagesPlan
from cellwright.schemas import as_object

_WORDS = word_file()["pages"]
_LISTS, _HOLDERS, _NUMBERED, _OFFSETS, _SIZES, _LINKS = (
    tuple(_WORDS[name].split()) for name in ("lists", "holders", "numbered", "offsets", "sizes", "links")
)
# an argument that is a cursor, with the keys of a page that it may come from; without case and marks
_CURSORS: dict[str, tuple[str, ...]] = {name: tuple(keys.split()) for name, keys in _WORDS["cursors"].items()}
_BESIDE = ("previous", "prev", "self", "last", "first")  # beside a `next` that is an URL
_ASKING = frozenset("list search query find describe get scan select lookup".split())


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectedPages:
    """How a list continues, and the schema of one of its items."""

    pages: PagesPlan
    schema: Any
    base: str


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def detect_pages(
    documents: Documents, method: str, verb: str, arguments: list[Argument], good: list[DescribedResponse]
) -> DetectedPages | None:
    """How the list of an operation continues. None where it gives no list, or no way to the next page is found."""
    asks = method == "get" or (method == "post" and (words(verb) or ("",))[0] in _ASKING)
    if not asks or not good or good[0].schema is None:
        return None
    taken = {_plain(one.key): one for one in arguments if one.place in ("query", "body")}
    page = good[0]
    listed = items_of(documents, page.schema, page.base)
    if listed is not None:
        return _bare(taken, page, listed)
    keys = keys_of(documents, page.schema, page.base)
    if not keys.found or keys.open:
        return None
    held = _list_in(documents, keys)
    if held is None:
        return None
    name, (schema, base) = held
    pages = _link(documents, keys, name, taken) or _cursor(documents, taken, keys, name)
    pages = (
        pages
        or (PagesPlan(how="link", items=name) if page.link and _numbered(taken) else None)
        or _counted(taken, name)
    )
    return None if pages is None else DetectedPages(pages=pages, schema=schema, base=base)


def _bare(taken: dict[str, Argument], page: DescribedResponse, listed: tuple[Any, str]) -> DetectedPages | None:
    """A page that is the list itself."""
    if page.link and (_numbered(taken) or taken.keys() & {"cursor", "after", "since", "perpage", "limit"}):
        return DetectedPages(pages=PagesPlan(how="link"), schema=listed[0], base=listed[1])
    counted = _counted(taken, "")
    return None if counted is None else DetectedPages(pages=counted, schema=listed[0], base=listed[1])


def _list_in(documents: Documents, keys: ObjectKeys) -> tuple[str, tuple[Any, str]] | None:
    """The key of the page's list, with the schema of its items."""
    lists: dict[str, tuple[Any, str]] = {}
    for key, (schema, base) in keys.found.items():
        found = items_of(documents, schema, base)
        if found is not None:
            lists[key] = found
    for key in lists:
        if key.lower() in _LISTS:
            return key, lists[key]
    objects = {key: one for key, one in lists.items() if keys_of(documents, *one).found}
    for few in (objects, lists):
        if len(few) == 1:
            key = next(iter(few))
            told = words(key)
            return (key, few[key]) if few is objects or (told and is_plural(told[-1])) else None
    return None


def _link(documents: Documents, keys: ObjectKeys, name: str, taken: dict[str, Argument]) -> PagesPlan | None:
    """A key of the page that holds the URL of the next."""
    for key in _LINKS:
        if key in keys.found:
            return PagesPlan(how="link", items=name, next=key)
    if taken.keys().isdisjoint(_CURSORS) and _is_url(documents, keys, "next"):
        return PagesPlan(how="link", items=name, next="next")
    for holder in ("links", "_links"):
        if holder not in keys.found:
            continue
        inner = keys_of(documents, *keys.found[holder])
        if _is_url(documents, inner, "next"):
            return PagesPlan(how="link", items=name, next=f"{holder}.next")
        if "next" in inner.found and "href" in keys_of(documents, *inner.found["next"]).found:
            return PagesPlan(how="link", items=name, next=f"{holder}.next.href")
    return None


def _is_url(documents: Documents, keys: ObjectKeys, key: str) -> bool:
    if key not in keys.found:
        return False
    schema, base = keys.found[key]
    try:
        held = as_object(documents.followed(schema, base)[0])
    except LookupError:
        return False
    kind = held.get("type")
    is_text = kind == "string" or (isinstance(kind, list) and "string" in kind)
    return is_text and (held.get("format") in ("uri", "url") or any(other in keys.found for other in _BESIDE))


def _cursor(documents: Documents, taken: dict[str, Argument], keys: ObjectKeys, name: str) -> PagesPlan | None:
    more = next((key for key in keys.found if _plain(key) in ("hasmore", "hasnext", "more", "istruncated")), "")
    if "startingafter" in taken and more:
        return PagesPlan(how="cursor", items=name, by=taken["startingafter"].name, more=more, item_key="id")
    for argument, sources in _CURSORS.items():
        one = taken.get(argument)
        if one is None or one.type.startswith("int"):
            continue
        source = _source(documents, keys, sources)
        if source:
            return PagesPlan(how="cursor", items=name, by=one.name, next=source, more=more)
    return None


def _source(documents: Documents, keys: ObjectKeys, sources: tuple[str, ...]) -> str:
    """The key of a page that holds the cursor: its own, or one inside of a key such as `metadata`."""
    for wanted in sources:
        for key, (schema, base) in keys.found.items():
            if _plain(key) == wanted and not keys_of(documents, schema, base).found:
                return key
    for key, (schema, base) in keys.found.items():
        if key.lower() not in _HOLDERS:
            continue
        inner = keys_of(documents, schema, base).found
        for wanted in sources:
            for below, (deep, _) in inner.items():
                if _plain(below) == wanted and as_object(deep).get("type") != "object":
                    return f"{key}.{below}"
    return ""


def _numbered(taken: dict[str, Argument]) -> bool:
    return any(name in taken for name in _NUMBERED)


def _counted(taken: dict[str, Argument], name: str) -> PagesPlan | None:
    """By a page's number, or by an offset with a size beside it."""
    for key in _NUMBERED:
        if key in taken and _counts(taken[key]):
            return PagesPlan(how="page", items=name, by=taken[key].name)
    sized = any(size in taken for size in _SIZES)
    for key in _OFFSETS:
        if sized and key in taken and _counts(taken[key]):
            return PagesPlan(how="offset", items=name, by=taken[key].name)
    return None


def _counts(one: Argument) -> bool:
    return one.type.startswith(("int", "float")) and not one.type.startswith("interface")
