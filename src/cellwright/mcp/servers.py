"""How servers are reached: `McpServer` values, the `mcpServers` files that hold them, and all of a file opened at once.

An entry of a file that cannot be used says why in `problem`, and a server that fails costs no other.
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import urlsplit

from cellwright.errors import CellwrightError, UsageError
from cellwright.mcp.tool_names import identifier
from cellwright.redaction import MASK, bare_url, masked
from cellwright.settings import variable

if TYPE_CHECKING:
    from cellwright.mcp.mcp_connector import MCP

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
# Comments, and commas before a closing bracket, as the files of VS Code have them. Strings are matched to be kept.
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')

_NOISE = re.compile(r"^(mcp[-_]server[-_]|server[-_]|mcp[-_])|([-_]mcp[-_]server|[-_]mcp|[-_]server)$", re.IGNORECASE)
_HOST_NOISE = frozenset(("mcp", "www", "api", "com", "org", "net", "io", "dev", "app", "ai", "co"))


@dataclass(frozen=True, kw_only=True, slots=True)
class McpServer:
    """One server. Its repr leaves out what may hold a key: arguments, environment, headers and URL."""

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
        """The program or the URL for people to read, without what looks like a key."""
        if self.kind == "program":
            return " ".join(masked(self.command)[:3]) + (" …" if len(self.command) > 3 else "")
        return bare_url(self.url) if self.url else type(self.inside).__name__


def server_of(given: Any) -> McpServer:
    """A command line, its words, a URL, an entry of an `mcpServers` file, a `McpServer`, or a server object."""
    if isinstance(given, McpServer):
        return given
    if isinstance(given, str):
        if re.match(r"https?://", given, re.IGNORECASE):
            return McpServer(kind="url", url=given)
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
    return McpServer(kind="object", inside=given)


def _program(words: Sequence[str]) -> McpServer:
    if not words:
        raise UsageError('an empty command; give a command line, as in "npx -y @scope/server", or a URL')
    return McpServer(kind="program", command=tuple(words))


def servers_from(source: Path | str | Mapping[str, Any]) -> dict[str, McpServer]:
    """The servers of an `mcpServers` file, or of its content, by name. Disabled ones are left out.

    An entry that cannot be used has a `problem`. A file that cannot be read at all is a `UsageError`.
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
    below: Any = whole.get("mcp")  # in the settings of VS Code they are one level below
    for holder in (whole, below):
        for key in ("mcpServers", "servers"):
            servers: Any = cast("Mapping[str, Any]", holder).get(key) if isinstance(holder, Mapping) else None
            if isinstance(servers, Mapping):
                return cast("Mapping[str, Any]", servers)
    return None


def _read(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"{path} cannot be read: {reason}") from None
    try:
        return json.loads(without_comments(text))
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}") from None


def without_comments(text: str) -> str:
    """JSON from a text that has comments and trailing commas."""
    return _COMMA.sub(r"\1", _COMMENT.sub(r"\1", text))


def _checked(entry: Any) -> McpServer:
    if not isinstance(entry, Mapping):
        return McpServer(kind="object", problem=f"{entry!r:.100} is no entry; it needs a `command` or a `url`")
    try:
        return _entry(cast("Mapping[str, Any]", entry))
    except UsageError as error:
        return McpServer(kind="object", problem=str(error))


def _entry(entry: Mapping[str, Any]) -> McpServer:
    transport = str(entry.get("type") or entry.get("transport") or "").lower()
    if transport and transport not in _KINDS:
        raise UsageError(f'its type is {transport!r:.50}; it may be "stdio", "http" or "sse"')
    url: Any = next((entry[key] for key in ("url", "serverUrl", "httpUrl") if entry.get(key)), None)
    command: Any = entry.get("command")
    kind: Kind = _KINDS.get(transport) or ("program" if command else "url")
    server = _from_program(entry, command) if kind == "program" else _from_url(entry, url, kind)
    timeout: Any = entry.get("timeout_s")
    return replace(server, timeout_s=float(timeout)) if isinstance(timeout, int | float) and timeout > 0 else server


def _from_program(entry: Mapping[str, Any], command: Any) -> McpServer:
    given: Any = entry.get("args") or []
    if isinstance(command, list):  # some clients have the whole command line there
        words = cast("list[Any]", command) + (cast("list[Any]", given) if isinstance(given, list) else [])
    else:
        words = [command, *cast("list[Any]", given)] if isinstance(given, list) else []
    if not words or not all(isinstance(word, str | int | float) for word in words) or not words[0]:
        raise UsageError("its `command` and `args` are no command line; give a string and a list of strings")
    cwd: Any = entry.get("cwd")
    return McpServer(
        kind="program",
        command=tuple(expanded(str(word)) for word in words),
        env=_texts(entry, "env"),
        cwd=expanded(cwd) if isinstance(cwd, str) else None,
    )


