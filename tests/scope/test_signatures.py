"""A signature is a value: read from a function or built, and written for each of its readers."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from tests.signatures import read_signature

from cellwright.scope import KEYWORD_ONLY, Declaration, Parameter, Signature, signature_of

TEXTS = [
    "()",
    "(name: str) -> None",
    "(a, b=3, /, c: int = 4, *rest: str, d: str, e=None, **more: int) -> list[str]",
    "(a: int, /) -> int",
    "(*, title: str, body: str | None = None) -> Issue",
    "(*args, key: Literal['a, b', ') -> c'] = 'a, b')",
]


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_written_as_it_was_read(text: str) -> None:
    assert read_signature(text).text() == text


@pytest.mark.parametrize("text", TEXTS)
def test_python_has_the_same_signature(text: str) -> None:
    assert str(read_signature(text).inspected()) == text


def test_a_function_is_read_by_its_annotations() -> None:
    def find(self: Any, city: str, *, limit: int = 10, near=...) -> list[str]:  # pyright: ignore[reportMissingParameterType]  half annotated
        return []

    found = signature_of(find, bound=True)
    assert found is not None
    assert found.text() == "(city: str, *, limit: int = 10, near=...) -> list[str]"
    assert found.text("self").startswith("(self, city: str, *")
    assert [one.name for one in found.parameters if one.required] == ["city"]
    assert found.packed()[0][1] == ["limit", int(inspect.Parameter.KEYWORD_ONLY), "10", "int"]
    assert signature_of(type) is None


def test_types_are_spelled_anew_and_nothing_else() -> None:
    title = Parameter(name="str", type="str", default="'str'", kind=KEYWORD_ONLY)
    line = Declaration(name="str", signatures=(Signature(parameters=(title,), returns="str"),), doc="str")
    spelled = line.with_types(lambda text: f"_builtins.{text}" if text else "")
    assert spelled.signatures[0].text() == "(*, str: _builtins.str = 'str') -> _builtins.str"
    assert (spelled.name, spelled.doc, spelled.text) == ("str", "str", "")
    assert list(spelled.types()) == ["_builtins.str", "_builtins.str"]
