"""`Audited`: tells an `AuditTrail` of each call, directly before its effect and after it. Without the line, no effect.

It knows calls and answers, and what the guard ruled; not who decided. Calls that are answered from the journal never
come here: they were told of when they were made.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple
from uuid import uuid4

from cellwright.doors import About, Answer, Call, Host, Ruling, Wrapper
from cellwright.errors import ContentChanged, Denied, PlatformError
from cellwright.guard.arguments_text import CUT, answer_text, arguments_text, atom_text, atoms_text
from cellwright.guard.audit import AuditTrail
from cellwright.guard.audit_file import as_json
from cellwright.journal import TRANSACTION_VERBS, is_effect
from cellwright.redaction import MASK, is_secret_name, redacted
from cellwright.short_texts import LONGEST_WORD, cut, error_line, whole_words
from cellwright.store import fingerprint
from cellwright_guest.wire import Packed, WireError, is_large, type_of

ARGUMENTS, RESULT, WORDS = 4_000, 500, 500  # characters that are kept
MOST_KNOWN = 1_000  # operations of which something is known
_QUIET = frozenset(("sleep", "about", "dir")) | TRANSACTION_VERBS
_KEY_BEGINS = 100  # characters of half a key, at most: of a longer part the redactor knows the format
_HALF = re.compile(r"[^\s\"'`<>,;(){}\[\]]+\Z")
_NUMBERS = re.compile(r"[\d.,() -]*|None|True|False")  # nothing to redact
_CLOSED = f"'\"{CUT}"  # a quoted text that is cut has an end, so that the redactor knows it for one
_NO_RULING = Ruling()
_FINISHED = "Finished"  # what an agent's own `done` raises in guest code when it has the answer
_PLAIN_KINDS = {"m": "dict", "b": "bytes", "B": "bytes", "S": "str", "t": "tuple"}
_KINDS = {**_PLAIN_KINDS, "o": "record", "a": "frame", "e": "enum", "h": "object", "E": "error"}


class _Same(NamedTuple):
    """What is told alike of calls of one operation that were decided alike: JSON without its braces."""

    about: About
    ruling: Ruling
    whole: str
    short: str


class Audited(Wrapper):
    """Round what carries calls out: `Audited(inner, trail, session="s1")`. One for each guest of a session.

    `parameters` gives the names of a call's positional arguments: those of credentials are masked.
    """

    def __init__(
        self,
        inner: Host,
        trail: AuditTrail,
        *,
        session: str = "",
        user: str = "",
        parameters: Callable[[Call], Sequence[str]] = lambda call: (),
    ) -> None:
        super().__init__(inner)
        self._parameters = parameters
        self._secret: dict[tuple[str, int, str], list[bool]] = {}  # by verb, target and title: positional arguments
        self._trail = trail
        self._session = session or unkept_session()
        self._user = user
        self._sames: dict[tuple[int, int, str, bool], _Same] = {}

    async def call(self, call: Call) -> Answer:
        if call.verb in _QUIET:
            return await self.inner.call(call)
        if call.refused is not None:
            return await self._refused(call, call.refused)
        if is_effect(call.verb, call.name, call.about.operation):
            return await self._effect(call)
        return await self._read(call)

    async def _refused(self, call: Call, refused: Exception) -> Answer:
        why = {"error": type(refused).__name__, "why": _short(error_line(refused))}
        try:
            self._trail.write("denied", {**await self._facts(call), **why}, self._same(call))
        except PlatformError as error:
            call = replace(call, refused=_unaudited(call, error))
        return await self.inner.call(call)

    async def _read(self, call: Call) -> Answer:
        began = time.perf_counter()
        answer = await self.inner.call(call)
        if call.verb == "get" and not answer.failed and type_of(answer.value.tree) is dict and "f" in answer.value.tree:
            return answer  # a method, which is told of when it is called
        result = await self._result(call, answer, _since(began))
        try:
            self._trail.write("read", {**await self._facts(call), **result}, self._same(call))
        except PlatformError as error:
            return await self.inner.call(replace(call, refused=_unaudited(call, error)))
        return answer

    async def _effect(self, call: Call) -> Answer:
        try:
            intent = await self._intent(call)
        except PlatformError as error:
            return await self.inner.call(replace(call, refused=_unaudited(call, error)))
        began = time.perf_counter()
        try:
            answer = await self.inner.call(call)
        except ContentChanged as error:
            self._after("denied", intent, call, {"why": error_line(error)})
            raise
        except BaseException as error:  # cancelled, or its session is over: it may have happened or not
            self._after("unfinished", intent, call, {"error": type(error).__name__, "ms": _since(began)})
            raise
        ms = _since(began)
        if is_large(answer.value):
            self._ended(intent, call, answer, await self._result(call, answer, ms))
        else:  # the guest need not wait for this line
            loop = asyncio.get_running_loop()
            loop.call_soon(lambda: self._ended(intent, call, answer, self._told_of(call, answer, ms)))
        return answer

    def _ended(self, intent: int, call: Call, answer: Answer, facts: dict[str, Any]) -> None:
        if call.about.operation.own and facts.get("error") == _FINISHED:
            self._after("done", intent, call, {"ms": facts["ms"]})
        else:
            self._after("failed" if answer.failed else "done", intent, call, facts)

    async def undo(self, call: Call, work: Callable[[], Awaitable[Any]]) -> None:
        """The undo of a call, which is an effect too."""
        call = replace(call, verb="undo")
        try:
            intent = await self._intent(call)
        except PlatformError as error:
            raise _unaudited(call, error) from None
        began = time.perf_counter()
        try:
            await work()
        except BaseException as error:
            event = "failed" if isinstance(error, Exception) else "unfinished"
            self._after(event, intent, call, {"error": type(error).__name__, "ms": _since(began)})
            raise
        self._after("done", intent, call, {"ms": _since(began)})

    async def _intent(self, call: Call) -> int:
        """The number of the line before an effect. `PlatformError` where it cannot be written."""
        intent = self._trail.write("intent", await self._facts(call), self._same(call))
        if self._trail.fsync:
            try:
                await asyncio.to_thread(self._trail.sync)
            except PlatformError as error:
                self._after("denied", intent, call, {"why": str(error)})
                raise
        return intent

    def _after(self, event: str, intent: int, call: Call, fields: dict[str, Any]) -> None:
        """What became of an effect. Where that cannot be written, the line of its intent stands, and says enough."""
        with suppress(PlatformError):
            self._trail.write(event, {"intent": intent, **_place(call), **fields}, self._same(call, whole=False))

    def _same(self, call: Call, *, whole: bool = True) -> str:
        """What is told of all such calls, as JSON; not `whole`: of it what the line of an effect's end tells again."""
        about, ruling = call.about, call.ruling or _NO_RULING
        key = (id(about), id(ruling), call.verb, call.approved)
        known = self._sames.get(key)
        if known is None or known.about is not about or known.ruling is not ruling:
            operation = about.known_as or about.title
            names = {"session": self._session, "user": _short(ruling.user or self._user), "operation": operation}
            more = {
                "verb": call.verb,
                "title": about.title if about.title != operation else "",
                "approved": call.approved,
                "rule": _short(ruling.rule),
                "question": _short(ruling.why),
                "labels": ruling.labels,
            }
            if len(self._sames) >= MOST_KNOWN:
                self._sames.clear()
            whole_text, short_text = as_json(_not_empty(names | more)), as_json(_not_empty(names))
            known = self._sames[key] = _Same(about, ruling, whole_text, short_text)
        return known.whole if whole else known.short

    async def _facts(self, call: Call) -> dict[str, Any]:
        """What is told of one call before it is made."""
        facts: dict[str, Any] = _place(call)
        if call.line:
            facts["line"] = call.line
        if call.arguments.tree is not None:
            facts |= await self._arguments(call, call.arguments, "arguments", "digest")
        if call.asked is not None:
            facts |= await self._arguments(call, call.asked, "asked", "asked_digest")
        return facts

    async def _arguments(self, call: Call, packed: Packed, text_name: str, digest_name: str) -> dict[str, str]:
        """The arguments as text, and a digest of them where they are not all in it."""
        secret = is_secret_name(call.name or call.about.title)
        key = (call.verb, call.target, call.about.title)
        if key not in self._secret:
            if len(self._secret) > MOST_KNOWN:
                self._secret.clear()
            self._secret[key] = [is_secret_name(name) for name in self._parameters(call)]
        masked = self._secret[key]

        def hides(place: int | str) -> bool:
            return masked[place] if type(place) is int and place < len(masked) else is_secret_name(str(place))

        def told() -> tuple[str, str]:
            try:
                given = arguments_text(packed, self._name, ARGUMENTS + LONGEST_WORD, hides=hides)
            except WireError:  # what no honest guest sends: its session ends
                given = "(what cannot be read)"
            return _told(given, ARGUMENTS, packed, secret)

        if not secret and (plain := atoms_text(packed, hides)) is not None:
            return {text_name: plain if _NUMBERS.fullmatch(plain) else redacted(plain)}
        # a frame among them may import its library
        text, digest = await asyncio.to_thread(told) if packed.blobs or is_large(packed) else told()
        return {text_name: text, digest_name: digest} if digest else {text_name: text}

    async def _result(self, call: Call, answer: Answer, ms: float) -> dict[str, Any]:
        """What is told of an answer."""
        if is_large(answer.value):
            return await asyncio.to_thread(self._told_of, call, answer, ms)
        return self._told_of(call, answer, ms)

    def _told_of(self, call: Call, answer: Answer, ms: float) -> dict[str, Any]:
        packed, secret, digest = answer.value, is_secret_name(call.name or call.about.title), ""
        plain = None if secret or answer.failed else atom_text(packed.tree)
        if plain is not None:
            shown = plain if _NUMBERS.fullmatch(plain) else redacted(plain)
        else:
            try:
                given = answer_text(packed, self._name, RESULT + LONGEST_WORD)
            except (WireError, LookupError, TypeError, ValueError):  # a value that the guest's own code reads otherwise
                given = f"(a value that has no text){CUT}"
            shown, digest = _told(given, RESULT, packed, secret and not answer.failed)
        kind, size = _kind(packed)
        facts = {"result": shown, "kind": kind, "size": size, "digest": digest, "ms": ms}
        if answer.failed:
            facts["error"] = shown.partition("(")[0]
        return _not_empty(facts)

    def _name(self, number: int) -> str:
        return self.inner.about("dir" if number > 0 else "new", number, "").title


