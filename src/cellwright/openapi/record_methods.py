"""Methods of records, from nested paths: an operation below `/issues/{issue_number}` is a method of `Issue`.

A path's parameters are filled from the record itself, and from the call that it came from. It knows no schemas: records
are names with fields here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cellwright.openapi.arguments import signature
from cellwright.openapi.name_words import is_plural, joined, same, singular, words
from cellwright.openapi.operation_reader import OperationDraft
from cellwright.schemas import RecordPlan
from cellwright.scope import Declaration, Shape

MOST_METHODS = 60
_OWN = frozenset("get keys values items to_dict".split())  # what `Record` itself has
_HOLE = re.compile(r"\{([^{}]+)\}")
_OWN_KEYS = ("id", "number", "name", "slug", "key", "sid", "uuid", "gid", "login", "username", "code", "sha", "tag")
_PLAIN_VERBS = frozenset(
    "list get create update delete replace set add remove post put patch fetch retrieve read insert".split()
)
_NAMES = ("name", "login", "slug", "key", "username")
_IDS = ("id", "sid", "gid", "uuid")
_LINKS = frozenset("for to in from on with of by".split())
_ASIDE = frozenset(("metadata", "meta", "links", "_links", "pagination"))  # no record that an API is about
_ENVELOPE = 4  # fields of a record that only holds another
_VERB = re.compile(r"(.*\}):([A-Za-z]+)$")  # `/keypairs/{id}:enable`


@dataclass(kw_only=True, slots=True)
class _Item:
    """A path that leads to one thing, and the operations on it and right below it."""

    url: str
    own: list[OperationDraft] = field(default_factory=list[OperationDraft])
    below: list[OperationDraft] = field(default_factory=list[OperationDraft])

    @property
    def size(self) -> int:
        return len(self.own) + len(self.below)


Table = dict[str, dict[str, dict[str, Any]]]
Lines = dict[str, list[Declaration]]


def methods_of(
    drafts: Sequence[OperationDraft], records: Mapping[str, RecordPlan], shapes: Mapping[str, Shape]
) -> tuple[Table, Lines]:
    """For each record its methods (`path` of the operation, `fill` of its arguments), and their lines."""
    items = _items(drafts)
    places = _places(drafts, items, records)
    table: Table = {}
    lines: Lines = {}
    for record in sorted(places):
        plan = records.get(record)
        if plan is None or record not in shapes:
            continue
        for url in sorted(places[record], key=lambda url: (-items[url].size, len(url), url)):
            types = {line.name: line.gives for line in shapes[record].lines}
            made = _Methods(plan=plan, url=url, records=records, types=types)
            made.take(items[url])
            if made.table:
                table[record], lines[record] = made.table, made.lines
                break
    return table, lines


def _items(drafts: Iterable[OperationDraft]) -> dict[str, _Item]:
    found: dict[str, _Item] = {}
    for draft in drafts:
        url = _tidy(draft.plan.url)
        parent, _, last = url.rpartition("/")
        if "{" in last:
            found.setdefault(url, _Item(url=url)).own.append(draft)
        elif "{" in parent.rpartition("/")[2]:
            found.setdefault(parent, _Item(url=parent)).below.append(draft)
    return found


def _tidy(url: str) -> str:
    url = url.partition("#")[0].removesuffix(".json").rstrip("/")
    verb = _VERB.match(url)
    return f"{verb[1]}/{verb[2]}" if verb else url


def _places(
    drafts: Iterable[OperationDraft], items: Mapping[str, _Item], records: Mapping[str, RecordPlan]
) -> defaultdict[str, set[str]]:
    """The item paths of each record: those that give it, and those below a list of it."""
    children: defaultdict[str, list[str]] = defaultdict(list)
    for url in items:
        children[url.rpartition("/")[0]].append(url)
    places: defaultdict[str, set[str]] = defaultdict(set)
    for draft in drafts:
        if not draft.record or draft.plan.method != "GET":
            continue
        url = _tidy(draft.plan.url)
        record, many = (draft.record, True) if draft.many else _held(draft.record, records)
        if many:
            if "{" not in url.rpartition("/")[2]:
                places[record].update(children.get(url, ()))
        elif url in items:
            places[record].add(url)
    return places


def _held(record: str, records: Mapping[str, RecordPlan]) -> tuple[str, bool]:
    """The record inside of one that only holds it: `{"droplet": {…}}`, `{"data": […]}`. And whether there are many."""
    plan = records.get(record)
    if plan is None or len(plan.fields) > _ENVELOPE or len(plan.reads) != 1 or "id" in plan.fields:
        return record, False
    key, reading = next(iter(plan.reads.items()))
    if key in _ASIDE:
        return record, False
    if reading[0] == "record":
        return reading[1], False
    return (reading[1][1], True) if reading[0] == "list" and reading[1][0] == "record" else (record, False)


@dataclass(kw_only=True, slots=True)
class _Methods:
    plan: RecordPlan
    url: str
    records: Mapping[str, RecordPlan]
    types: dict[str, str]  # of the record's fields
    table: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    lines: list[Declaration] = field(default_factory=list[Declaration])

    def take(self, item: _Item) -> None:
        noun = self._noun()
        beside = {draft.plan.method for draft in item.own}
        for draft in item.own:
            verb = _own_verb(draft.plan.method, beside)
            if verb:
                self._add(verb, draft)
        for draft in item.below:
            self._add(_below_name(draft, noun), draft)

    def _noun(self) -> tuple[str, ...]:
        fixed = [part for part in self.url.split("/") if part and "{" not in part]
        return tuple(singular(word) for word in words(fixed[-1])) if fixed else ()

    def _add(self, name: str, draft: OperationDraft) -> None:
        fill = self._fill(draft)
        name = self._free(name)
        if fill is None or not name or len(self.table) >= MOST_METHODS:
            return
        left = [one for one in draft.arguments if one.name not in fill]
        line = draft.offered.line
        self.table[name] = {"path": draft.offered.path, "fill": fill}
        self.lines.append(replace(line, name=name, signatures=(signature(left, line.gives),)))

    def _free(self, name: str) -> str:
        """The name, or another where a field of the record or a method has it: `list_comments` for `comments`."""
        for tried in (name, f"list_{name}" if is_plural(name.rpartition("_")[2]) else f"get_{name}"):
            if tried and tried not in self.plan.fields and tried not in self.table and tried not in _OWN:
                return tried
        return ""

    def _fill(self, draft: OperationDraft) -> dict[str, list[str]] | None:
        """The source of each parameter of the path; None where a parameter has no source."""
        holes = _HOLE.findall(self.url)
        names = {one.key: one.name for one in draft.arguments if one.place == "path"}
        types = {one.key: one.type for one in draft.arguments if one.place == "path"}
        last = self.url.rpartition("/")[2]
        own = _HOLE.findall(last)
        fill: dict[str, list[str]] = {}
        for hole in holes:
            if hole not in names:
                return None
            source = self._own_field(hole, types[hole]) if hole in own[-1:] else self._other_field(hole)
            if source is None:
                return None
            fill[names[hole]] = source if source else ["via", names[hole]]
        return fill

    def _own_field(self, hole: str, spelled: str) -> list[str] | None:
        """The field that identifies this record: `number` for `issue_number`, `id` for `customer`."""
        keys = {key.lower(): key for key in self.plan.fields.values()}
        told, noun = words(hole), self._noun()
        for key in (hole.lower(), "_".join(told), "".join(told)):
            if key in keys and not self._is_record(keys[key]):
                return ["field", keys[key]]
        tail = told[len(noun) :] if tuple(map(singular, told[: len(noun)])) == noun else told[-1:]
        for key in ("_".join(tail), "".join(tail), told[-1] if told else ""):
            if key in _OWN_KEYS and key in keys:
                return ["field", keys[key]]
        if told == ("name",) and "metadata" in keys and self._is_record("metadata"):  # Kubernetes
            return ["field", "metadata", "name"]
        bare = not tail or all(any(same(one, other) for other in noun) for one in told)
        for key in (*_IDS, *(_NAMES if bare else ())) if bare or told[-1:] == ("id",) else ():
            if key in keys and (not bare or self._fits(keys[key], spelled)):
                return ["field", keys[key]]
        return None

    def _fits(self, key: str, spelled: str) -> bool:
        """Whether a field is of the type that the path wants: GitHub's `{repo}` is a name, and its `id` a number."""
        attribute = next((name for name, own in self.plan.fields.items() if own == key), key)
        kind = self.types.get(attribute, "Any").partition(" |")[0]
        return kind == "Any" or spelled in ("Any", kind) or kind in spelled.split(" | ")

    def _other_field(self, hole: str) -> list[str]:
        """A field of the same name, else [] for the call that the record came from."""
        keys = {key.lower(): key for key in self.plan.fields.values()}
        for key in (hole.lower(), "_".join(words(hole))):
            if key in _OWN_KEYS or key not in keys:
                continue
            if not self._is_record(keys[key]):
                return ["field", keys[key]]
            reading = self.plan.reads[keys[key]]
            inner = self.records.get(reading[1]) if reading[0] == "record" else None
            if inner is not None and "login" in inner.fields:  # `{owner}` of a repository
                return ["field", keys[key], "login"]
        return []

    def _is_record(self, key: str) -> bool:
        return key in self.plan.reads


