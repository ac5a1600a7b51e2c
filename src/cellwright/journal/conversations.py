"""Requests to a model as rows, and back. A row keeps what is new since an earlier one, so that a session stays small.

`arguments` of a row: `base`, the number of that earlier request (0: none), `kept`, how many of its messages this one
begins with, and the `messages` after those; instructions, tools and the model's traits only where the base has others.
A message that is the base's reply is not kept twice. Settings of a provider are kept by their hash alone: people put
headers there. A request whose reply is no part of the conversation is an aside, and known by its digest. It knows
neither the journal's storage nor who asks.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from itertools import takewhile
from typing import Any

from cellwright.doors import Reply, Request
from cellwright.errors import JournalFailed, UsageError
from cellwright.journal.call_rows import key_of_value
from cellwright.messages import (
    AssistantMessage,
    Generation,
    Message,
    Tool,
    Traits,
    Usage,
    from_plain,
    to_plain,
    usage_from_plain,
)
from cellwright.store import Row
from cellwright_guest.packer import Packer, plain
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import Bounds, Packed, WireError, type_of

MODEL = "model"  # so all paths of rows begin that this module makes
PREFIX = f"{MODEL}#"
ASIDE = f"{MODEL}-aside#"
SAME = {"kind": "reply"}  # instead of a message that is the base's reply
MOST_MESSAGES = 1 << 62
Folds = tuple[bytes | None, ...]  # None: not known


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelExchange:
    """A request that was answered, with its number in the session. `folds[i]` is the digest of its first i messages.

    One that was read from its row knows only the last of the digests, and only its messages: it is not `whole`.
    """

    number: int
    request: Request
    folds: Folds
    reply: AssistantMessage
    traits: Traits | None = None  # None: those of its row are not known
    whole: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """What was said in a session: the last request and its reply.

    `requests` is the number of the last one. `reply` is None where nothing was asked, or where it led on to code that
    is not part of what was asked for; `cut`: it stopped because it ran out of room.
    """

    instructions: str = ""
    tools: tuple[Tool, ...] = ()
    messages: tuple[Message, ...] = ()
    reply: AssistantMessage | None = None
    cut: bool = False
    requests: int = 0
    usage: Usage = field(default_factory=Usage)  # of the last request


def usage_in(rows: Iterable[Row]) -> Usage:
    """What all requests in the rows of a session took, asides too."""
    rows = list(rows)
    asked = (*requests_in(rows).values(), *asides_in(rows).values())
    return sum((reply_in(row).usage for row in asked), Usage())


def conversation(rows: Iterable[Row], upto: int | None = None) -> Conversation:
    """The conversation in the rows of a session, which may hold others than the model's.

    With `upto`, as it stood after that cell: the first request after it, without its reply if that calls tools.
    """
    known = requests_in(rows)
    counted = {number: row for number, row in known.items() if upto is None or row.cell <= upto}
    if not counted:
        return Conversation(requests=max(known, default=0))
    last = max(counted)
    if upto is not None:
        last = min((number for number, row in counted.items() if row.cell == upto), default=last)
    request, _ = request_in(known, last)
    reply = reply_in(known[last])
    return Conversation(
        instructions=request.instructions,
        tools=request.tools,
        messages=request.messages,
        reply=None if reply.message.calls and known[last].cell == upto else reply.message,
        cut=reply.cut,
        requests=max(known),
        usage=reply.usage,
    )


def replies(rows: Iterable[Row]) -> list[Reply]:
    """What the model replied, in the order of the requests."""
    return [reply_in(row) for row in requests_in(rows).values()]


def requests_in(rows: Iterable[Row]) -> dict[int, Row]:
    """The answered requests among these rows, by number, in order."""
    found = {number_of(row): row for row in rows if is_request(row) and row.value is not None}
    return dict(sorted(found.items()))


def is_request(row: Row) -> bool:
    """Whether it is a request of the conversation."""
    return row.door == "model" and not row.path.startswith(ASIDE)


def asides_in(rows: Iterable[Row]) -> dict[str, Row]:
    """The answered asides among these rows, by their digest."""
    return {r.key: r for r in rows if r.door == "model" and r.path.startswith(ASIDE) and r.value is not None}


def number_of(row: Row) -> int:
    """The number of a request of the conversation."""
    number = row.path.removeprefix(PREFIX)
    if not row.path.startswith(PREFIX) or not re.fullmatch(r"[1-9][0-9]{0,17}", number):
        raise JournalFailed(f"a request to the model is called {row.path!r}; the journal is damaged")
    return int(number)


# one request to one row


def folded(messages: Sequence[Message], base: ModelExchange | None) -> Folds:
    """The digests of the beginnings of these messages; those that the base has are not made again."""
    kept = shared(messages, base)
    last = base.folds[kept] if base is not None else b""
    folds: list[bytes | None] = [b""] if base is None or last is None else list(base.folds[: kept + 1])
    last = last or b""
    for message in messages[len(folds) - 1 :]:
        last = _hash(last, _key(to_plain(message)))
        folds.append(last)
    return tuple(folds)


def digest_of(request: Request, folds: Folds) -> str:
    """What two requests have in common that are the same: all but how long they may take."""
    parts = (request.instructions, [_tool(tool) for tool in request.tools], _generation(request.generation))
    return _hash(folds[-1] or b"", *map(_key, parts)).hex()


def shared(messages: Sequence[Message], base: ModelExchange | None) -> int:
    """How many messages are those that the base begins with."""
    pairs = zip(messages, () if base is None else base.request.messages, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))


def arguments_of(request: Request, traits: Traits, base: ModelExchange | None, fold: bytes | None = None) -> Packed:
    """The request as its row keeps it. `fold` is the digest of its messages, for who goes on from there."""
    kept = shared(request.messages, base)
    said = None if base is None else base.reply
    fields: dict[str, Any] = {
        "base": 0 if base is None else base.number,
        "kept": kept,
        "messages": [SAME if message == said else to_plain(message) for message in request.messages[kept:]],
        "generation": _generation(request.generation),
    }
    if fold is not None:
        fields["fold"] = fold.hex()
    if base is None or not base.whole or base.request.instructions != request.instructions:
        fields["instructions"] = request.instructions
    if base is None or not base.whole or base.request.tools != request.tools:
        fields["tools"] = [_tool(tool) for tool in request.tools]
    if base is None or base.traits != traits:
        fields["traits"] = [traits.calls, traits.window]
    return _packed(fields)


def value_of(reply: Reply) -> Packed:
    return _packed(
        {"message": to_plain(reply.message), "usage": asdict(reply.usage), "model": reply.model, "cut": reply.cut}
    )


def _tool(tool: Tool) -> list[Any]:
    return [tool.name, tool.description, dict(tool.parameters)]


def _generation(how: Generation) -> dict[str, Any]:
    extra = {name: _setting(value) for name, value in sorted(how.extra.items())}
    return {"temperature": how.temperature, "max_tokens": how.max_tokens, "stop": list(how.stop), "extra": extra}


def _setting(value: Any) -> str:
    try:
        return key_of_value(Packer(plain).packed(value))
    except TypeError:  # an object of the provider's: its class is all that can be compared
        return type(value).__qualname__


def _packed(value: Any) -> Packed:
    try:
        return Packer(plain).packed(value)
    except TypeError as error:
        raise UsageError(f"what is said to a model and by it must be plain data, to be kept: {error}") from None


def _key(value: Any) -> bytes:
    return key_of_value(_packed(value)).encode()


def _hash(*parts: bytes) -> bytes:
    return blake2b(b" ".join(parts), digest_size=16).digest()


# and back


def reply_in(row: Row) -> Reply:
    kept = _fields(row, row.value)
    try:
        message = from_plain(kept["message"])
        if not isinstance(message, AssistantMessage):
            raise ValueError("no reply")
        usage = usage_from_plain(kept["usage"])
        return Reply(message=message, usage=usage, model=str(kept["model"]), cut=bool(kept["cut"]))
    except (ValueError, TypeError, LookupError) as error:
        raise _damaged(row, error) from None


def request_in(rows: Mapping[int, Row], number: int) -> tuple[Request, Traits]:
    """The whole request of that number, put together from the rows that it is built on."""
    chain: list[tuple[Row, dict[str, Any]]] = []
    while number:
        row = rows.get(number)
        if row is None:
            raise JournalFailed(f"request {number} to the model is missing, on which a later one is built")
        kept = _fields(row, row.arguments)
        chain.append((row, kept))
        try:
            number = _base_of(row, kept)
        except ValueError as error:
            raise _damaged(row, error) from None
    request, traits, said = Request(messages=()), Traits(), AssistantMessage(text="")
    for row, kept in reversed(chain):
        try:
            request, traits = _built(request, said, kept), _traits(kept, traits)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise _damaged(row, error) from None
        said = reply_in(row).message
    return request, traits


def tools_in(rows: Mapping[int, Row], number: int) -> tuple[Tool, ...] | None:
    """The tools that this request offered; None where a row is missing that would say so."""
    while (row := rows.get(number)) is not None:
        kept = _fields(row, row.arguments)
        try:
            if kept.get("tools") is not None:
                return tuple(_offered(*tool) for tool in kept["tools"])
            number = _base_of(row, kept)
        except (ValueError, TypeError) as error:
            raise _damaged(row, error) from None
    return None


def exchange_in(rows: Mapping[int, Row], number: int) -> ModelExchange | None:
    """That request's messages and reply, from the rows that it is built on, read from the last one back.

    None where a row is missing: these may be the last rows of a session. What an earlier row says of messages that were
    left out since, as after a summary, is not read.
    """
    row = last = rows.get(number)
    if last is None:
        return None
    parts: list[tuple[Row, list[Any], Row | None]] = []  # as they are kept: all are there before any is made
    fold, need = "", MOST_MESSAGES
    while row is not None:
        kept = _fields(row, row.arguments)
        try:
            base, begins = _base_of(row, kept), min(int(kept["kept"]), need)
            before, messages = rows.get(base), kept["messages"][: need - begins]
            if base and before is None and (begins or SAME in messages):
                return None
            fold = fold if parts else str(kept.get("fold", ""))
            parts.append((row, messages, before))
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise _damaged(row, error) from None
        need, row = begins, before if begins else None
    messages = tuple(itertools.chain.from_iterable(_messages(*part) for part in reversed(parts)))
    folds: Folds = (*[None] * len(messages), _fold(fold, last) if messages else b"")
    request, reply = Request(messages=messages), reply_in(last).message
    return ModelExchange(number=number, request=request, folds=folds, reply=reply, whole=False)


def _fold(kept: str, row: Row) -> bytes | None:
    try:
        return bytes.fromhex(kept) or None
    except ValueError as error:
        raise _damaged(row, error) from None


def _messages(row: Row, kept: list[Any], before: Row | None) -> list[Message]:
    try:
        return [_message(message, before) for message in kept]
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise _damaged(row, error) from None


def _message(kept: Any, said: Row | None) -> Message:
    if kept != SAME:
        return from_plain(kept)
    if said is None:
        raise ValueError("a reply of no request")
    return reply_in(said).message


def _base_of(row: Row, kept: dict[str, Any]) -> int:
    base, number = kept.get("base"), number_of(row)
    if type(base) is not int or not 0 <= base < number:
        raise ValueError(f"built on request {base!r}")
    return base


def _built(base: Request, said: AssistantMessage, kept: dict[str, Any]) -> Request:
    new = (said if message == SAME else from_plain(message) for message in kept["messages"])
    tools = kept.get("tools")
    how = kept["generation"]
    return Request(
        messages=(*base.messages[: kept["kept"]], *new),
        instructions=str(kept.get("instructions", base.instructions)),
        tools=base.tools if tools is None else tuple(_offered(*tool) for tool in tools),
        generation=Generation(
            temperature=how["temperature"], max_tokens=how["max_tokens"], stop=tuple(how["stop"]), extra=how["extra"]
        ),
    )


def _offered(name: Any, description: Any, parameters: Any) -> Tool:
    if (type(name), type(description), type(parameters)) != (str, str, dict):
        raise ValueError("a tool without a name, description and parameters")
    return Tool(name=name, description=description, parameters=parameters)


def _traits(kept: dict[str, Any], base: Traits) -> Traits:
    calls, window = kept.get("traits", (base.calls, base.window))
    if type(calls) is not bool or type(window) is not int:
        raise ValueError("traits that are not a bool and a number")
    return Traits(calls=calls, window=window)


def _fields(row: Row, packed: Packed | None) -> dict[str, Any]:
    try:
        if packed is None:
            raise ValueError("no value")
        try:
            fields: Any = _plain(packed.tree)
        except (_NotPlain, RecursionError):
            fields = Unpacker(packed.blobs, _nothing_else, Bounds()).unpack(packed.tree)
        if type(fields) is not dict:
            raise ValueError("no fields")
        return fields  # pyright: ignore[reportUnknownVariableType] - of anything
    except (ValueError, TypeError, LookupError, WireError) as error:
        raise _damaged(row, error) from None


class _NotPlain(Exception):
    """A tree with more than texts, numbers, lists, and objects with names."""


def _plain(tree: Any) -> Any:
    """What an `Unpacker` makes of most rows, in a fraction of the time: a conversation has thousands of them."""
    if type_of(tree) is dict:
        body: Any = tree.get("m") if len(tree) == 1 else None
        if type_of(body) is not dict:
            raise _NotPlain
        return {name: _plain(part) if type_of(part) in (dict, list) else part for name, part in body.items()}
    return [_plain(part) if type_of(part) in (dict, list) else part for part in tree]


def _damaged(row: Row, error: Exception) -> JournalFailed:
    return JournalFailed(f"the row of {row.path} is damaged: {error!r}")


def _nothing_else(tag: str, body: object, unpacker: Unpacker) -> object:
    raise ValueError(f"a request or a reply holds plain data only, and no {tag!r}")
