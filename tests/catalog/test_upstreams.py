"""`search`, `show` and `outline` over upstreams: what tells itself what it offers, and has no classes here."""

from __future__ import annotations

import ast
import threading
from pathlib import Path

import pytest
from tests.catalog import office
from tests.catalog.surfaces import OPERATIONS, SHAPES, Called, Listed, many, offered, scope_of, tracker

from cellwright.catalog import Catalog, catalog_functions, outline
from cellwright.errors import NotInScope

QUERIES = {
    "open a new issue": "github.issues.create",
    "add an issue": "github.issues.create",
    "list issues": "github.issues.list",
    "show me all issues of a repo": "github.issues.list",
    "get one issue": "github.issues.get",
    "change the title of an issue": "github.issues.update",
    "comment on an issue": "github.issues.create_comment",
    "read the comments of an issue": "github.issues.list_comments",
    "issue comments": "github.issues.list_comments",
    "remove a repository": "github.repos.delete",
    "deleteRepo": "github.repos.delete",
    "which tags does a repository have": "github.repos.list_tags",
    "render markdown": "github.markdown.render",
    "github repository": "github.repos.get",
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog(scope_of(github=tracker()), cache=None)


@pytest.mark.parametrize("query", QUERIES)
def test_the_operation_that_a_query_means_is_first(catalog: Catalog, query: str) -> None:
    assert catalog.search(query, 1)[0].name == QUERIES[query]


def test_a_hit_has_the_call_a_sentence_and_what_comes_back_with_its_methods(catalog: Catalog) -> None:
    assert str(catalog.search("get one issue", 1)[0]).splitlines() == [
        "github.issues.get(owner: str, repo: str, issue_number: int) -> Issue",
        "    Get an issue.",
        "    Issue: number: int, title: str, user: User | None, labels: list[Label]; .list_comments()",
    ]


def test_a_long_signature_has_what_must_be_given_and_as_much_of_the_rest_as_fits() -> None:
    options = ", ".join(f"option_{n}: str | None = None" for n in range(40))
    long = offered(
        "things.create", f"(self, owner: str, *, name: Literal['a, b', 'c)'], {options}) -> None", "Make one."
    )
    hit = Catalog(scope_of(api=Listed([long], key="long")), cache=None).search("create things", 1)[0]
    assert hit.signature.startswith(
        "api.things.create(owner: str, *, name: Literal['a, b', 'c)'], option_0: str | None"
    )
    assert hit.signature.endswith(", …) -> None")
    assert len(hit.signature) <= 200


def test_a_name_finds_itself_first_also_a_namespace_and_the_upstream(catalog: Catalog) -> None:
    for name in ("github.issues.update", "github.issues", "github", "github.issues.update()"):
        assert catalog.search(name, 3)[0].name == name.removesuffix("()")


def test_a_method_that_is_an_operation_in_another_place_is_found_once(catalog: Catalog) -> None:
    names = [hit.name for hit in catalog.search("list comments", 50)]
    assert "github.issues.list_comments" in names
    assert "Issue.list_comments" not in names


def test_an_operation_is_shown_with_its_docs_and_the_classes_it_needs(catalog: Catalog) -> None:
    text = catalog.show("github.issues.create")
    assert text.startswith("# github.issues.create\ndef create(\n    owner: str,\n    repo: str,\n    *,\n")
    assert "    POST /repos/{owner}/{repo}/issues\n" in text
    assert text.index("class LabelInput(TypedDict):") < text.index("class Issue:") < text.index("class User:")
    ast.parse(text)
    short = catalog.show("github.issues.create", 500)
    assert short.endswith('# … also needs Issue, User, Label, Comment: show("Issue")\n')


def test_a_namespace_is_shown_with_its_operations_one_a_line(catalog: Catalog) -> None:
    lines = catalog.show("github.issues").splitlines()
    assert lines[0] == "# github.issues: What is to be done. 6 operations"
    assert "github.issues.get(owner: str, repo: str, issue_number: int) -> Issue  # Get an issue." in lines
    assert len(lines) == 7
    brief = catalog.show("github.issues", 250)
    assert len(brief) < 300
    assert "github.issues.create_comment" in brief


def test_the_upstream_is_shown_with_its_namespaces_and_how_many_operations_they_have(catalog: Catalog) -> None:
    assert catalog.show("github").splitlines() == [
        "# github: An issue tracker. 11 operations",
        "github.issues  # 6 operations: create, list, get, update, create_comment, list_comments",
        "github.repos  # 3 operations: get, delete, list_tags",
        "github.markdown  # 1 operation: render",
        "github.ping() -> bool  # Whether it is there.",
    ]


@pytest.mark.parametrize("name", ["Issue", "github.Issue"])
def test_a_class_is_shown_by_its_name_with_its_methods_and_those_that_it_mentions(catalog: Catalog, name: str) -> None:
    text = catalog.show(name)
    assert text.startswith("class Issue:  # Something to be done.\n    number: int\n")
    assert "    def list_comments(self) -> Iterator[Comment]: ...  # List issue comments.\n" in text
    assert "class User:" in text
    assert catalog.show(f"{name}.list_comments").startswith("# ")


def test_the_other_name_of_an_operation_shows_and_finds_it() -> None:
    catalog = Catalog(scope_of(tracker=Called(OPERATIONS, key="called")), cache=None)
    assert catalog.show("mcp__tracker__ping").startswith("# tracker.ping\n")
    assert catalog.search("mcp__tracker__ping", 2)[0].name == "tracker.ping"


@pytest.mark.parametrize("wrong", ["github.nope", "github.issues.creat", "Isue", "issues.create", "github.", "_Issue"])
def test_a_name_that_is_not_there_is_told_what_comes_near(catalog: Catalog, wrong: str) -> None:
    with pytest.raises(NotInScope, match="is not in scope; "):
        catalog.show(wrong)
    if "creat" in wrong:
        with pytest.raises(NotInScope, match=r"did you mean .*`github\.issues\.create`"):
            catalog.show(wrong)


def test_what_rules_hide_is_neither_found_nor_shown_nor_outlined() -> None:
    scope = scope_of(github=tracker())
    scope.declare("github.issues.*", hide=["create"])
    scope.declare("github.repos", hide=True)
    catalog = Catalog(scope, cache=None)
    names = {hit.name for query in QUERIES for hit in catalog.search(query, 50)}
    assert "github.issues.update" in names
    assert not {"github.issues.create", "github.repos.get"} & names
    for hidden in ("github.issues.create", "github.repos", "github.repos.get"):
        with pytest.raises(NotInScope):
            catalog.show(hidden)
    assert "github.repos" not in catalog.show("github")
    assert "5 operations: list," in outline(catalog, 2_000)


def test_a_method_that_is_a_hidden_operation_is_not_shown() -> None:
    scope = scope_of(github=Called(OPERATIONS, SHAPES, key="methods"))
    assert "def list_comments" in Catalog(scope, cache=None).show("Issue")
    scope.declare("github.issues.list_comments", hide=True)
    catalog = Catalog(scope, cache=None)
    assert "list_comments" not in catalog.show("Issue")
    assert "list_comments" not in catalog.search("get one issue", 1)[0].note


def test_of_an_upstream_that_may_only_be_read_the_reading_operations_are_left() -> None:
    scope = scope_of(github=tracker())
    scope.declare("github.*", read_only=True)
    catalog = Catalog(scope, cache=None)
    names = {hit.name for query in QUERIES for hit in catalog.search(query, 50)}
    assert names == {f"github.{one.path}" for one in OPERATIONS if one.reads}


def test_rules_that_hide_nearly_all_leave_the_rest_to_be_found() -> None:
    scope = scope_of(big=many(3_000))
    scope.declare("big.*", hide=True)
    scope.declare("big.part7", hide=False)
    scope.declare("big.part7.*", hide=False)
    found = Catalog(scope, cache=None).search("list things", 8)
    assert len(found) == 8
    assert all(hit.name.startswith("big.part7.") for hit in found)


def test_live_objects_and_upstreams_are_found_side_by_side() -> None:
    scope = office.scope()
    for name, value in scope_of(github=tracker()).names():
        scope.bind(name, value)
    catalog = Catalog(scope, cache=None)
    assert catalog.search("send an email", 1)[0].name == "mail.send"
    assert catalog.search("comment on an issue", 1)[0].name == "github.issues.create_comment"
    text = outline(catalog, 4_000)
    assert "mail" in text
    assert "github.issues  # 6 operations" in text
    assert "`github`" in catalog.missing("githb")


def test_the_name_of_a_source_in_a_query_means_that_source() -> None:
    catalog = Catalog(scope_of(github=tracker(), gitlab=tracker("tracker-2")), cache=None)
    assert catalog.search("gitlab create issue", 1)[0].name == "gitlab.issues.create"
    assert catalog.search("create an issue on github", 1)[0].name == "github.issues.create"


@pytest.mark.slow
def test_ten_thousand_operations_are_outlined_in_a_few_lines() -> None:
    catalog = Catalog(scope_of(big=many(10_000)), cache=None)
    for budget in (6_000, 1_500, 300):
        text = outline(catalog, budget)
        assert len(text) <= budget
        assert '10,000 operations; search("…") finds them' in text
    assert catalog.search("delete the thing 4324", 1)[0].name == "big.part43.delete_thing4324"


# the index on disk


def test_what_is_known_is_not_read_again_by_another_catalog(tmp_path: Path) -> None:
    first, again = tracker(), tracker()
    assert Catalog(scope_of(github=first), cache=tmp_path).search("ping", 1)
    catalog = Catalog(scope_of(github=again), cache=tmp_path)
    assert catalog.search("add an issue", 1)[0].name == "github.issues.create"
    assert catalog.show("github")
    assert (first.read, again.read) == (1, 0)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_changed_upstream_replaces_only_itself(tmp_path: Path) -> None:
    changing, other = tracker("a"), tracker("b")
    scope = scope_of(one=changing, other=other)
    catalog = Catalog(scope, cache=tmp_path)
    assert catalog.search("fly to the moon") == ()
    grown = tracker("c", operations=[*OPERATIONS, offered("rockets.launch", "(self) -> None", "Fly to the moon.")])
    for name, value in scope_of(one=grown).names():
        scope.bind(name, value)
    assert catalog.search("fly to the moon", 1)[0].name == "one.rockets.launch"
    assert (changing.read, other.read, grown.read) == (1, 1, 1)


@pytest.mark.parametrize("content", [b"", b"no database at all", b"SQLite format 3\0" + b"x" * 5_000])
def test_a_damaged_file_is_made_anew(tmp_path: Path, content: bytes) -> None:
    Catalog(scope_of(github=tracker()), cache=tmp_path).warm()
    (file,) = tmp_path.iterdir()
    file.write_bytes(content)
    assert Catalog(scope_of(github=tracker()), cache=tmp_path).search("add an issue", 1)
    assert file.stat().st_size > 10_000


def test_a_file_whose_middle_is_damaged_is_made_anew(tmp_path: Path) -> None:
    Catalog(scope_of(big=many(2_000)), cache=tmp_path).warm()
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:20_000] + b"\xff" * (len(whole) - 40_000) + whole[-20_000:])
    assert Catalog(scope_of(big=many(2_000)), cache=tmp_path).search("delete thing 1204", 1)[0].name.endswith("1204")


def test_where_nothing_can_be_kept_the_index_is_in_memory(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    assert Catalog(scope_of(github=tracker()), cache=blocked / "below").search("add an issue", 1)


def test_many_threads_may_ask_at_once(tmp_path: Path) -> None:
    catalog = Catalog(scope_of(big=many(1_000), github=tracker()), cache=tmp_path)
    found: list[str] = []

    def ask() -> None:
        found.append(catalog.search("comment on an issue", 1)[0].name)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["github.issues.create_comment"] * 8


async def test_guest_functions_tell_hits_and_stubs() -> None:
    functions = catalog_functions(Catalog(scope_of(github=tracker()), cache=None))
    assert (await functions["search"]("get one issue", 1)).startswith("github.issues.get(owner: str")
    assert "def get(" in await functions["show"]("github.issues.get")
    assert await functions["search"]("zzz") == "Nothing found for 'zzz'. In scope: github."
