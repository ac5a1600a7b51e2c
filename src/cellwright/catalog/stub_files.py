"""`StubFiles`: an upstream as modules for a type checker, each made when the first cell needs it.

There is a module for each namespace and for each class. A cell is checked against the modules that its names may lead
to. A module that is not written yet is unknown to the checker, which then reports nothing about it.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from cellwright.catalog.stub_text import qualified_signature
from cellwright.catalog.upstreams import PLAIN, Upstream
from cellwright.scope import PRELUDE, Declaration, Shape, Signature, UpstreamOperation

CLASSES = 3_000  # of one upstream; further classes stay unknown
SIGNATURE = 500
_IMPORTS = (
    "import builtins as _builtins\nimport collections.abc as _abc\nimport typing as _typing\n"
    "import typing_extensions as _typing_extensions\nimport ty_extensions as _ty_extensions\n"
)
_RECORD = """
class Record:
    def __getitem__(self, key: str) -> _typing.Any: ...
    def get(self, key: str, default: _typing.Any = None) -> _typing.Any: ...
    def keys(self) -> _abc.KeysView[str]: ...
    def values(self) -> _abc.ValuesView[_typing.Any]: ...
    def items(self) -> _abc.ItemsView[str, _typing.Any]: ...
    def to_dict(self) -> dict[str, _typing.Any]: ...
    def __contains__(self, key: object) -> bool: ...
    def __iter__(self) -> _abc.Iterator[str]: ...
    def __len__(self) -> int: ...
"""
# what is sent as text, or as a file, though it is neither `str` nor `bytes`
_SENT = """
import datetime as _datetime
import decimal as _decimal
import pathlib as _pathlib
import uuid as _uuid
_str = _typing_extensions.TypeAliasType("_str", _typing.Union[
    _builtins.str, _datetime.date, _datetime.time, _datetime.timedelta, _uuid.UUID, _decimal.Decimal, _pathlib.PurePath
])
_content = _typing.Union[_builtins.bytes, _builtins.bytearray, _builtins.memoryview]
_bytes = _typing_extensions.TypeAliasType("_bytes", _typing.Union[
    _content,
    _builtins.tuple[_builtins.str, _typing.Union[_builtins.str, _content]],
    _builtins.tuple[_builtins.str, _typing.Union[_builtins.str, _content], _builtins.str],
])
"""
# where an object is expected, code may give a dict, or a record that came from the upstream
_BASE = _IMPORTS + PRELUDE.replace(
    "_ty_extensions.Intersection[\n        _builtins.dict[_typing.Any, _typing.Any], "
    "_abc.Mapping[_cellwright_key, _cellwright_item]\n    ]",
    "_typing.Union[\n        _ty_extensions.Intersection[\n            _builtins.dict[_typing.Any, _typing.Any], "
    "_abc.Mapping[_cellwright_key, _cellwright_item]\n        ],\n        Record,\n    ]",
) + _RECORD + _SENT  # fmt: skip
_HEADER = f"{_IMPORTS}from ._base import Record as _Record, _bytes, _dict, _list, _str\n"
_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\b[^\W\d]\w*")
_HOMES = {
    **dict.fromkeys("str int float bool bytes list dict tuple set object".split(), "_builtins."),
    **dict.fromkeys("Any Literal NotRequired Required".split(), "_typing."),
    **dict.fromkeys("Iterator Iterable".split(), "_abc."),
}


class StubFiles:
    """The modules of one upstream, in a package of their own. Not for two threads at once."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self.name = upstream.name
        self.folder = f"up_{upstream.name}"
        self._names: set[str] = set()
        self._spaces: dict[str, dict[str, UpstreamOperation | None]] = {}  # the namespaces that have a module
        self._shapes: dict[str, Shape] = {}  # and the classes
        self._followed: set[str] = set()

    def line(self, package: str) -> str:
        """The line by which the scope's module imports the root."""
        return f"from {package}.{self.folder} import {self._upstream.name} as {self._upstream.name}"

    def first(self) -> dict[str, str]:
        """The modules that every cell needs, each with its text."""
        return {f"{self.folder}/_base.pyi": _BASE, **self._space("")}

    def more(self, names: Collection[str]) -> dict[str, str]:
        """The further modules that a cell needs if it mentions these names."""
        new = set(names) - self._names
        self._names |= new
        if not new:
            return {}
        files: dict[str, str] = {}
        pending = [""]
        while pending:
            path = pending.pop()
            for name, offered in self._spaces[path].items():
                inner = f"{path}.{name}" if path else name
                if offered is None and name in self._names:
                    files |= {} if inner in self._spaces else self._space(inner)
                    pending.append(inner)
        for path, name, offered in self._offered():
            if name in self._names and path not in self._followed:
                self._followed.add(path)
                files |= self._classes(offered.line)
        for shape in list(self._shapes.values()):
            for line in shape.lines:
                if line.name in new:
                    files |= self._classes(line)
        return files

    def alias(self, name: str) -> dict[str, str]:
        """The module of an operation's second name, as `mcp__server__tool`; {} where the name is no such name."""
        path = self._upstream.alias(name)
        if not path or self._upstream.find(path) is None:
            return {}
        text = f"from . import {self.name} as _root\n{name} = _root.{path}\n"
        return {f"{self.folder}/a_{name}.pyi": text, **self.more(path.split("."))}

    def _offered(self) -> Iterator[tuple[str, str, UpstreamOperation]]:
        for path, members in self._spaces.items():
            for name, offered in members.items():
                if offered is not None:
                    yield f"{path}.{name}", name, offered

    # namespaces

    def _space(self, path: str) -> dict[str, str]:
        members = self._spaces[path] = dict(self._upstream.below(path))
        named = _class_of(path or self._upstream.name)
        spelling = _TypeSpelling()
        body: list[str] = []
        for name, offered in members.items():
            if offered is None:
                inner = f"{path}.{name}" if path else name
                spelling.imports[f"_n_{name}"] = f"from .{_module(inner)} import {_class_of(inner)} as _n_{name}"
                body.append(f"    {name}: _n_{name}")
            else:
                body += spelling.heads(offered.line)
        text = "\n".join([_HEADER, *spelling.imports.values(), f"class {named}:", *(body or ["    ..."])])
        if not path:
            text += f"\n{self._upstream.name}: {named}"
        return {f"{self.folder}/{_module(path) if path else '__init__'}.pyi": f"{text}\n"}

    # classes

    def _classes(self, line: Declaration) -> dict[str, str]:
        files: dict[str, str] = {}
        pending = list(_mentioned(line))
        while pending and len(self._shapes) < CLASSES:
            name = pending.pop()
            shape = None if name in self._shapes else self._upstream.shape(name)
            if shape is None:
                continue
            self._shapes[name] = shape
            files[f"{self.folder}/t_{name}.pyi"] = _class_text(shape)
            for inner in shape.lines:
                if inner.name in self._names:
                    pending += _mentioned(inner)
        return files

    # for messages

    def members(self, owner: str) -> Mapping[str, str]:
        """The signatures of the members of a namespace or a class, by the name of its class."""
        for path, members in self._spaces.items():
            if _class_of(path or self._upstream.name) == owner:
                return _LazySignatures({name: offered.line if offered else None for name, offered in members.items()})
        shape = self._shapes.get(owner)
        return _LazySignatures({line.name: line for line in shape.lines} if shape is not None else {})


