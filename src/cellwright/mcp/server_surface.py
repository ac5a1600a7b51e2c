"""What a server offers, as a surface: each tool, template and prompt is a typed function with a plan of its call.

A new surface is made when the server reports a change. Required parameters come first, in the server's order; the first
few of them may be given by position. It makes no call and knows no connection.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from cellwright.connectors import ListedSurface
from cellwright.mcp.learned_results import LearnedResults
from cellwright.mcp.mcp_content import LINK, MEDIA, RESOURCE, titled, unwrapped
from cellwright.mcp.server_inventory import ServerInventory
from cellwright.mcp.tool_names import aliased, identifiers
from cellwright.schemas import (
    RecordPlan,
    Types,
    as_list,
    as_object,
    as_texts,
    first_sentence,
    local_resolve,
    plain_text,
)  # fmt: skip
from cellwright.scope import KEYWORD_ONLY, POSITIONAL, Declaration, Parameter, Signature, UpstreamOperation

_DEFINITIONS = {"#/$defs/", "#/definitions/"}
RESOURCES, PROMPTS = "resources", "prompts"
_ABOUT = {
    RESOURCES: "What the server has to be read: `list()` tells the URIs, `read(uri)` gives one.",
    PROMPTS: "Texts that the server has prepared: each gives its messages as one text.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class McpPlan:
    """How one function is called. `keys` has the server's key of each argument, `learned` the key of a learned type."""

    kind: Literal["tool", "list", "read", "template", "prompt"]
    path: str
    name: str  # at the server; for a template the template itself
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    required: frozenset[str] = frozenset()  # of the keys
    schema: Any = None
    reading: Any = None
    output: bool = False  # it has an output schema
    wrapped: bool = False  # its result is the only field of that schema
    repeatable: bool = False  # a second call does no harm
    learned: str = ""


