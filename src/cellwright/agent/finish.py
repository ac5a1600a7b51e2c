"""How a turn ends: `done(value)` in the code, checked against the type that was asked for.

A guest may have made the answer. pydantic would follow a list that holds itself along every path, and read an endless
iterator: neither is given to pydantic, and the text of its errors has a bound. Knows nothing of models.
"""

from __future__ import annotations

import warnings
from collections import abc
from collections.abc import Callable, Iterable
from typing import Annotated, Any, cast

from cellwright.agent.answer_types import checked_type, classes_named, type_name
from cellwright.errors import ReturnTypeError, UsageError
from cellwright.scope import CONVERTED, GuestFunction, GuestIterator, kind_of, operation, shown
from cellwright.settings import install_command
from cellwright.short_texts import named_error
from cellwright_guest.wire import type_of


class Finished(SystemExit):
    """What `done` raises in guest code: no `except Exception` is in its way."""


class Rejected(TypeError):
    """What `done` raises in guest code for a value that is not of the type asked for."""


def _as_it_is(value: Any) -> Any:
    return value


class Finish:
    """The end of one turn. `returns` is None if any value is accepted."""

    def __init__(
        self,
        returns: Any = None,
        *,
        tries: int = 3,
        reveal: Callable[[Any], Any] = _as_it_is,
        hide: Callable[[str], str] = str,
    ) -> None:
        self.returns = returns
        self.ended = False
        self.value: Any = None
        self.returned: Any = None  # the last value that was rejected
        self.rejections = 0
        self._reveal = reveal  # the private values that an answer may have
        self._hide = hide  # what is said of an answer goes back to the model
        self._tries = tries
        self._adapter = _adapter(returns) if returns not in (None, Any) else None
        self._named = tuple(set(classes_named(returns)))

    def accept(self, value: Any, *, text: bool = False) -> str:
        """End with this value, or give pydantic's reason why not. `text`: the value is text that may hold JSON."""
        if self.ended:  # by a thread: the first answer stands
            return ""
        try:
            value = self._reveal(value)
            self.value = self._checked(value, text)
        except ValueError as error:
            self.returned = value
            self.rejections += 1
            return self._hide(words_of(error, self._adapter, value))
        self.ended = True
        return ""

    def fits(self, value: Any) -> bool:
        """Whether the value would be accepted."""
        try:
            self._checked(value, False)
        except ValueError:
            return False
        return True

    def check_tries(self) -> None:
        """`ReturnTypeError` after too many rejected answers."""
        if self.rejections >= self._tries:
            wrong = f"{self.rejections} answers are not of type {type_name(self.returns)}"
            raise ReturnTypeError(
                f"{wrong}; the last one: {self._hide(shown(self.returned, 200))}", returned=self.returned
            )

    def _checked(self, value: Any, text: bool) -> Any:
        if self._adapter is None:
            if (why := unfit(value, (object,))) and why != HOLDS_ITSELF:  # without a type nobody follows it
                raise ValueError(why)
            return value
        if text and self.returns is not str:
            try:
                return self._adapter.validate_json(value)
            except ValueError:
                pass  # as plain text it may be right all the same
        if why := unfit(value, self._named):
            raise ValueError(why)
        try:
            return self._adapter.validate_python(value)
        except ValueError:
            raise
        except Exception as error:  # an outer edge: validators are the developer's, and what they meet is a guest's
            raise ValueError(named_error(error)) from None

    def schema(self) -> dict[str, Any]:
        """The type as JSON Schema, for models that call `done` as a function."""
        if self._adapter is None:
            return {}
        try:
            return self._adapter.json_schema()
        except RuntimeError:  # pydantic's: a class of which there are only live objects, or a function
            name = type_name(self.returns)
            raise UsageError(f'returns={name}: a call of a function cannot hold it; use mode="code"') from None


_CONVERTED_ANY: Any = Annotated[Any, CONVERTED]


def done_function(current: Callable[[], Finish], returns: Any) -> Any:
    """`done` for guest code, annotated with the type; `current` is the end of the turn under way."""

    def end(value: Any) -> None:
        if why := current().accept(value):
            raise Rejected(why)
        raise Finished("done")

    if returns is None:

        def done(value: Any = None) -> None:
            """End the task: `value` is the answer."""
            end(value)
    else:

        def done(value: Any) -> None:
            """End the task: `value` is the answer."""
            end(value)

        # not by `Annotated[returns, …]`: typing keeps the last such types, and so their classes
        done.__annotations__["value"] = _CONVERTED_ANY.copy_with((returns,))
    return operation(thread="loop", idempotent=True, takes_guarded=True, own=True, selecting=(), outward=False)(done)


