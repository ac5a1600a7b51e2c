"""Cells that call an upstream, checked against the stubs that it tells of itself."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.catalog.surfaces import OPERATIONS, SHAPES, Called, Listed, field, many, offered, scope_of, tracker

from cellwright.catalog import Mistake, TypeChecker
from cellwright.scope import Shape

FINE = {
    "a call": "github.issues.create('o', 'r', title='x', labels=['a', {'name': 'b'}])",
    "fields": "issue = github.issues.get('o', 'r', 1)\n"
    "issue.title.upper(), issue.user.login, issue['anything'], issue.get('x')",
    "a loop": "for issue in github.issues.list('o', 'r'):\n    print([label.name for label in issue.labels])",
    "a method of a record": "[c.body for c in github.issues.get('o', 'r', 1).list_comments()]",
    "a choice from a variable": "for state in ['open', 'closed']:\n    list(github.issues.list('o', 'r', state=state))",
    "a dict from a variable": "label = {'name': 'x'}\ngithub.issues.create('o', 'r', title='x', labels=[label])",
    "records handed back": "old = github.issues.get('o', 'r', 1)\n"
    "github.issues.create('o', 'r', title=old.title, labels=old.labels)",
    "another name": "api = github\napi.repos.list_tags('o', 'r')[0].upper()",
    "a namespace in a variable": "issues = github.issues\nissues.update('o', 'r', 1, title='y')",
    "a record as a dict": "repo = github.repos.get('o', 'r')\ndict(repo), list(repo), 'x' in repo, len(repo)",
    "a root operation": "assert github.ping()",
}
WRONG = {
    "a misnamed operation": ("github.issues.creat('o', 'r', title='x')", "create(owner: str, repo: str, *, title"),
    "a misnamed namespace": ("github.isues", "issues"),
    "a missing argument": ("github.issues.create('o', 'r')", "create(owner: str"),
    "a misnamed argument": ("github.issues.update('o', 'r', 1, titel='x')", "update(owner: str, repo: str"),
    "a wrong type": ("github.issues.get('o', 'r', 'three')", "get(owner: str"),
    "a wrong choice": ("github.issues.list('o', 'r', state='opne')", "list(owner: str"),
    "a misnamed field": ("github.issues.get('o', 'r', 1).titel", "title: str"),
    "a field of a field": ("github.issues.get('o', 'r', 1).user.logn", "login: str"),
    "a field of items": ("[i.labels[0].colour for i in github.issues.list('o', 'r')]", "color: str"),
    "a field of what a method gives": (
        "[c.bdy for c in github.issues.get('o', 'r', 1).list_comments()]", "body: str"),
    "an await too many": ("await github.ping()", ""),
}  # fmt: skip


@pytest.fixture(scope="module")
async def checker(anyio_backend: str) -> AsyncIterator[TypeChecker]:
    made = TypeChecker(scope_of(github=tracker()))
    yield made
    await made.close()


async def only(checker: TypeChecker, code: str, *before: str) -> Mistake:
    found = await checker.check(code, before=before)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize("name", FINE)
async def test_code_that_is_right_has_no_mistakes(checker: TypeChecker, name: str) -> None:
    assert await checker.check(FINE[name]) == ()


@pytest.mark.parametrize("name", WRONG)
async def test_code_that_is_wrong_is_told_with_what_is_right(checker: TypeChecker, name: str) -> None:
    code, right = WRONG[name]
    assert right in (await only(checker, code)).signature


async def test_what_an_earlier_cell_left_is_known_with_all_its_fields(checker: TypeChecker) -> None:
    before = ("issue = github.issues.get('o', 'r', 7)", "first = issue")
    assert await checker.check("first.user.login.upper()", before=before) == ()
    assert (await only(checker, "first.user.logn", *before)).signature == "login: str"


async def test_a_hidden_operation_is_not_there() -> None:
    scope = scope_of(github=tracker())
    checker = TypeChecker(scope)
    assert await checker.check("github.repos.delete('o', 'r')") == ()
    scope.declare("github.repos.*", hide=["delete"])
    assert (await only(checker, "github.repos.delete('o', 'r')")).rule == "missing-attribute"
    assert await checker.check("github.repos.get('o', 'r').name") == ()
    await checker.close()


async def test_an_upstream_that_changes_is_read_anew() -> None:
    surface = tracker()
    checker = TypeChecker(scope_of(github=surface))
    assert (await only(checker, "github.rockets")).rule == "missing-attribute"
    grown = tracker("grown", operations=[*OPERATIONS, offered("rockets.launch", "(self) -> None", "Fly.")])
    vars(surface).update(vars(grown))
    assert await checker.check("github.rockets.launch()") == ()
    await checker.close()


async def test_names_of_an_upstream_do_not_stand_in_each_others_way() -> None:
    operations = (
        offered(
            "str.list",
            "(self, *, int: list[str] | None = None, bytes: dict[str, int] | None = None) -> list[Any]",
            "One.",
        ),
        offered("str.dict", "(self, *, list: int = 3) -> dict[str, list[User]]", "Two."),
        offered("str.bool", "(self, value: bool) -> User", "Three."),
    )
    user = Shape(
        name="User", kind="record", lines=(field("User", "User"), field("str", "str"), field("list", "list[str]"))
    )
    checker = TypeChecker(scope_of(odd=Listed(operations, (user,), key="odd")))
    code = "odd.str.list(int=['a'], bytes={'a': 1})\nodd.str.dict(list=3)['x'][0].User.list[0].upper()"
    assert await checker.check(code) == ()
    assert (await only(checker, "odd.str.dict(list='x')")).rule == "invalid-argument-type"
    assert (await only(checker, "odd.str.bool(True).User.lst")).signature == "list: list[str]"
    await checker.close()


async def test_the_other_name_of_an_operation_is_checked_as_the_operation() -> None:
    checker = TypeChecker(scope_of(tracker=Called(OPERATIONS, SHAPES, key="called")))
    assert await checker.check("found = mcp__tracker__ping()\nassert found") == ()
    assert await checker.check("mcp__tracker__ping()", before=("x = mcp__tracker__ping()",)) == ()
    assert (await only(checker, "mcp__tracker__ping(3)")).rule == "too-many-positional-arguments"
    assert (await only(checker, "mcp__tracker__pong()")).rule == "unresolved-reference"
    await checker.close()


async def test_a_class_without_fields_may_have_any() -> None:
    made = (offered("get", "(self) -> Free", "Whatever."),)
    checker = TypeChecker(scope_of(api=Listed(made, (Shape(name="Free", kind="record", lines=()),), key="free")))
    assert await checker.check("api.get().whatever.it['is']") == ()
    await checker.close()


async def test_a_cell_reads_only_the_namespace_that_it_names() -> None:
    surface = many(10_000)
    asked: list[str] = []
    find = surface.find

    def counted(path: str) -> object:
        asked.append(path)
        return find(path)

    surface.find = counted  # type: ignore[method-assign, assignment]
    checker = TypeChecker(scope_of(big=surface))
    asked.clear()
    assert await checker.check("big.part43.get_thing4321(1).id + 1") == ()
    assert (await only(checker, "big.part43.get_thing4321(1).idd")).signature == "id: int"
    assert 0 < len(asked) < 1_000
    await checker.close()
