"""`CallContents`: what a person is shown of the host objects in a call, and whether they are still the same.

The content is told, by `shown=` of the operation or by `ContentWriter`. An object without any is known by its path
where the developer bound it by name, or where it is an attribute of one of these (`crm.contacts`); else it is refused.
"""

from __future__ import annotations

import hashlib
import inspect
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from cellwright.doors import Call, CallContent, Operation
from cellwright.errors import ContentChanged, Denied
from cellwright.scope.abouts import Abouts
from cellwright.scope.content_writer import FUNCTION_TYPES, MOST, ContentWriter, NoContent, has_content
from cellwright.scope.faults import error_text
from cellwright.scope.handles import HeldObject
from cellwright.scope.parcels import tags_in
from cellwright.scope.scope import Scope
from cellwright.scope.surfaces import NAMESPACE
from cellwright.scope.values import Values, on_loop
from cellwright_guest.wire import WireError, type_of

SHORT = 2_000  # characters of one object that are shown at once
KEPT = 1_000_000  # characters of it that are kept
ON_LOOP = 100_000  # characters of it where the call runs on the event loop, which other sessions wait for
ROUNDS = 20_000  # some milliseconds
TARGET = 0  # the number that stands for the object of the call

Tags = Sequence[tuple[str, Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectContent:
    """One object as a person is shown it. `whole` is a longer text, "" where `text` is all."""

    text: str
    digest: str
    whole: str = ""
    length: int = 0  # of all that was compared


class CallContents:
    """For one session."""

    def __init__(self, scope: Scope, values: Values, abouts: Abouts) -> None:
        self._scope = scope
        self._values = values
        self._abouts = abouts

    def tags(self, call: Call) -> Tags:
        """The host objects and guest functions in the arguments, as the guest packed them."""
        return [(tag, body) for tag, body in tags_in(call.arguments.tree) if tag in ("h", "g")]

    def needs_none(self, call: Call, tags: Tags) -> bool:
        """Whether names and plain data say all, as in most calls."""
        held = None if call.target < 0 else self._values.handles.find(call.target)
        return not tags and (held is None or self._is_titled(held))

    def of(self, call: Call, tags: Tags) -> CallContent:
        """For the thread where the objects may be touched: it reads them, and calls `shown=`."""
        about = self._abouts.about(call.verb, call.target, call.name)
        try:
            return self._of(call, about.operation, tags)
        except NoContent as none:
            how = (
                f"scope.declare({self._abouts.pattern(call)!r}, shown=…) says what is shown instead (vars: attributes)"
            )
            return CallContent(refused=Denied(f"{about.title} asks a person, who cannot be shown {none.what}: {how}"))
        except WireError:
            raise
        except Exception as error:  # an outer edge: `shown=`, `to_journal` and properties are the developer's
            return CallContent(refused=Denied(f"{about.title} asks a person, and cannot be shown: {error_text(error)}"))

    def of_given(self, given: Any, shown: Callable[[Any], Any] | None) -> CallContent:
        """The content of what host code gives to a function that asks. `NoContent` where it has none."""
        content = self._content(given, Operation(shown=shown), ON_LOOP)
        wholes = {TARGET: content.whole} if content.whole else {}
        return CallContent(target=content.text, wholes=wholes, digest=content.digest)

    def on_loop(self, call: Call) -> bool:
        """Whether the call runs on the event loop, and so reads its objects there."""
        owner = self._values.handles.find(call.target)
        return owner is not None and (on_loop(owner.value) or self._abouts.on_loop(owner, call))

    def require_same(self, call: Call) -> None:
        """The last look before the effect, on its thread. `ContentChanged` where a person was shown something else."""
        if call.content is None or not call.content.digest:
            return
        if self.of(call, call.content.tags).digest != call.content.digest:
            raise ContentChanged(f"{self._abouts.of(call).title} has other content than a person was shown")

    def _of(self, call: Call, operation: Operation, tags: Tags) -> CallContent:
        digest = hashlib.sha256()
        texts: dict[int, str] = {}
        wholes: dict[int, str] = {}
        most = ON_LOOP if self.on_loop(call) else MOST
        for number, content in self._contents(call, operation, tags, most):
            digest.update(f"{number} {content.digest}\n".encode())
            texts[number] = content.text
            if content.whole:
                wholes[number] = content.whole
        target = texts.pop(TARGET, "")
        compared = digest.hexdigest() if target or texts else ""
        return CallContent(target=target, objects=texts, wholes=wholes, digest=compared, tags=tuple(tags))

    def _contents(self, call: Call, operation: Operation, tags: Tags, most: int) -> Iterator[tuple[int, ObjectContent]]:
        held = None if call.target < 0 else self._values.handles.get(call.target)
        if held is not None and not self._is_titled(held):
            yield TARGET, self._content(held.value, operation, most, called=not call.name)
        seen: set[int] = set()
        for tag, body in tags:
            number, value = self._given(tag, body)
            if number not in seen:
                seen.add(number)
                content = self._content(value, operation, most)
                most = max(most - content.length, 1)  # all objects of a call together
                yield number, content

    def _given(self, tag: str, body: Any) -> tuple[int, Any]:
        if tag == "h":
            held = self._values.handles.get(body)
            return held.handle, held.value
        function = self._values.guest_function(body)
        return -body[0] - 1, function

    def _content(self, value: Any, operation: Operation, most: int, *, called: bool = False) -> ObjectContent:
        declared = None if operation.shown is None else operation.shown(value)

        def nested(part: Any) -> str:
            return "" if part is value else self._path_of(part)

        if declared is not None:
            return _written(declared, partial(ContentWriter, nested, lenient=True, nested=True, most=most))
        kind = type_of(value)
        path = "" if issubclass(kind, FUNCTION_TYPES) and not called else self._path_of(value)
        lenient = bool(path) and has_content(kind)  # a service with fields holds what has no content: a client, a lock
        try:
            return _written(value, partial(ContentWriter, nested, lenient=lenient, called=called, most=most))
        except NoContent:
            if lenient or not path:
                raise
            return _named(path)

    def _is_titled(self, held: HeldObject) -> bool:
        """Whether the title of the call says all: a namespace of an upstream, or bound and without content."""
        if NAMESPACE in held.place.kind.__dict__:
            return True
        return not has_content(type_of(held.value)) and bool(self._scope.bound_as(held.value))

    def _path_of(self, value: Any) -> str:
        """The path of an object that has one place in the scope; "" for an object that a call led to."""
        name = self._scope.bound_as(value)
        held = None if name else self._values.handles.known(value)
        if held is None:
            return name
        path = held.place.path
        return path if NAMESPACE in held.place.kind.__dict__ or self._is_attribute(value, path) else ""

    def _is_attribute(self, value: Any, path: str) -> bool:
        """Whether the path leads to the object by attributes that no code computes."""
        first, *names = path.split(".")
        try:
            found = self._scope.root(first)
        except KeyError:
            return False
        if not self._scope.bound_as(found):
            return False
        for name in names:
            owner, found = found, inspect.getattr_static(found, name, None)
            if type_of(found) is types.MemberDescriptorType:  # of `__slots__`
                found = found.__get__(owner) if hasattr(owner, name) else None
        return found is value


def _named(path: str) -> ObjectContent:
    return ObjectContent(text=path, digest=hashlib.sha256(path.encode()).hexdigest())


def _written(value: Any, writer: Callable[..., ContentWriter]) -> ObjectContent:
    """`writer` makes what writes the value, in short or with all rows of frames."""
    short, digest, length = writer(), hashlib.sha256(), 0
    texts: list[str] = []
    for part in short.parts(value):
        digest.update(part.encode("utf-8", "surrogatepass"))
        if length < KEPT:
            texts.append(part)
        length += len(part)
        if length > short.most:
            raise NoContent("objects of so many characters")
    text = whole = "".join(texts)
    if length > KEPT:
        whole = _bounded(iter(texts))
    if short.abridged:
        whole = _bounded(writer(whole=True).parts(value))
    compared = _secret_digest(writer(reveal=True).parts(value)) if short.masked else digest.hexdigest()
    left = f"… [{length - SHORT:,} characters more]" if length > SHORT else ""
    whole = whole if left or short.abridged else ""
    return ObjectContent(text=text[:SHORT] + left, digest=compared, whole=whole, length=length + short.cells)


def _bounded(parts: Iterator[str]) -> str:
    texts, room = list[str](), KEPT
    for part in parts:
        texts.append(part[:room])
        room -= len(part)
        if room < 0:
            return "".join(texts) + f"… [cut after {KEPT:,} characters]"
    return "".join(texts)


def _secret_digest(parts: Iterator[str]) -> str:
    """The digest is kept, and who reads it knows all but the secret: a slow one, so that nobody tries them all."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass"))
    return hashlib.pbkdf2_hmac("sha256", digest.digest(), b"cellwright", ROUNDS).hex()