def _own_verb(method: str, beside: set[str]) -> str:
    match method:
        case "PATCH":
            return "update"
        case "PUT":
            return "replace" if "PATCH" in beside else "update"
        case "POST":
            return "" if beside & {"PATCH", "PUT"} else "update"
        case "DELETE":
            return "delete"
        case _:
            return ""


def _below_name(draft: OperationDraft, noun: tuple[str, ...]) -> str:
    """What an operation right below is called on the record: `comments`, `create_comment`, `lock`."""
    last = _tidy(draft.plan.url).rpartition("/")[2]
    thing = words(last)
    verb = tuple(draft.offered.line.name.strip("_").split("_"))
    if draft.plan.method == "GET":
        acts = verb[0] not in _PLAIN_VERBS and len(verb) > 1
        return joined(verb if acts else thing)
    if thing and verb[: len(thing)] == thing:
        return joined(thing)  # `cancel_workflow_run` below `/cancel`
    left = _without_noun(list(verb), noun)
    one = (
        [*thing[:-1], singular(thing[-1])] if thing and left[0] in ("create", "add", "post", "insert") else list(thing)
    )
    if left[0] in _PLAIN_VERBS and (len(left) == 1 or left[1] in _LINKS):
        return joined([*([] if thing[:1] == (left[0],) else left[:1]), *one, *left[1:]])  # `/set_state`
    if len(left) == 2 and left[0] in _PLAIN_VERBS and len(thing) > 1 and same(left[1], thing[-1]):
        return joined([left[0], *one])
    return joined(left)


def _without_noun(left: list[str], noun: tuple[str, ...]) -> list[str]:
    """create deployment status → create status, below a deployment; list for repo → list."""
    size = len(noun)
    for at in range(1, len(left) - size + 1):
        if not size or tuple(map(singular, left[at : at + size])) != noun:
            continue
        if left[at - 1] in _LINKS and at > 1:
            return left[: at - 1] + left[at + size :]
        if at + size < len(left) or at == 1:
            return left[:at] + left[at + size :]
    return left
