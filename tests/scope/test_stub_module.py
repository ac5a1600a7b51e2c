"""`scope_stubs`: the whole scope as one module, which must be Python whatever is bound."""

from __future__ import annotations

import ast
import json
import sqlite3
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pandas
import pytest
import sqlalchemy
from tests.catalog import world
from tests.catalog.test_stub_text import SCOPE

from cellwright.scope import AddedName, Declaration, Parameter, Scope, Signature, StubModule, scope_stubs

if TYPE_CHECKING:
    from nowhere import Absent  # pyright: ignore[reportMissingImports, reportUnknownVariableType]


class Shelf:
    """Its methods are called as types are."""

    def list(self, kind: type | None = None) -> list[int]:
        return []

    def dict(self) -> dict[str, Shelf]:
        return {}

    @property
    def str(self) -> str:
        return ""


def classes(text: str) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}


def members(node: ast.ClassDef) -> set[str]:
    functions = {n.name for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    return functions | {ast.unparse(n.target) for n in node.body if isinstance(n, ast.AnnAssign)}


def exported(text: str) -> set[str]:
    assigned = (n for n in ast.parse(text).body if isinstance(n, ast.Assign))
    return set(ast.literal_eval(next(n.value for n in assigned if ast.unparse(n.targets[0]) == "__all__")))


def test_a_stub_module_is_python_and_exports_what_is_bound_and_nothing_else() -> None:
    for names in (SCOPE, world.names(), {}):
        text = scope_stubs(Scope(names))
        compile(text, "scope.pyi", "exec")
        assert exported(text) == set(names)


@pytest.mark.slow
def test_large_libraries_make_a_module_of_bounded_size() -> None:
    engine = sqlalchemy.create_engine("sqlite://")
    frame = pandas.DataFrame({"a": [1]})
    text = scope_stubs(Scope({"client": httpx.AsyncClient(), "engine": engine, "frame": frame, "sql": sqlalchemy}))
    assert "frame: _typing.Any" in text
    assert len(classes(text)) <= 410
    assert {"get", "post", "stream"} <= members(classes(text)["AsyncClient"])


def test_classes_that_signatures_lead_to_are_there_and_not_exported() -> None:
    text = scope_stubs(Scope({"api": world.Api()}))
    assert {"Api", "Response", "User", "Event", "Batch"} <= set(classes(text))
    assert exported(text) == {"api"}


def test_classes_of_one_name_are_kept_apart() -> None:
    def made(module: str) -> Any:
        namespace: dict[str, Any] = {"__module__": module, f"of_{module}": lambda self: 1}  # pyright: ignore[reportUnknownLambdaType]
        return type("Item", (), namespace)

    first, second = made("shop"), made("garden")
    text = scope_stubs(Scope({"a": first(), "b": second()}))
    found = classes(text)
    assert "of_shop" in members(found["Item"])
    assert "of_garden" in members(found["garden_Item"])
    assert "a: Item\n" in text
    assert "b: garden_Item\n" in text


def test_a_name_in_scope_wins_over_a_class_of_the_same_name() -> None:
    text = scope_stubs(Scope({"Contacts": 3, "crm": world.Crm(), "list": [1]}))
    assert "Contacts: int\n" in text
    assert "contacts: world_Contacts" in text
    assert "_builtins.list[Contact]" in text


def test_a_member_called_as_a_type_does_not_hide_the_type() -> None:
    text = scope_stubs(Scope({"shelf": Shelf()}))
    assert "def list(self, kind: type | None = None) -> _builtins.list[int]: ..." in text
    assert "def dict(self) -> _builtins.dict[_builtins.str, Shelf]: ..." in text
    assert "def str(self) -> _builtins.str: ..." in text


def test_an_annotation_that_cannot_be_read_is_any_and_the_rest_stays() -> None:
    def half(a: Absent, b: list[Absent], c: int) -> dict[str, Absent]: ...  # pyright: ignore[reportUnknownParameterType]
    def broken(a: int, b: str) -> int: ...

    broken.__annotations__ = {"a": "1 / 0", "b": "not python (", "return": "int"}
    text = scope_stubs(Scope({"half": half, "broken": broken}))
    some = "_typing.Any"
    assert f"def half(a: {some}, b: _list[{some}], c: int) -> dict[str, {some}]: ..." in text
    assert f"def broken(a: {some}, b: {some}) -> int: ..." in text


def test_a_signature_that_nobody_knows_takes_anything() -> None:
    class Odd:
        def __call__(self) -> int:
            return 1

        @property
        def __signature__(self) -> Any:
            raise ValueError("none")

    text = scope_stubs(Scope({"odd": Odd(), "largest": max}))
    assert "largest = _builtins.max" in text
    assert "odd: Odd" in text


def test_hidden_and_refused_members_are_left_out() -> None:
    scope = Scope({"crm": world.Crm(), "other": world.Crm(), "archive": world.Archive()})
    scope.declare("crm.contacts.*", hide=["delete"])
    scope.declare("other.contacts.*", only=["get"])
    scope.declare("archive.*", read_only=True)
    found = classes(scope_stubs(scope))
    assert "delete" not in members(found["Contacts"])
    assert "create" in members(found["Contacts"])
    assert "world_Contacts" in found
    assert not {"delete", "create"} & members(found["world_Contacts"])
    assert members(found["Archive"]) == {"read"}


def test_a_function_takes_an_object_from_wherever_it_comes() -> None:
    def send(draft: world.Draft) -> None: ...

    scope = Scope({"mail": world.Mail(), "other": world.Mail(), "send": send})
    scope.declare("other.draft.*", hide=["attach"])
    assert "def send(draft: Draft | world_Draft) -> None: ..." in scope_stubs(scope)


def test_a_class_of_the_standard_library_is_its_own_less_what_is_hidden() -> None:
    text = scope_stubs(Scope({"db": sqlite3.connect(":memory:"), "codec": json}))
    assert "class Connection(_sqlite3.Connection):" in text
    assert "set_authorizer: _Hidden" in text
    assert "import json as codec" in text


def test_credentials_and_private_names_are_not_in_it() -> None:
    crm = types.SimpleNamespace()
    holder = world.Crm()
    holder.__dict__.update(password="secret-value", _private=crm, api_key="secret-value")
    text = scope_stubs(Scope({"crm": holder}))
    assert "secret-value" not in text
    assert not {"password", "api_key", "_private"} & members(classes(text)["Crm"])


def test_values_have_the_types_that_they_have() -> None:
    values = {"a": [1, 2], "b": {"x": 1.5}, "c": (1, "y"), "d": [], "e": {"x": 1, "y": "z"}, "f": None, "g": {1, 2}}
    text = scope_stubs(Scope(values))
    for line in (
        "a: list[int]",
        "b: dict[str, float]",
        "c: tuple[int, str]",
        "d: list[_typing.Any]",
        "e: dict[str, _typing.Any]",
        "f: None",
        "g: set[int]",
    ):
        assert f"{line}\n" in text


def test_nothing_of_what_is_bound_runs() -> None:
    class Trap:
        @property
        def field(self) -> int:
            raise AssertionError("read")

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            raise AssertionError(name)

        def call(self, work: Callable[[], int]) -> int:
            raise AssertionError("called")

    text = scope_stubs(Scope({"trap": Trap()}))
    assert {"field", "call", "__getattr__"} <= members(classes(text)["Trap"])


def test_further_names_are_added_and_exported() -> None:
    takes = Signature(parameters=(Parameter(name="value", type="object"),), returns="None")
    done = Declaration(name="done", signatures=(takes,))
    text = StubModule(Scope({"a": 1}), {"done": AddedName(line=done)}).text()
    assert exported(text) == {"a", "done"}
    assert "def done(value: object) -> None: ..." in text
