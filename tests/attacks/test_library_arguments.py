"""What guest code gives to granted members of known libraries: records with hidden fields, headers, layouts."""

from __future__ import annotations

import functools
import queue
import sqlite3
from collections import UserDict, deque
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import httpx
import pydantic
import pytest
import sqlalchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, Session, mapped_column, relationship
from sqlalchemy.pool import StaticPool

from cellwright import Limits, Runtime, Scope
from cellwright.scope.grant_tables import table

LAYER = "binding"


@pytest.fixture(autouse=True)
def opens_sessions(warm: None) -> None:
    """One zygote serves them all."""


async def told(cells: list[str], scope: Scope) -> list[str]:
    """The value of each cell as text, or the last line of its error."""
    async with Runtime(scope, limits=Limits()) as rt:
        outcomes = [await rt.execute(code) for code in cells]
    return [repr(o.value) if o.error is None else f"ERROR {str(o.error).splitlines()[-1]}" for o in outcomes]


KEY = "hunter22"


@dataclass
class Account:
    name: str = "ada"
    api_key: str = KEY
    limit: int = 77_001

    def greeting(self) -> str:
        return f"Dear {self.name}"


class Pair(NamedTuple):
    name: str = "ada"
    api_key: str = KEY


class Model(pydantic.BaseModel):
    name: str = "ada"
    api_key: str = KEY

    def greeting(self) -> str:
        return f"Dear {self.name}"


class Ledger:
    def save(self, record: Any) -> str:
        return type(record).__name__


READS = [
    "pd.DataFrame([account]).to_csv()",
    "pd.DataFrame([[pair]]).to_csv()",
    "pd.Series(pair).tolist()",
    "pl.DataFrame([model]).to_dicts()",
    "pl.from_records([pair])",
    "np.array(pair).tolist()",
    "np.array(['a', 'b'], dtype=object) + pair",
    "grid[0] = pair\ngrid[0]",
    "pair in grid",
    "pa.array(pair).to_pylist()",
    "adapter.dump_python(account)",
    "adapter.dump_json([model])",
    "db.execute('SELECT ?, ?', pair).fetchone()",
    "reduce(lambda found, one: found + [one], pair, [])",
    "graph.add_edges_from([pair])",
    "rows.extend(pair)\nrows[-1]",
    "rows += pair\nrows[-1]",
    "rows[0:0] = pair\nrows[0]",
    "recent.extendleft(pair)",
    "seen.update([], pair)",
    "named.update(pair)",
    "list(named.fromkeys(pair))",
    "named.update([pair])\nlist(named)",
]
KEEPS = {
    "ledger.save(account), ledger.save(pair)": "('Account', 'Pair')",
    "saved(model)": "'Model'",
    "waiting.put(account)\nwaiting.get().greeting()": "'Dear ada'",
    "pd.DataFrame([{'a': 1}]).shape, pa.array([1]).to_pylist()": "((1, 1), [1])",
    "model.model_validate({'name': 'bob', 'api_key': 'x'}).greeting()": "'Dear bob'",
    "model == model, model == other, model != other, model in [other]": "(True, True, False, True)",
    "rows.append(pair)\nrows[0] = pair\nrows.index(pair), rows[0].name": "(0, 'ada')",
    "rows.extend([pair, pair])\nrows.extend((account, model))\nlen(rows)": "6",
    "seen.update([pair])\nnamed.update(a=pair)\nlen(seen), named['a'].name": "(1, 'ada')",
    "graph.add_node('a', of=model)\ngraph.nodes['a']['of'].greeting()": "'Dear ada'",
    "graph.add_edge('a', pair)\ngraph.has_edge('a', pair), graph.nodes[pair], pair in graph": "(True, {}, True)",
}


def names() -> dict[str, Any]:
    np: Any = import_module("numpy")
    grid = type("Grid", (np.ndarray,), {})
    return {
        "account": Account(),
        "pair": Pair(),
        "model": Model(),
        "other": Model(),
        "rows": type("Rows", (list,), {})([1]),
        "recent": deque[Any](),
        "seen": type("Seen", (set,), {})(),
        "named": type("Named", (dict,), {})(),
        "graph": import_module("networkx").Graph(),
        "ledger": Ledger(),
        "saved": functools.partial(Ledger().save),
        "reduce": functools.reduce,
        "waiting": queue.Queue[Any](),
        "adapter": pydantic.TypeAdapter(Any),
        "db": sqlite3.connect(":memory:", check_same_thread=False),
        "grid": np.array(["a", "b"], dtype=object).view(grid),
        **{short: import_module(name) for short, name in MODULES.items()},
    }


