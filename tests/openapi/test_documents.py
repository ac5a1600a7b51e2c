"""Where a description comes from, what it refers to, and what is said of what is none."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.openapi.specs import TEXT, compiled, gives, head_of, spec, thing
from tests.openapi.upstream import Upstream, reply, upstream

from cellwright.errors import SpecError
from cellwright.openapi.compiled_api import CompiledApi
from cellwright.openapi.compiler import compile_openapi
from cellwright.openapi.documents import Documents

PETS: dict[str, Any] = spec({"/pets": {"get": {"responses": gives(thing(name=TEXT))}}})


def opened(source: Any, **more: Any) -> CompiledApi:
    return compile_openapi(source, name="pets", **more)


def failure(source: Any) -> str:
    with pytest.raises(SpecError) as raised:
        opened(source)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def written(folder: Path, **files: Any) -> Path:
    """Files by name, `_` for a dot; the first is the description."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder / next(iter(files)).replace("_", ".")


def test_a_path_a_text_and_data_give_the_same_operations(tmp_path: Path) -> None:
    path = written(tmp_path, pets_json=PETS)
    for source in (path, str(path), path.as_uri(), json.dumps(PETS), json.dumps(PETS, indent=1), PETS):
        assert [one.path for one in opened(source).listed()] == ["pets.list"]


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "pets.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(PETS).encode())
    assert len(opened(path)) == 1


def test_yaml_is_read_with_keys_and_dates_as_text() -> None:
    text = """
openapi: 3.1.0
info: {title: Dates, version: 2024-01-05}
paths:
  /days:
    get:
      operationId: days/list
      parameters:
        - {name: since, in: query, schema: {type: string, enum: [2024-01-01, 010, 1_000, yes, off, "x"]}}
      responses:
        200: {description: "", content: {application/json: {schema: {type: string}}}}
        404: {description: none}
"""
    found = opened(text)
    assert found.api.version == "2024-01-05"
    assert "Literal['2024-01-01', '010', '1_000', 'yes', 'off', 'x']" in head_of(found, "days.list")
    assert head_of(found, "days.list").endswith("-> str")