def unkept_session() -> str:
    """A name for a session without a journal, which has none: its lines are told from those of others."""
    return f"unkept-{uuid4().hex[:12]}"


def _place(call: Call) -> dict[str, Any]:
    """Which call it is."""
    place: dict[str, Any] = {"cell": call.cell, "call": call.id}
    return place | {"path": call.path} if call.path else place


def _not_empty(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: fact for name, fact in facts.items() if fact or (name == "size" and fact is not None)}


def _unaudited(call: Call, error: PlatformError) -> Denied:
    return Denied(f"{call.about.title} was denied: {error}")


def _told(text: str, longest: int, packed: Packed, secret: bool) -> tuple[str, str]:
    """The text without credentials and cut; and a digest of the value where it is cut."""
    if secret:
        return MASK, ""
    shown = redacted(text.replace(CUT, _CLOSED)).replace(_CLOSED, CUT) if CUT in text else redacted(text)
    if CUT in shown:  # half a key, which no redactor knows, may stand before it
        *parts, last = shown.split(CUT)
        shown = CUT.join([*map(_without_half, parts), last])
    if len(shown) > longest:
        shown = f"{whole_words(shown, longest)}{CUT}"
    return shown, fingerprint(packed) if CUT in shown else ""


def _without_half(text: str) -> str:
    word = _HALF.search(text, max(len(text) - _KEY_BEGINS, 0))
    return text if word is None else text[: word.start()]


def _kind(packed: Packed) -> tuple[str, int | None]:
    """What kind of value it is; how many items, characters or bytes it has, where that is known."""
    tree, kind = packed.tree, type_of(packed.tree)
    if kind is not dict or len(tree) != 1:
        return kind.__name__, len(tree) if kind in (str, list) else None
    ((tag, body),) = tree.items()
    if tag in ("b", "B", "S") and type_of(body) is int and 0 <= body < len(packed.blobs):
        return _KINDS[tag], len(packed.blobs[body])
    if (tag == "m" and type_of(body) is dict) or (tag == "t" and type_of(body) is list):
        return _KINDS[tag], len(body)
    return _KINDS.get(tag, tag), None


def _short(text: str) -> str:
    return cut(redacted(text), WORDS) if text else ""


def _since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)
