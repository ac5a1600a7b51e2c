"""Operations read: what they take, as a head and as a plan; what they give; what is left out, and said."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from tests.openapi.specs import (
    NUMBER,
    TEXT,
    array,
    compiled,
    compiled_operation,
    gives,
    head_of,
    query,
    spec,
    takes,
    thing,
)  # fmt: skip

from cellwright.openapi.compiled_api import CompiledApi
from cellwright.openapi.operation_plan import BodyPlan, OperationPlan, ParameterPlan, ResponsePlan


def plan_of(found: CompiledApi, path: str = "things.do") -> OperationPlan:
    plan = found.plan(path)
    assert plan is not None
    return plan


def body_of(found: CompiledApi) -> BodyPlan:
    body = plan_of(found).body
    assert body is not None
    return body


def sent(found: CompiledApi) -> list[tuple[Any, ...]]:
    return [(one.place, one.key, one.style, one.explode) for one in plan_of(found).parameters]


# --- parameters ---


def test_the_paths_parameters_come_first_and_the_rest_by_name_required_before_optional() -> None:
    found = compiled_operation(
        {
            "parameters": [
                query("state", {"type": "string", "enum": ["open", "closed"], "default": "open"}),
                query("q", required=True),
                {"name": "id", "in": "path", "required": True, "schema": NUMBER},
                {"name": "X-Request-Id", "in": "header", "schema": TEXT},
                {"name": "session", "in": "cookie", "schema": TEXT},
            ]
        },
        url="/a/{owner}/b/{id}",
    )
    assert head_of(found) == (
        "def do(self, owner: str, id: int, *, q: str, state: Literal['open', 'closed'] = 'open', "
        "x_request_id: str | None = None, session: str | None = None) -> None"
    )
    assert ast.parse(head_of(found) + ": ...")


def test_an_operations_parameter_stands_over_its_paths() -> None:
    described = {
        "/a": {
            "parameters": [query("limit", NUMBER), query("page", NUMBER)],
            "get": {"operationId": "a/get", "parameters": [query("limit", TEXT, required=True)]},
        }
    }
    assert head_of(compiled(spec(described)), "a.get") == "def get(self, *, limit: str, page: int | None = None) -> Any"


def test_styles_are_those_of_the_place_unless_said() -> None:
    listed = array(TEXT)
    found = compiled_operation(
        {
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": listed},
                {"name": "m", "in": "path", "required": True, "style": "matrix", "explode": True, "schema": listed},
                query("tags", listed),
                query("flat", listed, explode=False),
                query("deep", thing(a=TEXT), style="deepObject", explode=True),
                query("pipes", listed, style="pipeDelimited"),
                {"name": "X-H", "in": "header", "schema": listed},
            ]
        },
        url="/a/{id}/{m}",
    )
    assert sent(found) == [
        ("path", "id", "simple", False),
        ("path", "m", "matrix", True),
        ("query", "tags", "form", True),
        ("query", "flat", "form", False),
        ("query", "deep", "deepObject", True),
        ("query", "pipes", "pipeDelimited", False),
        ("header", "X-H", "simple", False),
    ]


def test_a_parameter_with_content_is_sent_by_its_media_type() -> None:
    found = compiled_operation(
        {"parameters": [{"name": "f", "in": "query", "content": takes(thing(a=TEXT))["content"]}]}
    )
    assert plan_of(found).parameters[0].content == "application/json"


def test_formats_of_version_2_are_told_as_styles() -> None:
    of = {"type": "array", "items": TEXT}
    formats = ["csv", "ssv", "tsv", "pipes", "multi", None]
    parameters = [{"name": f"p{n}", "in": "query", **of, "collectionFormat": one} for n, one in enumerate(formats)]
    found = compiled_operation({"parameters": parameters}, swagger="2.0")
    assert [one[2:] for one in sent(found)] == [
        ("form", False), ("spaceDelimited", False), ("tabDelimited", False), ("pipeDelimited", False), ("form", True),
        ("form", False),
    ]  # fmt: skip


def test_headers_that_http_owns_and_keys_of_the_api_are_not_for_code_to_give() -> None:
    found = compiled_operation(
        {
            "parameters": [
                *(
                    {"name": name, "in": "header", "schema": TEXT}
                    for name in ("Accept", "content-type", "Authorization")
                ),
                {"name": "X-Key", "in": "header", "required": True, "schema": TEXT},
                query("token", required=True, description="Authentication token. Requires a scope."),
                query("page_token"),
            ]
        },
        components={"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-key"}}},
        security=[{"key": []}],
    )
    assert [one.key for one in plan_of(found).parameters] == ["page_token"]


def test_a_name_that_is_taken_gets_its_place_behind_it() -> None:
    found = compiled_operation(
        {
            "parameters": [query("id"), {"name": "id", "in": "path", "required": True, "schema": TEXT}],
            "requestBody": takes(thing(id=TEXT, x=TEXT)),
        },
        url="/a/{id}",
        method="put",
    )
    assert "(self, id: str, *, id_query: str | None = None, id_body: str | None = None, x:" in head_of(found)
    assert [(one.name, one.key) for one in plan_of(found).parameters] == [("id", "id"), ("id_query", "id")]
    assert body_of(found).fields == {"id_body": "id", "x": "x"}


# --- bodies ---


def test_the_keys_of_a_json_body_are_arguments() -> None:
    schema = {
        "allOf": [
            {"$ref": "#/components/schemas/Base"},
            {"properties": {"labels": array(TEXT), "made": {"type": "string", "readOnly": True}}},
        ]
    }
    found = compiled_operation(
        {"requestBody": takes(schema, required=True)},
        method="post",
        components={"schemas": {"Base": thing("title", title=TEXT, note={"type": "string", "default": "n"})}},
    )
    assert head_of(found) == (
        "def do(self, *, title: str, note: str | None = None, labels: list[str] | None = None) -> None"
    )
    body = body_of(found)
    assert (body.media, body.required, body.whole) == ("application/json", True, "")
    assert body.fields == {"title": "title", "note": "note", "labels": "labels"}


@pytest.mark.parametrize(
    ("schema", "media", "told"),
    [
        (array(TEXT), "application/json", "list[str]"),
        ({}, "application/json", "Any"),
        ({"type": "object", "additionalProperties": NUMBER}, "application/json", "dict[str, int]"),
        (TEXT, "text/plain", "str"),
        ({"type": "string", "format": "binary"}, "application/octet-stream", "bytes"),
        (thing(a=TEXT), "application/xml", "str"),
        ({"oneOf": [array(TEXT), TEXT]}, "application/json", "list[str] | str"),
        (thing(**{f"k{n}": TEXT for n in range(61)}), "application/json", "ThingsDoBody"),
    ],
)
def test_a_body_without_few_keys_is_one_argument(schema: Any, media: str, told: str) -> None:
    found = compiled_operation({"requestBody": takes(schema, media, required=True)}, method="post")
    assert head_of(found) == f"def do(self, *, body: {told}) -> None"
    assert (body_of(found).media, body_of(found).whole) == (media, "body")


def test_a_choice_of_objects_has_the_keys_of_all_and_a_bare_list_is_left_out() -> None:
    labels = [
        thing("labels", labels=array(TEXT)),
        thing("labels", labels=array(thing(name=TEXT)), mode=TEXT),
        array(TEXT),
    ]
    found = compiled_operation({"requestBody": takes({"oneOf": labels}, required=True)}, method="post")
    assert head_of(found) == (
        "def do(self, *, labels: list[str] | list[ThingsDoLabelInput], mode: str | None = None) -> None"
    )
    assert "oneOf" in body_of(found).schema


def test_json_is_chosen_before_forms_and_forms_before_the_rest() -> None:
    order = ["application/json", "application/vnd.x+json", "application/x-www-form-urlencoded", "multipart/form-data",
             "text/plain", "application/octet-stream"]  # fmt: skip
    for at, media in enumerate(order):
        content = {one: {"schema": thing(a=TEXT)} for one in reversed(order[at:])}
        assert body_of(compiled_operation({"requestBody": {"content": content}}, method="post")).media == media


def test_a_form_has_its_encodings_and_files_are_bytes() -> None:
    schema = thing("file", file={"type": "string", "format": "binary"}, note=TEXT)
    content = {"multipart/form-data": {"schema": schema, "encoding": {"file": {"contentType": "image/png"}}}}
    found = compiled_operation({"requestBody": {"required": True, "content": content}}, method="post")
    assert head_of(found) == "def do(self, *, file: bytes, note: str | None = None) -> None"
    assert body_of(found).encoding == {"file": {"contentType": "image/png"}}


def test_bodies_of_version_2_are_told_alike() -> None:
    whole = {"name": "pet", "in": "body", "required": True, "schema": thing("name", name=TEXT)}
    assert "(self, *, name: str)" in head_of(compiled_operation({"parameters": [whole]}, method="post", swagger="2.0"))
    form = [{"name": "a", "in": "formData", "type": "string", "required": True}]
    found = compiled_operation({"parameters": form}, method="post", swagger="2.0")
    assert (body_of(found).media, head_of(found)) == (
        "application/x-www-form-urlencoded",
        "def do(self, *, a: str) -> None",
    )
    form.append({"name": "f", "in": "formData", "type": "file"})
    found = compiled_operation({"parameters": form}, method="post", swagger="2.0")
    assert body_of(found).media == "multipart/form-data"
    assert "f: bytes | None = None" in head_of(found)


def test_an_object_that_has_no_keys_is_no_body() -> None:
    empty: dict[str, Any] = {
        "content": {"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {}}}}
    }
    assert plan_of(compiled_operation({"requestBody": empty})).body is None


def test_schemas_that_arguments_are_checked_by_need_no_description_any_more() -> None:
    node = thing(next={"$ref": "#/components/schemas/Node"}, name={"type": "string", "description": "long prose"})
    found = compiled_operation(
        {"requestBody": takes({"$ref": "#/components/schemas/Node"})},
        method="post",
        components={"schemas": {"Node": node, "Other": thing(x=TEXT)}},
    )
    ref = body_of(found).schema["$ref"]
    _, schema, _ = found.resolve(ref)
    assert schema["properties"] == {"next": {"$ref": ref}, "name": TEXT}
    with pytest.raises(LookupError):
        found.resolve("#/components/schemas/Other")


# --- results ---


@pytest.mark.parametrize(
    ("responses", "told"),
    [
        (gives({"$ref": "#/components/schemas/Pet"}), "Pet"),
        (gives(array({"$ref": "#/components/schemas/Pet"})), "list[Pet]"),
        ({**gives(TEXT), "204": {"description": ""}}, "str | None"),
        ({**gives(TEXT), **gives(NUMBER, "201")}, "str | int"),
        ({**gives(TEXT, "2XX"), **gives(NUMBER, "404")}, "str"),
        (gives(TEXT, "default"), "str"),
        ({"204": {"description": ""}}, "None"),
        ({"200": {"description": "something"}}, "Any"),
        ({}, "Any"),
        ({"200": {"content": {"text/csv": {"schema": TEXT}}}}, "str"),
        ({"200": {"content": {"application/pdf": {}}}}, "bytes"),
        ({"200": {"$ref": "#/components/responses/Pet"}}, "Pet"),
        ({"200": {"$ref": "#/components/responses/None"}}, "Any"),
    ],
)
def test_what_comes_is_told_by_the_good_statuses(responses: Any, told: str) -> None:
    parts = {
        "schemas": {"Pet": thing(name=TEXT)},
        "responses": {"Pet": gives({"$ref": "#/components/schemas/Pet"})["200"]},
    }
    assert head_of(compiled_operation({"responses": responses}, components=parts)).endswith(f"-> {told}")


def test_readings_are_kept_by_status() -> None:
    responses = {**gives(thing(name=TEXT)), "202": {"description": ""}, **gives(TEXT, "404")}
    found = plan_of(compiled_operation({"responses": responses})).responses
    assert found == {
        "200": ResponsePlan(media="application/json", reading=["record", "ThingsDoResult"]),
        "202": ResponsePlan(media="*/*"),
    }


def test_results_of_version_2_have_the_media_that_is_produced() -> None:
    operation = {"produces": ["text/plain", "application/json"], "responses": {"200": {"schema": TEXT}}}
    assert plan_of(compiled_operation(operation, swagger="2.0")).responses["200"].media == "application/json"
    operation = {"responses": {"200": {"schema": {"type": "file"}}}}
    assert head_of(compiled_operation(operation, swagger="2.0")).endswith("-> bytes")


# --- what is known of an operation ---


def test_docs_are_plain_and_end_in_what_is_sent() -> None:
    found = compiled_operation(
        {
            "summary": "Do it",
            "description": "Does **it**, see [the docs](https://x.test/y).",
            "deprecated": True,
            "parameters": [query("q", description="What to look for. More of that.")],
        }
    )
    offered = found.find("things.do")
    assert offered is not None
    assert offered.line.doc == ("Do it\n\nDoes it, see the docs.\n\nGET /things\nq: What to look for.\n\nDeprecated.")
    assert [one.name for one in offered.line.parameters] == ["q"]


def test_long_docs_are_bounded() -> None:
    parameters = [query(f"p{n}", description="word " * 100) for n in range(100)]
    found = compiled_operation({"description": "word " * 5000, "parameters": parameters})
    offered = found.find("things.do")
    assert offered is not None
    assert len(offered.line.doc) < 5000


@pytest.mark.parametrize(
    ("method", "identity", "reads", "idempotent"),
    [
        ("get", "things/do", True, True),
        ("head", "things/do", True, True),
        ("post", "things/do", False, False),
        ("patch", "things/do", False, False),
        ("put", "things/do", False, True),
        ("delete", "things/do", False, True),
        ("get", "auth/revoke", False, False),
        ("get", "GET_DeleteVolume", False, False),
    ],
)
def test_what_reads_and_what_may_be_repeated_is_known(
    method: str, identity: str, reads: bool, idempotent: bool
) -> None:
    found = compiled_operation({"operationId": identity}, method=method)
    (offered,) = found.listed()
    assert (offered.reads, offered.idempotent) == (reads, idempotent)
    assert offered.destroys == (method == "delete")


def test_words_of_tags_ids_and_paths_are_there_to_be_found_by() -> None:
    found = compiled_operation({"tags": ["Animals"]}, url="/pets/{id}/feed-log")
    offered = found.find("things.do")
    assert offered is not None
    assert offered.words == "Animals things/do pets feed-log"


# --- the API ---


def test_servers_have_their_variables_filled_and_tls_first() -> None:
    servers = [
        {"url": "http://{region}.x.test/v1", "variables": {"region": {"default": "eu"}}},
        {"url": "https://{region}.x.test/v1/", "variables": {"region": {"enum": ["us"]}}},
        {"url": "//y.test"},
    ]
    found = compiled_operation({"servers": [{"url": "https://own.test"}]}, servers=servers)
    assert found.api.servers == ("https://us.x.test/v1", "https://y.test", "http://eu.x.test/v1")
    assert plan_of(found).servers == ("https://own.test",)


def test_servers_of_version_2_are_put_together() -> None:
    found = compiled_operation({}, swagger="2.0", host="x.test", basePath="/v2", schemes=["http", "https", "ws"])
    assert found.api.servers == ("https://x.test/v2", "http://x.test/v2")


def test_security_schemes_of_both_versions_are_told_alike() -> None:
    flows = {"clientCredentials": {"tokenUrl": "https://x.test/t", "scopes": {"a": "A"}}}
    new = {
        "key": {"type": "apiKey", "in": "query", "name": "k"},
        "user": {"type": "http", "scheme": "Basic"},
        "bearer": {"type": "http", "scheme": "bearer"},
        "oauth": {"type": "oauth2", "flows": flows},
        "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://x.test/d"},
        "tls": {"type": "mutualTLS"},
        "odd": {"type": "http", "scheme": "digest"},
    }
    found = compiled_operation(
        {"security": [{"key": []}, {"oauth": ["a"], "user": []}, {"odd": []}]},
        components={"securitySchemes": new},
        security=[{"bearer": []}],
    )
    assert {name: one.kind for name, one in found.api.schemes.items()} == {
        "key": "apiKey", "user": "basic", "bearer": "bearer", "oauth": "oauth2", "oidc": "openIdConnect",
        "tls": "mutualTLS",
    }  # fmt: skip
    assert found.api.security == ({"bearer": []},)
    assert plan_of(found).security == ({"key": []}, {"oauth": ["a"], "user": []})
    assert [(one.where, "digest" in one.reason) for one in found.skipped] == [("security scheme odd", True)]
    old = {"oauth": {"type": "oauth2", "flow": "application", **flows["clientCredentials"]}, "user": {"type": "basic"}}
    schemes = compiled_operation({}, swagger="2.0", securityDefinitions=old).api.schemes
    assert (schemes["oauth"].flows, schemes["user"].kind) == (flows, "basic")


# --- what is malformed ---


def test_what_is_malformed_in_one_operation_loses_no_other() -> None:
    junk: list[Any] = [None, 1, "x", [], [[]], {"": None}, True]
    keys = [
        "parameters",
        "requestBody",
        "responses",
        "tags",
        "operationId",
        "security",
        "servers",
        "summary",
        "deprecated",
    ]
    paths: dict[str, Any] = {
        f"/{key}{n}": {"get": {key: one}, "post": {"operationId": f"good/{key}{n}x"}}
        for key in keys
        for n, one in enumerate(junk)
    }
    paths |= {"/null": None, "/text": "x", "/odd": {"get": 3, "parameters": 7, "post": {"operationId": "good/odd"}}}
    found = compiled(spec(paths))
    good = [one.path for one in found.listed() if one.path.startswith("good.")]
    assert len(good) == len(keys) * len(junk) + 1
    assert ("GET /odd", "it is int, no object") in {(one.where, one.reason) for one in found.skipped}


def test_malformed_parts_around_the_operations_lose_none() -> None:
    for odd in (None, 3, "x", [1], {"a": [1]}):
        described = spec({"/a": {"get": {"operationId": "a/get"}}}, components=odd, security=odd, servers=odd, tags=odd)
        assert [one.path for one in compiled({**described, "info": odd}).listed()] == ["a.get"]
    assert len(compiled({"openapi": "3.1.0", "info": {}, "paths": None})) == 0


def test_a_parameter_that_cannot_be_read_is_left_out_and_said() -> None:
    found = compiled_operation(
        {"parameters": [query("good"), {"in": "query"}, {"$ref": "#/x"}, {"name": "b", "in": "moon"}]}
    )
    assert [one.key for one in plan_of(found).parameters] == ["good"]
    assert len(found.skipped) == 3


def test_a_plan_is_the_same_after_it_was_kept() -> None:
    found = compiled_operation(
        {"parameters": [query("page", NUMBER)], "requestBody": takes(thing(a=TEXT)), "responses": gives(array(TEXT))}
    )
    plan = plan_of(found)
    assert plan.pages is not None
    assert OperationPlan.from_plain(plan.to_plain()) == plan
    assert isinstance(plan.parameters[0], ParameterPlan)