def test_yaml_that_grows_without_bound_is_refused() -> None:
    lines = ["openapi: 3.0.0", "a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert "aliases" in failure("\n".join(lines))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"openapi": "3.0.0",\n "paths": }', "line 2, column 11"),
        ("openapi: 3.0.0\npaths: [\n", "line 3, column 1"),
        ("<!doctype html>\n<html></html>", "an HTML page"),
        ("[1,\n2]", "holds a list"),
        ('{"asyncapi": "2.0.0"}', "AsyncAPI"),
        ('{"info": {"schema": "https://schema.getpostman.com/v2.1.0"}}', "Postman"),
        ('{"mcpServers": {}}', "MCP servers"),
        ('{"pets": 1, "dogs": 2}', "pets, dogs"),
        ('{"openapi": "4.0.0", "paths": {}}', "OpenAPI 4.0.0"),
        ('{"swaggerVersion": "1.2", "apis": []}', "OpenAPI 1.2"),
        ("just a text\nof two lines", "the text 'just a text of two lines'"),
    ],
)  # fmt: skip
def test_what_is_no_description_is_told_in_one_line(text: str, said: str) -> None:
    assert said in failure(text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert failure(tmp_path / "none.json") == f"there is no file {tmp_path}/none.json"
    assert "is a directory" in failure(tmp_path)


def test_a_file_that_is_empty_or_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_bytes(b" \n")
    (tmp_path / "latin.yaml").write_bytes(b"openapi: 3.0.0 # \xe9\n")
    assert "is empty" in failure(tmp_path / "empty.json")
    assert "byte 17 is 0xe9" in failure(tmp_path / "latin.yaml")


def test_refs_lead_through_escapes_and_further_refs() -> None:
    described = spec(
        {"/pets": {"get": {"operationId": "pets/get", "responses": gives({"$ref": "#/components/schemas/a"})}}},
        components={
            "schemas": {
                "a": {"$ref": "#/components/schemas/b~1c~0d%20e"},
                "b/c~d e": {"$ref": "#/components/schemas/Pet"},
                "Pet": thing(name=TEXT),
            }
        },
    )
    assert head_of(compiled(described), "pets.get").endswith("-> Pet")


def test_a_ref_to_itself_and_refs_in_a_circle_cost_only_themselves() -> None:
    described = spec(
        {
            "/loop": {"get": {"operationId": "loop/get", "parameters": [{"$ref": "#/components/parameters/a"}]}},
            "/tree": {"get": {"operationId": "tree/get", "responses": gives({"$ref": "#/components/schemas/Node"})}},
        },
        components={
            "parameters": {"a": {"$ref": "#/components/parameters/b"}, "b": {"$ref": "#/components/parameters/a"}},
            "schemas": {"Node": thing(children={"type": "array", "items": {"$ref": "#/components/schemas/Node"}})},
        },
    )
    found = compiled(described)
    assert head_of(found, "tree.get").endswith("-> Node")
    assert head_of(found, "loop.get") == "def get(self) -> Any"
    assert [(one.where, "circle" in one.reason) for one in found.skipped] == [("GET /loop", True)]


def test_refs_to_other_files_are_followed_from_where_they_stand(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        api_json=spec({"/pets": {"$ref": "parts/paths.yaml#/pets"}}),
        parts__paths_yaml="""
pets:
  get:
    operationId: pets/get
    parameters: [{$ref: "../common.json#/limit"}]
    responses: {"200": {description: "", content: {application/json: {schema: {$ref: "models.json"}}}}}
  post:
    operationId: pets/create
    requestBody: {required: true, content: {application/json: {schema: {$ref: "models.json"}}}}
    responses: {"204": {description: ""}}
""",
        parts__models_json={**thing("name", name=TEXT, kind={"$ref": "#/$defs/K"}), "$defs": {"K": {"enum": ["cat"]}}},
        common_json={"limit": {"name": "limit", "in": "query", "schema": {"type": "integer"}}},
    )  # fmt: skip
    found = opened(path)
    assert head_of(found, "pets.get") == "def get(self, *, limit: int | None = None) -> Models"
    assert "name: str" in head_of(found, "pets.create")
    plan = found.plan("pets.create")
    assert plan is not None
    assert plan.body is not None
    _, schema, _ = found.resolve(plan.body.schema["$ref"])
    assert found.resolve(schema["properties"]["kind"]["$ref"])[1] == {"enum": ["cat"]}


def test_a_file_does_not_lead_out_of_its_directory(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text(json.dumps(thing(password=TEXT)))
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "link.json").symlink_to(tmp_path / "secret.json")
    refs = ["../secret.json", str(tmp_path / "secret.json"), "link.json", "http://127.0.0.1:1/x.json", "gone.json"]
    paths = {f"/{n}": {"get": {"operationId": f"a/n{n}", "responses": gives({"$ref": r})}} for n, r in enumerate(refs)}
    found = opened(written(inner, api_json=spec(paths)))
    assert len(found) == len(refs)
    assert all(head_of(found, f"a.n{n}").endswith("-> Any") for n in range(len(refs)))
    assert {one.where for one in found.skipped} == set(refs)


def test_a_relative_ref_in_data_leads_nowhere() -> None:
    documents = Documents(PETS, where="")
    with pytest.raises(LookupError, match="no place of its own"):
        documents.resolve("other.json#/x")


async def test_an_url_is_read_and_what_it_refers_to_beside_it(api: Upstream) -> None:
    described = spec({"/pets": {"get": {"operationId": "pets/get", "responses": gives({"$ref": "pet.json"})}}})
    api.on("/v1/openapi.json", reply(described))
    api.on("/v1/pet.json", reply(thing(name=TEXT)))
    found = await asyncio.to_thread(opened, f"{api.url}/v1/openapi.json")
    assert head_of(found, "pets.get").endswith("-> Pet")
    assert [asked.path for asked in api.asked] == ["/v1/openapi.json", "/v1/pet.json"]
    assert found.api.servers == (api.url,)


async def test_an_url_that_gives_no_description_is_told_with_its_status(api: Upstream) -> None:
    api.on("/gone", reply("no", 404))
    assert await asyncio.to_thread(failure, f"{api.url}/gone?key=secret") == f"{api.url}/gone answers 404 X"
    assert "cannot be read" in await asyncio.to_thread(failure, "http://127.0.0.1:1/openapi.json")


async def test_a_description_from_elsewhere_does_not_lead_into_this_network(api: Upstream) -> None:
    async with upstream() as other:
        other.on("/secret.json", reply(thing(password=TEXT)))
        refs = {
            "other": f"{other.url}/secret.json",
            "named": "http://localhost/x.json",
            "inner": "http://10.0.0.1/x.json",
        }
        paths = {f"/{n}": {"get": {"operationId": f"a/{n}", "responses": gives({"$ref": r})}} for n, r in refs.items()}
        api.on("/openapi.json", reply(spec(paths)))
        found = await asyncio.to_thread(opened, f"{api.url}/openapi.json")
    assert {one.where for one in found.skipped} == set(refs.values())
    assert other.asked == []


async def test_a_password_in_an_url_is_told_to_nobody(api: Upstream) -> None:
    api.on("/openapi.json", reply(spec({}, servers=[{"url": "/v1"}])))
    lines: list[str] = []
    url = api.url.replace("://", "://user:secret@") + "/openapi.json?key=secret"
    found = await asyncio.to_thread(opened, url, progress=lines.append)
    assert found.api.servers == (f"{api.url}/v1",)
    assert "secret" not in repr((lines, found.api))
