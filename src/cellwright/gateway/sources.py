"""The sources of a gateway, as options and files name them: APIs, MCP servers, Python objects, programs.

Values only: it opens nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from cellwright.errors import UsageError
from cellwright.guard import Policy, policy_from, read_table
from cellwright.redaction import bare_url, masked
from cellwright.schemas import as_object

SourceKind = Literal["openapi", "mcp", "python", "command"]
KINDS: tuple[SourceKind, ...] = ("openapi", "mcp", "python", "command")
RESERVED = frozenset(("search", "show", "transaction"))  # names that code has in any scope
_NAMED = re.compile(r"([A-Za-z]\w*)=(.+)", re.DOTALL)
_SETTINGS = ("credentials", "base_url", "headers")


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewaySource:
    """One source. `target` is an API description, a command line, a URL, MODULE:OBJECT, or an entry of a file."""

    kind: SourceKind
    target: Any = field(repr=False)
    name: str = ""  # "": the upstream's own name
    credentials: Mapping[str, str] = field(default_factory=dict[str, str])  # by scheme, "" for a single one
    base_url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def title(self) -> str:
        """Its name in messages before it is open."""
        target = self.target if isinstance(self.target, str) else getattr(self.target, "title", self.kind)
        shown = bare_url(target) if "://" in target else " ".join(masked(target.split()))
        return self.name or shown[:80]


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedSource:
    """A source that cannot be used, and why, in one line."""

    title: str
    reason: str


def named(text: str) -> tuple[str, str]:
    """`[NAME=]TARGET` in two parts. An equals sign inside a URL or a command makes no name."""
    found = _NAMED.fullmatch(text.strip())
    return (found[1], found[2].strip()) if found else ("", text.strip())


def source_of(kind: SourceKind, text: str) -> GatewaySource:
    """One option: `--openapi github=spec.json`."""
    name, target = named(text)
    if not target:
        raise UsageError(f"--{kind} {text}: give [NAME=]{_SHAPES[kind]}")
    if name in RESERVED:
        raise UsageError(f"--{kind} {text}: {name!r} is a name that code has already; choose another")
    return GatewaySource(kind=kind, name=name, target=target)


_SHAPES = {"openapi": "FILE_OR_URL", "mcp": "COMMAND_OR_URL", "python": "MODULE:OBJECT", "command": "PROGRAM"}


def with_settings(
    sources: Sequence[GatewaySource], credentials: Sequence[str], base_urls: Sequence[str], headers: Sequence[str]
) -> list[GatewaySource]:
    """The sources with their settings: `NAME[.SCHEME]=env:VAR`, `NAME=URL` and `NAME=HEADER: VALUE`."""
    made = list(sources)
    for option, texts in (("credential", credentials), ("base-url", base_urls), ("header", headers)):
        for text in texts:
            whole, given, value = text.partition("=")
            name, _, scheme = whole.partition(".")
            shown = f"--{option} {whole}={'…' if option != 'base-url' else value}"  # a value may be the key itself
            if not given or not value.strip():
                raise UsageError(f"{shown}: give NAME=VALUE")
            number = _place(made, name, shown)
            made[number] = _with(made[number], option, scheme, value.strip(), shown)
    return made


def _place(sources: Sequence[GatewaySource], name: str, shown: str) -> int:
    places = [number for number, one in enumerate(sources) if one.name == name]
    if places:
        return places[0]
    unnamed = [number for number, one in enumerate(sources) if not one.name and one.kind in ("openapi", "mcp")]
    if len(unnamed) == 1 and len(sources) == 1:  # only one source can be meant
        return unnamed[0]
    names = ", ".join(one.name for one in sources if one.name) or "none has a name: write --openapi NAME=…"
    raise UsageError(f"{shown}: no source is called {name!r}; named sources: {names}")


def _with(source: GatewaySource, option: str, scheme: str, value: str, shown: str) -> GatewaySource:
    if option == "base-url":
        return replace(source, base_url=value)
    if option == "credential":
        if not re.match(r"(env|file|command):.", value):
            raise UsageError(f"{shown}: give env:VARIABLE, file:PATH or command:PROGRAM, not the key itself")
        return replace(source, credentials={**source.credentials, scheme: value})
    key, colon, text = value.partition(":")
    if not colon:
        raise UsageError(f"{shown}: give NAME=HEADER: VALUE")
    return replace(source, headers={**source.headers, key.strip(): text.strip()})


# files


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayConfig:
    """The content of a configuration file."""

    sources: tuple[GatewaySource, ...] = ()
    policy: Policy | None = None
    problems: tuple[FailedSource, ...] = ()


def read_config(path: Path | str) -> GatewayConfig:
    """A TOML or JSON file: `sources` by name, `mcpServers` as other clients have them, `policy`."""
    file = Path(path)
    whole = as_object(read_table(file, f"--config {file}"))
    unknown = [key for key in whole if key not in ("sources", "mcpServers", "servers", "policy")]
    if unknown or not whole:
        raise UsageError(f"--config {file}: it has sources, mcpServers and policy, and {unknown or 'nothing'} is there")
    listed: Any = whole.get("sources", {})
    if not isinstance(listed, dict):
        raise UsageError(f"--config {file}: `sources` is no table of names")
    sources = [_entry(str(name), one, file) for name, one in cast("dict[Any, Any]", listed).items()]
    servers, problems = mcp_sources(whole) if "mcpServers" in whole or "servers" in whole else ([], [])
    policy = policy_from(whole["policy"], f"--config {file}, policy") if "policy" in whole else None
    return GatewayConfig(sources=(*sources, *servers), policy=policy, problems=tuple(problems))


def _entry(name: str, found: Any, file: Path) -> GatewaySource:
    title = f"--config {file}, sources.{name}"
    one = as_object(found)
    kinds: list[SourceKind] = [kind for kind in KINDS if kind in one]
    if len(kinds) != 1:
        raise UsageError(f"{title} needs one of {', '.join(KINDS)}")
    unknown = [key for key in one if key not in (*KINDS, *_SETTINGS)]
    if unknown:
        raise UsageError(f"{title} knows no {unknown[0]!r}; it has {', '.join((kinds[0], *_SETTINGS))}")
    credentials: Any = one.get("credentials", {})
    return GatewaySource(
        kind=kinds[0],
        name=name,
        target=one[kinds[0]],
        credentials={"": credentials} if isinstance(credentials, str) else dict(credentials),
        base_url=str(one.get("base_url", "")),
        headers={str(key): str(value) for key, value in cast("dict[Any, Any]", one.get("headers", {})).items()},
    )


def mcp_sources(servers: Path | str | Mapping[str, Any]) -> tuple[list[GatewaySource], list[FailedSource]]:
    """The servers of an `mcpServers` file or its content, and the entries that cannot be used."""
    from cellwright.mcp import servers_from

    good: list[GatewaySource] = []
    bad: list[FailedSource] = []
    for name, server in servers_from(servers).items():
        if server.problem:
            bad.append(FailedSource(title=name, reason=server.problem))
        else:
            good.append(GatewaySource(kind="mcp", name=tidy(name), target=server))
    return good, bad


def tidy(name: str) -> str:
    """The name of a server for code: "my-server" → my_server."""
    made = re.sub(r"\W+", "_", name).strip("_").lower() or "source"
    return f"s_{made}" if made[0].isdigit() else made
