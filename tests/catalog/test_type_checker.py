"""`TypeChecker`: what it tells, how, against which names; and that nothing of it stays behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cells import eventually
from tests.signatures import read_signature

from cellwright.catalog import Mistake, TypeChecker, ty_server, type_mistake
from cellwright.errors import NotChecked, TypeMistake, UsageError
from cellwright.scope import AddedName, Declaration, Scope
from cellwright.settings import install_command


@dataclass
class Person:
    name: str
    age: int | None = None


class Book:
    """People by name."""

    def find(self, name: str, *, limit: int = 10) -> list[Person]:
        """Some of them."""
        return []

    def one(self, name: str) -> Person | None:
        return None

    async def load(self, number: int) -> Person:
        return Person(str(number))

    def erase(self) -> None: ...


@pytest.fixture
async def checker(anyio_backend: str) -> AsyncIterator[TypeChecker]:
    made = TypeChecker(Scope({"book": Book(), "Person": Person, "count": 3}))
    yield made
    await made.close()


async def only(checker: TypeChecker, code: str, *before: str) -> Mistake:
    found = await checker.check(code, before=before)
    assert len(found) == 1, found
    return found[0]


async def test_a_mistake_shows_its_line_with_a_caret_and_the_right_signature(checker: TypeChecker) -> None:
    found = await only(checker, 'name = "Ada"\nbook.find(name, limits=3)')
    assert (found.line, found.column, found.rule) == (2, 16, "unknown-argument")
    assert found.text == str(found)
    assert found.text == (
        "line 2:\n"
        "    book.find(name, limits=3)\n"
        "                    ^^^^^^^^\n"
        "Argument `limits` does not match any known parameter of bound method `Book.find`\n"
        "signature: find(name: str, *, limit: int = 10) -> list[Person]"
    )


async def test_a_name_that_is_nearly_right_is_told_with_the_right_one(checker: TypeChecker) -> None:
    assert (await only(checker, "book.fnd('x')")).signature == "find(name: str, *, limit: int = 10) -> list[Person]"
    assert (await only(checker, "boook")).signature == "book (it is there already: use it as it is)"
    assert (await only(checker, "Person('x').nme")).signature == "name: str"
    assert (await only(checker, "Person('x').zip_code")).signature.startswith("Person has name")


async def test_a_missing_await_is_told_with_the_signature(checker: TypeChecker) -> None:
    for code in ("book.load(3)", "print(book.load(3))", "f'{book.load(3)}'"):
        found = await only(checker, code)
        assert found.signature == "async load(number: int) -> Person"
        assert "await" in found.message
    assert await checker.check("person = await book.load(3)\nperson.name") == ()


async def test_a_column_counts_characters(checker: TypeChecker) -> None:
    found = await only(checker, 'print("åé日", book.nope)')
    assert found.source[found.column :].startswith("book.nope")


async def test_code_that_does_not_parse_is_a_mistake(checker: TypeChecker) -> None:
    found = await only(checker, "x = 1\nbook.find(")
    assert (found.line, found.rule) == (2, "invalid-syntax")
    assert "was never closed" in found.message


async def test_several_mistakes_make_one_error_that_says_nothing_ran(checker: TypeChecker) -> None:
    error = type_mistake(await checker.check("book.fnd()\nnope\n"))
    assert isinstance(error, TypeMistake)
    assert str(error).startswith("nothing of this cell ran: it has 2 mistakes\n\nline 1:")
    assert "line 2:" in str(error)


async def test_an_error_tells_the_first_ten_and_counts_the_rest(checker: TypeChecker) -> None:
    assert str(type_mistake(await checker.check("nope\n" * 12))).endswith("and 2 more")


async def test_what_may_be_none_is_no_mistake_unless_all_rules_are_asked_for(checker: TypeChecker) -> None:
    code = "found = book.one('Ada')\nfound.name\nfound.age + 1"
    assert await checker.check(code) == ()
    strict = TypeChecker(Scope({"book": Book()}), rules="all")
    assert {mistake.line for mistake in await strict.check(code)} == {2, 3}
    await strict.close()


async def test_names_of_earlier_cells_are_known_as_the_last_cell_left_them(checker: TypeChecker) -> None:
    before = ("import json\nx: int = 1\ndef double(n): return n * 2", "x = json.dumps(x)")
    assert await checker.check("x.upper(), double(2)", before=before) == ()
    assert (await only(checker, "x.bit_length()", *before)).rule == "missing-attribute"
    assert (await only(checker, "x", *before, "del x")).rule == "unresolved-reference"
    assert (await only(checker, "double()", *before)).rule == "missing-argument"


async def test_an_earlier_cell_that_cannot_be_read_is_passed_over(checker: TypeChecker) -> None:
    assert await checker.check("x + 1", before=("x = 1", "((", "\x00")) == ()


async def test_sessions_that_part_do_not_see_each_other(checker: TypeChecker) -> None:
    common = "x = 1"
    assert await checker.check("x.upper()", before=(common, "x = 'a'")) == ()
    assert await checker.check("x.bit_length()", before=(common, "x = 2")) == ()
    assert (await only(checker, "x.upper()", common, "x = 2")).line == 1


async def test_a_scope_that_changes_is_read_anew() -> None:
    scope = Scope({"book": Book()})
    checker = TypeChecker(scope)
    assert await checker.check("book.erase()") == ()
    scope.declare("book.*", hide=["erase"])
    assert (await only(checker, "book.erase()")).rule == "missing-attribute"
    scope.bind("extra", 3)
    assert await checker.check("extra + 1") == ()
    await checker.close()


async def test_names_of_the_session_can_be_added() -> None:
    takes = read_signature("(*, anyway: bool = False) -> _contextlib.AbstractContextManager[None]")
    line = Declaration(name="transaction", signatures=(takes,))
    added = AddedName(line=line, before="import contextlib as _contextlib")
    checker = TypeChecker(Scope(), names={"transaction": added})
    assert await checker.check("with transaction(anyway=True):\n    pass") == ()
    assert (await only(checker, "with transaction(True):\n    pass")).signature == (
        "transaction(*, anyway: bool = False) -> AbstractContextManager[None]"
    )
    await checker.close()


async def test_a_package_is_a_mistake_only_where_the_guests_packages_are_known(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "__init__.py").write_text("def greet(name: str) -> str: return name\n")
    (tmp_path / "compiled.cpython-311-x86_64-linux-gnu.so").write_bytes(b"")
    unknown, known = TypeChecker(Scope()), TypeChecker(Scope(), site=[tmp_path])
    assert await unknown.check("import there, absent\nfrom absent.deep import thing\nthing.x") == ()
    assert (await only(unknown, "import collections.nowhere")).rule == "import-not-found"
    assert await known.check("import there, compiled\nthere.greet('x'), compiled.anything") == ()
    assert (await only(known, "import absent")).rule == "import-not-found"
    assert (await only(known, "import there\nthere.nope")).rule == "missing-attribute"
    await unknown.close()
    await known.close()


async def test_the_packages_of_the_host_are_not_seen(checker: TypeChecker) -> None:
    assert await checker.check("import pytest, httpx\npytest.nope, httpx.nope") == ()


@pytest.mark.parametrize(
    "code",
    ["", "# nothing", "x = 1\n" * 100_000, "(" * 5_000 + ")" * 5_000, "x = " + "-" * 20_000 + "1", "a\x00b", "\ud800"],
    ids=["empty", "comment", "long", "deep", "deeper", "null", "surrogate"],
)
async def test_code_that_cannot_be_judged_is_left_to_the_run(checker: TypeChecker, code: str) -> None:
    with suppress(NotChecked):
        assert all(mistake.rule == "invalid-syntax" for mistake in await checker.check(code))
    assert await checker.check("book.find('x')") == ()


async def test_a_cell_whose_types_grow_without_end_is_given_up_and_the_next_is_checked() -> None:
    checker = TypeChecker(Scope({"a": 1}), timeout_s=1.0)
    growing = "x = None\n" + "".join(f"if a == {i}: x = ({i}, x)\n" for i in range(600)) + "x.foo"
    with pytest.raises(NotChecked, match="no verdict within 1 s"):
        await checker.check(growing)
    assert (await only(checker, "a.foo")).line == 1
    await checker.close()


async def test_many_cells_are_checked_at_once(checker: TypeChecker) -> None:
    found = await asyncio.gather(*(checker.check(f"book.nope{i}") for i in range(20)))
    assert [mistakes[0].message.endswith(f"`nope{i}`") for i, mistakes in enumerate(found)] == [True] * 20


async def test_a_process_that_dies_is_started_anew(checker: TypeChecker) -> None:
    await only(checker, "nope")
    process = ty_server.borrow(())
    os.kill(process.pid, 9)
    ty_server.give_back(process)
    await eventually_dead(process)
    await only(checker, "nope")


async def test_checkers_share_one_process_which_ends_when_nobody_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = [tmp_path]
    first, second = TypeChecker(Scope({"a": 1}), site=site), TypeChecker(Scope({"b": 1}), site=site)
    assert await first.check("a + 1") == ()
    assert await second.check("b + 1") == ()
    assert (await only(second, "a")).rule == "unresolved-reference"
    process = ty_server.borrow(site)
    ty_server.give_back(process)
    assert process.users == 2
    await first.close()
    await second.close()
    assert process.alive  # for the next one
    third = TypeChecker(Scope({"c": 1}), site=site)
    assert await third.check("c + 1") == ()
    assert ty_server.borrow(site) is process
    ty_server.give_back(process)
    monkeypatch.setattr(ty_server, "LINGER_S", 0.0)
    await third.close()
    await eventually_dead(process)
    await eventually_gone(process.root)


async def eventually_gone(path: Path) -> None:
    async def gone() -> bool:
        return not await asyncio.to_thread(path.exists)

    await eventually(gone)


async def test_closing_twice_is_fine_and_a_check_after_it_starts_again(checker: TypeChecker) -> None:
    await checker.check("book")
    await checker.close()
    await checker.close()
    await only(checker, "nope")


def children_of(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        yield from map(int, (task / "children").read_text().split())


def test_the_process_dies_with_a_host_that_is_killed() -> None:
    program = """
        import asyncio
        from cellwright.catalog import TypeChecker
        from cellwright.scope import Scope

        async def main():
            await TypeChecker(Scope()).check("1 + 1")
            print("ready", flush=True)
            await asyncio.sleep(60)

        asyncio.run(main())
    """
    host = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    assert host.stdout.readline() == "ready\n"
    (child,) = children_of(host.pid)
    host.kill()
    host.wait()
    host.stdout.close()
    status = Path(f"/proc/{child}/stat")

    async def gone() -> bool:
        return not os.path.exists(status) or ") Z " in status.read_text()  # noqa: ASYNC240  of the kernel's own

    asyncio.run(eventually(gone))


async def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dead, other = tmp_path / f"{ty_server.PREFIX}dead", tmp_path / f"{ty_server.PREFIX}starting"
    dead.mkdir()
    other.mkdir()
    (dead / "lock").touch()
    monkeypatch.setattr(ty_server, "LINGER_S", 0.0)
    first, second = TypeChecker(Scope(), site=[dead]), TypeChecker(Scope(), site=[other])
    assert await first.check("1 + 1") == ()
    assert not dead.exists()
    assert other.exists()
    await second.check("1 + 1")
    await only(first, "nope")
    await first.close()
    await second.close()

    async def alone() -> bool:
        return os.listdir(tmp_path) == [other.name]

    await eventually(alone)


def test_nothing_is_left_when_a_program_ends_without_closing(tmp_path: Path) -> None:
    program = """
        import asyncio
        from cellwright.catalog import TypeChecker
        from cellwright.scope import Scope

        print(len(asyncio.run(TypeChecker(Scope()).check("nope"))))
    """
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=environ, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert list(tmp_path.iterdir()) == []


async def test_without_ty_the_message_says_what_to_install() -> None:
    program = """
        import asyncio, sys
        sys.modules["ty"] = None
        from cellwright.catalog import TypeChecker
        from cellwright.scope import Scope

        asyncio.run(TypeChecker(Scope()).check("1 + 1"))
    """
    done = await asyncio.to_thread(
        lambda: subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, check=False
        )
    )
    assert done.stderr.strip().endswith(f"which is not installed: {install_command('check')}")


def test_a_set_of_rules_that_is_none_is_refused() -> None:
    wrong: Any = "some"
    with pytest.raises(UsageError, match='give "default" or "all"'):
        TypeChecker(Scope(), rules=wrong)


async def eventually_dead(process: ty_server.TyServer) -> None:
    async def dead() -> bool:
        return not process.alive

    await eventually(dead)


@pytest.mark.slow
async def test_a_process_that_reads_nothing_stops_nobody(checker: TypeChecker) -> None:
    """More than a pipe holds is on its way to it; the loop goes on, and the check is given up in time."""
    await checker.check("book")
    held: Any = checker
    os.kill(held._server.pid, signal.SIGSTOP)
    beats = 0
    check = asyncio.ensure_future(checker.check(f"x = '{'é' * 45_000}'"))
    while not check.done():
        await asyncio.wait({check}, timeout=0.1)
        beats += 1
    assert beats > 2
    assert isinstance(check.exception(), NotChecked)
    assert (await only(checker, "book.finnd")).rule
