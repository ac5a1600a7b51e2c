"""A scope as a tree of files: in a session's workspace for agents, in a directory for people."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.catalog import office
from tests.catalog.surfaces import OPERATIONS, scope_of, tracker

from cellwright import Runtime
from cellwright.catalog import Catalog, save_tree, stub_tree, write_tree


def catalog() -> Catalog:
    return Catalog(scope_of(github=tracker()), cache=None)


def test_each_operation_has_a_file_with_its_docs_and_types_and_a_list_names_them() -> None:
    files = {file.path: file for file in stub_tree(catalog())}
    assert len(files) == len(OPERATIONS) + 1
    text = files["servers/github/issues/create.pyi"].text
    assert "# github.issues.create\ndef create(" in text
    assert "class Issue:" in text
    for path, file in files.items():
        if path.endswith(".pyi"):
            ast.parse(file.text)
    listed = files["servers/github/_index.txt"].text.splitlines()
    assert listed[0] == "# github: 11 functions"
    assert (
        "issues/get.pyi  github.issues.get(owner: str, repo: str, issue_number: int) -> Issue  # Get an issue."
        in listed
    )


def test_live_objects_have_files_too() -> None:
    files = {file.path: file for file in stub_tree(Catalog(office.scope()))}
    assert "def create(name: str" in files["servers/crm/contacts/create.pyi"].text
    assert "servers/weather/weather.pyi" in files
    assert "contacts/create.pyi  crm.contacts.create(" in files["servers/crm/_index.txt"].text


def test_what_is_hidden_has_no_file() -> None:
    scope = scope_of(github=tracker())
    scope.declare("github.repos.*", hide=["delete"])
    paths = {file.path for file in stub_tree(Catalog(scope, cache=None))}
    assert "servers/github/repos/get.pyi" in paths
    assert "servers/github/repos/delete.pyi" not in paths


def test_a_file_that_is_gone_from_the_scope_goes_from_the_directory_and_nothing_else(tmp_path: Path) -> None:
    assert len(list(save_tree(catalog(), tmp_path))) == len(OPERATIONS) + 1
    own = tmp_path / "servers" / "github" / "notes.pyi"
    own.write_text("mine")
    fewer = Catalog(scope_of(github=tracker("fewer", operations=OPERATIONS[:3])), cache=None)
    assert len(list(save_tree(fewer, tmp_path))) == 4
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.pyi")}
    assert left == {f"servers/github/issues/{name}.pyi" for name in ("create", "list", "get")} | {
        "servers/github/notes.pyi"
    }


def test_a_list_that_somebody_changed_leads_to_no_file_outside_of_its_directory(tmp_path: Path) -> None:
    outside = tmp_path / "outside.pyi"
    outside.write_text("mine")
    place = tmp_path / "tree" / "servers" / "github"
    place.mkdir(parents=True)
    (place / "_index.txt").write_text(f"# github\n../../../outside.pyi  x\n{outside}  x\n")
    list(save_tree(catalog(), tmp_path / "tree"))
    assert outside.read_text() == "mine"


async def test_guest_code_lists_reads_and_greps_the_tree() -> None:
    async with Runtime() as rt:
        assert await write_tree(catalog(), rt.files) == len(OPERATIONS) + 1
        code = (
            "from pathlib import Path\n"
            "found = sorted(Path('servers').rglob('*.pyi'))\n"
            "[str(p) for p in found if ') -> Iterator[Comment]:\\n' in p.read_text()]"
        )
        assert (await rt.execute(code)).unwrap() == ["servers/github/issues/list_comments.pyi"]
