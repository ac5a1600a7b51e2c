"""What guest code has of private values, what host objects get, and what is written down."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.guard.clinic import PATIENTS, Clinic, found_below, found_in

from cellwright import Limits, Privacy, Runtime, Scope, Sessions, Undoing, operation
from cellwright.cli import main
from cellwright.errors import CodeError, PlatformError, UsageError
from cellwright.events import ApprovalWanted, Event
from cellwright.guard import Pattern, read_policy

pytestmark = pytest.mark.usefixtures("warm")


async def value(rt: Runtime, code: str) -> Any:
    outcome = await rt.execute(code)
    assert outcome.error is None, outcome.error
    return outcome.value


async def test_code_has_tokens_and_joins_groups_and_compares_them() -> None:
    async with Runtime({"clinic": Clinic()}, private=True) as rt:
        shown = await value(rt, "ps = clinic.patients()\n[vars(p) for p in ps]")
        assert not found_in(repr(shown))
        assert shown[0]["id"] == 1
        assert await value(rt, "clinic.patients()[0].email == ps[0].email") is True
        assert await value(rt, "ps[0].email == ps[1].email") is False
        assert await value(rt, "ps[0].email in clinic.letter() and ps[0].full_name in clinic.letter()") is True
        assert await value(rt, "clinic.card(1)['contact']['email'] == ps[0].email") is True
        assert await value(rt, "len({p.date_of_birth for p in ps + clinic.patients()})") == 3


async def test_a_value_is_given_only_to_calls_that_may_have_its_kind() -> None:
    clinic, told = Clinic(), list[str]()
    async with Runtime({"clinic": clinic}, private=True, progress=told.append) as rt:
        assert not found_in(
            await value(rt, "p = clinic.patients()[0]\nclinic.mail(p.email, f'Dear {p.full_name}: {p.email}')")
        )
        await value(rt, "clinic.log(p.email)\nclinic.log(p.email)")
    ((to, text),) = clinic.sent
    assert to == PATIENTS[0].email
    assert text.endswith(f": {PATIENTS[0].email}")
    assert PATIENTS[0].full_name not in text
    assert not found_in(repr(clinic.given))
    assert clinic.given[0].startswith("<EMAIL_1_")
    assert [line for line in told if "clinic.log may not have email" in line and "may_have" in line] == told[1:]


async def test_strict_refuses_a_call_with_a_token_that_it_may_not_have() -> None:
    clinic = Clinic()
    async with Runtime({"clinic": clinic}, private=Privacy(strict=True)) as rt:
        outcome = await rt.execute("clinic.log(clinic.patients()[0].email)")
    assert "clinic.log may not have email" in str(outcome.error)
    assert clinic.given == []


async def test_may_have_of_the_options_is_by_globs_of_names_and_numbers_come_back_as_numbers() -> None:
    got: list[Any] = []
    scope = {"clinic": Clinic(), "keep": got.append}
    async with Runtime(scope, private=Privacy(may_have={"keep": True})) as rt:
        await value(rt, "p = clinic.patients()[1]\nkeep([p.npi, {p.email: p.date_of_birth}, f'{p.npi}!'])")
    p = PATIENTS[1]
    assert got == [[p.npi, {p.email: p.date_of_birth}, f"{p.npi}!"]]


async def test_a_token_that_a_text_brings_means_nothing() -> None:
    clinic = Clinic()
    async with Runtime({"clinic": clinic}, private=True) as rt:
        await value(rt, "clinic.patients()\nfor word in clinic.letter().split():\n    clinic.mail(word.strip(','), '')")
    assert ("<EMAIL_1_aaaaaaaa>", "") in clinic.sent


async def test_code_that_guesses_a_value_has_another_token_than_that_of_a_record() -> None:
    class Echo:
        @operation(reads=True)
        def same(self, text: str) -> str:
            return text

    clinic = Clinic()
    async with Runtime({"clinic": clinic, "echo": Echo()}, private=True) as rt:
        guess = f"'{PATIENTS[0].email}'"
        assert await value(rt, f"clinic.patients()[0].email == echo.same({guess})") is False
        known, printed = await value(rt, "clinic.patients()[0].email"), await rt.execute(f"print({guess})")
        assert not found_in(printed.stdout)
        assert known not in printed.stdout
        await value(rt, f"clinic.mail({guess}, 'hi')")  # what it has by itself it may still use
    assert clinic.sent == [(PATIENTS[0].email, "hi")]


async def test_errors_callbacks_objects_and_their_attributes_have_tokens() -> None:
    clinic = Clinic()
    async with Runtime({"clinic": clinic}, private=True) as rt:
        outcome = await rt.execute("clinic.fail(2)")
        assert isinstance(outcome.error, CodeError)
        assert "<EMAIL_" in str(outcome.error)
        assert not found_in(str(outcome.error) + outcome.error.message + repr(outcome.calls))
        heard = await value(rt, "clinic.each(lambda to: to + '!')")
        assert not found_in(repr(heard))
        assert heard[0].endswith("!")
        held = await value(
            rt, "r = clinic.open(1)\n[r.email, r.full_name, str(r), repr(vars), r.note('seen ' + r.email)]"
        )
        assert not found_in(repr(held))
        assert held[0] == await value(rt, "clinic.patients()[0].email")
    assert clinic.record.notes[0].startswith("seen <EMAIL_")


@dataclass(frozen=True)
class Contact:
    name: str
    email: str


@dataclass
class Row:
    name: str
    email: str

    def touch(self) -> None:
        """So that it goes by handle."""


async def test_a_bare_name_is_a_persons_beside_what_only_a_person_has(venv: Path) -> None:
    import pandas as pd

    p = PATIENTS[0]

    class Desk:
        @operation(reads=True)
        def kinds(self) -> list[object]:
            known = {"name": p.full_name, "email": p.email}
            return [Contact(**known), known, pd.DataFrame([known]), {1: 2, **known}]

        @operation(reads=True)
        def row(self) -> Row:
            return Row(p.full_name, p.email)

        @operation(reads=True)
        def plan(self) -> dict[str, str]:
            return {"name": "Basic", "size": "small"}

    async with Runtime({"desk": Desk()}, private=True, packages=venv, limits=Limits(memory_mb=1024)) as rt:
        code = "c, d, f, m = desk.kinds()\nr = desk.row()\n[c.name, d['name'], f['name'][0], m['name'], r.name, str(r)]"
        names = await value(rt, code)
        assert not found_in(repr(names))
        assert len(set(names[:5])) == 1
        assert await value(rt, "desk.plan()") == {"name": "Basic", "size": "small"}


async def test_a_file_of_the_workspace_is_not_printed() -> None:
    heard: list[Event] = []
    async with Runtime({"tick": lambda: None}, private=True) as rt:  # before a call what was printed is told
        lines = [f"{p.full_name},{p.email}" for p in PATIENTS]
        await rt.files.write("patients.csv", "\n".join(["full_name,email", *lines]))
        outcome = await rt.execute(
            "text = open('patients.csv').read()\nfor line in text.splitlines():\n    print(line)\n    tick()\ntext",
            on_event=heard.append,
        )
        assert "full_name" in outcome.stdout
        assert not found_in(outcome.stdout + repr(outcome.value) + repr(heard))
        failed = await rt.execute("raise ValueError(text.splitlines()[1])")
        assert not found_in(str(failed.error))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
async def test_frames_have_tokens_in_private_columns_and_give_values_back(library: str, venv: Path) -> None:
    rows = {"patient_name": [p.full_name for p in PATIENTS], "npi": [p.npi for p in PATIENTS], "visits": [1, 2, 3]}
    rows["note"] = [f"wrote from {p.email}" for p in PATIENTS]
    module: Any = __import__(library)
    frame = (module.table if library == "pyarrow" else module.DataFrame)(rows)
    got: list[Any] = []

    class Table:
        @operation(reads=True)
        def read(self) -> Any:
            return frame

        @operation(may_have=True)
        def write(self, table: Any) -> None:
            got.append(table)

    async with Runtime({"table": Table()}, private=True, packages=venv, limits=Limits(memory_mb=1024)) as rt:
        to_list = {"pandas": "t.to_dict('list')", "polars": "t.to_dict(as_series=False)", "pyarrow": "t.to_pydict()"}
        shown = await value(rt, f"t = table.read()\n{to_list[library]}")
        assert not found_in(repr(shown))
        assert shown["visits"] == [1, 2, 3]
        await value(rt, "table.write(t)")
    back = got[0].to_pydict() if library == "pyarrow" else {name: list(got[0][name]) for name in rows}
    assert back == rows


async def test_the_journal_the_audit_and_an_export_have_no_private_value(tmp_path: Path) -> None:
    clinic, store, audit = Clinic(), tmp_path / "kept" / "agents.db", tmp_path / "audit"
    store.parent.mkdir()
    options: dict[str, Any] = {"private": True, "audit": audit, "store": f"sqlite:///{store}"}
    async with Runtime({"clinic": clinic, "rows": [vars(p) for p in PATIENTS]}, session="s1", **options) as rt:
        await value(rt, "ps = clinic.patients()\nclinic.card(2)\nclinic.letter()\nrows")
        await value(rt, "for p in ps:\n    clinic.mail(p.email, 'hello')\n    clinic.log(p.full_name)")
        await value(rt, f"clinic.mail('{PATIENTS[2].email}', 'by hand')")
        await rt.execute("clinic.fail(1)")
    assert len(clinic.sent) == 4
    by_hand = f"clinic.mail('{PATIENTS[2].email}', 'by hand')"  # the code of the cell, which came with it
    assert found_below(store.parent, but=by_hand) == []
    assert found_below(audit) == []
    exported = tmp_path / "s1.jsonl"
    await asyncio.to_thread(Sessions(f"sqlite:///{store}").export, "s1", exported)
    assert found_in(exported.read_text().replace(by_hand, "")) == []


async def test_a_resumed_session_and_a_fork_know_the_tokens(tmp_path: Path) -> None:
    clinic, store = Clinic(), f"sqlite:///{tmp_path}/agents.db"
    async with Runtime({"clinic": clinic}, private=True, store=store, session="s1") as rt:
        token = await value(rt, "ps = clinic.patients()\nr = clinic.open(1)\nps[0].email")
    async with Runtime.resume("s1", scope={"clinic": clinic}, private=True, store=store) as rt:
        assert await value(rt, "clinic.mail(ps[0].email, 'again')\nclinic.patients()[0].email") == token
        assert await value(rt, "r.email") == token
        async with await rt.fork(session="s2") as branch:
            assert await value(branch, "clinic.mail(ps[1].email, 'branch')\nps[0].email") == token
            assert branch.reveal([token]) == [PATIENTS[0].email]
    async with Runtime.resume("s2", scope={"clinic": clinic}, private=True, store=store) as rt:
        await value(rt, "clinic.mail(ps[2].email, 'later')")
    assert clinic.sent == [(p.email, text) for p, text in zip(PATIENTS, ("again", "branch", "later"), strict=True)]


async def test_what_is_not_private_stays_as_it_is_in_a_resumed_session(tmp_path: Path) -> None:
    def lines(first: int) -> list[Any]:
        return [first, "tea"]

    store = f"sqlite:///{tmp_path}/agents.db"
    async with Runtime({"lines": lines}, private=True, store=store, session="s1") as rt:
        assert await value(rt, "lines(1)") == [1, "tea"]
    async with Runtime.resume("s1", scope={"lines": lines}, private=True, store=store) as rt:
        for first in (2, 3):
            assert await value(rt, f"lines({first})") == [first, "tea"]


async def test_the_map_is_sealed_for_this_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clinic, store = Clinic(), f"sqlite:///{tmp_path}/agents.db"
    monkeypatch.setenv("CELLWRIGHT_STATE", str(tmp_path / "here"))
    async with Runtime({"clinic": clinic}, private=True, store=store, session="s1") as rt:
        await value(rt, "ps = clinic.patients()")
    monkeypatch.setenv("CELLWRIGHT_STATE", str(tmp_path / "elsewhere"))
    with pytest.raises(PlatformError, match=r"session 's1' has private values .* checkpoints\.key"):
        async with Runtime.resume("s1", scope={"clinic": clinic}, private=True, store=store):
            pass


async def test_a_person_who_is_asked_sees_the_values_and_the_store_has_tokens(tmp_path: Path) -> None:
    asked: list[ApprovalWanted] = []

    def person(wanted: ApprovalWanted) -> bool:
        asked.append(wanted)
        return True

    scope, clinic = Scope(), Clinic()
    scope.bind("clinic", clinic)
    scope.declare("clinic.mail", ask=True)
    store = tmp_path / "agents.db"
    async with Runtime(scope, private=True, approve=person, store=f"sqlite:///{store}", session="s1") as rt:
        await value(rt, "clinic.mail(clinic.patients()[0].email, 'hi')")
    assert PATIENTS[0].email in asked[0].arguments
    assert found_below(tmp_path) == []


async def test_an_undo_has_the_values_and_the_audit_of_it_has_none(tmp_path: Path) -> None:
    undone: list[Any] = []

    def undo(given: str, call: Undoing) -> None:
        undone.append((given, call.args))

    class Book:
        @operation(may_have=True, undo=undo)
        def add(self, email: str) -> str:
            return f"added {email}"

    scope = {"clinic": Clinic(), "book": Book()}
    async with Runtime(scope, private=True, store="memory:", session="s1", audit=tmp_path) as rt:
        await value(rt, "book.add(clinic.patients()[0].email)")
        await rt.rollback(0)
    assert undone == [(f"added {PATIENTS[0].email}", (PATIENTS[0].email,))]
    assert found_below(tmp_path) == []


async def test_own_detectors_and_columns_take_three_lines() -> None:
    class Desk:
        @operation(reads=True)
        def row(self) -> dict[str, str]:
            return {"room": "east wing 7", "text": "badge B-123456, seen in East Wing 7", "plain": "B-12"}

    private = Privacy(columns={"room": "place"}, detectors=[Pattern(kind="badge", pattern=r"\bB-\d{6}\b")])
    async with Runtime({"desk": Desk()}, private=private) as rt:
        row = await value(rt, "desk.row()")
    assert row["room"].startswith("<PLACE_1_")
    assert row["text"].startswith("badge <BADGE_1_")
    assert "East Wing" not in row["text"]
    assert row["plain"] == "B-12"


@pytest.mark.parametrize(
    ("private", "words"),
    [
        (["e-mail"], "'e-mail' is no kind"),
        (Privacy, "'mails' is no kind"),
        ("email", "kinds='email' is no list"),
        (1, "kinds=1 is no list"),
    ],
)
def test_what_is_no_kind_is_one_line(private: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Runtime({}, private=private(kinds=["mails"]) if private is Privacy else private)


async def test_off_unless_asked_for() -> None:
    async with Runtime({"clinic": Clinic()}) as rt:
        assert await value(rt, "clinic.patients()[0].email") == PATIENTS[0].email


async def test_a_person_at_the_store_reads_the_values_and_programs_get_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scope, store = Scope(), f"sqlite:///{tmp_path}/agents.db"
    scope.bind("clinic", Clinic())
    scope.declare("clinic.mail", ask=True)
    async with Runtime(scope, private=True, store=store, session="s1") as rt:
        assert (await rt.execute("clinic.mail(clinic.patients()[0].email, 'hi')")).waiting
    for option, shown in (["--store", store], True), (["--store", store, "--json"], False):
        monkeypatch.setattr("sys.argv", ["cellwright", "approve", *option])
        assert main() == 0
        assert (PATIENTS[0].email in capsys.readouterr().out) == shown


def test_a_policy_file_says_what_is_private(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(
        """
        [private]
        kinds = ["email", "badge", "name"]
        columns = { room = "place" }
        may_have = { "clinic.mail" = ["email"], "crm.*" = true }
        answers = ["name"]
        [[private.patterns]]
        kind = "badge"
        pattern = "B-[0-9]{6}"
        """
    )
    private = read_policy(file).private
    assert private is not None
    assert (private.may_have["crm.*"], private.answers, private.detectors[0].kind) == (True, ["name"], "badge")
    assert Runtime({}, policy=file).privacy is not None
    assert Runtime({}, policy=file, private=False).privacy is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[private]\nkind = ['email']", "private knows no 'kind'; it has `kinds`"),
        ("[private]\nkinds = ['mails']", "private: 'mails' is no kind; there are email, phone"),
        ("[[private.patterns]]\nkind = 'badge'", "a pattern needs 'pattern', such as"),
        ("[private]\nmay_have = { 'clinic.mail' = 'email' }", "'email' are no kinds; give True, or a list"),
        ("[private]\nkinds = 'email'", "policy.toml: private: kinds='email' is no list"),
        ("[private]\ncolumns = ['ward']", "columns=['ward'] is no table, such as"),
        ("[private]\nnames = 'yes'", "names='yes' is neither true"),
        ("[private]\nstrict = 1", "strict=1 is neither true nor false"),
        ("[private]\npatterns = [{ kind = 'b', pattern = '(' }]", "the pattern '(' of 'b': missing )"),
    ],
)
def test_a_wrong_table_of_what_is_private_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_policy(file)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_policy_check_shows_what_is_private_and_the_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("[private]\nkinds = ['email']\nmay_have = { 'mail.*' = true }\n[network]\nhosts = ['a.example']\n")
    for option in ([], ["--json"]):
        monkeypatch.setattr("sys.argv", ["cellwright", "policy", "check", str(file), *option])
        assert main() == 0
    shown = capsys.readouterr().out
    assert "private: email\n" in shown
    assert "network: a.example\n" in shown
    assert '"network": [\n    "a.example"' in shown
