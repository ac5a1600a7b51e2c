"""Compiled descriptions: what a surface tells, and what is found again without being made again."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.openapi.specs import TEXT, array, compiled, gives, query, spec, takes, thing
from tests.openapi.upstream import Asked, Upstream, reply
from tests.signatures import head_of

from cellwright.openapi.compiled_api import CompiledApi
from cellwright.openapi.compiler import compile_openapi
from cellwright.scope import Surface

PET = {"$ref": "#/components/schemas/Pet"}
PETS: dict[str, Any] = spec(
    {
        "/pets": {
            "get": {"operationId": "pets/list", "tags": ["pets"], "responses": gives(array(PET))},
            "post": {"operationId": "pets/create", "requestBody": takes(PET), "responses": gives(PET)},
        },
        "/pets/toys": {"get": {"operationId": "pets/toys/list", "parameters": [query("q")]}},
        "/ping": {"get": {"operationId": "ping"}},
    },
    tags=[{"name": "pets", "description": "All about pets. And more."}],
    components={"schemas": {"Pet": thing("name", name=TEXT)}},
)


def test_a_surface_tells_operations_namespaces_and_classes() -> None:
    surface: Surface = compiled(PETS)
    assert [one.path for one in surface.listed()] == ["pets.list", "pets.create", "pets.toys.list", "ping"]
    assert surface.below("") == ("pets", "ping")
    assert surface.below("pets") == ("list", "create", "toys")
    assert surface.below("pets.toys") == ("list",)
    assert surface.below("pets.list") == surface.below("none") == ()
    assert surface.about("pets") == "All about pets."
    assert surface.about("ping") == surface.about("none") == ""
    assert surface.find("pets.toys") is None
    assert list(surface.shapes()) == ["Pet"]
    shape = surface.shape("Pet")
    assert shape is not None
    assert [head_of(line) for line in shape.lines] == ["name: str"]
    assert surface.shape("Dog") is None


def test_more_operations_than_one_reading_takes_are_listed_once_each() -> None:
    surface = compiled(spec({f"/p{n}": {"get": {"operationId": f"all/op{n}"}} for n in range(1201)}))
    assert [one.path for one in surface.listed()] == [f"all.op{n}" for n in range(1201)]


def test_any_thread_may_ask() -> None:
    found = compiled(PETS)
    told: list[Any] = []
    threads = [threading.Thread(target=lambda: told.append(found.plan("pets.create"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert told == [found.plan("pets.create")] * 4


class Counted:
    """Compiles with a cache and counts how often that was work."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self.made = 0

    def __call__(self, source: Any) -> CompiledApi:
        lines: list[str] = []
        found = compile_openapi(source, name="pets", cache=self.cache, progress=lines.append)
        self.made += any("operations" in line for line in lines)
        return found


@pytest.fixture
def opened(tmp_path: Path) -> Counted:
    return Counted(tmp_path / "cache")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pets.json"
    path.write_text(json.dumps(PETS))
    return path


def test_the_same_content_is_compiled_once(opened: Counted, file: Path, tmp_path: Path) -> None:
    first = opened(file)
    other = tmp_path / "copy.json"
    other.write_bytes(file.read_bytes())
    assert [len(opened(source)) for source in (file, str(file), json.loads(file.read_text()))] == [4, 4, 4]
    assert opened.made == 2  # data has other bytes than the file
    assert opened(file).key == first.key
    assert opened(other).key == first.key


def test_a_file_that_changed_is_compiled_again(opened: Counted, file: Path) -> None:
    opened(file)
    file.write_text(json.dumps({**PETS, "paths": {"/a": {"get": {"operationId": "a/get"}}}}))
    os.utime(file, ns=(1, 1))
    assert [one.path for one in opened(file).listed()] == ["a.get"]
    assert opened.made == 2


def test_a_file_beside_it_that_changed_is_seen(opened: Counted, file: Path) -> None:
    shared = file.with_name("pet.json")
    shared.write_text(json.dumps(thing(name=TEXT)))
    paths = {"/pet": {"get": {"operationId": "pet/get", "responses": gives({"$ref": "pet.json"})}}}
    file.write_text(json.dumps(spec(paths)))
    first = opened(file)
    assert opened(file).key == first.key
    assert opened.made == 1
    shared.write_text(json.dumps(thing(age=TEXT)))
    os.utime(shared, ns=(1, 1))
    second = opened(file)
    assert opened.made == 2
    assert second.key != first.key
    shape = second.shape("Pet")
    assert shape is not None
    assert shape.lines[0].name == "age"


@pytest.mark.parametrize("damage", [b"", b"SQLite format 3\0 and no more", b"\0" * 4096, None])
def test_a_damaged_or_foreign_file_is_made_anew(opened: Counted, file: Path, damage: bytes | None) -> None:
    opened(file).close()
    (kept,) = opened.cache.glob("*.sqlite")
    kept.write_bytes(kept.read_bytes()[:-5000] if damage is None else damage)
    assert len(opened(file)) == 4
    assert opened.made == 2
    assert not [path for path in opened.cache.iterdir() if path.name.endswith("-journal")]


def test_notes_that_are_damaged_cost_only_time(opened: Counted, file: Path) -> None:
    opened(file).close()
    for note in opened.cache.glob("*.json"):
        note.write_text("[1")
    assert len(opened(file)) == 4


def test_a_cache_that_cannot_be_written_costs_only_the_cache(tmp_path: Path, file: Path) -> None:
    (tmp_path / "cache").write_text("no directory")
    assert len(compile_openapi(file, name="pets", cache=tmp_path / "cache")) == 4


def test_nothing_but_whole_files_stays_in_the_cache(opened: Counted, file: Path) -> None:
    opened(file)
    assert sorted(path.suffix for path in opened.cache.iterdir()) == [".json", ".json", ".sqlite"]


def test_an_open_file_is_read_although_it_was_deleted(opened: Counted, file: Path) -> None:
    found = opened(file)
    for path in opened.cache.iterdir():
        path.unlink()
    assert found.plan("pets.create") is not None
    assert len(list(found.listed())) == 4


async def test_an_url_is_asked_whether_it_changed(opened: Counted, api: Upstream) -> None:
    def answer(asked: Asked) -> bytes:
        known = asked.headers.get("if-none-match") == '"v1"'
        return reply(None, 304) if known else reply(PETS, etag='"v1"')

    api.on("/openapi.json", answer)
    for _ in range(3):
        assert len(await asyncio.to_thread(opened, f"{api.url}/openapi.json")) == 4
    assert opened.made == 1
    assert ["if-none-match" in asked.headers for asked in api.asked] == [False, True, True]


async def test_an_url_that_changed_is_read_once(opened: Counted, api: Upstream) -> None:
    changed = spec({"/a": {"get": {"operationId": "a/get"}}})
    api.on("/openapi.json", reply(PETS, etag='"v1"'), reply(changed, etag='"v2"'))
    assert len(await asyncio.to_thread(opened, f"{api.url}/openapi.json")) == 4
    assert len(await asyncio.to_thread(opened, f"{api.url}/openapi.json")) == 1
    assert len(api.asked) == 2


def test_long_work_is_told_on_the_way() -> None:
    lines: list[str] = []
    many = spec({f"/p{n}": {"get": {"operationId": f"all/op{n}"}} for n in range(450)})
    compile_openapi(many, name="big", progress=lines.append)
    assert lines[1:] == ["big: 200 of 450 operations", "big: 400 of 450 operations", "big: 450 operations"]
