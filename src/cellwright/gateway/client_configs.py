"""The configuration files of MCP clients: where each is, and its text with an entry for a gateway.

A changed file is written by `write_change` alone, with a backup. It starts nothing and asks nobody.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from cellwright.atomic import write_atomic
from cellwright.errors import PlatformError, UsageError
from cellwright.mcp import without_comments
from cellwright.settings import variable


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientApp:
    """One client. `key` holds the servers in its file; `extra` are further fields of its entries."""

    name: str
    title: str
    linux: str  # below the home directory, or in the current one
    mac: str = ""
    windows: str = ""  # below APPDATA
    here: bool = False
    key: str = "mcpServers"
    extra: tuple[tuple[str, str], ...] = ()

    @property
    def is_toml(self) -> bool:
        return self.linux.endswith(".toml")

    def path(self, platform: str = sys.platform) -> Path:
        if self.here:
            return Path.cwd() / self.linux
        if platform == "win32" and self.windows:
            return Path(variable("APPDATA") or Path.home() / "AppData" / "Roaming") / self.windows
        if platform == "darwin" and self.mac:
            return Path.home() / self.mac
        config = variable("XDG_CONFIG_HOME")
        if config and Path(config).is_absolute() and self.linux.startswith(".config/"):
            return Path(config) / self.linux.removeprefix(".config/")
        return Path.home() / self.linux


_SUPPORT = "Library/Application Support"
CLIENTS = {
    one.name: one
    for one in (
        ClientApp(
            name="claude", title="Claude Desktop", linux=".config/Claude/claude_desktop_config.json",
            mac=f"{_SUPPORT}/Claude/claude_desktop_config.json", windows="Claude/claude_desktop_config.json",
        ),
        ClientApp(name="claude-code", title="Claude Code, in this directory", linux=".mcp.json", here=True),
        ClientApp(name="cursor", title="Cursor", linux=".cursor/mcp.json"),
        ClientApp(
            name="vscode", title="VS Code", linux=".config/Code/User/mcp.json",
            mac=f"{_SUPPORT}/Code/User/mcp.json", windows="Code/User/mcp.json", key="servers",
            extra=(("type", "stdio"),),
        ),
        ClientApp(name="windsurf", title="Windsurf", linux=".codeium/windsurf/mcp_config.json"),
        ClientApp(name="zed", title="Zed", linux=".config/zed/settings.json", windows="Zed/settings.json",
               key="context_servers", extra=(("source", "custom"),)),
        ClientApp(name="codex", title="Codex", linux=".codex/config.toml", key="mcp_servers"),
        ClientApp(name="gemini", title="Gemini CLI", linux=".gemini/settings.json"),
    )
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigChange:
    """The old and the new text of a file. `comments`: the old text has some, which the new one loses."""

    path: Path
    old: str
    new: str
    entry: str
    comments: bool = False

    @property
    def diff(self) -> str:
        lines = difflib.unified_diff(
            self.old.splitlines(), self.new.splitlines(), str(self.path), str(self.path), lineterm=""
        )
        return "\n".join(lines)

    @property
    def backup(self) -> Path:
        return self.path.with_name(f"{self.path.name}.bak")


def client_of(name: str) -> ClientApp:
    if name not in CLIENTS:
        raise UsageError(f"there is no client {name!r:.50} here; there are {', '.join(CLIENTS)}")
    return CLIENTS[name]


def config_change(client: ClientApp, name: str, command: Sequence[str], path: Path | None = None) -> ConfigChange:
    """The client's file with a new entry, or with the entry of that name replaced."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,60}", name):
        raise UsageError(f"--name {name:.60}: letters, digits, - and _ make a name")
    file = path or client.path()
    old = _read(file)
    entry = {**dict(client.extra), "command": command[0], "args": list(command[1:])}
    if client.is_toml:
        text = _toml(client.key, name, entry)
        return ConfigChange(path=file, old=old, new=_in_toml(old, client.key, name, _ends(text, old), file), entry=text)
    text = json.dumps({client.key: {name: entry}}, indent=2, ensure_ascii=False)
    found, comments = _json(old, file)
    held: Any = found.setdefault(client.key, {})
    if not isinstance(held, dict):
        raise UsageError(f"{file}: {client.key!r} is no object; change it by hand: add\n{text}")
    cast("dict[str, Any]", held)[name] = entry
    try:
        new = json.dumps(found, indent=_indent(old), ensure_ascii=False, allow_nan=False) + "\n"
        new.encode()
    except ValueError:
        raise UsageError(
            f"{file} has a number or a text that JSON cannot hold; change it by hand: add\n{text}"
        ) from None
    return ConfigChange(path=file, old=old, new=_ends(new, old), entry=text, comments=comments)


