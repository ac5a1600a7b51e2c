"""JSON read into records, and what does not fit left as it came."""

from __future__ import annotations

import json
from typing import Any

from cellwright.schemas import RecordPlan, Types, local_resolve, read
from cellwright.scope import Record, record_class


class Source:
    """The record classes of a few schemas."""

    def __init__(self, schema: Any, **schemas: Any) -> None:
        types = Types(local_resolve({"$defs": schemas}))
        self.reading = types.given(schema, "result")[1]
        self._plans = types.records()
        self._classes = {n: record_class("test", n, fields=p.fields, doc=p.doc) for n, p in self._plans.items()}

    def record(self, name: str) -> tuple[type[Record], RecordPlan] | None:
        return (self._classes[name], self._plans[name]) if name in self._plans else None

    def read(self, value: Any, via: dict[str, Any] | None = None) -> Any:
        return read(value, self.reading, self.record, via or {})


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


ISSUE = {
    "required": ["title"],
    "properties": {"title": {}, "+1": {}, "user": ref("user"), "labels": {"type": "array", "items": ref("label")}},
}
USER = {"properties": {"login": {"type": "string"}}}
LABEL = {"properties": {"name": {"type": "string"}}}


def test_objects_become_records_all_the_way_down() -> None:
    source = Source({"type": "array", "items": ref("issue")}, issue=ISSUE, user=USER, label=LABEL)
    came = [{"title": "t", "+1": 2, "user": {"login": "ada"}, "labels": [{"name": "bug"}], "extra": {"x": 1}}]
    before = json.dumps(came)
    issue = source.read(came, {"owner": "o"})[0]
    assert (issue.title, issue.plus_1, issue["+1"], issue.user.login, issue.labels[0].name) == ("t", 2, 2, "ada", "bug")
    assert (issue.extra, issue.labels[0]._via) == ({"x": 1}, {"owner": "o"})
    assert issue.to_dict() == came[0]
    assert json.dumps(came) == before


def test_an_absent_field_reads_none() -> None:
    assert Source(ref("issue"), issue=ISSUE, user=USER, label=LABEL).read({"title": "t"}).user is None


def test_what_does_not_fit_stays_as_it_came() -> None:
    source = Source(ref("issue"), issue=ISSUE, user=USER, label=LABEL)
    assert source.read([1, {"title": "x"}]) == [1, {"title": "x"}]
    assert source.read("gone") == "gone"
    assert source.read(None) is None
    assert source.read({"title": {"a": 1}, "user": "ada", "labels": {"name": "bug"}}) == {
        "title": {"a": 1},
        "user": "ada",
        "labels": {"name": "bug"},
    }
    assert type(source.read({"labels": ["bug", {"name": "new"}]}).labels[1]).__name__ == "Label"


def test_an_object_whose_keys_clash_with_an_attribute_keeps_them_all() -> None:
    source = Source({"properties": {"x-y": {}}})
    assert source.read({"x-y": 1}).x_y == 1
    assert source.read({"x-y": 1, "x_y": 2}) == {"x-y": 1, "x_y": 2}
    assert source.read({"x_y": 2}) == {"x_y": 2}


def test_a_map_of_records_is_a_dict_of_them() -> None:
    source = Source({"type": "object", "additionalProperties": ref("user")}, user=USER)
    assert source.read({"a": {"login": "ada"}})["a"].login == "ada"


def test_a_member_of_a_union_is_found_by_its_discriminator() -> None:
    pet = {"properties": {"kind": {"type": "string"}}}
    union = {"oneOf": [ref("cat"), ref("dog")], "discriminator": {"propertyName": "kind"}}
    source = Source(union, cat=pet, dog=dict(pet))
    assert type(source.read({"kind": "dog"})).__name__ == "Dog"
    assert type(source.read({"kind": "cow"})).__name__ == "Cat"


def test_a_member_of_a_union_is_the_one_whose_keys_fit_best() -> None:
    file: Any = {"required": ["path"], "properties": {"path": {}, "size": {}}}
    folder: Any = {"required": ["path", "entries"], "properties": {"path": {}, "entries": {}}}
    gone: Any = {"properties": {"path": {}, "deleted": {"enum": [True]}, "type": {"const": "gone"}}}
    source = Source({"anyOf": [ref("file"), ref("folder"), ref("gone")]}, file=file, folder=folder, gone=gone)
    cases: list[tuple[Any, str]] = [
        ({"path": "a", "size": 1}, "File"),
        ({"path": "a", "entries": []}, "Folder"),
        ({"path": "a", "deleted": True, "type": "gone"}, "Gone"),
        ({"path": "a", "type": "here"}, "File"),
    ]
    for value, name in cases:
        assert type(source.read(value)).__name__ == name


def test_a_union_of_a_record_and_a_list_reads_what_came() -> None:
    source = Source({"oneOf": [ref("user"), {"type": "array", "items": ref("user")}]}, user=USER)
    assert source.read({"login": "a"}).login == "a"
    assert source.read([{"login": "b"}])[0].login == "b"


def test_data_deeper_than_pythons_stack_is_read() -> None:
    source = Source(ref("node"), node={"properties": {"next": ref("node")}})
    value: dict[str, Any] = {"next": None}
    for _ in range(20_000):
        value = {"next": value}
    found, depth = source.read(value), 0
    while found is not None:
        found, depth = found.next, depth + 1
    assert depth == 20_001
