"""Exceptions over the boundary, and how an error reads to the agent."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from typing import Any

import pydantic
import pytest
from tests.cells import failure, outcomes, value
from tests.linear import check_linear

from cellwright.errors import CodeError
from cellwright.redaction import clean
from cellwright.scope.faults import error_text
from cellwright.scope.hidden_values import text_of_error


class NotFound(LookupError):
    """Nothing there."""

    def __init__(self, name: str, code: int) -> None:
        super().__init__(f"no {name}")
        self.name = name
        self.code = code
        self.tags = ["a"]
        self.owner = object()
        self.password = "hunter2"
        self._private = 1


class Gone(NotFound):
    pass


class Both(KeyError, ValueError):
    pass


class Failing:
    def __init__(self, error: BaseException) -> None:
        self._error = error

    def fail(self) -> None:
        raise self._error

    async def fail_async(self) -> None:
        raise self._error

    @property
    def prop(self) -> int:
        raise self._error

    def chained(self) -> None:
        try:
            raise KeyError("first")
        except KeyError as error:
            raise ValueError("second") from error

    def take(self, name: str, *, limit: int = 10) -> None:
        """Takes things."""

    def inside(self) -> None:
        len(3)  # pyright: ignore[reportArgumentType] -- the error is the point


def caught(call: str, kind: str) -> str:
    return f"""
try:
    {call}
except {kind} as error:
    told = [type(error).__name__, str(error), error.args]
