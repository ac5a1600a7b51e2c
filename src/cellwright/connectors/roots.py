"""An upstream's surface as host objects: `github.issues.create(…)`, made namespace by namespace when code reaches them.

It knows surfaces and a function that makes the calls. It knows no upstream.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn

from cellwright.errors import UpstreamMissing, WrongArguments
from cellwright.scope import NAMESPACE, SURFACE, Shape, Signature, Surface, UpstreamOperation, operation
from cellwright.short_texts import cut

Invoke = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Calls an operation: (its path in the surface, the arguments that code gave, by name).

An argument may be None if code gave None: some upstreams read it as "clear this", most as "not given".
"""

SIGNATURE = 400  # characters of a signature in the error of a wrong call


def make_root(name: str, surface: Surface, invoke: Invoke) -> Any:
    """The object that is bound in a scope for an upstream."""
    return _namespace(name, "", surface, invoke)


class Namespace:
    """Operations of an upstream, and namespaces below. Its class has the members of the time when it was made."""

    __slots__ = ("_inner", "_invoke", "_path", "_surface", "_title")
    _inner: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        """A member that came later: an upstream may change what it offers."""
        if name.startswith("_") or not name.isidentifier():  # a dotted path would go round the rules for its parts
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


def _method(title: str, offered: UpstreamOperation, surface: Surface, invoke: Invoke) -> Any:
    line = offered.line

    async def called(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        now = surface.find(offered.path)  # an upstream may change what an operation takes
        if now is None:
            raise UpstreamMissing(f"{title}.{line.name} is not offered any more; search() finds what is")
        return await invoke(offered.path, _bound(f"{title}.{line.name}", now.line.signatures[0], args, kwargs))

    called.__name__ = line.name
    called.__qualname__ = f"{title}.{line.name}"
    called.__doc__ = line.doc
    called.__module__ = "cellwright.connectors"
    vars(called)["__signature__"] = _with_self(line.signatures[0])
    return operation(
        reads=offered.reads,
        idempotent=offered.idempotent,
        destructive=offered.destroys,
        open_world=offered.open_world,
        thread="task",
    )(called)


_inspected = functools.lru_cache(maxsize=4096)(Signature.inspected)


def _with_self(signature: Signature) -> inspect.Signature:
    found = _inspected(signature)
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    return found.replace(parameters=[first, *found.parameters.values()])


def _bound(title: str, takes: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    signature = _inspected(takes)
    try:
        found = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        text = cut(str(signature), SIGNATURE)
        unknown = next((name for name in kwargs if name not in signature.parameters), "")
        near = difflib.get_close_matches(unknown, signature.parameters, 1) if unknown else []
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise WrongArguments(f"{title}: {error}; {meant}it takes {text}") from None
    return dict(found)


class ListedSurface:
    """A surface in memory, for an upstream of tens or hundreds of operations. `about` describes namespaces by path."""

    def __init__(
        self,
        offered: Iterable[UpstreamOperation],
        shapes: Mapping[str, Shape] | None = None,
        about: Mapping[str, str] | None = None,
    ) -> None:
        self._offered = {one.path: one for one in offered}
        self._shapes = dict(shapes or {})
        self._about = dict(about or {})
        whole = repr((self._offered, self._shapes, self._about))
        self._key = hashlib.sha256(whole.encode(errors="replace")).hexdigest()

    @property
    def key(self) -> str:
        return self._key

    def listed(self) -> Iterator[UpstreamOperation]:
        yield from self._offered.values()

    def docs(self) -> Mapping[str, str]:
        return self._about | {path: one.line.doc for path, one in self._offered.items()}

    def find(self, path: str) -> UpstreamOperation | None:
        return self._offered.get(path)

    def below(self, path: str) -> tuple[str, ...]:
        start = f"{path}." if path else ""
        return tuple(dict.fromkeys(p[len(start) :].partition(".")[0] for p in self._offered if p.startswith(start)))

    def about(self, path: str) -> str:
        return self._about.get(path, "")

    def shape(self, name: str) -> Shape | None:
        return self._shapes.get(name)

    def shapes(self) -> Iterator[str]:
        yield from self._shapes