def _adapter(returns: Any) -> Any:
    try:
        from pydantic import ConfigDict, TypeAdapter
        from pydantic.errors import PydanticUserError
    except ImportError:
        raise UsageError(f"returns= needs pydantic: {install_command('pydantic')}") from None
    made = cast(Any, TypeAdapter)
    with warnings.catch_warnings():
        # pydantic only warns of what is no type. Other warnings are left alone: filters hold for all threads.
        warnings.filterwarnings("error", category=UserWarning, module=r"pydantic\.")
        try:
            try:
                return made(checked_type(returns), config=ConfigDict(arbitrary_types_allowed=True))
            except PydanticUserError:  # a model or a dataclass has a configuration of its own
                return made(checked_type(returns))
        except (PydanticUserError, UserWarning, TypeError, NameError, SyntaxError) as error:
            words = str(error).partition("\n")[0]
            raise UsageError(f"returns={type_name(returns)}: pydantic cannot check it ({words}); give a type") from None


FIRST = 5  # errors that the text names
HOLDS_ITSELF = "it holds itself"
COUNTED = 1_000  # with more errors none is described: pydantic takes longer to describe errors than to find them
HEAD = 100  # items of a long list that are checked again for its first errors
_CONTAINERS: tuple[type, ...] = (list, tuple, set, frozenset, dict)
_CALLABLE: Any = abc.Callable
_ATOMS = frozenset((type(None), bool, int, float, complex, str, bytes))


def unfit(value: Any, named: tuple[type, ...]) -> str:
    """Why a value must not be given to pydantic, or "". `named`: classes whose instances are allowed."""
    begun: set[int] = set()
    ended: set[int] = set()
    pending: list[tuple[Any, bool]] = [(value, False)]
    while pending:
        part, left = pending.pop()
        kind = type_of(part)
        if left:
            ended.add(id(part))
        elif kind in _ATOMS or id(part) in ended:
            continue
        elif kind not in _CONTAINERS:
            if kind is GuestFunction and not {_CALLABLE, GuestFunction} & {*named}:
                return f"a function (`{part.__name__}`) is no answer: call it, and give what it returns"
            if issubclass(kind, GuestIterator):
                return f"an iterator (`{part.__name__}`) is no answer: its items are not read yet; give `list(…)` of it"
            if is_endless(part) and not any(_is_of(part, cls) for cls in named):
                return f"a {kind.__name__} is read by iterating, perhaps without end; give a list of its items"
        elif id(part) in begun:
            return HOLDS_ITSELF
        else:
            begun.add(id(part))
            pending.append((part, True))
            inner: Iterable[Any] = (*part.keys(), *part.values()) if kind is dict else part
            if not _ATOMS.issuperset(map(type, inner)):
                pending.extend((child, False) for child in inner)
    return ""


def is_endless(value: Any) -> bool:
    """Whether the value is a live object that can be iterated and has no length."""
    cls = type_of(value)
    if not hasattr(cls, "__iter__") or hasattr(cls, "__len__") or hasattr(cls, "model_fields"):
        return False
    return kind_of(cls) == "handle"


def _is_of(value: Any, cls: type) -> bool:
    try:
        return isinstance(value, cls)
    except TypeError:  # a protocol or a TypedDict: isinstance does not work
        return False


def words_of(error: Exception, adapter: Any, value: Any) -> str:
    """The text of pydantic's errors, without links; the text of any other error."""
    found: Any = error
    if not hasattr(error, "error_count"):
        return str(error)[:COUNTED]
    count: int = found.error_count()
    if count <= COUNTED:
        return _told(found)
    if type_of(value) is list and len(value) > HEAD:
        try:
            adapter.validate_python(value[:HEAD])
        except ValueError as first:
            return f"{words_of(first, adapter, None)}; and so on: {count:,} errors"
    return f"{count:,} errors"


def _told(error: Any) -> str:
    lines: list[str] = []
    for one in error.errors(include_url=False, include_context=False)[:FIRST]:
        where = ".".join(part[:60] if type(part) is str else shown(part, 60) for part in one["loc"])
        lines.append(f"{where + ': ' if where else ''}{one['msg']} (got {shown(one['input'], 80)})")
    return "; ".join(lines)