MODULES = {"pd": "pandas", "pl": "polars", "np": "numpy", "pa": "pyarrow"}


async def test_no_library_reads_a_record_with_a_hidden_field_as_a_whole() -> None:
    answers = await told([*READS, *KEEPS], Scope(names()))
    for code, answer in zip(READS, answers, strict=False):
        assert "which has a hidden field; scope.declare(" in answer, f"{code} -> {answer}"
    assert dict(zip(KEEPS, answers[len(READS) :], strict=True)) == KEEPS


class Base(MappedAsDataclass, DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "user"
    name: Mapped[str] = mapped_column(primary_key=True)
    password: Mapped[str] = mapped_column(default=KEY)


class Pet(Base):
    __tablename__ = "pet"
    name: Mapped[str] = mapped_column(primary_key=True)
    owner_name: Mapped[str] = mapped_column(sqlalchemy.ForeignKey("user.name"))
    owner: Mapped[User] = relationship(init=False)


async def test_a_session_takes_its_own_rows_that_have_a_hidden_field() -> None:
    engine = sqlalchemy.create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add_all([User("ada"), Pet("rex", "ada")])
        session.commit()
        works = {
            "user = session.get(User, 'ada')\nsession.add(user)\nuser in session": "True",
            "session.scalars(select(Pet).where(Pet.owner == user)).one().name": "'rex'",
            "session.query(Pet).filter_by(owner=user).one().name": "'rex'",
            "pet = session.get(Pet, 'rex')\npet.owner = user\npet.owner.name": "'ada'",
        }
        names: dict[str, Any] = {"session": session, "User": User, "Pet": Pet, "select": sqlalchemy.select}
        assert dict(zip(works, await told([*works], Scope(names)), strict=True)) == works
    engine.dispose()


async def test_a_field_that_a_rule_hides_is_not_read_either_and_a_declared_line_grants_it() -> None:
    scope = Scope(names())
    scope.declare("account.api_key", hide=False)
    scope.declare("account.limit", hide=True)
    code = "pd.DataFrame([account]).limit.tolist()"
    assert "which has a hidden field" in (await told([code], scope))[0]
    scope.declare("pd.DataFrame.__init__", hide=False)
    scope.declare("DataFrame.__init__", hide=False)
    assert (await told([code], scope))[0] == "[77001]"


async def test_headers_are_not_read_twice_from_guest_code() -> None:
    seen: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["host"])
        return httpx.Response(200)

    client = httpx.Client(base_url="https://ann:hunter22@api.test", transport=httpx.MockTransport(answer))
    two_faced = """
class Headers:
    pairs = [StopIteration, ("Host", "evil.test"), StopIteration]
    def __iter__(self): return self
    def __next__(self):
        pair = self.pairs.pop(0)
        if pair is StopIteration: raise StopIteration
        return pair
client.post("/", content=b"", headers=Headers())
"""
    cells = [two_faced, "str(client.get('/').url)", "client.post('/', content=(b for b in [b'a'])).status_code"]
    first, url, last = await told(cells, Scope({"client": client}))
    assert "headers from a function or an iterator" in first
    assert url == "'https://***@api.test/'"
    assert last == "200"
    assert set(seen) == {"api.test"}


async def test_arrow_arrays_are_not_read_as_another_layout_and_numbers_not_shuffled_in_place() -> None:
    class Rows(UserDict[int, int]):
        pass

    np: Any = import_module("numpy")
    cells = [
        "pa.array([{'a': 1 << 20, 'b': 1}]).view(pa.struct([('a', pa.list_(pa.int64()))]))",
        "rng.shuffle(rows)",
        "len(rng.permutation([1, 2, 3]))",
    ]
    names = {"pa": import_module("pyarrow"), "rng": np.random.default_rng(1), "rows": Rows({0: 1, 1: 2})}
    viewed, shuffled, length = await told(cells, Scope(names))
    assert "binding it does not grant" in viewed
    assert "binding it does not grant" in shuffled
    assert length == "3"


@pytest.mark.parametrize(
    "name",
    "create_service_specific_credential create_access_key create_bucket_access_key get_bucket_access_keys "
    "create_key_pair create_keys_and_certificate get_data_access get_compute_access get_password_data "
    "get_relational_database_master_user_password get_instance_access_details create_api_key".split(),
)
def test_operations_of_cloud_clients_that_give_credentials_are_not_granted(name: str) -> None:
    row = table("botocore").classes["BaseClient"]
    assert row.member(name) is None
    assert all(map(row.member, ("get_object", "describe_key_pairs", "create_bucket")))
