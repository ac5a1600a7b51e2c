"""An upstream's surface as host objects: `github.issues.create(…)`, made namespace by namespace when code reaches them.

It knows what a surface tells and whom to call. It knows no upstream.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

from cellwright.errors import UpstreamMissing, WrongArguments
from cellwright.scope import NAMESPACE, SURFACE, Offered, Surface, head_signature, operation

Invoke = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Makes the call of an operation: its path in the surface, its arguments by name. What was not given is not there.

None is there where code gave it: an upstream may take it for "clear this", and usually takes it for "not given".
"""

SIGNATURE = 400  # characters of one that a wrong call is told


def make_root(name: str, surface: Surface, invoke: Invoke) -> Any:
    """What is bound in a scope for an upstream."""
    return _namespace(name, "", surface, invoke)


class Namespace:
    """Operations of an upstream, and further namespaces. Its class has those that there were when it was made."""

    __slots__ = ("_inner", "_invoke", "_path", "_surface", "_title")
    _inner: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        """What came later: an upstream may change what it offers."""
        if name.startswith("_") or not name.isidentifier():  # a path would go round what is declared of its parts
            raise AttributeError(name)
        path = f"{self._path}.{name}" if self._path else name
        offered = self._surface.find(path)
        if offered is not None:
            return _method(self._title, offered, self._surface, self._invoke).__get__(self)
        if self._surface.below(path):
            return _inner(self, name)
        near = difflib.get_close_matches(name, self._surface.below(self._path), 3, 0.6)
        meant = f"did you mean {' or '.join(near)}?" if near else f'search("{name}") finds what there is'
        raise AttributeError(f"{self._title} has no {name!r}; {meant}")

    def __dir__(self) -> list[str]:
        return sorted(self._surface.below(self._path))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{self._title}.{name} cannot be set")

    def __repr__(self) -> str:
        return f"<{self._title}: {', '.join(self._surface.below(self._path)[:8])}>"


def _namespace(title: str, path: str, surface: Surface, invoke: Invoke) -> Any:
    members: dict[str, Any] = {"__slots__": (), "__doc__": surface.about(path), "__module__": "cellwright.connectors"}
    members[NAMESPACE] = True
    if not path:
        members[SURFACE] = surface
    for name in surface.below(path):
        offered = surface.find(f"{path}.{name}" if path else name)
        members[name] = _attribute(name) if offered is None else _method(title, offered, surface, invoke)
    cls = type(title.rpartition(".")[2].title().replace("_", ""), (Namespace,), members)
    made = object.__new__(cls)
    inner: dict[str, Any] = {}
    for slot, value in (("surface", surface), ("path", path), ("title", title), ("invoke", invoke), ("inner", inner)):
        object.__setattr__(made, f"_{slot}", value)
    return made


def _inner(namespace: Any, name: str) -> Any:
    made = namespace._inner.get(name)
    if made is None:
        path = f"{namespace._path}.{name}" if namespace._path else name
        made = _namespace(f"{namespace._title}.{name}", path, namespace._surface, namespace._invoke)
        namespace._inner[name] = made
    return made


def _attribute(name: str) -> property:
    return property(lambda self: _inner(self, name))


def _method(title: str, offered: Offered, surface: Surface, invoke: Invoke) -> Any:
    line = offered.line

    async def called(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        now = surface.find(offered.path)  # an upstream may change what an operation takes
        if now is None:
            raise UpstreamMissing(f"{title}.{line.name} is not offered any more; search() finds what is")
        return await invoke(offered.path, _bound(f"{title}.{line.name}", now.line.heads[0], args, kwargs))

    called.__name__ = line.name
    called.__qualname__ = f"{title}.{line.name}"
    called.__doc__ = line.doc
    called.__module__ = "cellwright.connectors"
    vars(called)["__signature__"] = _unbound(line.heads[0])
    return operation(reads=offered.reads, idempotent=offered.idempotent, thread="task")(called)


def _unbound(head: str) -> inspect.Signature:
    found = head_signature(head)
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    return found.replace(parameters=[first, *found.parameters.values()])


def _bound(title: str, head: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    signature = head_signature(head)
    try:
        found = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        takes = str(signature)
        takes = takes if len(takes) <= SIGNATURE else f"{takes[:SIGNATURE]}…"
        unknown = next((name for name in kwargs if name not in signature.parameters), "")
        near = difflib.get_close_matches(unknown, signature.parameters, 1) if unknown else []
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise WrongArguments(f"{title}: {error}; {meant}it takes {takes}") from None
    return dict(found)