def _from_url(entry: Mapping[str, Any], url: Any, kind: Kind) -> McpServer:
    if not isinstance(url, str):
        raise UsageError("it has neither a `command` nor a `url`")
    whole = expanded(url)
    if not re.match(r"https?://[^/\s]", whole, re.IGNORECASE):
        raise UsageError("its `url` does not begin with http:// or https://")
    if kind == "url" and whole.split("?")[0].rstrip("/").endswith("/sse"):
        kind = "sse"
    return McpServer(kind=kind, url=whole, headers=_texts(entry, "headers"))


def _texts(entry: Mapping[str, Any], key: str) -> dict[str, str]:
    texts: Any = entry.get(key) or {}
    if not isinstance(texts, Mapping):
        raise UsageError(f"its `{key}` is no object of names and texts")
    pairs = cast("Mapping[Any, Any]", texts).items()
    return {str(name): expanded(value if isinstance(value, str) else json.dumps(value)) for name, value in pairs}


def expanded(text: str) -> str:
    """The text with `${VAR}`, `${env:VAR}` and `${VAR:-default}` replaced; UsageError if a variable is not set."""

    def value(match: re.Match[str]) -> str:
        source, name, default = match.group(1), match.group(2), match.group(3)
        if source == "input":
            raise UsageError(f"it asks for an input, ${{input:{name}}}; put ${{env:…}} there and set the variable")
        found = variable(name)
        if found is None and default is None:
            raise UsageError(f"it needs the environment variable {name}, which is not set")
        return found if found is not None else default

    return _VARIABLE.sub(value, text)


def default_name(server: McpServer) -> str:
    """`npx -y @modelcontextprotocol/server-everything` → everything; `https://mcp.linear.app/mcp` → linear."""
    if server.kind == "object":
        return identifier(str(getattr(server.inside, "name", "") or "server")).lower()
    if server.kind != "program":
        host = urlsplit(server.url).hostname or "server"
        parts = [part for part in host.split(".") if part not in _HOST_NOISE]
        return identifier(parts[0] if parts and not host.replace(".", "").isdigit() else "server").lower()
    words = [word for word in masked(server.command)[1:] if word[:1] != "-" and "=" not in word and MASK not in word]
    named = next((word for word in words if re.search(r"mcp|server", word, re.IGNORECASE)), "")
    word = named or (words[0] if words else server.command[0])
    stem = Path(word.rpartition("/")[2] or word).name.partition("@")[0]
    stem = re.sub(r"\.(py|js|mjs|ts|sh)$", "", stem)
    return identifier(_NOISE.sub("", stem) or stem).lower()


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedServer:
    """A server that could not be opened, and why, in one line."""

    name: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerGroup:
    """`servers` by the names that code uses for them; `failed` are those that could not be opened."""

    servers: dict[str, MCP]
    failed: tuple[FailedServer, ...]

    async def close(self) -> None:
        await asyncio.gather(*(server.close() for server in self.servers.values()))


async def open_all(servers: Mapping[str, McpServer] | Mapping[str, Any] | Path | str, **options: Any) -> ServerGroup:
    """Open all servers of an `mcpServers` file, or of the result of `servers_from`, at once.

    `options` are those of `MCP.open`, for all of them.
    """
    from cellwright.mcp.mcp_connector import MCP

    listed = _values(servers)
    opened: dict[str, MCP] = {}
    failed: list[FailedServer] = []

    async def open_one(name: str, server: McpServer) -> None:
        if server.problem:
            failed.append(FailedServer(name=name, reason=server.problem))
            return
        try:
            opened[identifier(name)] = await MCP.open(server, name=identifier(name), **options)
        except (CellwrightError, OSError) as error:
            failed.append(FailedServer(name=name, reason=str(error)))

    try:
        async with asyncio.TaskGroup() as group:
            for name, server in listed.items():
                group.create_task(open_one(name, server))
    except BaseException:
        await ServerGroup(servers=opened, failed=()).close()
        raise
    names = (identifier(name) for name in listed)
    return ServerGroup(servers={name: opened[name] for name in names if name in opened}, failed=tuple(failed))


def _values(servers: Mapping[str, Any] | Path | str) -> Mapping[str, McpServer]:
    are_read = isinstance(servers, Mapping) and all(isinstance(server, McpServer) for server in servers.values())
    return cast("Mapping[str, McpServer]", servers) if are_read else servers_from(servers)