told
"""


async def test_a_builtin_exception_is_caught_as_itself_and_as_its_base() -> None:
    failing = Failing(KeyError("k"))
    assert await value(caught("o.fail()", "KeyError"), o=failing) == ["KeyError", "'k'", ("k",)]
    assert await value(caught("o.fail()", "LookupError"), o=failing) == ["KeyError", "'k'", ("k",)]


@pytest.mark.parametrize("call", ["o.fail()", "await o.fail_async()", "o.prop"])
async def test_an_exception_class_of_the_hosts_own_has_its_bases(call: str) -> None:
    code = caught(call, "LookupError") + "[told[0], told[1], [c.__name__ for c in type(error_).__mro__]]"
    code = code.replace("    told =", "    error_ = error\n    told =")
    name, text, bases = await value(code, o=Failing(Gone("x", 404)))
    assert (name, text) == ("Gone", "no x")
    assert bases == ["Gone", "NotFound", "LookupError", "Exception", "BaseException", "object"]


async def test_an_exception_with_two_builtin_bases_is_caught_by_either() -> None:
    for base in ("KeyError", "ValueError"):
        assert (await value(caught("o.fail()", base), o=Failing(Both("b"))))[0] == "Both"


async def test_an_exception_class_in_scope_is_the_class_that_is_raised() -> None:
    assert (await value(caught("o.fail()", "NotFound"), o=Failing(Gone("x", 1)), NotFound=NotFound))[0] == "Gone"


@pytest.mark.parametrize(
    ("error", "catch"),
    [
        (json.JSONDecodeError("bad", "{", 0), "__import__('json').JSONDecodeError"),
        (FileNotFoundError(2, "gone", "x.txt"), "FileNotFoundError"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "UnicodeDecodeError"),
        (TimeoutError("late"), "TimeoutError"),
        (StopIteration(3), "StopIteration"),
        (SystemExit(3), "SystemExit"),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, BaseException) else "",
)
async def test_exceptions_of_the_standard_library_are_the_guests_own_classes(error: BaseException, catch: str) -> None:
    await value(caught("o.fail()", catch), o=Failing(error))


async def test_an_exception_carries_its_plain_attributes_and_nothing_else() -> None:
    code = """
    try:
        o.fail()
    except LookupError as error:
        told = {n: getattr(error, n, 'absent') for n in ('name', 'code', 'tags', 'owner', 'password', '_private')}
    told
    """
    told = await value(code, o=Failing(NotFound("x", 404)))
    assert (told["name"], told["code"], told["tags"]) == ("x", 404, ["a"])
    assert [told[n] for n in ("owner", "password", "_private")] == ["absent"] * 3


async def test_an_exception_has_no_traceback_into_the_host() -> None:
    code = """
    import traceback
    try:
        o.fail()
    except LookupError as error:
        frames = [f.filename for f in traceback.extract_tb(error.__traceback__)]
        told = frames, error.__cause__, error.__context__
    told
    """
    frames, cause, context = await value(code, o=Failing(NotFound("x", 1)))
    assert not any("test_errors" in name or "/scope/" in name for name in frames)
    assert cause is None
    assert context is None


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"cannot open {os.path.expanduser('~')}/.ssh/id_rsa", os.path.expanduser("~") + "/.ssh"),
        (f"in {sys.prefix}/lib/python3/site-packages/x.py", sys.prefix),
        ("in /home/alice/project/secret.py line 3", "/home/alice"),
        ("<Client object at 0x7f12345678ab>", "0x7f12345678ab"),
        ("postgresql://user:hunter22@db.internal/x refused", "hunter22"),
        ("Authorization: Bearer sk-verysecret1234", "sk-verysecret1234"),
        ("password='hunter22' was wrong", "hunter22"),
        ("api_key=sk-12345678", "sk-12345678"),
    ],
)
async def test_host_paths_addresses_and_secrets_do_not_cross_in_an_exceptions_text(text: str, secret: str) -> None:
    for error in (RuntimeError(text), NotFound(text, 1), RuntimeError(text, 3)):
        code = "try:\n    o.fail()\nexcept Exception as e:\n    told = [str(e), e.args, repr(vars(e))]\ntold"
        out = (await outcomes(code, o=Failing(error)))[0]
        assert secret not in str(out)


async def test_an_uncaught_host_error_does_not_tell_the_hosts_code_either() -> None:
    error = await failure("o.fail()", o=Failing(RuntimeError("plain")))
    assert "test_errors.py" not in str(error)
    assert "raise self._error" not in str(error)
    assert "cellwright_guest" not in str(error)
    assert error.type == "RuntimeError"


async def test_a_chained_host_error_tells_the_last_one_and_does_not_leak_the_first() -> None:
    error = await failure("o.chained()", o=Failing(ValueError()))
    assert (error.type, error.message) == ("ValueError", "second")
    assert "test_errors.py" not in str(error)


async def test_a_chain_made_in_the_guest_shows_both_errors() -> None:
    code = "try:\n    o.fail()\nexcept LookupError as error:\n    raise ValueError('mine') from error"
    error = await failure(code, o=Failing(KeyError("theirs")))
    assert "KeyError: 'theirs'" in str(error)
    assert "The above exception was the direct cause" in str(error)
    assert str(error).rstrip().endswith("ValueError: mine")


async def test_an_error_shows_the_cells_own_line_with_a_caret() -> None:
    error = await failure("a = 1\nb = a + 1 / 0\n")
    assert (error.type, error.message, error.line) == ("ZeroDivisionError", "division by zero", 2)
    lines = str(error).splitlines()
    assert lines[0].startswith("Traceback")
    assert 'File "<cell 1>", line 2' in lines[1]
    assert lines[2].strip() == "b = a + 1 / 0"
    assert "^" in lines[3]
    assert lines[4] == "ZeroDivisionError: division by zero"


async def test_an_error_in_a_function_of_an_earlier_cell_shows_the_lines_of_both() -> None:
    error = await failure("def f(x):\n    return 1 / x", "y = 0\nf(y)")
    assert '"<cell 2>", line 2' in str(error)
    assert '"<cell 1>", line 2' in str(error)
    assert "return 1 / x" in str(error)


async def test_a_syntax_error_points_at_its_place_and_shows_no_machinery() -> None:
    error = await failure("x = 1\ny = (2 +\n")
    assert error.type == "SyntaxError"
    assert error.line == 2
    assert "y = (2 +" in str(error)
    assert "^" in str(error)
    assert "ast.py" not in str(error)


async def test_an_error_in_the_standard_library_shows_where_the_cell_called_it() -> None:
    error = await failure("import json\njson.loads('{')")
    assert error.type == "JSONDecodeError"
    assert 'File "<cell 1>", line 2' in str(error)
    assert "cellwright_guest" not in str(error)


@pytest.mark.parametrize(
    "call",
    ["o.take()", "o.take('a', 'b')", "o.take(name='a', wrong=1)", "o.take('a', name='b')", "f()", "f(1, 2, 3)"],
)
async def test_a_wrong_call_names_the_right_parameters(call: str) -> None:
    def f(city: str, limit: int = 3) -> None: ...

    code = f"try:\n    {call}\nexcept TypeError as error:\n    told = str(error)\ntold"
    told = await value(code, o=Failing(ValueError()), f=f)
    assert (
        "(name: str, *, limit: int = 10) -> None" if call.startswith("o") else "(city: str, limit: int = 3)"
    ) in told


async def test_a_type_error_inside_a_host_function_is_not_mistaken_for_a_wrong_call() -> None:
    error = await failure("o.inside()", o=Failing(ValueError()))
    assert error.type == "TypeError"
    assert "has no len()" in error.message


async def test_an_exception_group_of_the_host_is_an_error_with_its_text() -> None:
    group = ExceptionGroup("several", [ValueError("a"), KeyError("b")])
    error = await failure("o.fail()", o=Failing(group))
    assert "several" in error.message


async def test_an_exception_whose_text_fails_is_still_told() -> None:
    class Broken(ValueError):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    error = await failure("o.fail()", o=Failing(Broken("x")))
    assert error.type == "Broken"


async def test_a_guest_exception_whose_text_fails_is_still_an_outcome() -> None:
    error = await failure("class Bad(Exception):\n    def __str__(self): return 1 / 0\nraise Bad()")
    assert error.type == "Bad"


@pytest.mark.parametrize(
    "code", ["raise SystemExit(3)", "exit(2)", "quit()", "raise KeyboardInterrupt", "import sys; sys.exit()"]
)
async def test_leaving_a_cell_is_an_outcome_and_names_stay(code: str) -> None:
    first, left, after = await outcomes("x = 1", code, "x + 1")
    assert first.ok
    assert isinstance(left.error, CodeError)
    assert after.unwrap() == 2


async def test_an_exception_given_as_a_value_is_an_exception_there() -> None:
    got: list[Any] = []

    def give() -> Exception:
        return NotFound("x", 7)

    code = "e = give()\ntake(ValueError('mine'))\n(isinstance(e, LookupError), str(e), e.code)"
    assert await value(code, give=give, take=got.append) == (True, "no x", 7)
    assert isinstance(got[0], ValueError)
    assert str(got[0]) == "mine"


@pytest.mark.parametrize("call", ["o.fail()", "await o.fail_async()", "o.prop", "await f()"])
async def test_host_code_that_wants_to_exit_does_not_take_the_host_along(call: str) -> None:
    async def f() -> None:
        sys.exit(3)

    code = f"try:\n    {call}\nexcept SystemExit as error:\n    told = error.code\ntold"
    assert await value(code, o=Failing(SystemExit(3)), f=f) == 3


@pytest.mark.parametrize("at", range(9_975, 10_002))
def test_a_login_at_the_end_of_a_long_error_is_not_told_by_half(at: int) -> None:
    text = f"{'w ' * 5_000}"[:at] + " https://ann:hunter22@bank.example/x" + " more" * 100
    assert "hunter" not in error_text(ValueError(text))


async def test_the_time_to_look_for_hidden_values_in_an_error_grows_with_its_length_only() -> None:
    with pytest.raises(pydantic.ValidationError) as invalid:
        pydantic.TypeAdapter(int).validate_python("x")
    for error in (ValueError("x"), invalid.value):
        for word in ("a", "a=", "input_value=", "input_value=x, input_type="):
            await check_linear(partial(text_of_error, error), word)


async def test_the_time_to_clean_an_error_grows_with_its_length_only() -> None:
    for word in ("token ", "token", "password=", "://", "://a:", "a", "/tmp/", " at 0x", " ", "secret:'", "api_key"):
        await check_linear(clean, word)
