"""Ways round private data: hostile guests, guesses of a model, values in unusual places, sessions that go on."""

from __future__ import annotations

import datetime as dt
import importlib
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.guard.clinic import PATIENTS, Clinic, found_below, found_in

from cellwright import Agent, Limits, Privacy, Runtime, operation
from cellwright.errors import ReturnTypeError, UsageError
from cellwright.guard import Policy, PolicyRule, SessionPrivacy
from cellwright.messages import AssistantMessage
from cellwright.testing import ScriptedModel, code

pytestmark = pytest.mark.usefixtures("warm")
ANN = PATIENTS[0]
BYTES = f"Zoë, {ANN.email}".encode("latin-1")


class Desk:
    """Gives what it is told to, and keeps what it is given."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.got: list[Any] = []

    @operation(reads=True)
    def get(self, what: str) -> Any:
        return self.answers[what]

    @operation(may_have=True)
    def put(self, value: Any) -> None:
        self.got.append(value)


async def value(rt: Runtime, text: str) -> Any:
    outcome = await rt.execute(text)
    assert outcome.error is None, outcome.error
    return outcome.value


HOSTILE_FRAME = """
import asyncio, resource, sys
from cellwright import Limits, Runtime
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
CELL = '''
import pyarrow, struct
offsets = pyarrow.py_buffer(struct.pack("<4i", 0, 2_000_000_000, 5, 7))
texts = pyarrow.Array.from_buffers(pyarrow.string(), 3, [None, offsets, pyarrow.py_buffer(b"abcdefg")])
use(pyarrow.table({"x": texts}))
'''
async def main():
    limits = Limits(memory_mb=1024)
    async with Runtime({"use": lambda x: None}, private=True, packages=sys.prefix, limits=limits) as rt:
        print((await rt.execute(CELL)).error)
