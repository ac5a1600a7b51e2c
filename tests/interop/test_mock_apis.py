"""Whole real APIs against servers made from the same description: each request that we send is one that they accept."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl

import pytest
from tests.interop.calling import Calls, Tried, Watching
from tests.interop.mocks import Mockoon, Prism, route
from tests.interop.software import description

from cellwright import Limits, Runtime
from cellwright.connectors import Secret
from cellwright.openapi import OpenAPI
from cellwright.openapi.compiler import compile_openapi
from cellwright.settings import Settings

pytestmark = pytest.mark.interop

SAMPLE, EVERY = 220, 5_000
ATTEMPT = """
failed = []
def attempt(call, listing):
    try:
        result = call()
        if listing:
            next(iter(result), None)
    except Exception as error:
        failed.append(str(error))

"""


@asynccontextmanager
async def opened(name: str, url: str, credentials: Any = None) -> AsyncGenerator[Calls]:
    wire, source = Watching(), description(name)
    plans = compile_openapi(source, name=name, cache=Settings.from_environment().cache_dir / "openapi")
    async with await OpenAPI.open(source, name=name, base_url=url, credentials=credentials, transport=wire) as api:
        yield Calls(api=api, plans=plans, wire=wire)
    plans.close()


@pytest.fixture(scope="module")
def github(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mockoon]:
    with Mockoon(description("github"), tmp_path_factory.mktemp("mockoon")) as mock:
        yield mock


@pytest.fixture(scope="module")
def prism() -> Iterator[Prism]:
    with Prism(description("github")) as mock:
        yield mock


def unmatched(done: list[Tried], got: list[dict[str, Any]]) -> list[str]:
    """What the server understood that was not meant: no route; other values in the path, the query, the form."""
    wrong: list[str] = []
    for tried, request in zip(done, got, strict=True):
        meant = {p.key: str(tried.given[p.name]) for p in tried.plan.parameters if p.place == "path"}
        understood = {param["name"]: param["value"] for param in request["params"]}
        if request["route"] is None:
            wrong.append(f"no route: {tried}")
        elif request["route"].lstrip("/") == route(tried.plan.url) and understood != meant:
            wrong.append(f"in the path: {tried}: {understood}")
        asked = {p.key: tried.given.get(p.name) for p in tried.plan.parameters if p.place == "query"}
        plain = {key: str(value) for key, value in asked.items() if type(value) in (str, int)}
        if not plain.items() <= request["queryParams"].items():
            wrong.append(f"in the query: {tried}: {request['queryParams']}")
        body = tried.plan.body
        if body is not None and body.media == "application/x-www-form-urlencoded":
            given = [leaf for name in body.fields for leaf in leaves(tried.given.get(name))]
            if sorted(given) != sorted(value for _, value in parse_qsl(request["body"], keep_blank_values=True)):
                wrong.append(f"in the form: {tried}: {request['body']}")
    return wrong


def leaves(value: Any) -> list[str]:
    """The single values of a form, whatever their keys are."""
    match value:
        case None:
            return []
        case dict():
            return [leaf for each in cast("dict[str, Any]", value).values() for leaf in leaves(each)]
        case list():
            return [leaf for each in cast("list[Any]", value) for leaf in leaves(each)]
        case bool():
            return [str(value).lower()]
        case _:
            return [str(value)]


def refused(done: list[Tried]) -> list[str]:
    """Requests that Prism finds wrong: no route, or an error in what its description says of them.

    A number in the path that may also be a text is always one: as text in an URL it is both, where one is allowed.
    """
    wrong: list[str] = []
    for tried in done:
        either = any(p.place == "path" and "oneOf" in (p.schema or {}) for p in tried.plan.parameters)
        for seen in tried.seen:
            told = seen.headers.get("sl-violations", "[]").removeprefix("Too many violations! ")
            found = re.findall(r'"location":\["request"[^{}]*"severity":"Error"[^{}]*', told)
            if found or (seen.status == 422 and not either) or "Route not resolved" in tried.error:
                wrong.append(f"{tried}: {found}")
    return wrong


@pytest.mark.quick
async def test_random_operations_of_github_reach_their_routes(github: Mockoon) -> None:
    async with opened("github", github.url) as calls:
        done = await calls.tried(calls.sample(SAMPLE))
        assert [str(each) for each in done if len(each.seen) != 1] == []
        assert unmatched(done, github.requests(len(done))) == []
        assert Counter(each.plan.method for each in done).keys() >= {"GET", "POST", "PUT", "PATCH", "DELETE"}


async def test_every_operation_of_github_reaches_its_route(tmp_path: Path) -> None:
    with Mockoon(description("github"), tmp_path) as github:
        async with opened("github", github.url) as calls:
            done = await calls.tried(calls.sample(EVERY))
            assert len(done) >= 1_200
            assert [str(each) for each in done if len(each.seen) != 1] == []
            assert unmatched(done, github.requests(len(done))) == []


async def test_every_operation_of_stripe_reaches_its_route(tmp_path: Path) -> None:
    with Mockoon(description("stripe"), tmp_path) as stripe:
        async with opened("stripe", stripe.url, Secret("sk_test_interop")) as calls:
            done = await calls.tried(calls.sample(EVERY))
            assert len(done) >= 450
            assert [str(each) for each in done if each.error or len(each.seen) != 1] == []
            got = stripe.requests(len(done))
        assert unmatched(done, got) == []
        assert all(any(header["key"] == "authorization" for header in each["headers"]) for each in got)


async def test_prism_finds_nothing_wrong_in_a_request_to_any_operation_of_github(prism: Prism) -> None:
    async with opened("github", prism.url) as calls:
        done = await calls.tried(calls.sample(EVERY))
    assert len(done) >= 1_200
    assert [str(each) for each in done if not each.seen] == []
    assert refused(done) == []
    assert sum("?" in seen.url for each in done for seen in each.seen) >= 200


def test_prism_refuses_what_is_wrong(prism: Prism) -> None:
    """Otherwise the test above would prove nothing."""
    with urllib.request.urlopen(f"{prism.url}/repos/o/r/issues?per_page=3", timeout=30) as answer:
        assert answer.status == 200
    with pytest.raises(urllib.error.HTTPError, match="422"):
        urllib.request.urlopen(f"{prism.url}/repos/o/r/issues?per_page=many", timeout=30)


@pytest.mark.quick
async def test_code_in_the_sandbox_calls_a_sample_of_github(tmp_path: Path) -> None:
    with Mockoon(description("github"), tmp_path) as github:
        async with opened("github", github.url) as calls:
            chosen = [(path, *calls.given(path)) for path in calls.sample(25)]
            lines = [
                f"attempt(lambda: github.{path}(**{given!r}), {plan.pages is not None})" for path, plan, given in chosen
            ]
            async with Runtime(scope={"github": calls.api}, limits=Limits(wall_s=60)) as runtime:
                outcome = await runtime.execute(ATTEMPT + "\n".join(lines) + "\nfailed")
        assert outcome.error is None, outcome.error
        got = github.requests(len(chosen))
        tried = [Tried(plan=plan, given=given, seen=()) for _, plan, given in chosen]
        assert unmatched(tried, got) == []
        assert [call.name for call in outcome.calls if call.name.startswith("github.")] != []