class ServerSurface(ListedSurface):
    """A `Surface` and the plans behind it."""

    def __init__(self, server: str, inventory: ServerInventory, learned: LearnedResults) -> None:
        self.inventory = inventory
        self.plans: dict[str, McpPlan] = {}
        self._server = server
        self._learned = learned
        self._operations: list[UpstreamOperation] = []
        self._schemas: dict[str, Any] = {}  # by base
        self._same: dict[str, tuple[str, Any]] = {}
        self._types = Types(self._resolve)
        self._types.given(MEDIA, "Media")
        self._types.given(LINK, "ResourceLink")
        self.names = self._tools()
        if inventory.resources:
            self._resources()
        self._prompts()
        about = first_sentence(inventory.instructions) or first_sentence(inventory.title)
        super().__init__(self._operations, self._types.shapes(), {"": about, **_ABOUT})

    @property
    def records(self) -> dict[str, RecordPlan]:
        return self._types.records()

    def alias(self, name: str) -> str | None:
        return aliased(name, self._server, self.names)

    def _resolve(self, ref: str, base: str) -> tuple[str, Any, str]:
        found, node, _ = local_resolve(self._schemas[base])(ref, base)
        return f"{base}{found}", node, base

    def _add(self, plan: McpPlan, line: Declaration, *, reads: bool = False, words: str = "", **hints: Any) -> None:
        self.plans[plan.path] = plan
        self._operations.append(
            UpstreamOperation(path=plan.path, line=line, reads=reads, idempotent=plan.repeatable, words=words, **hints)
        )

    def _tools(self) -> dict[str, str]:
        spaces = frozenset(
            name for name, there in ((RESOURCES, self.inventory.resources), (PROMPTS, self.inventory.prompts)) if there
        )
        names = identifiers((tool.name for tool in self.inventory.tools), taken=spaces, other="tool")
        for tool in self.inventory.tools:
            if names[tool.name] not in self.plans:  # some servers list a tool twice
                self._tool(tool, names[tool.name])
        return names

    def _tool(self, tool: Any, name: str) -> None:
        inside = self._base(tool.input_schema)
        given = McpParameters(tool.input_schema, lambda node, hint: self._types.taken(node, f"{name} {hint}", inside))
        gives, reading, wrapped, learned = self._result(tool, name)
        hints = tool.annotations
        reads = bool(hints and hints.read_only_hint)
        again = reads or bool(hints and hints.idempotent_hint)
        plan = McpPlan(
            kind="tool",
            path=name,
            name=tool.name,
            keys=given.keys,
            required=given.required,
            schema=tool.input_schema,
            reading=reading,
            output=tool.output_schema is not None,
            wrapped=wrapped,
            repeatable=again,
            learned=learned,
        )
        notes: list[str] = []
        destructive = bool(hints and hints.destructive_hint) and not reads
        if destructive:
            notes.append("It may destroy what is there.")
        notes.append(self._learned.note(learned) if learned else "")
        title = tool.title or (hints.title if hints else None) or ""
        line = self._line(name, given, gives, tool.description or title, notes)
        words = f"{tool.name} {title} mcp__{self._server}__{tool.name}"
        outsiders = bool(hints and hints.open_world_hint)
        self._add(plan, line, reads=reads, destructive=destructive, open_world=outsiders, words=words)

    def _result(self, tool: Any, name: str) -> tuple[str, Any, bool, str]:
        """The type of a tool's result, how it is read, whether it is unwrapped, and the key of its learned type."""
        hint = f"{name} result"
        if tool.output_schema is not None:
            inner = unwrapped(tool.output_schema)
            schema = tool.output_schema if inner is None else inner
            text, reading = self._given(schema, titled(schema) or hint, self._base(tool.output_schema))
            return text, reading, inner is not None, ""
        key = self._learned.key(tool.name, tool.input_schema)
        schema = self._learned.schema(key)
        if schema is None:
            plain = self._learned.only_text(key) and not self._learned.mixed(key)
            return ("str" if plain else "Any"), None, False, key
        text, reading = self._given(schema, hint, self._base(schema))
        return text, reading, False, key

    def _given(self, schema: Any, hint: str, base: str) -> tuple[str, Any]:
        """The type of a schema. Tools repeat schemas: two that are equal and have the same name are one class."""
        key = f"{hint} {base} {json.dumps(schema, sort_keys=True, default=repr)}"
        if key not in self._same:
            self._same[key] = self._types.given(schema, hint, base)
        return self._same[key]

    def _base(self, schema: Any) -> str:
        """The key of the document that a schema's references lead into. Equal definitions have one key."""
        refs = set(re.findall(r'"\$ref": "(#/[^/"]*/|[^"]*)', json.dumps(schema, sort_keys=True, default=repr)))
        defs = {word: schema.get(word) for word in ("$defs", "definitions")} if refs <= _DEFINITIONS else schema
        base = hashlib.sha256(json.dumps(defs, sort_keys=True, default=repr).encode(errors="replace")).hexdigest()[:16]
        self._schemas[base] = schema
        return base

    def _resources(self) -> None:
        text, reading = self._types.given(RESOURCE, "Resource")
        listed = McpPlan(kind="list", path=f"{RESOURCES}.list", name="", reading=reading, repeatable=True)
        line = self._line("list", McpParameters.texts({}, {}), f"list[{text}]", "The resources that there are now.")
        self._add(listed, line, reads=True, words="resources uri files")
        uri = McpParameters.texts({"uri": True}, {})
        plan = McpPlan(kind="read", path=f"{RESOURCES}.read", name="", keys=uri.keys, repeatable=True)
        doc = "What is at this URI: text, or bytes where it is no text."
        self._add(plan, self._line("read", uri, "str | bytes", doc), reads=True, words="resource get content file")
        names = identifiers(
            (one.name for one in self.inventory.templates), taken=frozenset(("list", "read")), other="at"
        )
        for one in self.inventory.templates:
            self._template(one, names[one.name])

    def _template(self, one: Any, name: str) -> None:
        given = McpParameters.of_template(one.uri_template)
        path = f"{RESOURCES}.{name}"
        if given is None or path in self.plans:  # no template of RFC 6570
            return
        keys, template = given.keys, one.uri_template
        plan = McpPlan(kind="template", path=path, name=template, keys=keys, required=given.required, repeatable=True)
        texts = (one.mime_type or "").startswith("text/") or one.mime_type == "application/json"
        doc = one.description or one.title or f"The resource at {template}."
        line = self._line(name, given, "str" if texts else "str | bytes", doc)
        self._add(plan, line, reads=True, words=f"{one.name} {template} resource")

    def _prompts(self) -> None:
        names = identifiers(prompt.name for prompt in self.inventory.prompts)
        for prompt in self.inventory.prompts:
            arguments = prompt.arguments or []
            wanted = {argument.name: bool(argument.required) for argument in arguments}
            given = McpParameters.texts(wanted, {argument.name: argument.description or "" for argument in arguments})
            name, path = names[prompt.name], f"{PROMPTS}.{names[prompt.name]}"
            keys, required = given.keys, given.required
            plan = McpPlan(kind="prompt", path=path, name=prompt.name, keys=keys, required=required, repeatable=True)
            line = self._line(name, given, "str", prompt.description or prompt.title or "")
            self._add(plan, line, reads=True, words=f"{prompt.name} {prompt.title or ''} prompt")

    def _line(
        self, name: str, given: McpParameters, gives: str, doc: str, notes: list[str] | None = None
    ) -> Declaration:
        parts = [plain_text(doc), "\n".join(given.docs), "\n".join(note for note in notes or () if note)]
        signature = Signature(parameters=given.parameters, returns=gives)
        text = "\n\n".join(part for part in parts if part)
        return Declaration(name=name, signatures=(signature,), first="self", doc=text)


