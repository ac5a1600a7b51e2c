"""How a server is reached, as a value, and the `mcpServers` files in which people keep them.

A file is read as it is: an entry that cannot be used says why in `problem`, and the others are good. Starts nothing.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from cellwright.errors import UsageError
from cellwright.mcp.keylike import bare_url, masked
from cellwright.settings import variable

Kind = Literal["program", "http", "sse", "url", "object"]  # "url": streamable HTTP, else SSE

_KINDS: Mapping[str, Kind] = {
    "stdio": "program",
    "http": "http",
    "streamable-http": "http",
    "streamablehttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}
_VARIABLE = re.compile(r"\$\{(?:(env|input):)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
# What VS Code's own files have beside JSON: comments, and commas before a closing bracket. Strings are passed over.
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """One server. What may hold a key (arguments, environment, headers, the URL) is not in its repr."""

    kind: Kind
    command: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    inside: Any = None  # a server object in this process
    timeout_s: float | None = None
    problem: str = ""  # why it cannot be used

    @property
    def title(self) -> str:
        """What it is, for people: the program, or the URL, without what looks like a key."""
        if self.kind == "program":
            return " ".join(masked(self.command)[:3]) + (" …" if len(self.command) > 3 else "")
        return bare_url(self.url) if self.url else type(self.inside).__name__


def server_of(given: Any) -> Server:
    """A command line, its words, an URL, an entry of an `mcpServers` file, a `Server`, or a server object."""
    if isinstance(given, Server):
        return given
    if isinstance(given, str):
        if re.match(r"https?://", given, re.IGNORECASE):
            return Server(kind="url", url=given)
        try:
            words = shlex.split(given)
        except ValueError as error:
            raise UsageError(f"{given!r:.200} is no command line: {error}") from None
        return _program(words)
    if isinstance(given, Mapping):
        return _entry(cast("Mapping[str, Any]", given))
    if isinstance(given, Sequence):
        words = [str(word) for word in cast("Sequence[Any]", given)]
        return _program(words)
    return Server(kind="object", inside=given)


def _program(words: Sequence[str]) -> Server:
    if not words:
        raise UsageError('an empty command; give a command line, as in "npx -y @scope/server", or an URL')
    return Server(kind="program", command=tuple(words))


def servers_from(source: Path | str | Mapping[str, Any]) -> dict[str, Server]:
    """The servers of an `mcpServers` file, or of what was read from one, by name. Disabled ones are left out.

    An entry that cannot be used is there with its `problem`. A file that cannot be read at all is a `UsageError`.
    """
    plain: Any = source if isinstance(source, Mapping) else _read(Path(source))
    title = "this mapping" if isinstance(source, Mapping) else str(source)
    listed = _listed(plain)
    if listed is None:
        raise UsageError(f'{title} has no "mcpServers" (or "servers") that names servers')
    return {
        str(name): _checked(entry)
        for name, entry in listed.items()
        if not (isinstance(entry, Mapping) and cast("Mapping[str, Any]", entry).get("disabled") is True)
    }


def _listed(plain: Any) -> Mapping[str, Any] | None:
    if not isinstance(plain, Mapping):
        return None
    whole = cast("Mapping[str, Any]", plain)
    below: Any = whole.get("mcp")  # the settings of VS Code have them one level further down
    for holder in (whole, below):
        for key in ("mcpServers", "servers"):
            found: Any = cast("Mapping[str, Any]", holder).get(key) if isinstance(holder, Mapping) else None
            if isinstance(found, Mapping):
                return cast("Mapping[str, Any]", found)
    return None


def _read(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"{path} cannot be read: {reason}") from None
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return json.loads(_COMMA.sub(r"\1", _COMMENT.sub(r"\1", text)))
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}") from None


def _checked(entry: Any) -> Server:
    if not isinstance(entry, Mapping):
        return Server(kind="object", problem=f"{entry!r:.100} is no entry; it needs a `command` or a `url`")
    try:
        return _entry(cast("Mapping[str, Any]", entry))
    except UsageError as error:
        return Server(kind="object", problem=str(error))


def _entry(entry: Mapping[str, Any]) -> Server:
    said = str(entry.get("type") or entry.get("transport") or "").lower()
    if said and said not in _KINDS:
        raise UsageError(f'its type is {said!r:.50}; it may be "stdio", "http" or "sse"')
    url: Any = next((entry[key] for key in ("url", "serverUrl", "httpUrl") if entry.get(key)), None)
    command: Any = entry.get("command")
    kind: Kind = _KINDS.get(said) or ("program" if command else "url")
    made = _from_program(entry, command) if kind == "program" else _from_url(entry, url, kind)
    timeout: Any = entry.get("timeout_s")
    return replace(made, timeout_s=float(timeout)) if isinstance(timeout, int | float) and timeout > 0 else made


def _from_program(entry: Mapping[str, Any], command: Any) -> Server:
    given: Any = entry.get("args") or []
    if isinstance(command, list):  # some clients keep the whole line there
        words = cast("list[Any]", command) + (cast("list[Any]", given) if isinstance(given, list) else [])
    else:
        words = [command, *cast("list[Any]", given)] if isinstance(given, list) else []
    if not words or not all(isinstance(word, str | int | float) for word in words) or not words[0]:
        raise UsageError("its `command` and `args` are no command line; give a string and a list of strings")
    cwd: Any = entry.get("cwd")
    return Server(
        kind="program",
        command=tuple(expanded(str(word)) for word in words),
        env=_texts(entry, "env"),
        cwd=expanded(cwd) if isinstance(cwd, str) else None,
    )


def _from_url(entry: Mapping[str, Any], url: Any, kind: Kind) -> Server:
    if not isinstance(url, str):
        raise UsageError("it has neither a `command` nor a `url`")
    whole = expanded(url)
    if not re.match(r"https?://[^/\s]", whole, re.IGNORECASE):
        raise UsageError("its `url` does not begin with http:// or https://")
    if kind == "url" and whole.split("?")[0].rstrip("/").endswith("/sse"):
        kind = "sse"
    return Server(kind=kind, url=whole, headers=_texts(entry, "headers"))


def _texts(entry: Mapping[str, Any], key: str) -> dict[str, str]:
    found: Any = entry.get(key) or {}
    if not isinstance(found, Mapping):
        raise UsageError(f"its `{key}` is no object of names and texts")
    pairs = cast("Mapping[Any, Any]", found).items()
    return {str(name): expanded(value if isinstance(value, str) else json.dumps(value)) for name, value in pairs}


def expanded(text: str) -> str:
    """`${VAR}`, `${env:VAR}` and `${VAR:-otherwise}` as the environment has them; UsageError where it does not."""

    def value(match: re.Match[str]) -> str:
        source, name, otherwise = match.group(1), match.group(2), match.group(3)
        if source == "input":
            raise UsageError(f"it asks for an input, ${{input:{name}}}; put ${{env:…}} there and set the variable")
        found = variable(name)
        if found is None and otherwise is None:
            raise UsageError(f"it needs the environment variable {name}, which is not set")
        return found if found is not None else otherwise

    return _VARIABLE.sub(value, text)