class _LazySignatures(Mapping[str, str]):
    """Signatures by name, each written when it is read: a namespace has hundreds."""

    def __init__(self, lines: Mapping[str, Declaration | None]) -> None:
        self._lines = lines

    def __getitem__(self, name: str) -> str:
        line = self._lines[name]
        return name if line is None else qualified_signature(line, limit=SIGNATURE)

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


def _class_of(path: str) -> str:
    """The class of a namespace, as guest code sees it."""
    name = path.rpartition(".")[2].title().replace("_", "")
    return f"{name}_" if keyword.iskeyword(name) else name  # None, True


def _module(path: str) -> str:
    return f"n_{path.replace('.', '__')}"


def _mentioned(line: Declaration) -> Iterator[str]:
    for text in line.types():
        for word in _TEXT.findall(text):
            if word[0] not in "'\"" and word not in PLAIN:
                yield word


def _class_text(shape: Shape) -> str:
    if shape.kind == "dict":  # a checker does not know the keys of a dict that is written elsewhere
        alias = f"{shape.name}: _typing.TypeAlias = _builtins.dict[_builtins.str, _typing.Any] | _Record"
        return f"{_HEADER}{alias}\n"
    spelling = _TypeSpelling()
    body: list[str] = []
    for line in shape.lines:
        if line.callable:
            body += spelling.heads(line)
        elif line.name.isidentifier():
            body.append(f"    {line.name}: {spelling.spell(line.gives or 'Any')}")
    if not body or "learned" in shape.doc:  # a learned class may have more fields than were seen
        body.append("    def __getattr__(self, name: _builtins.str) -> _typing.Any: ...")
    base = "_Record" if shape.kind == "record" else "_builtins.object"
    spelling.imports.pop(shape.name, None)
    own = f"_t_{shape.name} = {shape.name}"
    return "\n".join([_HEADER, *spelling.imports.values(), f"class {shape.name}({base}):", *body, own]) + "\n"


class _TypeSpelling:
    """Spells types so that no member of a class hides them: `list` may be a method, `User` a field."""

    def __init__(self) -> None:
        self.imports: dict[str, str] = {}

    def heads(self, line: Declaration) -> list[str]:
        """`    def list(self, *, labels: list[str]) -> list[Issue]: ...`"""
        spelled = (self._spelled(one) for one in line.signatures)
        return [f"    def {line.name}{one.text(line.first)}: ..." for one in spelled]

    def _spelled(self, signature: Signature) -> Signature:
        parameters = tuple(replace(p, type=self.spell(p.type, given=True)) for p in signature.parameters)
        return Signature(parameters=parameters, returns=self.spell(signature.returns or "Any"))

    def spell(self, text: str, *, given: bool = False) -> str:
        def respelled(match: re.Match[str]) -> str:
            word = match[0]
            if word[0] in "'\"" or word in ("None", "True", "False", "self"):
                return word
            is_key = match.string.endswith("dict[", 0, match.start())  # a key has one type
            if given and (word in ("list", "dict", "bytes") or (word == "str" and not is_key)):
                return f"_{word}"
            if word in _HOMES:
                return f"{_HOMES[word]}{word}"
            self.imports[word] = f"from .t_{word} import {word} as _t_{word}"
            return f"_t_{word}"

        return _TEXT.sub(respelled, text)