BY_POSITION = 4
_LONGEST_DEFAULT = 60
_DEEPEST = 8
_SELF = frozenset(("self",))


class McpParameters:
    """The parameters of one function. `keys` has the server's key of each, `docs` a line for each description."""

    def __init__(self, schema: Any, spell: Callable[[Any, str], str]) -> None:
        nodes: dict[str, Any] = {}
        required: set[str] = set()
        _collect(schema, schema, nodes, required, 0)
        names = identifiers(nodes, taken=_SELF, other="value")
        listed = sorted(nodes, key=lambda key: key not in required)
        by_position = min(len(required), BY_POSITION) or 1
        self.parameters = tuple(
            _parameter(names[key], nodes[key], spell(nodes[key], key), key in required, place < by_position)
            for place, key in enumerate(listed)
        )
        self.keys = {names[key]: key for key in listed}
        self.required = frozenset(required)
        docs = {names[key]: first_sentence(as_object(node).get("description")) for key, node in nodes.items()}
        self.docs = tuple(f"{name}: {text}" for name, text in docs.items() if text)

    @classmethod
    def texts(cls, wanted: Mapping[str, bool], docs: Mapping[str, str]) -> McpParameters:
        """Parameters that are all texts, each with whether it is required."""
        fields = {key: {"type": "string", "description": docs.get(key, "")} for key in wanted}
        required = [key for key, must in wanted.items() if must]
        return cls({"properties": fields, "required": required}, lambda schema, hint: "str")

    @classmethod
    def of_template(cls, template: str) -> McpParameters | None:
        """The variables of a URI template; None if the template is malformed."""
        from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

        try:
            read = UriTemplate.parse(template)
        except InvalidUriTemplate:
            return None
        optional = read.query_variable_names
        return cls.texts({name: name not in optional for name in read.variable_names}, {})


def _parameter(name: str, node: Any, spelled: str, required: bool, by_position: bool) -> Parameter:
    kind = POSITIONAL if by_position else KEYWORD_ONLY
    if required:
        return Parameter(name=name, type=spelled, kind=kind)
    default = as_object(node).get("default")
    shown = repr(default) if type(default) in (str, int, float, bool) else "None"
    if len(shown) > _LONGEST_DEFAULT or shown in ("inf", "-inf", "nan"):
        shown = "None"
    if shown == "None" and spelled != "Any" and not spelled.endswith("None"):
        spelled = f"{spelled} | None"
    return Parameter(name=name, type=spelled, default=shown, kind=kind)


def _collect(
    schema: Any, document: Any, nodes: dict[str, Any], required: set[str], depth: int, *, surely: bool = True
) -> None:
    """Collect the fields of an object's schema, also those of its references and members."""
    if depth > _DEEPEST:
        return
    node = as_object(schema)
    for key, inner in as_object(node.get("properties")).items():
        nodes.setdefault(str(key), inner)
    if surely:
        required.update(key for key in as_texts(node.get("required")) if key in nodes)
    if isinstance(node.get("$ref"), str):
        with suppress(LookupError):
            target = local_resolve(document)(node["$ref"], "")[1]
            _collect(target, document, nodes, required, depth + 1, surely=surely)
    for word in ("allOf", "anyOf", "oneOf"):
        for member in as_list(node.get(word)):
            _collect(member, document, nodes, required, depth + 1, surely=surely and word == "allOf")