def write_change(wanted: ConfigChange) -> None:
    """Write the new text, and a backup of the old one beside it."""
    path = wanted.path.resolve()  # a link stays a link
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if _read(path) != wanted.old:
            raise UsageError(f"{path} was changed meanwhile; run it again")
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
        if wanted.old:
            write_atomic(wanted.backup, path.read_bytes(), mode=mode)
        write_atomic(path, wanted.new, mode=mode)
    except OSError as error:
        raise PlatformError(f"{path} cannot be written: {error.strerror or error}") from None


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}") from None


def _ends(text: str, old: str) -> str:
    """The text with the line endings of the old one."""
    return text.replace("\n", "\r\n") if "\r\n" in old else text


# JSON, with the comments that some clients have in theirs


def _json(text: str, file: Path) -> tuple[dict[str, Any], bool]:
    """The content of a file, and whether writing it again would lose comments."""
    bare = without_comments(text)
    try:
        content: Any = json.loads(bare, object_pairs_hook=_once) if bare.strip() else {}
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is no JSON: {error}; mend it first") from None
    if not isinstance(content, dict):
        raise UsageError(f"{file} holds no JSON object; mend it first")
    return cast("dict[str, Any]", content), bare != text


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for number, (key, _) in enumerate(pairs) if key in dict(pairs[:number]))
        raise ValueError(f"the key {twice!r:.50} is there twice")  # writing would lose one of them
    return found


def _indent(text: str) -> int | str:
    found = re.search(r"\n([ \t]+)\"", text)
    return "\t" if found and found[1].startswith("\t") else len(found[1]) if found else 2


# TOML: the text of the file with one table replaced


def _toml(key: str, name: str, entry: Mapping[str, Any]) -> str:
    lines = [f"{word} = {json.dumps(value, ensure_ascii=False)}" for word, value in entry.items()]
    return "\n".join([f"[{key}.{name}]", *lines]) + "\n"


def _in_toml(old: str, key: str, name: str, text: str, file: Path) -> str:
    head = re.compile(rf"^\[{re.escape(key)}\.(?:{re.escape(name)}|\"{re.escape(name)}\")\][^\n]*\n", re.MULTILINE)
    found = head.search(old)
    if found is None:
        new = f"{old.rstrip()}{_ends(chr(10) * 2, old)}{text}" if old.strip() else text
    else:
        following = re.compile(r"^\[", re.MULTILINE).search(old, found.end())
        end = following.start() if following else len(old)
        new = f"{old[: found.start()]}{text}{chr(10) if following else ''}{old[end:]}"
    _check_toml(old, new, key, name, file)
    return new


def _check_toml(old: str, new: str, key: str, name: str, file: Path) -> None:
    """Nothing but the one table may have changed: it was found by a pattern in the text."""
    try:
        before, after = tomllib.loads(old), tomllib.loads(new)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file} is no TOML, or has this server in another form: {error}; change it by hand") from None
    for one in (before, after):
        servers: Any = one.get(key, {})
        servers.pop(name, None)
        if not servers:
            one.pop(key, None)
    if before != after:
        raise UsageError(f"{file} has this server in a form that is not known here; change it by hand")


# the command


def absolute(words: Sequence[str], here: Path) -> list[str]:
    """Options of the gateway with absolute paths: a client starts it in any directory."""
    pairs = list(_options(words))
    wheres = [value for option, value in pairs if option.rstrip("=") == "--dir" and value is not None]
    base = (here / wheres[-1]).absolute() if wheres else here  # where the gateway changes to when it starts
    made: list[str] = []
    for option, value in pairs:
        moved = None if value is None else _moved(option.rstrip("="), value, base)
        made += [option] if moved is None else [option + moved] if option.endswith("=") else [option, moved]
    if not wheres and any(option.rstrip("=") == "--python" for option, _ in pairs):
        made += ["--dir", str(here)]
    return made


def _options(words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Each option with its value, None if it has none; `--option=` if both are one word."""
    left = iter(words)
    for word in left:
        option, equals, value = word.partition("=")
        if not word.startswith("--") or word in ("--read-only", "--no-auth"):
            yield word, None
        else:
            yield (f"{option}=", value) if equals else (word, next(left, None))


def _moved(option: str, value: str, here: Path) -> str:
    if option == "--dir":
        return str(here)
    if option in ("--mcp-config", "--policy", "--audit", "--config", "--token-file"):
        return str((here / value).absolute())
    if option == "--credential" and "=file:" in value:
        name, _, file = value.partition("=file:")
        return f"{name}=file:{(here / Path(file).expanduser()).absolute()}"
    name, equals, target = value.rpartition("=")
    is_path = {"--openapi": True, "--command": "/" in target, "--packages": (here / target).is_dir()}.get(option, False)
    if option == "--openapi" and "://" not in value and not (here / target).exists():
        raise UsageError(f"--openapi {value}: there is no file {here / target}; nothing was written")
    if is_path and "://" not in value and (here / target).exists():
        return f"{name}{equals}{(here / target).absolute()}"
    return value
