"""`pathlib`: a path is a value, so it names a file of the side that uses it."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from textwrap import dedent

from tests.cells import value

from cellwright import Runtime


class Shelf:
    """Reads what it is told to; it looks on the host."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, path: Path) -> str:
        assert isinstance(path, Path)
        return path.read_text(encoding="utf-8")

    def list(self) -> list[Path]:
        return sorted(self.root.iterdir())


async def test_a_path_crosses_by_value_and_is_a_path_there(tmp_path: Path) -> None:
    code = """
        import pathlib
        packed = root / "a.tar.gz"
        isinstance(root, pathlib.Path), str(root / "a.txt"), packed.suffixes, packed.parent == root
    """
    expected = (True, str(tmp_path / "a.txt"), [".tar", ".gz"], True)
    assert await value(code, root=tmp_path) == expected


async def test_a_path_of_the_guest_arrives_as_a_path() -> None:
    assert await value("from pathlib import Path\nPath('a') / 'b.txt'") == Path("a/b.txt")
    assert await value("from pathlib import PurePosixPath\nPurePosixPath('/x/y').name") == "y"
    assert await value("p", p=PurePosixPath("/x/y")) == Path("/x/y")


async def test_a_host_path_names_no_file_in_the_guest(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("secret", encoding="utf-8")
    assert await value("root.exists(), (root / 'a.txt').exists()", root=tmp_path) == (False, False)


async def test_host_code_opens_the_path_that_the_guest_computed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one", encoding="utf-8")
    (tmp_path / "b.txt").write_text("two", encoding="utf-8")
    code = "[shelf.read(path.with_suffix('.txt')) for path in shelf.list()], shelf.root == shelf.list()[0].parent"
    assert await value(code, shelf=Shelf(tmp_path)) == (["one", "two"], True)


async def test_paths_of_the_guest_work_in_its_own_workspace() -> None:
    code = """
        from pathlib import Path
        Path("notes").mkdir()
        for i in range(3):
            Path(f"notes/{i}.md").write_text(f"# {i}", encoding="utf-8")
        inside = Path.cwd() / "notes" == Path("notes").resolve()
        sorted(p.name for p in Path().rglob("*.md")), Path("notes/1.md").read_text(), inside
    """
    async with Runtime() as rt:
        names, text, same = (await rt.execute(dedent(code))).unwrap()
        assert (names, text, same) == (["0.md", "1.md", "2.md"], "# 1", True)
        assert await rt.files.read_text("notes/2.md") == "# 2"
