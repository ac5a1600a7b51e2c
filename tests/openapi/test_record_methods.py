"""Methods of records: what stands below a path is what the record at that path can do."""

from __future__ import annotations

from typing import Any

from tests.openapi.specs import NUMBER, TEXT, array, compiled, gives, query, spec, takes, thing
from tests.signatures import head_of

from cellwright.openapi.compiled_api import CompiledApi

ISSUE = {"$ref": "#/components/schemas/Issue"}
OWN = [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in ("owner", "repo")]
NUMBERED = [*OWN, {"name": "issue_number", "in": "path", "required": True, "schema": NUMBER}]
DONE = {"204": {"description": ""}}


def tracker(**fields: Any) -> CompiledApi:
    item = "/repos/{owner}/{repo}/issues/{issue_number}"
    update = takes(thing("title", title=TEXT), required=True)
    return compiled(
        spec(
            {
                "/repos/{owner}/{repo}/issues": {
                    "get": {"operationId": "issues/list", "parameters": OWN, "responses": gives(array(ISSUE))},
                    "post": {"operationId": "issues/create", "parameters": OWN, "responses": gives(ISSUE)},
                },
                item: {
                    "parameters": NUMBERED,
                    "get": {"operationId": "issues/get", "responses": gives(ISSUE)},
                    "patch": {"operationId": "issues/update", "requestBody": update, "responses": gives(ISSUE)},
                    "delete": {"operationId": "issues/delete", "responses": DONE},
                },
                f"{item}/comments": {
                    "parameters": NUMBERED,
                    "get": {
                        "operationId": "issues/list-comments",
                        "parameters": [query("since")],
                        "responses": gives(array(thing(body=TEXT))),
                    },
                    "post": {"operationId": "issues/create-comment", "requestBody": update, "responses": DONE},
                },
                f"{item}/lock": {"parameters": NUMBERED, "put": {"operationId": "issues/lock", "responses": DONE}},
                f"{item}/set_state": {"parameters": NUMBERED, "post": {"operationId": "issues/set", "responses": DONE}},
                f"{item}/marks/{{mark}}": {"get": {"operationId": "issues/mark", "parameters": NUMBERED}},
            },
            components={"schemas": {"Issue": thing("number", number=NUMBER, id=NUMBER, title=TEXT, **fields)}},
        )
    )


FILL = {"owner": ["via", "owner"], "repo": ["via", "repo"], "issue_number": ["field", "number"]}


def test_what_is_below_a_path_are_methods_of_its_record() -> None:
    found = tracker().methods("Issue")
    assert found == {
        "update": {"path": "issues.update", "fill": FILL},
        "delete": {"path": "issues.delete", "fill": FILL},
        "comments": {"path": "issues.list_comments", "fill": FILL},
        "create_comment": {"path": "issues.create_comment", "fill": FILL},
        "lock": {"path": "issues.lock", "fill": FILL},
        "set_state": {"path": "issues.set", "fill": FILL},
    }


def test_the_heads_of_methods_leave_out_what_is_filled() -> None:
    shape = tracker().shape("Issue")
    assert shape is not None
    assert shape.kind == "record"
    heads = {line.name: head_of(line) for line in shape.lines if line.callable}
    assert heads["comments"] == "def comments(self, *, since: str | None = None) -> list[IssuesListCommentsResultItem]"
    assert heads["update"] == "def update(self, *, title: str) -> Issue"
    assert heads["lock"] == "def lock(self) -> None"


def test_a_field_keeps_its_name_before_a_method() -> None:
    found = tracker(comments=NUMBER).methods("Issue")
    assert "comments" not in found
    assert found["list_comments"]["path"] == "issues.list_comments"


def nested(url: str, record: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """How the path of a record is filled for what stands below it."""
    described = [{"name": name, "in": "path", "required": True, "schema": one} for name, one in parameters.items()]
    paths = {
        url: {"get": {"operationId": "a/get", "parameters": described, "responses": gives(record)}},
        f"{url}/act": {"post": {"operationId": "a/act", "parameters": described, "responses": DONE}},
    }
    found = compiled(spec(paths))
    (name,) = [one for one in found.shapes() if found.methods(one)] or [""]
    return found.methods(name)["act"]["fill"] if name else {}


def test_the_parameter_of_a_path_is_found_among_the_usual_fields() -> None:
    assert nested("/customers/{customer}", thing(id=TEXT), {"customer": TEXT}) == {"customer": ["field", "id"]}
    assert nested("/customers/{customer-id}", thing(id=TEXT), {"customer-id": TEXT}) == {"customer_id": ["field", "id"]}
    assert nested("/Calls/{CallSid}", thing(sid=TEXT), {"CallSid": TEXT}) == {"CallSid": ["field", "sid"]}
    assert nested("/teams/{team_slug}", thing(id=NUMBER, slug=TEXT), {"team_slug": TEXT}) == {
        "team_slug": ["field", "slug"]
    }
    metadata = thing(metadata=thing(name=TEXT))
    assert nested("/pods/{name}", metadata, {"name": TEXT}) == {"name": ["field", "metadata", "name"]}


def test_a_name_is_taken_where_the_id_is_of_another_type() -> None:
    repo = thing(id=NUMBER, name=TEXT, owner=thing(login=TEXT))
    assert nested("/repos/{owner}/{repo}", repo, {"owner": TEXT, "repo": TEXT}) == {
        "owner": ["field", "owner", "login"],
        "repo": ["field", "name"],
    }


def test_a_parent_is_a_field_of_its_name_or_of_the_call() -> None:
    record = thing(id=TEXT, account_id=TEXT)
    given = {"account_id": TEXT, "region": TEXT, "id": TEXT}
    assert nested("/r/{region}/accounts/{account_id}/things/{id}", record, given) == {
        "region": ["via", "region"],
        "account_id": ["field", "account_id"],
        "id": ["field", "id"],
    }


def test_a_record_that_cannot_say_where_it_is_has_no_methods() -> None:
    assert nested("/reports/{date}", thing(total=NUMBER), {"date": TEXT}) == {}


def test_a_record_in_an_envelope_has_its_methods() -> None:
    wrapped = thing(droplet=thing(id=NUMBER, size=TEXT))
    assert nested("/droplets/{droplet_id}", wrapped, {"droplet_id": NUMBER}) == {"droplet_id": ["field", "id"]}