asyncio.run(main())
"""


def test_a_frame_that_lies_about_its_bytes_ends_the_guest_and_not_the_host() -> None:
    done = subprocess.run([sys.executable, "-c", HOSTILE_FRAME], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "the guest broke the protocol" in done.stdout


RAW = """
from cellwright_guest.door import Mailbox
mailbox = Mailbox()
type(desk)._cellwright_world.door.start(mailbox, "call", desk._grip.handle, "put", TREE, [b"x"])
type(desk)._cellwright_world.door.receive(mailbox)
"""


@pytest.mark.parametrize(
    "part", ['{"S": 9}', '{"m": 5}', '{"d": [1]}', '{"a": []}', '{"o": 5}', '{"x": []}', '{"E": 5}']
)
async def test_a_tree_that_no_guest_sends_breaks_the_protocol(part: str) -> None:
    async with Runtime({"desk": Desk()}, private=True) as rt:
        outcome = await rt.execute(RAW.replace("TREE", f'{{"t": [{part}]}}'))
        assert "the guest broke the protocol" in str(outcome.error)


@pytest.mark.parametrize(
    "given",
    [
        {"name": ANN.full_name, "email": ANN.email},
        Path(f"/home/{ANN.email}/letters"),
        slice(ANN.email, None),
        BYTES,
        {"npi": 1234567893 << 64},
    ],
)
async def test_values_in_unusual_places_have_tokens_and_come_back(given: Any) -> None:
    desk = Desk(it=given)
    async with Runtime({"desk": desk}, private=True) as rt:
        shown = await value(rt, "it = desk.get('it')\ndesk.put(it)\nascii(it).encode().hex()")
        text = bytes.fromhex(shown).decode()
        assert not found_in(text)
        assert str(1234567893 << 64) not in text
    assert desk.got == [given]


async def test_a_name_before_the_column_that_tells_of_it_has_its_token() -> None:
    desk = Desk(it={"note": f"{ANN.full_name} called", "full_name": ANN.full_name})
    async with Runtime({"desk": desk}, private=True) as rt:
        assert await value(rt, "it = desk.get('it')\nit['note'] == it['full_name'] + ' called'") is True


async def test_keys_and_halves_of_pairs_come_back_as_they_were() -> None:
    day, half = dt.date(1980, 3, 4), "An\ud800n Lee"
    desk = Desk(it={"dob": day, "full_name": half})
    async with Runtime({"desk": desk}, private=True) as rt:
        await value(rt, "it = desk.get('it')\ndesk.put({it['dob']: 1})\ndesk.put('-' * 2000 + it['full_name'])")
    assert desk.got == [{day: 1}, "-" * 2000 + half]


def frames() -> dict[str, tuple[str, Any]]:
    import pandas as pd
    import polars as pl

    pa: Any = importlib.import_module("pyarrow")
    pair = pa.map_(pa.string(), pa.string())
    return {
        "names of columns": ("repr(it)", pd.DataFrame([[1]], columns=[ANN.email])),
        "an index": ("repr(it)", pd.DataFrame({"v": [1]}, index=pd.Index([ANN.email], name="email"))),
        "an index without a name": ("repr(it)", pd.DataFrame({"v": [1]}, index=[ANN.email])),
        "a category of no row": (
            "repr(it['email'].cat.categories)",
            pd.DataFrame({"email": pd.Categorical([None], categories=[ANN.email])}),
        ),
        "dates in a struct": ("repr(it.to_dicts())", pl.DataFrame({"p": [{"dob": ANN.date_of_birth}]})),
        "a map": ("repr(it.to_pydict())", pa.table({"m": pa.array([[("email", ANN.email)]], pair)})),
        "bytes": ("repr(it.to_pydict())", pa.table({"x": pa.array([ANN.email.encode()])})),
        "a bare name": ("repr(it.to_dicts())", pl.DataFrame({"name": [ANN.full_name], "email": [ANN.email]})),
    }


async def test_frames_have_tokens_in_each_of_their_parts_and_come_back(venv: Path) -> None:
    given = frames()
    desk = Desk(**{name: frame for name, (_, frame) in given.items()})
    async with Runtime({"desk": desk}, private=True, packages=venv, limits=Limits(memory_mb=1024)) as rt:
        for name, (look, frame) in given.items():
            shown = await value(rt, f"it = desk.get({name!r})\ndesk.put(it)\n({look}).encode().hex()")
            text = bytes.fromhex(shown).decode()
            assert not found_in(text), name
            assert "1980" not in text, name
            assert desk.got[-1].equals(frame), name


async def test_notes_of_a_frame_have_no_private_value(venv: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"v": [1]})
    frame.attrs["owner"] = ANN.email
    async with Runtime({"desk": Desk(it=frame)}, private=True, packages=venv, limits=Limits(memory_mb=1024)) as rt:
        assert await value(rt, "desk.get('it').attrs") == {}


async def test_a_date_of_a_frame_is_that_of_a_record(venv: Path) -> None:
    import polars as pl

    desk = Desk(frame=pl.DataFrame({"dob": [ANN.date_of_birth]}), record={"dob": ANN.date_of_birth})
    async with Runtime({"desk": desk}, private=True, packages=venv, limits=Limits(memory_mb=1024)) as rt:
        assert await value(rt, "desk.get('frame')['dob'][0] == desk.get('record')['dob']") is True


async def test_what_a_model_writes_by_itself_has_another_token_than_a_record() -> None:
    seen: list[Any] = []

    def guess(request: Any) -> AssistantMessage:
        return code("print(clinic.patients()[0].email)", say=f"It may be {ANN.email}.")

    def look(request: Any) -> str:
        seen.extend(request.messages)
        return "Done."

    await Agent(ScriptedModel(guess, look), scope={"clinic": Clinic()}, mode="code", private=True).run("Guess.")
    _, said, printed = seen
    token = printed.results[0].text.strip()
    assert not found_in(repr(seen))
    assert token.startswith("<EMAIL_")
    assert token not in said.text


async def test_what_a_childs_model_writes_by_itself_has_another_token_than_a_record() -> None:
    asks = "answer = await spawn('Guess.')\ndone([answer, clinic.patients()[0].email])"

    def reply(request: Any) -> Any:
        return ANN.email if "Guess" in request.messages[0].text else code(asks)

    model = ScriptedModel(reply, reply)
    result = await Agent(model, scope={"clinic": Clinic()}, mode="code", private=True, spawn=True).run("Begin.")
    guessed, known = result.value
    assert guessed.startswith("<EMAIL_")
    assert guessed != known


async def test_what_is_said_of_a_wrong_answer_has_tokens(tmp_path: Path) -> None:
    seen: list[str] = []

    def reply(request: Any) -> Any:
        seen.append(repr(request))
        last = request.messages[-1]
        if len(seen) == 1:
            return code("print(clinic.patients()[0].full_name)")
        return last.results[0].text if len(seen) == 2 else code("done(clinic.patients()[0].full_name)")

    model, private = ScriptedModel(*[reply] * 5), Privacy(answers=["name"])
    store = f"sqlite:///{tmp_path}/agents.db"
    agent = Agent(model, scope={"clinic": Clinic()}, mode="code", private=private, store=store)
    with pytest.raises(ReturnTypeError):
        await agent.run("Count.", returns=int)
    await agent.close()
    assert len(seen) == 4
    assert not found_in("".join(seen))
    assert found_below(tmp_path) == []


async def test_a_session_that_learned_a_name_later_goes_the_same_way_again(tmp_path: Path) -> None:
    clinic, told, store = Clinic(), list[str](), f"sqlite:///{tmp_path}/agents.db"
    async with Runtime({"clinic": clinic}, private=True, store=store, session="s1", progress=told.append) as rt:
        await value(rt, f"f = open('a', 'w')\nclinic.log('for {ANN.full_name}')")  # a file that no checkpoint takes
        await value(rt, "ps = clinic.patients()")
    async with Runtime.resume("s1", scope={"clinic": clinic}, private=True, store=store, progress=told.append) as rt:
        assert await value(rt, "len(ps)") == 3
        await value(rt, "clinic.mail(ps[0].email, 'hi')")
    assert clinic.sent == [(ANN.email, "hi")]
    assert not [line for line in told if "went another way" in line]


@pytest.mark.parametrize(
    ("to", "sent"), [("*@mail.example", ["bo@lindqvist.example"]), ("not *@mail.example", [ANN.email])]
)
async def test_a_rule_about_an_argument_is_about_the_value_that_a_call_gets(to: str, sent: list[str]) -> None:
    clinic = Clinic()
    policy = Policy(rules=(PolicyRule(operation="clinic.mail", arguments={"to": to}, action="deny"),))
    async with Runtime({"clinic": clinic}, private=True, policy=policy) as rt:
        for at in (0, 1):
            await rt.execute(f"clinic.mail(clinic.patients()[{at}].email, 'hi')")
    assert [one for one, _ in clinic.sent] == sent


async def test_a_session_that_is_resumed_without_private_says_so(tmp_path: Path) -> None:
    scope, told, store = {"clinic": Clinic()}, list[str](), f"sqlite:///{tmp_path}/agents.db"
    async with Runtime(scope, private=True, store=store, session="s1", progress=told.append) as rt:
        await value(rt, "ps = clinic.patients()")
    assert told == []
    async with Runtime.resume("s1", scope=scope, store=store, progress=told.append):
        assert "session s1 has private values, and private= is off" in told[0]


def test_what_stands_beside_a_token_is_looked_at() -> None:
    privacy = SessionPrivacy(Privacy())
    text = f'{{"email": "{privacy.hide_text(PATIENTS[1].email)}, {ANN.email}"}}'
    assert not found_in(privacy.hide_text(text))


@pytest.mark.parametrize("kind", ["señal", "_place", "straße"])
def test_a_kind_whose_tokens_would_not_be_read_again_is_refused(kind: str) -> None:
    with pytest.raises(UsageError, match="no lower-case word"):
        Privacy(columns={"room": kind})


async def test_rows_of_a_database_are_known_by_their_columns() -> None:
    db = sqlite3.connect(":memory:", check_same_thread=False)
    db.execute("create table patients (id, full_name, email, visits)")
    db.executemany("insert into patients values (?, ?, ?, ?)", [(p.id, p.full_name, p.email, 3) for p in PATIENTS])
    async with Runtime({"db": db}, private=True) as rt:
        code = """
found = db.execute('select full_name, visits, upper(full_name) as name from patients order by id')
one, rest = found.fetchone(), found.fetchall()
[one, *rest, *db.execute('select full_name, email from patients order by id')]
"""
        rows = (await rt.execute(code)).unwrap()
        assert not found_in(repr(rows))
        assert (rows[0][1], len(rows)) == (3, 6)
        assert rows[0][0] == rows[3][0]
